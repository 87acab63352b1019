// Servers that break off, fall silent, lie about lengths or are not there; and proxies.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using muster::cluster::Code;
using muster::cluster::Mutex;
using muster::cluster::MutexLock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Reads one request and answers it.
void AnswerOnce(const RawConnection& connection, const std::string& body) {
  connection.ReadHead();
  connection.Send(Answer(body));
}

RawServer::Script Once(const std::string& body) {
  return [body](const RawConnection& connection) { AnswerOnce(connection, body); };
}

RawServer::Script Says(const std::string& bytes) {
  return [bytes](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send(bytes);
  };
}

// A server with two connections that `client` keeps, which swallow everything from the moment that
// its construction ends on; new ones work. So does a virtual address whose server is another one
// now.
class DyingServer {
 public:
  explicit DyingServer(bool answers_begin = false) {
    server_.routes().Get("/p", [&, answers_begin](const httplib::Request& request,
                                                  httplib::Response& reply) {
      if (!dead_) {
        ++arrived_;  // both at a time, so that neither takes the other's connection
        Eventually([&] { return arrived_ >= 2; });
        const MutexLock lock(mu_);
        old_.insert(request.remote_port);
      } else if (Old(request.remote_port)) {
        if (!answers_begin) Wait();
        if (answers_begin)
          reply.set_content_provider(100, "text/plain", [&](auto, auto, auto&) { return Wait(); });
        return;
      }
      reply.set_content("alive", "text/plain");
    });
    server_.Start();
    client = MakeClient(server_.Config());
    std::thread other([&] { static_cast<void>(client->Call({.path = "/p"})); });
    static_cast<void>(client->Call({.path = "/p"}));
    other.join();
    REQUIRE(client->stats().idle_connections == 2);
    dead_ = true;
  }
  ~DyingServer() { done_ = true; }

 private:
  bool Wait() const {
    Eventually([&] { return done_.load(); });
    return false;
  }
  bool Old(int port) {
    const MutexLock lock(mu_);
    return old_.contains(port);
  }

  Mutex mu_;
  std::set<int> old_ MUSTER_GUARDED_BY(mu_);  // ports of the connections of before
  std::atomic<int> arrived_ = 0;
  std::atomic<bool> dead_ = false;
  std::atomic<bool> done_ = false;
  TestServer server_;

 public:
  std::unique_ptr<ApiClient> client;
};

std::string CallOf(const muster::cluster::Result<ApiReply>& reply) {
  return reply.ok() ? std::to_string(reply->status) + " " + reply->body : reply.error().ToString();
}

}  // namespace

TEST_CASE("a connection that the server closed while idle is not used again", "[kube][client]") {
  RawServer server({Once("one"), Once("two")});
  const auto client = MakeClient(server.Config());
  CHECK(CallOf(client->Call({.path = "/p"})) == "200 one");
  REQUIRE(Eventually([&] { return server.closed() == 1; }));
  const auto reply = client->Call({.method = GENERATE(Method::kGet, Method::kPost), .path = "/p"});
  CHECK(CallOf(reply) == "200 two");
  CHECK(client->stats().connections_opened == 2);
}

TEST_CASE("a GET is repeated when its kept-alive connection closes under it; a write is not",
          "[kube][client]") {
  // The server takes the second request and closes without a word.
  const auto greedy = [](const RawConnection& connection) {
    AnswerOnce(connection, "one");
    connection.ReadHead();
  };
  RawServer server({greedy, Once("two")});
  const auto client = MakeClient(server.Config());
  CHECK(CallOf(client->Call({.path = "/p"})) == "200 one");
  SECTION("GET") {
    CHECK(CallOf(client->Call({.path = "/p"})) == "200 two");
    CHECK(client->stats().stale_retries == 1);
  }
  SECTION("POST") {
    const auto reply = client->Call({.method = Method::kPost, .path = "/p", .body = "{}"});
    REQUIRE_FALSE(reply.ok());
    CHECK(reply.error().code == Code::kUnavailable);
    CHECK(client->stats().stale_retries == 0);
  }
}

TEST_CASE("a GET on a fresh connection is not repeated", "[kube][client]") {
  RawServer server({[](const RawConnection& connection) { connection.ReadHead(); }, Once("two")});
  const auto client = MakeClient(server.Config());
  const auto reply = client->Call({.path = "/p"});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
  CHECK(client->stats().connections_opened == 1);
}

TEST_CASE("kept-alive connections go when one of them stays silent", "[kube][client]") {
  DyingServer server;
  CHECK_FALSE(server.client->Call({.path = "/p", .timeout = milliseconds(200)}).ok());
  CHECK(server.client->stats().idle_connections == 0);
  CHECK(CallOf(server.client->Call({.path = "/p"})) == "200 alive");
}

TEST_CASE("a lease call after one that failed goes over a new connection", "[kube][client]") {
  DyingServer server(true);
  const auto look = [&](milliseconds timeout) {
    return server.client->Call({.lane = Lane::kLease, .path = "/p", .timeout = timeout});
  };
  CHECK_FALSE(look(milliseconds(200)).ok());
  CHECK(server.client->stats().idle_connections == 1);  // of it nothing is known
  CHECK(CallOf(look(seconds(5))) == "200 alive");
  CHECK(server.client->stats().connections_opened == 3);
  CHECK(CallOf(look(seconds(5))) == "200 alive");
  CHECK(server.client->stats().connections_opened == 3);
}

TEST_CASE("an answer that is not whole is none", "[kube][client]") {
  struct Case {
    const char* name;
    std::string bytes;
    Code want;
  };
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto test = GENERATE_COPY(values<Case>({
      {"shorter than announced", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
       Code::kUnavailable},
      {"head broken off", "HTTP/1.1 200 OK\r\nContent-Le", Code::kUnavailable},
      {"no chunk", chunked, Code::kUnavailable},
      {"in a chunk", chunked + "8\r\nhalf", Code::kUnavailable},
      {"after a chunk", chunked + "4\r\nhalf", Code::kUnavailable},
      {"in a chunk's end", chunked + "4\r\nhalf\r", Code::kUnavailable},
      {"between chunks", chunked + "4\r\nhalf\r\n", Code::kUnavailable},
      {"in the last chunk", chunked + "4\r\nhalf\r\n0\r\n", Code::kUnavailable},
      {"malformed chunk's end", chunked + "4\r\nhalfXX\r\n0\r\n\r\n", Code::kUnavailable},
      {"nothing", "", Code::kUnavailable},
      {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", Code::kIo},
      {"endless status line", "HTTP/1.1 200 " + std::string(100'000, 'x') + "\r\n\r\n", Code::kIo},
      {"packed in a way that nobody asked for",
       "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nbody", Code::kIo},
      {"not packed at all",
       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody", Code::kIo},
      {"packed, and broken off",
       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
       Code::kUnavailable},
      {"endless chunk line", chunked + std::string(200'000, '0'), Code::kUnavailable},
      {"endless head", "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n",
       Code::kIo},
  }));
  DYNAMIC_SECTION(test.name) {
    RawServer server({Says(test.bytes)});
    const auto client = MakeClient(server.Config());
    const auto reply = client->Call({.path = "/p"});
    INFO(CallOf(reply));
    REQUIRE_FALSE(reply.ok());
    CHECK(reply.error().code == test.want);
    CHECK(client->stats().idle_connections == 0);
  }
}

TEST_CASE("what is complete is taken, and kept where it says where it ends", "[kube][client]") {
  struct Case {
    const char* name;
    std::string bytes;
    std::string want;
    std::size_t idle;
  };
  const auto test = GENERATE(values<Case>({
      {"by length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "200 body", 1},
      {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 ", 1},
      {"by chunks",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
       "200 body", 1},
      {"by chunks with extensions",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n004;a=b\r\nbody\r\n0;c=d\r\n\r\n",
       "200 body", 1},
      {"no chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 ", 1},
      {"by the end", "HTTP/1.1 200 OK\r\n\r\nbody", "200 body", 0},
      {"to be closed", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody",
       "200 body", 0},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", "200 body", 0},
      {"more than the answer",
       "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n", "200 body", 0},
      {"after 100", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "204 ", 1},
  }));
  DYNAMIC_SECTION(test.name) {
    std::atomic<bool> done = false;
    RawServer server({[&](const RawConnection& connection) {
      Says(test.bytes)(connection);
      if (test.name != std::string("by the end")) Eventually([&] { return done.load(); });
    }});
    const auto client = MakeClient(server.Config());
    CHECK(CallOf(client->Call({.path = "/p"})) == test.want);
    CHECK(client->stats().idle_connections == test.idle);
    done = true;
  }
}

TEST_CASE("answers larger than the limit are refused, packed ones too", "[kube][client]") {
  TestServer server;
  server.routes().Get("/p", [](const httplib::Request&, httplib::Response& reply) {
    reply.set_content(std::string((std::size_t{2} << 20) + 1, 'x'), "application/json");
  });
  server.Start();
  ApiClientOptions options;
  options.max_body = std::size_t{2} << 20;
  const auto client = MakeClient(server.Config(), options);
  const auto reply = client->Call({.lane = GENERATE(Lane::kGang, Lane::kList), .path = "/p"});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kExhausted);
  CHECK(reply.error().message == "the answer is larger than 2 MiB");
}

TEST_CASE("the timeout is of the whole call, however much trickles in", "[kube][client]") {
  const bool trickle = GENERATE(false, true);
  std::atomic<bool> done = false;
  RawServer server({[&](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (!done) {
      if (trickle) connection.Send("x");
      std::this_thread::sleep_for(milliseconds(1));
    }
  }});
  const auto client = MakeClient(server.Config());
  const auto reply = client->Call({.path = "/p", .timeout = milliseconds(100)});
  done = true;
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
  CHECK(reply.error().message == "no complete answer in time");
}

TEST_CASE("where nobody listens, nothing is sent", "[kube][client]") {
  ClientConfig config;
  {
    RawServer gone({});
    config = gone.Config();
  }
  const auto client = MakeClient(config);
  const auto reply = client->Call({.method = Method::kPost, .path = "/p", .body = "{}"});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
  CHECK_THAT(reply.error().message, Catch::StartsWith("cannot connect: "));
  CHECK(client->stats().lanes[static_cast<std::size_t>(Lane::kGang)].by_class[0] == 1);
}

TEST_CASE("a plain server that is called by TLS is not trusted", "[kube][client]") {
  RawServer server({[](const RawConnection& connection) {
    connection.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    connection.WaitForClose();
  }});
  ClientConfig config = server.Config();
  config.tls = true;
  const auto reply = MakeClient(config)->Call({.path = "/p"});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kIo);
}

TEST_CASE("calls work beyond 1,024 file descriptors", "[kube][client]") {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 2'048);
  if (limit.rlim_cur < 1'200 || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    WARN("this machine allows too few file descriptors");
    return;
  }
  std::vector<int> held;
  while (held.empty() || held.back() < 1'100)
    held.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  {
    RawServer server({[](const RawConnection& connection) {
      AnswerOnce(connection, "one");
      AnswerOnce(connection, "two");
    }});
    const auto client = MakeClient(server.Config());
    CHECK(CallOf(client->Call({.path = "/p"})) == "200 one");
    CHECK(CallOf(client->Call({.path = "/p"})) == "200 two");
    CHECK(client->stats().connections_opened == 1);
  }
  for (const int fd : held) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a plain server is asked through the proxy by its whole URL", "[kube][client]") {
  std::string head;
  RawServer proxy({[&](const RawConnection& connection) {
    head = connection.ReadHead();
    connection.Send(Answer("proxied"));
  }});
  ClientConfig config;
  config.host = "api.cluster";
  config.port = 8080;
  config.tls = false;
  config.path_prefix = "/k8s";
  config.proxy = muster::http::Proxy{"127.0.0.1", proxy.port(), "ann", "p@ss"};
  CHECK(CallOf(MakeClient(config)->Call({.path = "/p"})) == "200 proxied");
  CHECK_THAT(head, Catch::StartsWith("GET http://api.cluster:8080/k8s/p HTTP/1.1\r\n"));
  CHECK_THAT(head, Catch::Contains("Proxy-Authorization: Basic YW5uOnBAc3M=\r\n"));
  CHECK_THAT(head, Catch::Contains("Host: api.cluster:8080\r\n"));
}

TEST_CASE("TLS goes through the proxy's tunnel", "[kube][client]") {
  std::string head;
  ClientConfig config;
  config.host = "api.cluster";
  config.port = 6443;
  config.token = "abc";
  SECTION("once it is open") {
    std::atomic<bool> greeted = false;
    RawServer proxy({[&](const RawConnection& connection) {
      head = connection.ReadHead();
      connection.Send("HTTP/1.1 200 Connection established\r\n\r\n");
      // A TLS record of the handshake comes next; this end cannot answer it.
      greeted = connection.ReadByte() == 0x16;
    }});
    config.proxy = muster::http::Proxy{"127.0.0.1", proxy.port(), "ann", "p@ss"};
    const auto reply = MakeClient(config)->Call({.path = "/p"});
    REQUIRE_FALSE(reply.ok());
    CHECK(reply.error().code == Code::kIo);
    CHECK(greeted);
    CHECK(head ==
          "CONNECT api.cluster:6443 HTTP/1.1\r\nHost: api.cluster:6443\r\n"
          "Proxy-Authorization: Basic YW5uOnBAc3M=\r\n\r\n");
  }
  SECTION("and nothing is said when it stays shut") {
    RawServer proxy({Says("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")});
    config.proxy = muster::http::Proxy{"127.0.0.1", proxy.port(), "", ""};
    const auto reply = MakeClient(config)->Call({.path = "/p"});
    REQUIRE_FALSE(reply.ok());
    CHECK(reply.error().code == Code::kUnavailable);
    CHECK(reply.error().message == "refuses to connect to api.cluster:6443: HTTP 407");
  }
}
