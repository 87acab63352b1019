// Who is trusted, who we are, and what happens when either changes.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using muster::cluster::Code;

namespace {

// A server of one authority that tells who called.
struct Fixture {
  TempFolder folder;
  TestAuthority authority{"cluster-ca"};
  std::string ca = folder.File("ca.crt");
  std::string cert = folder.File("server.crt");
  std::string key = folder.File("server.key");

  Fixture() {
    authority.WriteCertificate(ca);
    authority.Issue({"kube-apiserver", {}, true}, cert, key);
  }
  static void Serve(TestServer& server) {
    server.routes().Get("/version", [](const httplib::Request& request, httplib::Response& reply) {
      reply.set_content(request.get_header_value("Authorization"), "text/plain");
    });
    server.Start();
  }
};

ApiRequest Version() { return {.path = "/version"}; }

}  // namespace

TEST_CASE("a server of the given CA is called with the token, over TLS", "[kube][client]") {
  Fixture fixture;
  TestServer server(fixture.cert, fixture.key);
  Fixture::Serve(server);
  ClientConfig config = server.Config();
  config.token = "abc";
  SECTION("CA from a file") { config.ca.file = fixture.ca; }
  SECTION("CA from memory") { config.ca.data = ReadFile(fixture.ca); }
  const auto client = MakeClient(config);
  for (int i = 0; i < 3; ++i) {
    const auto reply = client->Call(Version());
    INFO((reply.ok() ? std::string() : reply.error().ToString()));
    REQUIRE(reply.ok());
    CHECK(reply->status == 200);
    CHECK(reply->body == "Bearer abc");
  }
  CHECK(client->stats().connections_opened == 1);
}

TEST_CASE("who is not trusted gets nothing", "[kube][client]") {
  Fixture fixture;
  TestServer server(fixture.cert, fixture.key);
  Fixture::Serve(server);
  ClientConfig config = server.Config();
  config.token = "abc";
  SECTION("another CA") {
    TestAuthority("other-ca").WriteCertificate(fixture.folder.File("other.crt"));
    config.ca.file = fixture.folder.File("other.crt");
  }
  SECTION("another name") {
    config.ca.file = fixture.ca;
    config.tls_server_name = "api.elsewhere";
  }
  SECTION("a common name proves nothing") {
    config.ca.file = fixture.ca;
    config.tls_server_name = "kube-apiserver";
  }
  SECTION("the system's CAs") {}
  const auto client = MakeClient(config);
  const auto reply = client->Call(Version());
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kIo);
  CHECK(reply.error().message.starts_with("TLS failed: certificate verify failed"));
  CHECK(reply.error().ToString().find("abc") == std::string::npos);
}

TEST_CASE("insecure-skip-tls-verify trusts anybody", "[kube][client]") {
  Fixture fixture;
  TestServer server(fixture.cert, fixture.key);
  Fixture::Serve(server);
  ClientConfig config = server.Config();
  config.insecure_skip_tls_verify = true;
  const auto reply = MakeClient(config)->Call(Version());
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
}

TEST_CASE("tls-server-name is the name that the certificate must have", "[kube][client]") {
  Fixture fixture;
  fixture.authority.Issue({"", {"api.cluster"}, false}, fixture.cert, fixture.key);
  TestServer server(fixture.cert, fixture.key);
  Fixture::Serve(server);
  ClientConfig config = server.Config();
  config.ca.file = fixture.ca;
  REQUIRE_FALSE(MakeClient(config)->Call(Version()).ok());
  config.tls_server_name = "api.cluster";
  const auto reply = MakeClient(config)->Call(Version());
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
}

TEST_CASE("a client certificate is presented, and replaced when its files are", "[kube][client]") {
  Fixture fixture;
  const std::string cert = fixture.folder.File("client.crt");
  const std::string key = fixture.folder.File("client.key");
  fixture.authority.Issue({"muster", {}, false}, cert, key);
  TestServer server(fixture.cert, fixture.key, fixture.ca);
  Fixture::Serve(server);
  ClientConfig config = server.Config();
  config.ca.file = fixture.ca;

  SECTION("none: the server refuses") {
    const auto reply = MakeClient(config)->Call(Version());
    // By an alert, unless the end of the connection overtakes it.
    REQUIRE_FALSE(reply.ok());
  }
  SECTION("from files") {
    config.client_certificate.file = cert;
    config.client_key.file = key;
    const auto client = MakeClient(config);
    REQUIRE(client->Call(Version()).ok());
    REQUIRE(client->Call(Version()).ok());
    CHECK(client->stats().connections_opened == 1);
    fixture.authority.Issue({"muster-of-tomorrow", {}, false}, cert, key);
    REQUIRE(client->Call(Version()).ok());
    CHECK(client->stats().connections_opened == 2);
  }
  SECTION("from memory") {
    config.client_certificate.data = ReadFile(cert);
    config.client_key.data = ReadFile(key);
    CHECK(MakeClient(config)->Call(Version()).ok());
  }
  SECTION("of another authority: the server refuses") {
    TestAuthority("other-ca").Issue({"muster", {}, false}, cert, key);
    config.client_certificate.file = cert;
    config.client_key.file = key;
    const auto reply = MakeClient(config)->Call(Version());
    REQUIRE_FALSE(reply.ok());
  }
}

TEST_CASE("a replaced CA is read when the old one no longer fits", "[kube][client]") {
  Fixture fixture;
  ClientConfig config;
  const std::string mounted = fixture.folder.File("mounted.crt");
  TestAuthority("yesterday").WriteCertificate(mounted);
  TestServer server(fixture.cert, fixture.key);
  Fixture::Serve(server);
  config = server.Config();
  config.ca.file = mounted;
  const auto client = MakeClient(config);
  REQUIRE_FALSE(client->Call(Version()).ok());
  WriteFile(mounted, ReadFile(fixture.ca));
  const auto reply = client->Call(Version());
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
}

TEST_CASE("a client whose credentials cannot be read is not made", "[kube][client]") {
  Fixture fixture;
  struct Case {
    const char* name;
    std::function<void(ClientConfig&)> change;
    const char* want;
  };
  const std::string bad = fixture.folder.File("bad.pem");
  WriteFile(bad, "no certificate\n");
  const auto test = GENERATE_REF(values<Case>({
      {"CA is missing", [](ClientConfig& c) { c.ca.file = "/nonexistent/ca.crt"; },
       "/nonexistent/ca.crt: cannot be read: No such file or directory"},
      {"CA is no PEM", [&](ClientConfig& c) { c.ca.file = bad; },
       "certificate-authority: expected certificates as PEM"},
      {"certificate is no PEM",
       [&](ClientConfig& c) {
         c.client_certificate.file = bad;
         c.client_key.file = fixture.key;
       },
       "client-certificate: expected a certificate as PEM"},
      {"key is no PEM",
       [&](ClientConfig& c) {
         c.client_certificate.file = fixture.cert;
         c.client_key.file = bad;
       },
       "client-key: expected a private key as PEM, not encrypted"},
      {"key of another",
       [&](ClientConfig& c) {
         c.client_certificate.file = fixture.ca;
         c.client_key.file = fixture.key;
       },
       "client-key: is not the key of client-certificate"},
      {"token is missing", [](ClientConfig& c) { c.token_file = "/nonexistent/token"; },
       "/nonexistent/token: cannot be read: No such file or directory"},
  }));
  DYNAMIC_SECTION(test.name) {
    ClientConfig config;
    test.change(config);
    const auto client = ApiClient::Create(config, {});
    REQUIRE_FALSE(client.ok());
    CHECK_THAT(client.error().ToString(), Catch::StartsWith(test.want));
  }
}
