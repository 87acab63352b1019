// Certificates that a server makes for itself: whom they convince, what is read of them, and a new
// one in memory that takes the old one's place while the server runs.
#include "http/tls/serving_certificate.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include "http/client/client.hpp"
#include "http/server/server.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_seconds;

sys_seconds Hour() { return std::chrono::floor<hours>(std::chrono::system_clock::now()); }

ServingCertificate Made(const std::vector<std::string>& hosts, sys_seconds from = Hour(),
                        hours life = hours(24)) {
  auto made = MakeServingCertificate({hosts, "muster", from, from + life});
  INFO((made.ok() ? "" : made.error().ToString()));
  REQUIRE(made.ok());
  return *std::move(made);
}

// A server that presents what is held, and a caller who trusts the authorities of a file.
struct HeldWorld {
  explicit HeldWorld(const ServingCertificate& made)
      : held(std::make_shared<HeldCertificate>(made.pair)), test(Options()) {
    Trust(made.authority);
  }
  ServerOptions Options() const {
    ServerOptions options;
    options.tls.emplace();
    options.tls->held = held;
    options.tls->reload_interval = std::chrono::milliseconds(20);
    return options;
  }
  void Trust(const std::string& authorities) const {
    std::ofstream(folder.File("ca.pem")) << authorities;
  }
  bool Convinced(const std::string& host = "127.0.0.1") const {
    ClientOptions options;
    options.host = host;
    options.port = test.port();
    options.tls = true;
    options.ca_file = folder.File("ca.pem");
    return Client(options).Get("/healthz").ok();
  }

  TempFolder folder;
  std::shared_ptr<HeldCertificate> held;
  TestServer test;
};

TEST_CASE("a made certificate convinces who trusts its authority, of its hosts alone",
          "[http][tls]") {
  HeldWorld world(Made({"127.0.0.1"}));
  CHECK(world.Convinced());
  world.Trust(Made({"127.0.0.1"}).authority);
  CHECK_FALSE(world.Convinced());
  const HeldWorld other(Made({"127.0.0.2", "muster.example"}));
  CHECK_FALSE(other.Convinced());
}

TEST_CASE("a made certificate convinces nobody before and after its time", "[http][tls]") {
  const HeldWorld early(Made({"127.0.0.1"}, Hour() + hours(5)));
  CHECK_FALSE(early.Convinced());
  const HeldWorld late(Made({"127.0.0.1"}, Hour() - hours(48)));
  CHECK_FALSE(late.Convinced());
}

TEST_CASE("a new certificate in memory takes the old one's place, and a bad one does not",
          "[http][tls]") {
  const ServingCertificate old_one = Made({"127.0.0.1"});
  const ServingCertificate new_one = Made({"127.0.0.1"});
  HeldWorld world(old_one);
  REQUIRE(world.Convinced());
  // As caBundle is while one is replaced: both are trusted.
  world.Trust(old_one.authority + new_one.authority);
  CHECK(world.Convinced());
  world.held->Set(new_one.pair);
  CHECK(Eventually([&] { return world.test.server.stats().certificate_reloads == 1; }));
  CHECK(world.Convinced());
  world.Trust(old_one.authority);
  CHECK_FALSE(world.Convinced());
  world.Trust(new_one.authority);
  world.held->Set({new_one.pair.certificate, old_one.pair.key});
  CHECK_FALSE(world.test.server.ReloadCertificates().ok());
  CHECK(world.Convinced());
}

TEST_CASE("what a certificate says is read of it", "[http][tls]") {
  const sys_seconds from{seconds(1'900'000'000)};
  const ServingCertificate made =
      Made({"Muster.Example", "10.0.0.1", "2001:DB8:0::1"}, from, hours(8760));
  const auto term = ReadCertificateTerm(made.pair.certificate);
  REQUIRE(term.ok());
  CHECK(term->not_before == from);
  CHECK(term->not_after == from + hours(8760));
  CHECK(term->hosts == std::vector<std::string>{"10.0.0.1", "2001:db8::1", "muster.example"});
  for (const std::string host : {"Muster.Example", "10.0.0.1", "2001:DB8:0::1"}) {
    CHECK(std::binary_search(term->hosts.begin(), term->hosts.end(), CanonicalHost(host)));
  }
  CHECK_FALSE(ReadCertificateTerm("").ok());
  CHECK_FALSE(ReadCertificateTerm(made.pair.key).ok());
  CHECK_FALSE(ReadCertificateTerm(made.pair.certificate.substr(0, 200)).ok());
}

TEST_CASE("a pair is usable when the key is the certificate's", "[http][tls]") {
  const ServingCertificate one = Made({"a"});
  const ServingCertificate other = Made({"a"});
  CHECK(Usable(one.pair));
  CHECK_FALSE(Usable({one.pair.certificate, other.pair.key}));
  CHECK_FALSE(Usable({one.pair.certificate, ""}));
  CHECK_FALSE(Usable({}));
}

TEST_CASE("a bundle is split into its certificates", "[http][tls]") {
  const ServingCertificate one = Made({"a"});
  const ServingCertificate other = Made({"b"});
  CHECK(SplitCertificates("junk\n" + one.authority + "junk" + other.authority) ==
        std::vector<std::string>{one.authority, other.authority});
  CHECK(SplitCertificates("").empty());
  CHECK(SplitCertificates("-----BEGIN CERTIFICATE-----\nMII").empty());
}

TEST_CASE("no certificate is made of what is no host, or for no time", "[http][tls]") {
  for (const std::string host : {"", "a,DNS:b", "a b", "a_b", "*.example"}) {
    CAPTURE(host);
    CHECK_FALSE(MakeServingCertificate({{host}, "muster", Hour(), Hour() + hours(1)}).ok());
  }
  CHECK_FALSE(MakeServingCertificate({{}, "muster", Hour(), Hour() + hours(1)}).ok());
  CHECK_FALSE(MakeServingCertificate({{"a"}, "muster", Hour(), Hour()}).ok());
}

}  // namespace
}  // namespace muster::http::testing
