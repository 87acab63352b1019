#include "http/client/client.hpp"

#include <httplib.h>

#include <utility>

#include "http/messages/message.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;

std::unique_ptr<httplib::ClientImpl> Connect(const ClientOptions& options) {
  if (!options.tls) return std::make_unique<httplib::ClientImpl>(options.host, options.port);
  auto client = std::make_unique<httplib::SSLClient>(options.host, options.port, options.cert_file,
                                                     options.key_file);
  if (!options.ca_file.empty()) client->set_ca_cert_path(options.ca_file);
  client->enable_server_certificate_verification(true);
  return client;
}

// What the library reports, in terms of what the caller can do about it.
Error Describe(httplib::Error error, const ClientOptions& options) {
  const std::string place = options.host + ":" + std::to_string(options.port);
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return {Code::kUnavailable, "cannot connect", place};
    case httplib::Error::Read:
      return {Code::kUnavailable, "no complete answer in time", place};
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return {Code::kIo, "TLS failed: " + httplib::to_string(error), place};
    default:
      return {Code::kIo, "the call failed: " + httplib::to_string(error), place};
  }
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(ClientOptions options) : options_(std::move(options)), client_(Connect(options_)) {
    client_->set_keep_alive(true);
    client_->set_tcp_nodelay(true);
    client_->set_connection_timeout(options_.connect_timeout);
    client_->set_read_timeout(options_.timeout);
    client_->set_write_timeout(options_.timeout);
    client_->set_follow_location(false);
    client_->set_url_encode(false);
    if (!options_.bearer_token.empty()) client_->set_bearer_token_auth(options_.bearer_token);
  }

  Result<Reply> Take(httplib::Result result) const {
    if (!result) return Describe(result.error(), options_);
    Reply reply;
    reply.status = result->status;
    reply.body = std::move(result->body);
    for (const auto& [name, value] : result->headers) reply.headers[LowerCase(name)] = value;
    if (const auto type = reply.headers.find("content-type"); type != reply.headers.end()) {
      reply.content_type = type->second;
    }
    return reply;
  }

  httplib::ClientImpl& client() { return *client_; }

 private:
  const ClientOptions options_;
  const std::unique_ptr<httplib::ClientImpl> client_;
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

Result<Reply> Client::Get(const std::string& path) {
  return impl_->Take(impl_->client().Get(path));
}

Result<Reply> Client::Post(const std::string& path, const std::string& body,
                           const std::string& content_type) {
  return impl_->Take(impl_->client().Post(path, body, content_type));
}

Result<Reply> Client::Delete(const std::string& path) {
  return impl_->Take(impl_->client().Delete(path));
}

ClientPool::ClientPool(ClientOptions options, std::size_t max_idle)
    : options_(std::move(options)), max_idle_(max_idle) {}
ClientPool::~ClientPool() = default;

Result<Reply> ClientPool::Get(const std::string& path) {
  std::unique_ptr<Client> client = Borrow();
  Result<Reply> reply = client->Get(path);
  GiveBack(std::move(client));
  return reply;
}

Result<Reply> ClientPool::Post(const std::string& path, const std::string& body,
                               const std::string& content_type) {
  std::unique_ptr<Client> client = Borrow();
  Result<Reply> reply = client->Post(path, body, content_type);
  GiveBack(std::move(client));
  return reply;
}

std::unique_ptr<Client> ClientPool::Borrow() {
  {
    const MutexLock lock(mu_);
    if (!idle_.empty()) {
      std::unique_ptr<Client> client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return std::make_unique<Client>(options_);
}

void ClientPool::GiveBack(std::unique_ptr<Client> client) {
  const MutexLock lock(mu_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(client));
}

}  // namespace muster::http
