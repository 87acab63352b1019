// TLS and mTLS of the HTTP server: who gets in, with which versions, and certificates that change
// while it runs.
#include <openssl/ssl.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/client/client.hpp"
#include "http/server/server.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;

bool Ends(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Moved into place, as an update of a mounted secret is.
void Replace(const std::string& from, const std::string& to) { std::filesystem::rename(from, to); }

TEST_CASE("TLS 1.2 and 1.3 are spoken, older versions are not", "[http][tls]") {
  TlsWorld world;
  TestServer test(world.Plain());
  TlsCaller caller = world.Caller(test.port());
  CHECK(caller.Get("/healthz").version == "TLSv1.3");
  caller.max_version = TLS1_2_VERSION;
  const TlsCall old_enough = caller.Get("/healthz");
  CHECK(old_enough.version == "TLSv1.2");
  CHECK(Ends(old_enough.reply, "ok"));
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    caller.max_version = version;
    CHECK_FALSE(caller.Get("/healthz").handshake);
  }
  CHECK(Eventually([&] { return test.server.stats().tls_failures == 2; }));
}

TEST_CASE("our client verifies the server and keeps the connection", "[http][tls]") {
  TlsWorld world;
  TestServer test(world.Plain());
  ClientOptions options;
  options.port = test.port();
  options.tls = true;
  options.ca_file = world.folder.File("ca.pem");
  Client client(options);
  for (int i = 0; i < 20; ++i) {
    const auto reply = client.Post("/echo", std::string(100'000, 'x'));
    INFO((reply.ok() ? "" : reply.error().ToString()));
    REQUIRE(reply.ok());
    CHECK(reply->body.size() == 100'000);
  }
  CHECK(test.server.stats().accepted == 1);

  TestAuthority other("another authority");
  other.WriteCertificate(world.folder.File("other.pem"));
  options.ca_file = world.folder.File("other.pem");
  Client distrustful(options);
  const auto refused = distrustful.Get("/healthz");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == cluster::Code::kIo);
}

TEST_CASE("only clients of the right authority get in", "[http][tls]") {
  TlsWorld world;
  TestAuthority stranger("test authority");  // the same name, another key
  world.IssueClient(world.authority, {"system:kube-scheduler", {"scheduler.local"}}, "good");
  world.IssueClient(stranger, {"system:kube-scheduler", {}}, "bad");
  TestServer test(world.Mutual());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsCaller good = world.Caller(test.port(), "good");
    good.max_version = version;
    CHECK(Ends(good.Get("/who").reply, "system:kube-scheduler@127.0.0.1"));
    TlsCaller bad = world.Caller(test.port(), "bad");
    bad.max_version = version;
    CHECK(bad.Get("/who").reply.empty());
    TlsCaller none = world.Caller(test.port());
    none.max_version = version;
    CHECK(none.Get("/who").reply.empty());
  }
  CHECK(Eventually([&] { return test.server.stats().tls_failures == 4; }));
  CHECK(test.server.stats().requests == 2);
}

TEST_CASE("a client's certificate tells its organisations", "[http][tls]") {
  TlsWorld world;
  world.IssueClient(world.authority, {"ann", {}, false, {"ops", "sch\xc3\xb6n", "a\nb"}}, "ann");
  TestServer test(world.Mutual());
  CHECK(Ends(world.Caller(test.port(), "ann").Get("/who").reply,
             "ann@127.0.0.1 of ops of sch\xc3\xb6n"));
}

TEST_CASE("a client's certificate may be optional", "[http][tls]") {
  TlsWorld world;
  world.IssueClient(world.authority, {"", {"tool.local"}}, "tool");
  ServerOptions options = world.Mutual();
  options.tls->require_client_cert = false;
  TestServer test(options);
  CHECK(Ends(world.Caller(test.port()).Get("/who").reply, "\r\n\r\n@127.0.0.1"));
  CHECK(Ends(world.Caller(test.port(), "tool").Get("/who").reply, "tool.local@127.0.0.1"));
}

TEST_CASE("a list of allowed clients admits by common name or DNS name", "[http][tls]") {
  TlsWorld world;
  world.IssueClient(world.authority, {"system:kube-scheduler", {}}, "scheduler");
  world.IssueClient(world.authority, {"x", {"a.local", "standby.local"}}, "standby");
  world.IssueClient(world.authority, {"system:kube-schedule", {"standby.local.evil"}}, "outsider");
  ServerOptions options = world.Mutual();
  options.tls->allowed_clients = {"system:kube-scheduler", "standby.local"};
  TestServer test(options);
  CHECK(Ends(world.Caller(test.port(), "scheduler").Get("/who").reply,
             "system:kube-scheduler@127.0.0.1"));
  CHECK(Ends(world.Caller(test.port(), "standby").Get("/who").reply, "standby.local@127.0.0.1"));
  const TlsCall refused = world.Caller(test.port(), "outsider").Get("/who");
  CHECK(refused.reply.rfind("HTTP/1.1 403 Forbidden\r\n", 0) == 0);
  CHECK(refused.reply.find("not on the list of allowed clients") != std::string::npos);
  CHECK(test.server.stats().refused_client == 1);
  CHECK(test.server.stats().requests == 2);
}

TEST_CASE("a session is never resumed, so a changed authority holds at once", "[http][tls]") {
  TlsWorld world;
  world.IssueClient(world.authority, {"c", {}}, "c");
  TestServer test(world.Mutual());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsCaller caller = world.Caller(test.port(), "c");
    caller.max_version = version;
    const TlsCall third = caller.Get("/who", 3);
    CHECK(third.handshake);
    CHECK_FALSE(third.resumed);
  }
}

TEST_CASE("changed certificates are picked up without a restart", "[http][tls]") {
  TlsWorld world;
  TestServer test(world.Plain());
  const TlsCaller caller = world.Caller(test.port());
  REQUIRE(caller.Get("/healthz").server_name == "muster");

  world.authority.Issue({"renewed", {}, true}, world.folder.File("new.pem"),
                        world.folder.File("new-key.pem"));
  Replace(world.folder.File("new-key.pem"), world.folder.File("key.pem"));
  Replace(world.folder.File("new.pem"), world.folder.File("cert.pem"));
  CHECK(Eventually([&] { return caller.Get("/healthz").server_name == "renewed"; }));
  CHECK(test.server.stats().certificate_reloads >= 1);
}

TEST_CASE("a bad new certificate leaves the old one in place and says so", "[http][tls]") {
  TlsWorld world;
  ServerOptions options = world.Plain();
  cluster::Mutex mu;
  std::vector<std::string> events;
  options.on_event = [&](const std::string& event) {
    const cluster::MutexLock lock(mu);
    events.push_back(event);
  };
  TestServer test(options);
  std::ofstream(world.folder.File("cert.pem")) << "this is not a certificate\n";
  const auto told = [&] {
    const cluster::MutexLock lock(mu);
    return !events.empty() && events.back().find("the old ones stay") != std::string::npos &&
           events.back().find(world.folder.File("cert.pem")) != std::string::npos;
  };
  CHECK(Eventually(told));
  CHECK(world.Caller(test.port()).Get("/healthz").server_name == "muster");

  const cluster::Status again = test.server.ReloadCertificates();
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().place == world.folder.File("cert.pem"));

  world.authority.Issue({"repaired", {}, true}, world.folder.File("cert.pem"),
                        world.folder.File("key.pem"));
  CHECK(test.server.ReloadCertificates().ok());
  CHECK(world.Caller(test.port()).Get("/healthz").server_name == "repaired");
}

TEST_CASE("a new client authority replaces the old one", "[http][tls]") {
  TlsWorld world;
  TestAuthority next("next authority");
  world.IssueClient(world.authority, {"before", {}}, "before");
  world.IssueClient(next, {"after", {}}, "after");
  TestServer test(world.Mutual());
  CHECK(Ends(world.Caller(test.port(), "before").Get("/who").reply, "before@127.0.0.1"));
  CHECK(world.Caller(test.port(), "after").Get("/who").reply.empty());
  next.WriteCertificate(world.folder.File("ca.pem"));
  REQUIRE(test.server.ReloadCertificates().ok());
  CHECK(world.Caller(test.port(), "before").Get("/who").reply.empty());
  CHECK(Ends(world.Caller(test.port(), "after").Get("/who").reply, "after@127.0.0.1"));
}

TEST_CASE("wrong TLS settings are refused at the start, naming the file", "[http][tls]") {
  TlsWorld world;
  world.authority.Issue({"x", {}}, world.folder.File("x.pem"), world.folder.File("x-key.pem"));
  std::ofstream(world.folder.File("empty.pem")) << "";
  struct Case {
    std::string cert, key, client_ca, want_place;
  };
  const Case test = GENERATE(values<Case>({{"none.pem", "key.pem", "", "none.pem"},
                                           {"cert.pem", "none.pem", "", "none.pem"},
                                           {"cert.pem", "x-key.pem", "", "x-key.pem"},
                                           {"cert.pem", "key.pem", "empty.pem", "empty.pem"}}));
  ServerOptions options;
  options.tls.emplace();
  options.tls->cert_file = world.folder.File(test.cert);
  options.tls->key_file = world.folder.File(test.key);
  if (!test.client_ca.empty()) options.tls->client_ca_file = world.folder.File(test.client_ca);
  Server server(options);
  const cluster::Status started = server.Start();
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().place == world.folder.File(test.want_place));
}

TEST_CASE("allowed clients without required certificates are refused at the start", "[http][tls]") {
  TlsWorld world;
  ServerOptions options = world.Plain();
  options.tls->allowed_clients = {"somebody"};
  Server server(options);
  CHECK_FALSE(server.Start().ok());
}

TEST_CASE("plain HTTP on the TLS port gets an answer that says so", "[http][tls]") {
  TlsWorld world;
  TestServer test(world.Plain());
  RawCaller caller(test.port());
  const RawReply reply = caller.Call(GetRequest("/healthz"));
  CHECK(reply.status == 400);
  CHECK(reply.body == "this port speaks TLS: use https instead\n");
}

TEST_CASE("handshakes that are never finished delay nobody and end", "[http][tls][attack]") {
  TlsWorld world;
  ServerOptions options = world.Plain();
  options.first_byte_timeout = milliseconds(400);
  TestServer test(options);
  std::vector<std::unique_ptr<RawCaller>> half;
  for (int i = 0; i < 100; ++i) {
    half.push_back(std::make_unique<RawCaller>(test.port()));
    REQUIRE(half.back()->Send(std::string("\x16\x03\x01\x02\x00\x01", 6)));
  }
  CHECK(Ends(world.Caller(test.port()).Get("/healthz").reply, "ok"));
  for (const auto& caller : half) CHECK(caller->ClosedByServer());
  CHECK(test.Quiet());
  CHECK(test.server.stats().workers < 20);
}

}  // namespace
}  // namespace muster::http::testing
