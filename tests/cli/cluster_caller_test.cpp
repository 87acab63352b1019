// Commands that reach Muster through the API server of its cluster, as kubectl's plugin does.
#include "cli/reach/cluster_caller.hpp"

#include <httplib.h>
#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/reach/kubeconfig.hpp"
#include "tests/extender/page_server.hpp"
#include "tests/http/tls_test_support.hpp"
#include "tests/kube/api_server_support.hpp"

namespace muster::cli::testing {
namespace {

using cluster::Code;
using extender::testing::PageServer;
using http::testing::TempFolder;
using kube::FakeApi;
using kube::Method;
using kube::Refusal;
using kube::Reply;

constexpr const char* kProxy =
    "/api/v1/namespaces/muster-system/services/http:muster-api:api/proxy";
constexpr const char* kOnCall =
    "/api/v1/namespaces/muster-system/serviceaccounts/muster-oncall/token";
constexpr const char* kOfTeam = "/api/v1/namespaces/team-a/serviceaccounts/muster-oncall/token";

std::string TokenReply(const std::string& token) {
  return R"({"kind": "TokenRequest", "status": {"token": ")" + token + "\"}}";
}

// An API server with its service proxy before a Muster; whose context is namespace team-a.
struct Cluster {
  Cluster() {
    httplib::Server& routes = server.routes();
    routes.Post(R"(/api/v1/namespaces/([^/]+)/serviceaccounts/muster-oncall/token)",
                [this](const httplib::Request& request, httplib::Response& response) {
                  token_requests.push_back(request.body);
                  const auto token = tokens.find(request.matches[1]);
                  response.status = token == tokens.end() ? 403 : 201;
                  response.set_content(token == tokens.end()
                                           ? Refusal(403, "serviceaccounts is forbidden").body
                                           : TokenReply(token->second),
                                       "application/json");
                });
    const auto pass_on = [this](const httplib::Request& request, httplib::Response& response) {
      PassOn(request, &response);
    };
    routes.Get(std::string(kProxy) + "(/.*)", pass_on);
    routes.Post(std::string(kProxy) + "(/.*)", pass_on);
    server.Start();
    std::ofstream(kubeconfig) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                 "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:"
                              << server.port()
                              << "\"}}]\ncontexts: [{name: c, context: {cluster: c, user: u, "
                                 "namespace: team-a}}]\nusers: [{name: u, user: {}}]\n";
  }

  // As an API server does: the caller's own credentials stay behind.
  void PassOn(const httplib::Request& request, httplib::Response* response) {
    httplib::Headers headers = {{"X-Forwarded-For", "192.0.2.1"}};
    if (request.has_header("X-Muster-Token"))
      headers.emplace("X-Muster-Token", request.get_header_value("X-Muster-Token"));
    std::string path = request.matches[1];
    const std::size_t query = request.target.find('?');
    if (query != std::string::npos) path += request.target.substr(query);
    httplib::Client muster("127.0.0.1", pages.server.port());
    const auto reply = request.method == "GET"
                           ? muster.Get(path.c_str(), headers)
                           : muster.Post(path.c_str(), headers, request.body,
                                         request.get_header_value("Content-Type").c_str());
    response->status = reply->status;
    response->set_content(reply->body, reply->get_header_value("Content-Type").c_str());
  }

  // What a command prints, with the kubeconfig; as kubectl's plugin.
  std::string Run(std::vector<std::string> words, int want, const std::string& program = kPlugin) {
    words.insert(words.end(), {"--kubeconfig", kubeconfig});
    std::ostringstream out;
    std::ostringstream err;
    const int status = RunCli(words, {out, err, 0, program});
    INFO(out.str() + err.str());
    CHECK(status == want);
    return out.str() + err.str();
  }

  std::map<std::string, std::string> tokens;  // by namespace of the account
  std::vector<std::string> token_requests;
  PageServer pages;
  kube::testing::TestServer server;
  TempFolder folder;
  const std::string kubeconfig = folder.File("kubeconfig");
};

TEST_CASE("doctor prints the same findings as lines, JSON and YAML", "[cli][doctor]") {
  Cluster cluster;
  const std::string lines = cluster.Run({"doctor"}, kExitFailed);
  CHECK_THAT(lines, Catch::StartsWith("fault    API server: "));
  const std::string what = lines.substr(9 + std::string("API server: ").size());
  rapidjson::Document json;
  json.Parse(cluster.Run({"doctor", "-o", "json"}, kExitFailed).c_str());
  REQUIRE(json.IsObject());
  REQUIRE(json["findings"].Size() == 1);
  const auto& finding = json["findings"][0];
  CHECK(std::string(finding["kind"].GetString()) == "fault");
  CHECK(std::string(finding["check"].GetString()) == "API server");
  CHECK_THAT(what, Catch::StartsWith(finding["what"].GetString()));
  CHECK_THAT(cluster.Run({"doctor", "-o", "yaml"}, kExitFailed),
             Catch::StartsWith("findings:\n- kind: fault\n"));
  CHECK_THAT(cluster.Run({"doctor", "-o", "csv"}, kExitUsage), Catch::Contains("\"csv\""));
}

TEST_CASE("kubectl muster reads what the token of its service account may read", "[cli][plugin]") {
  Cluster cluster;
  cluster.tokens["muster-system"] = "oncall";
  cluster.pages.rights = {"oncall list gangs",       "oncall list gangs team-a",
                          "oncall get gangs team-a", "oncall list queues",
                          "oncall get nodes",        "oncall create whatifs"};
  const std::string all = cluster.Run({"get", "gangs", "-A"}, kExitOk);
  CHECK_THAT(all, Catch::Contains("p-team-a") && Catch::Contains("p-team-b"));
  REQUIRE(cluster.token_requests.size() == 1);
  CHECK(cluster.token_requests[0] ==
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{)"
        R"("audiences":["muster.dev"],"expirationSeconds":600}})");
  // Without -A the namespace of the context, as with kubectl.
  const std::string own = cluster.Run({"get", "gang"}, kExitOk);
  CHECK_THAT(own, Catch::Contains("p-team-a") && !Catch::Contains("p-team-b"));
  CHECK_THAT(cluster.Run({"get", "gangs"}, kExitOk, kProgram), Catch::Contains("p-team-b"));
  CHECK_THAT(cluster.Run({"explain", "gang", "p-team-a"}, kExitOk), Catch::Contains("p-team-a"));
  CHECK_THAT(cluster.Run({"get", "queue", "-o", "json"}, kExitOk), Catch::StartsWith("{"));
  const std::string job = cluster.folder.File("job.yaml");
  std::ofstream(job) << "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
                        "spec: {schedulerName: muster, containers: [{name: c, image: i}]}\n";
  CHECK_THAT(cluster.Run({"whatif", "-f", job}, kExitOk), Catch::Contains("gang"));
  CHECK_THAT(cluster.Run({"get", "nodes"}, kExitFailed),
             Catch::Contains("kubectl muster: oncall may not list nodes.muster.dev: bind"));
  CHECK_THAT(cluster.Run({"submit", "-f", job}, kExitFailed), Catch::Contains("kubectl apply"));
}

TEST_CASE("who may take a token in one namespace alone sees that namespace", "[cli][plugin]") {
  Cluster cluster;
  cluster.tokens["team-a"] = "team";
  cluster.pages.rights = {"team list gangs team-a", "team get gangs team-a"};
  const std::string all = cluster.Run({"get", "gangs", "-A"}, kExitOk);
  CHECK_THAT(all, Catch::Contains("p-team-a") && !Catch::Contains("p-team-b"));
  CHECK_THAT(cluster.Run({"explain", "gang", "team-b/p-team-b"}, kExitFailed),
             Catch::Contains("team may not get gangs.muster.dev \"p-team-b\" in namespace team-b"));
}

TEST_CASE("without a token only public pages are answered, and it is said why", "[cli][plugin]") {
  Cluster cluster;
  CHECK_THAT(cluster.Run({"get", "gangs", "-A"}, kExitFailed),
             Catch::Contains("the request to list gangs.muster.dev does not say who sends it") &&
                 Catch::Contains("you have no token for Muster: HTTP 403"));
  CHECK(cluster.token_requests.size() == 2);
  cluster.pages.public_pages = {"gangs"};
  CHECK_THAT(cluster.Run({"get", "gangs", "-A"}, kExitOk), Catch::Contains("p-team-b"));
  CHECK_THAT(
      cluster.Run({"get", "gangs", "--service-account", "team-b/muster-oncall"}, kExitFailed),
      Catch::Contains("no token of service account team-b/muster-oncall: HTTP 403"));
  const std::string file = cluster.folder.File("token");
  std::ofstream(file) << "mine\n";
  CHECK_THAT(cluster.Run({"get", "queues", "--token-file", file}, kExitUsage),
             Catch::Contains("kubectl create token ACCOUNT --audience muster.dev"));
  // {"aud":["muster.dev"]}
  const std::string mine = "e30.eyJhdWQiOlsibXVzdGVyLmRldiJdfQ.sig";
  std::ofstream(file) << mine + "\n";
  cluster.pages.rights = {mine + " list queues"};
  cluster.token_requests.clear();
  CHECK_THAT(cluster.Run({"get", "queues", "--token-file", file}, kExitOk),
             Catch::Contains("root"));
  CHECK(cluster.token_requests.empty());
}

TEST_CASE("flags of a server and of a cluster do not go together", "[cli][plugin]") {
  Cluster cluster;
  CHECK_THAT(cluster.Run({"get", "gangs", "--server", "127.0.0.1:1"}, kExitUsage),
             Catch::Contains("--server and --kubeconfig do not go together"));
  CHECK_THAT(cluster.Run({"get", "gangs", "--ca", "f"}, kExitUsage),
             Catch::Contains("needs --server"));
  for (const char* service : {"muster-api", "muster-system/../x", "muster-system/a?b"}) {
    CHECK_THAT(cluster.Run({"get", "gangs", "--service", service}, kExitUsage),
               Catch::Contains("--service: "));
  }
  CHECK_THAT(cluster.Run({"get", "gangs", "--service-account", "a/B"}, kExitUsage),
             Catch::Contains("--service-account: "));
  CHECK_THAT(cluster.Run({"get", "gangs", "--context", "none"}, kExitUsage),
             Catch::Contains("none"));
}

TEST_CASE("the program of a kubeconfig is run for its credentials", "[cli][plugin]") {
  const TempFolder folder;
  const std::string kubeconfig = folder.File("kubeconfig");
  const auto read = [&](const std::string& command, const std::string& script) {
    std::ofstream(kubeconfig)
        << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\n"
           "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
           "users:\n- name: u\n  user:\n    exec:\n"
           "      apiVersion: client.authentication.k8s.io/v1\n      installHint: get it\n"
           "      command: "
        << command << "\n      args: [-c, '" << script
        << "']\n      env: [{name: WHO, value: ann}]\n";
    const auto args = Args::Parse(WithCluster({}), {"--kubeconfig", kubeconfig});
    const auto config = ReadCluster(*args);
    return config.ok() ? config->token : config.error().ToString();
  };
  CHECK(read("sh", R"(printf "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":)"
                   R"({\"token\":\"of-$WHO\"}}")") == "of-ann");
  CHECK_THAT(read("sh", "exit 3"), Catch::Contains("program for credentials has failed"));
  CHECK_THAT(read("sh", "echo secret"),
             Catch::Contains("expected an ExecCredential as JSON") && !Catch::Contains("secret"));
  CHECK_THAT(read("muster-has-no-such-program", ""), Catch::Contains("get it"));
}

// A caller before an API server that a test plays.
struct Played {
  std::shared_ptr<FakeApi> api = std::make_shared<FakeApi>();
  std::chrono::steady_clock::time_point now;
  ClusterCaller caller{
      {api, [this] { return now; }},
      {.service = {"muster-system", "http:muster-api:api"},
       .accounts = {{"muster-system", "muster-oncall"}, {"team-a", "muster-oncall"}},
       .needs_token = false,
       .token = {}}};
  std::string Sent() const {
    const auto requests = api->requests();
    return requests.back().headers.empty() ? "" : requests.back().headers[0].second;
  }
};

TEST_CASE("a token is taken once, and again before it ends", "[cli][plugin]") {
  Played played;
  played.api->On(Method::kGet, std::string(kProxy) + "/v1/gangs", Reply(200));
  played.api->On(Method::kPost, kOnCall, Reply(201, TokenReply("one")));
  REQUIRE(played.caller.Get("/v1/gangs").ok());
  CHECK(played.Sent() == "one");
  played.api->On(Method::kPost, kOnCall, Reply(201, TokenReply("two")));
  played.now += std::chrono::seconds(400);
  REQUIRE(played.caller.Get("/v1/gangs").ok());
  CHECK(played.Sent() == "one");
  played.now += std::chrono::seconds(100);
  REQUIRE(played.caller.Get("/v1/gangs").ok());
  CHECK(played.Sent() == "two");
}

TEST_CASE("the account of Muster's namespace comes before the one of the own", "[cli][plugin]") {
  Played played;
  played.api->On(Method::kGet, std::string(kProxy) + "/v1/gangs", Reply(200));
  played.api->On(Method::kPost, kOfTeam, Reply(201, TokenReply("team")));
  played.api->On(Method::kPost, kOnCall, Refusal(404, "serviceaccounts not found"));
  REQUIRE(played.caller.Get("/v1/gangs").ok());
  CHECK(played.Sent() == "team");
  CHECK(played.api->lines() ==
        std::vector<std::string>{std::string("POST ") + kOnCall, std::string("POST ") + kOfTeam,
                                 std::string("GET ") + kProxy + "/v1/gangs"});
}

TEST_CASE("an API server that gives no token for another reason is an error", "[cli][plugin]") {
  Played played;
  played.api->On(Method::kPost, kOnCall, Refusal(500, "etcd"));
  const auto page = played.caller.Get("/v1/gangs");
  REQUIRE_FALSE(page.ok());
  CHECK_THAT(page.error().message, Catch::Contains("muster-system/muster-oncall: HTTP 500"));
}

TEST_CASE("what the API server itself refuses comes with what to do", "[cli][plugin]") {
  const struct {
    int status;
    const char* advice;
    Code code;  // what lasts is not kUnavailable: nobody is to wait for it
  } cases[] = {{401, "credentials of the kubeconfig", Code::kForbidden},
               {403, "the Role muster-oncall (manifests/oncall)", Code::kForbidden},
               {404, "say another with --service", Code::kInvalidArgument},
               {503, "\"muster doctor\" finds out why", Code::kUnavailable}};
  for (const auto& one : cases) {
    Played played;
    played.api->On(Method::kGet, std::string(kProxy) + "/v1/gangs",
                   Refusal(one.status, "so it is"));
    const auto page = played.caller.Get("/v1/gangs");
    REQUIRE_FALSE(page.ok());
    CHECK(page.error().code == one.code);
    CHECK_THAT(page.error().message, Catch::Contains("so it is") && Catch::Contains(one.advice));
  }
}

TEST_CASE("an answer of neither Muster nor the API server is said to be one", "[cli][plugin]") {
  const struct {
    int status;
    const char* body;
    Code code;
  } cases[] = {{503, "", Code::kUnavailable},
               {502, "<html>bad gateway</html>", Code::kUnavailable},
               {404, "not here", Code::kInvalidArgument},
               {200, "<html>sign in</html>", Code::kInvalidArgument}};
  for (const auto& one : cases) {
    CAPTURE(one.status);
    Played played;
    played.api->On(Method::kGet, std::string(kProxy) + "/v1/gangs", Reply(one.status, one.body));
    const auto page = played.caller.Get("/v1/gangs");
    REQUIRE_FALSE(page.ok());
    CHECK(page.error().code == one.code);
    CHECK(page.error().message == "Service muster-system/http:muster-api:api answered " +
                                      std::to_string(one.status) +
                                      ", which is not Muster's answer; is a proxy in between?");
  }
}

TEST_CASE("under kubectl the help says how kubectl calls it", "[cli][plugin]") {
  CHECK(ProgramNamed("/usr/local/bin/kubectl-muster") == "kubectl muster");
  CHECK(ProgramNamed("/usr/local/bin/muster") == "muster");
  CHECK(ProgramNamed("kubectl-muster") == "kubectl muster");
  std::ostringstream out;
  std::ostringstream err;
  const CliStreams streams{out, err, 0, kPlugin};
  CHECK(RunCli({"help", "get"}, streams) == kExitOk);
  CHECK(RunCli({"help", "topology"}, streams) == kExitOk);
  CHECK_THAT(out.str(), Catch::Contains("usage: kubectl muster get gangs|") &&
                            Catch::Contains("\n  kubectl muster get gangs -n team\n") &&
                            Catch::Contains("| kubectl muster topology -f -\n"));
  CHECK(RunCli({"gett"}, streams) == kExitUsage);
  CHECK_THAT(err.str(), Catch::Contains("\"kubectl muster help\" lists the commands"));
}

}  // namespace
}  // namespace muster::cli::testing
