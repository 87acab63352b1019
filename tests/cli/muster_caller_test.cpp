// Commands that call a Muster directly (--server).
#include "cli/reach/muster_caller.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "http/server/server.hpp"
#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

TEST_CASE("a token is not sent in clear text to another machine", "[cli]") {
  const TempFolder folder;
  const std::string file = folder.File("token");
  std::ofstream(file) << "secret\n";
  const auto run = [&](const std::string& server) {
    return Run({"get", "gangs", "--server", server, "--token-file", file});
  };
  for (const char* server : {"192.0.2.1:1", "http://muster.example:8889", "http://[2001:db8::1]:1",
                             "http://localhost.example:1/"}) {
    CAPTURE(server);
    const CliRun refused = run(server);
    CHECK(refused.status == kExitUsage);
    CHECK_THAT(refused.err,
               Catch::Contains("muster get: --token-file: a token is sent over https or to this "
                               "machine only: give --server https://HOST:PORT, or forward the "
                               "port (kubectl port-forward)\n"));
  }
  for (const char* server :
       {"127.0.0.1:1", "http://localhost:1", "http://[::1]:1", ":1", "1", "https://127.0.0.1:1"}) {
    CAPTURE(server);
    const CliRun sent = run(server);
    CHECK(sent.status == kExitFailed);
    CHECK_THAT(sent.err, Catch::Contains("no answer from http"));
  }
}

TEST_CASE("an answer that is not Muster's is said to be another's", "[cli]") {
  const struct {
    int status;
    const char* body;
  } cases[] = {{503, ""},   {502, "<html>bad gateway</html>"}, {404, "no such page\n"},
               {403, "{}"}, {200, "<html>sign in</html>"},     {200, ""}};
  for (const auto& one : cases) {
    http::Server proxy{http::ServerOptions()};
    proxy.Handle("GET", "/v1/gangs", [&one](const http::Request&) {
      return http::Response{.status = one.status, .body = one.body, .content_type = "text/html"};
    });
    REQUIRE(proxy.Start().ok());
    const std::string server = "http://127.0.0.1:" + std::to_string(proxy.port());
    for (const char* format : {"table", "json", "yaml"}) {
      CAPTURE(one.status, one.body, format);
      const CliRun run = Run({"get", "gangs", "-o", format, "--server", server});
      CHECK(run.status == kExitFailed);
      CHECK(run.out.empty());
      CHECK(run.err == "muster: " + server + " answered " + std::to_string(one.status) +
                           ", which is not Muster's answer; is a proxy in between?\n");
    }
  }
}

TEST_CASE("what Muster answers is passed on unchanged", "[cli]") {
  const auto no = AnswerOf("muster", 404, R"({"error": "there is no gang a/b", "place": ""})");
  REQUIRE_FALSE(no.ok());
  CHECK(no.error().code == cluster::Code::kNotFound);
  CHECK(no.error().ToString() == "there is no gang a/b");
  CHECK(AnswerOf("muster", 200, "\n{\"gangs\": []}").value() == "\n{\"gangs\": []}");
  CHECK(AnswerOf("muster", 404, "<html>").error().code == cluster::Code::kInvalidArgument);
  CHECK(AnswerOf("muster", 503, R"({"error": "no leader"})").error().code ==
        cluster::Code::kUnavailable);
}

}  // namespace
}  // namespace muster::cli::testing
