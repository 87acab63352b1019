// Tokens that are rotated under us, in virtual time.
#include "kube/api/credentials.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using std::chrono::seconds;

namespace {

struct CredentialsFixture {
  TempFolder folder;
  std::string file = folder.File("token");
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};

  TokenSource Source(const std::string& first = {}) {
    ClientConfig config;
    config.token = first;
    config.token_file = file;
    return TokenSource(config, [this] { return now; });
  }
  static std::string Get(TokenSource& source) {
    const auto token = source.Get();
    return token.ok() ? *token : token.error().ToString();
  }
};

}  // namespace

TEST_CASE("a token file is read again every minute", "[kube][credentials]") {
  CredentialsFixture fixture;
  WriteFile(fixture.file, "one\n");
  TokenSource source = fixture.Source();
  CHECK(CredentialsFixture::Get(source) == "one");
  WriteFile(fixture.file, " two ");
  fixture.now += seconds(59);
  CHECK(CredentialsFixture::Get(source) == "one");
  fixture.now += seconds(1);
  CHECK(CredentialsFixture::Get(source) == "two");
  WriteFile(fixture.file, "three");
  fixture.now += seconds(59);
  CHECK(CredentialsFixture::Get(source) == "two");
}

TEST_CASE("a token that is refused is read again at once", "[kube][credentials]") {
  CredentialsFixture fixture;
  WriteFile(fixture.file, "one");
  TokenSource source = fixture.Source();
  CHECK(CredentialsFixture::Get(source) == "one");
  CHECK_FALSE(source.Renew("one"));
  WriteFile(fixture.file, "two");
  CHECK(source.Renew("one"));
  CHECK(CredentialsFixture::Get(source) == "two");
  // Another call was refused with the old one.
  CHECK(source.Renew("one"));
  CHECK_FALSE(source.Renew("two"));
}

TEST_CASE("while the token file cannot be read, the last token stays", "[kube][credentials]") {
  CredentialsFixture fixture;
  WriteFile(fixture.file, "one");
  TokenSource source = fixture.Source();
  CHECK(CredentialsFixture::Get(source) == "one");
  const auto spoil = GENERATE(0, 1, 2);
  if (spoil == 0) std::filesystem::remove(fixture.file);
  if (spoil == 1) WriteFile(fixture.file, "\n");
  if (spoil == 2) WriteFile(fixture.file, "two\nX-Evil: 1");
  fixture.now += seconds(60);
  CHECK(CredentialsFixture::Get(source) == "one");
  CHECK_FALSE(source.Renew("one"));
  WriteFile(fixture.file, "three");
  fixture.now += seconds(60);
  CHECK(CredentialsFixture::Get(source) == "three");
}

TEST_CASE("the file wins over the token, which stands in for it", "[kube][credentials]") {
  CredentialsFixture fixture;
  TokenSource source = fixture.Source("first");
  CHECK(CredentialsFixture::Get(source) == "first");
  WriteFile(fixture.file, "one");
  CHECK(CredentialsFixture::Get(source) == "first");
  fixture.now += seconds(60);
  CHECK(CredentialsFixture::Get(source) == "one");
}

TEST_CASE("a token that never was readable is an error without its text", "[kube][credentials]") {
  CredentialsFixture fixture;
  TokenSource source = fixture.Source();
  CHECK(CredentialsFixture::Get(source) ==
        fixture.file + ": cannot be read: No such file or directory");
  WriteFile(fixture.file, "top secret");
  fixture.now += seconds(60);
  CHECK(CredentialsFixture::Get(source) == fixture.file + ": expected a token: one word of ASCII");
}

TEST_CASE("a token without a file does not change", "[kube][credentials]") {
  ClientConfig config;
  config.token = "abc";
  TokenSource source(config, {});
  CHECK(CredentialsFixture::Get(source) == "abc");
  CHECK_FALSE(source.Renew("abc"));
}
