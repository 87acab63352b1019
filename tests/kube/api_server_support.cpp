#include "api_server_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

namespace muster::kube::testing {

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void WriteFile(const std::string& path, const std::string& text) {
  // Replaced, as a kubelet does it: a reader sees the old text or the new.
  const std::string fresh = path + ".new";
  std::ofstream(fresh, std::ios::binary) << text;
  REQUIRE(std::rename(fresh.c_str(), path.c_str()) == 0);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Base>
class WideServer final : public Base {
 public:
  using Base::Base;
  void Widen() { ::listen(this->svr_sock_, 256); }
};

template <typename Base, typename... Args>
void TestServer::Make(Args... args) {
  auto server = std::make_unique<WideServer<Base>>(args...);
  REQUIRE(server->is_valid());
  widen_ = [made = server.get()] { made->Widen(); };
  server_ = std::move(server);
}

TestServer::TestServer() : tls_(false) { Make<httplib::Server>(); }

TestServer::TestServer(const std::string& cert_file, const std::string& key_file,
                       const std::string& client_ca)
    : tls_(true) {
  Make<httplib::SSLServer>(cert_file.c_str(), key_file.c_str(),
                           client_ca.empty() ? nullptr : client_ca.c_str());
}

void TestServer::Start() {
  server_->new_task_queue = [] { return new httplib::ThreadPool(72); };
  server_->set_keep_alive_max_count(1'000'000);
  server_->set_keep_alive_timeout(1);
  server_->set_tcp_nodelay(true);
  const int port = server_->bind_to_any_port("127.0.0.1");
  REQUIRE(port > 0);
  widen_();
  port_ = static_cast<std::uint16_t>(port);
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  REQUIRE(Eventually([this] { return server_->is_running(); }));
}

TestServer::~TestServer() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
}

ClientConfig TestServer::Config() const {
  ClientConfig config;
  config.port = port_;
  config.tls = tls_;
  return config;
}

std::string RawConnection::ReadHead() const {
  std::string head;
  char byte = 0;
  while (!head.ends_with("\r\n\r\n")) {
    if (::recv(fd_, &byte, 1, 0) != 1) return {};
    head += byte;
  }
  return head;
}

int RawConnection::ReadByte() const {
  unsigned char byte = 0;
  return ::recv(fd_, &byte, 1, 0) == 1 ? byte : -1;
}

void RawConnection::Send(std::string_view bytes) const {
  static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void RawConnection::WaitForClose() const {
  std::array<char, 4096> bytes{};
  while (::recv(fd_, bytes.data(), bytes.size(), 0) > 0) {
  }
}

RawServer::RawServer(std::vector<Script> scripts) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  void* raw = &address;
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener_, static_cast<sockaddr*>(raw), size) == 0);
  REQUIRE(::listen(listener_, 16) == 0);
  REQUIRE(::getsockname(listener_, static_cast<sockaddr*>(raw), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, scripts = std::move(scripts)] {
    for (const Script& script : scripts) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      script(RawConnection(fd));
      ::close(fd);
      ++closed_;
    }
  });
}

RawServer::~RawServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

ClientConfig RawServer::Config() const {
  ClientConfig config;
  config.port = port_;
  config.tls = false;
  return config;
}

std::string Answer(const std::string& body, const std::string& more_headers) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         more_headers + "\r\n" + body;
}

std::unique_ptr<ApiClient> MakeClient(const ClientConfig& config, ApiClientOptions options) {
  auto client = ApiClient::Create(config, options);
  if (!client.ok()) FAIL(client.error().ToString());
  return *std::move(client);
}

}  // namespace muster::kube::testing
