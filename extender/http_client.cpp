#include "extender/http_client.hpp"

#include <httplib.h>

#include <utility>

#include "extender/http_message.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;

std::unique_ptr<httplib::ClientImpl> Connect(const HttpClientOptions& options) {
  if (!options.tls) return std::make_unique<httplib::ClientImpl>(options.host, options.port);
  auto client = std::make_unique<httplib::SSLClient>(options.host, options.port, options.cert_file,
                                                     options.key_file);
  if (!options.ca_file.empty()) client->set_ca_cert_path(options.ca_file);
  client->enable_server_certificate_verification(true);
  return client;
}

// What the library reports, in terms of what the caller can do about it.
Error Describe(httplib::Error error, const HttpClientOptions& options) {
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

class HttpClient::Impl {
 public:
  explicit Impl(HttpClientOptions options)
      : options_(std::move(options)), client_(Connect(options_)) {
    client_->set_keep_alive(true);
    client_->set_tcp_nodelay(true);
    client_->set_connection_timeout(options_.connect_timeout);
    client_->set_read_timeout(options_.timeout);
    client_->set_write_timeout(options_.timeout);
    client_->set_follow_location(false);
    client_->set_url_encode(false);
  }

  Result<HttpReply> Take(httplib::Result result) const {
    if (!result) return Describe(result.error(), options_);
    HttpReply reply;
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
  const HttpClientOptions options_;
  const std::unique_ptr<httplib::ClientImpl> client_;
};

HttpClient::HttpClient(HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::Get(const std::string& path) {
  return impl_->Take(impl_->client().Get(path));
}

Result<HttpReply> HttpClient::Post(const std::string& path, const std::string& body,
                                   const std::string& content_type) {
  return impl_->Take(impl_->client().Post(path, body, content_type));
}

Result<HttpReply> HttpClient::Delete(const std::string& path) {
  return impl_->Take(impl_->client().Delete(path));
}

HttpClientPool::HttpClientPool(HttpClientOptions options, std::size_t max_idle)
    : options_(std::move(options)), max_idle_(max_idle) {}
HttpClientPool::~HttpClientPool() = default;

Result<HttpReply> HttpClientPool::Get(const std::string& path) {
  std::unique_ptr<HttpClient> client = Borrow();
  Result<HttpReply> reply = client->Get(path);
  GiveBack(std::move(client));
  return reply;
}

Result<HttpReply> HttpClientPool::Post(const std::string& path, const std::string& body,
                                       const std::string& content_type) {
  std::unique_ptr<HttpClient> client = Borrow();
  Result<HttpReply> reply = client->Post(path, body, content_type);
  GiveBack(std::move(client));
  return reply;
}

std::unique_ptr<HttpClient> HttpClientPool::Borrow() {
  {
    const MutexLock lock(mu_);
    if (!idle_.empty()) {
      std::unique_ptr<HttpClient> client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return std::make_unique<HttpClient>(options_);
}

void HttpClientPool::GiveBack(std::unique_ptr<HttpClient> client) {
  const MutexLock lock(mu_);
  if (idle_.size() < max_idle_) idle_.push_back(std::move(client));
}

}  // namespace muster::extender
