// Kubeconfigs: every field, and every refusal with the words that tell what to do.
#include "kube/api/client_config.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/api/exec_plugin.hpp"
#include "kube/api/kubeconfig.hpp"

using namespace muster::kube;
using muster::cluster::Code;

namespace {

constexpr const char* kFile = "/ann/.kube/config";

// A kubeconfig with one context, "main", of the members given.
std::string Kubeconfig(const std::string& cluster, const std::string& user = "{}",
                       const std::string& context_rest = "") {
  return R"({"apiVersion":"v1","kind":"Config","current-context":"main",)"
         R"("contexts":[{"name":"main","context":{"cluster":"c","user":"u")" +
         context_rest + R"(}}],"clusters":[{"name":"c","cluster":)" + cluster +
         R"(}],"users":[{"name":"u","user":)" + user + "}]}";
}

std::string Server(const std::string& url) { return R"({"server":")" + url + R"("})"; }

const std::string kServer = Server("https://api:6443");

ClientConfig Parsed(const std::string& json, const std::string& context = {}) {
  auto config = ParseKubeconfig({json, kFile}, context);
  if (!config.ok()) FAIL(config.error().ToString());
  return *config;
}

std::string Refusal(const std::string& json, const std::string& context = {}) {
  const auto config = ParseKubeconfig({json, kFile}, context);
  if (config.ok()) return "accepted";
  CHECK(config.error().code == Code::kInvalidArgument);
  return config.error().ToString();
}

}  // namespace

TEST_CASE("a kubeconfig says where the server is", "[kube][kubeconfig]") {
  struct Case {
    const char* server;
    const char* host;
    int port;
    bool tls;
    const char* prefix;
  };
  const auto test = GENERATE(values<Case>({
      {"https://api.example.com", "api.example.com", 443, true, ""},
      {"https://10.0.0.1:6443", "10.0.0.1", 6443, true, ""},
      {"https://10.0.0.1:6443/", "10.0.0.1", 6443, true, ""},
      {"HTTPS://[fd00::1]:6443", "fd00::1", 6443, true, ""},
      {"https://[::1]", "::1", 443, true, ""},
      {"http://localhost:8080", "localhost", 8080, false, ""},
      {"http://localhost", "localhost", 80, false, ""},
      {"https://rancher/k8s/clusters/c-1", "rancher", 443, true, "/k8s/clusters/c-1"},
      {"https://rancher:1/k8s%2Fc-1//", "rancher", 1, true, "/k8s%2Fc-1"},
  }));
  DYNAMIC_SECTION(test.server) {
    const ClientConfig config = Parsed(Kubeconfig(Server(test.server)));
    CHECK(config.host == test.host);
    CHECK(config.port == test.port);
    CHECK(config.tls == test.tls);
    CHECK(config.path_prefix == test.prefix);
  }
}

TEST_CASE("servers that cannot be one are refused", "[kube][kubeconfig]") {
  struct Case {
    const char* server;
    const char* want;
  };
  const auto test = GENERATE(values<Case>({
      {"", "is missing"},
      {"api:6443", "expected a scheme such as https://"},
      {"ftp://api", "expected https:// or http://"},
      {"https://", "the host is missing"},
      {"https://:6443", "the host is missing"},
      {"https://api:0", "expected a port from 1 to 65535"},
      {"https://api:65536", "expected a port from 1 to 65535"},
      {"https://api:", "expected a port from 1 to 65535"},
      {"https://api:64x", "expected a port from 1 to 65535"},
      {"https://a b", "the host has a character that no host name has"},
      {"https://[::1", "an IPv6 address lacks its ]"},
      {"https://[api]", "expected an IPv6 address between [ and ]"},
      {"https://[::1]6443", "expected :port after the IPv6 address"},
      {"https://api/a?b=c", "the path has a character that a URL must escape"},
      {"https://api/a b", "the path has a character that a URL must escape"},
      {"https://api/a\\r\\nb", "the path has a character that a URL must escape"},
      {"https://ann:secret@api", "a user in the URL is not supported; give users[].user.token"},
  }));
  DYNAMIC_SECTION(test.server) {
    const std::string refusal = Refusal(Kubeconfig(Server(test.server)));
    CHECK(refusal == std::string(kFile) + ".clusters[0].cluster.server: " + test.want);
    CHECK(refusal.find("secret") == std::string::npos);
  }
}

TEST_CASE("a kubeconfig says whom to trust", "[kube][kubeconfig]") {
  const auto config = [](const std::string& rest) {
    return Parsed(Kubeconfig(R"({"server":"https://api",)" + rest + "}"));
  };
  CHECK(config(R"("certificate-authority":"/etc/ca.crt")").ca.file == "/etc/ca.crt");
  CHECK(config(R"("certificate-authority":"ca.crt")").ca.file == "/ann/.kube/ca.crt");
  CHECK(config(R"("certificate-authority":"../ca.crt")").ca.file == "/ann/.kube/../ca.crt");
  CHECK(config(R"("certificate-authority-data":"UEVN")").ca.data == "PEM");
  const ClientConfig both =
      config(R"("certificate-authority":"/etc/ca.crt","certificate-authority-data":"UEVN")");
  CHECK(both.ca.data == "PEM");
  CHECK(both.ca.file.empty());
  CHECK(config(R"("insecure-skip-tls-verify":true)").insecure_skip_tls_verify);
  CHECK_FALSE(config(R"("insecure-skip-tls-verify":false)").insecure_skip_tls_verify);
  CHECK(config(R"("tls-server-name":"api.internal")").tls_server_name == "api.internal");
  CHECK(config(R"("disable-compression":true)").disable_compression);
}

TEST_CASE("a kubeconfig says who we are", "[kube][kubeconfig]") {
  const auto config = [](const std::string& user) { return Parsed(Kubeconfig(kServer, user)); };
  CHECK(config(R"({"token":"abc"})").token == "abc");
  CHECK(config(R"({"tokenFile":"token"})").token_file == "/ann/.kube/token");
  const ClientConfig both = config(R"({"token":"abc","tokenFile":"/run/token"})");
  CHECK(both.token == "abc");
  CHECK(both.token_file == "/run/token");
  const ClientConfig files = config(R"({"client-certificate":"a.crt","client-key":"/k/a.key"})");
  CHECK(files.client_certificate.file == "/ann/.kube/a.crt");
  CHECK(files.client_key.file == "/k/a.key");
  const ClientConfig data =
      config(R"({"client-certificate-data":"UEVN","client-key-data":"S0VZ","client-key":"x"})");
  CHECK(data.client_certificate.data == "PEM");
  CHECK(data.client_key.data == "KEY");
  CHECK(data.client_key.file.empty());
  CHECK(config("null").token.empty());
}

TEST_CASE("nobody's credentials go to a server without TLS", "[kube][kubeconfig]") {
  const ClientConfig config = Parsed(
      Kubeconfig(Server("http://127.0.0.1:8001"),
                 R"({"token":"abc","tokenFile":"t","client-certificate":"c","client-key":"k"})"));
  CHECK(config.token.empty());
  CHECK(config.token_file.empty());
  CHECK(config.client_certificate.empty());
  CHECK(config.client_key.empty());
}

TEST_CASE("a kubeconfig may lead through a proxy", "[kube][kubeconfig]") {
  const auto config = [](const std::string& url) {
    return Kubeconfig(R"({"server":"https://api","proxy-url":")" + url + R"("})");
  };
  const ClientConfig plain = Parsed(config("http://proxy:3128"));
  REQUIRE(plain.proxy.has_value());
  CHECK(plain.proxy->host == "proxy");
  CHECK(plain.proxy->port == 3128);
  CHECK(plain.proxy->username.empty());
  const ClientConfig known = Parsed(config("http://ann:p%40ss@proxy/"));
  REQUIRE(known.proxy.has_value());
  CHECK(known.proxy->port == 80);
  CHECK(known.proxy->username == "ann");
  CHECK(known.proxy->password == "p@ss");
  CHECK_FALSE(Parsed(config("")).proxy.has_value());

  const std::string place = std::string(kFile) + R"(.clusters[0].cluster.proxy-url: )";
  const std::string only_http =
      place + "only proxies at http:// are supported (https is spoken through them)";
  CHECK(Refusal(config("socks5://proxy:1080")) == only_http);
  CHECK(Refusal(config("https://proxy")) == only_http);
  CHECK(Refusal(config("http://proxy/path")) == place + "a proxy has no path");
  CHECK(Refusal(config("http://ann:%zz@proxy")) ==
        place + "the user part has a malformed %-escape");
}

TEST_CASE("without proxy-url the environment's proxy leads to the API server",
          "[kube][kubeconfig]") {
  const EnvGetter env = [](const std::string& name) -> std::optional<std::string> {
    if (name == "HTTPS_PROXY") return "http://env:3128";
    if (name == "NO_PROXY") return "10.0.0.0/8";
    return std::nullopt;
  };
  const auto way = [&](const ClientConfig& config) {
    const auto with = WithEnvironmentProxy(config, env);
    REQUIRE(with.ok());
    return with->proxy ? with->proxy->host : "none";
  };
  CHECK(way(Parsed(Kubeconfig(kServer))) == "env");
  CHECK(way(Parsed(Kubeconfig(R"({"server":"https://api","proxy-url":"http://own"})"))) == "own");
  CHECK(way(Parsed(Kubeconfig(Server("http://api")))) == "none");
  ClientConfig in_pod;
  in_pod.host = "10.96.0.1";
  CHECK(way(in_pod) == "none");
  const auto bad = WithEnvironmentProxy(in_pod, [](const std::string&) { return "socks5://x"; });
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().place == "HTTPS_PROXY");
}

TEST_CASE("the context that is asked for is taken, and its namespace", "[kube][kubeconfig]") {
  const std::string text =
      R"({"current-context":"a","contexts":[)"
      R"({"name":"a","context":{"cluster":"one","user":"ann","namespace":"team-a"}},)"
      R"({"name":"b","context":{"cluster":"two"}}],)"
      R"("clusters":[{"name":"one","cluster":{"server":"https://one"}},)"
      R"({"name":"two","cluster":{"server":"https://two"}}],)"
      R"("users":[{"name":"ann","user":{"token":"abc"}}]})";
  const ClientConfig current = Parsed(text);
  CHECK(current.host == "one");
  CHECK(current.token == "abc");
  CHECK(current.default_namespace == "team-a");
  const ClientConfig other = Parsed(text, "b");
  CHECK(other.host == "two");
  CHECK(other.token.empty());
  CHECK(other.default_namespace == "default");
}

TEST_CASE("what a kubeconfig lacks is named", "[kube][kubeconfig]") {
  struct Case {
    std::string text;
    std::string context;
    std::string want;  // after the file's name
  };
  const std::string cluster = R"("clusters":[{"name":"c","cluster":{"server":"https://c"}}])";
  const auto context = [](const std::string& members) {
    return R"("current-context":"a","contexts":[{"name":"a","context":)" + members + "}]";
  };
  const auto test = GENERATE_COPY(values<Case>({
      {"{}", "", ".current-context: is missing, and no context was asked for"},
      {"{}", "a", ".contexts: there is no context a"},
      {R"({"current-context":"a"})", "", ".contexts: there is no context a"},
      {"{" + cluster + "," + context("{}") + "}", "", ".contexts[0].context.cluster: is missing"},
      {"{" + cluster + "," + context("null") + "}", "", ".contexts[0].context: is missing"},
      {"{" + cluster + "," + context(R"({"cluster":"d"})") + "}", "",
       ".clusters: there is no cluster d"},
      {"{" + cluster + "," + context(R"({"cluster":"c","user":"u"})") + "}", "",
       ".users: there is no user u"},
      {R"({"clusters":[{"name":"c","cluster":{}}],)" + context(R"({"cluster":"c"})") + "}", "",
       ".clusters[0].cluster.server: is missing"},
      {R"({"clusters":[{"name":"c"}],)" + context(R"({"cluster":"c"})") + "}", "",
       ".clusters[0].cluster: is missing"},
      {R"({"clusters":[{"name":"c"},{"name":"c"}],)" + context(R"({"cluster":"d"})") + "}", "",
       ".clusters[1].name: is the name of an earlier one"},
      {R"({"contexts":{}})", "a", ".contexts: expected a list, found an object"},
      {"[]", "", ": expected an object, found a list"},
      {"null", "", ": is missing"},
  }));
  DYNAMIC_SECTION(test.want) { CHECK(Refusal(test.text, test.context) == kFile + test.want); }
}

TEST_CASE("credentials that Muster does not use are refused by name", "[kube][kubeconfig]") {
  struct Case {
    std::string user;
    std::string want;  // after users[0].user
  };
  const std::string program =
      ": is not supported, Muster runs no programs; use the token of a service account "
      "(tokenFile) or client-certificate";
  const std::string password =
      ": is not supported, Kubernetes has no passwords any more; use token, tokenFile or "
      "client-certificate";
  const std::string disguise = ": is not supported; give a user that may itself do what is needed";
  const auto test = GENERATE_COPY(values<Case>({
      {R"({"exec":{"command":"aws"}})", ".exec" + program},
      {R"({"auth-provider":{"name":"gcp"}})", ".auth-provider" + program},
      {R"({"username":"ann"})", ".username" + password},
      {R"({"password":"secret"})", ".password" + password},
      {R"({"as":"root"})", ".as" + disguise},
      {R"({"as-uid":"0"})", ".as-uid" + disguise},
      {R"({"as-groups":["g"]})", ".as-groups" + disguise},
      {R"({"as-user-extra":{}})", ".as-user-extra" + disguise},
      {R"({"client-key":"k"})", ": client-key needs client-certificate"},
      {R"({"client-certificate":"c"})", ": client-certificate needs client-key"},
      {R"({"client-key-data":"###","client-certificate":"c"})",
       ".client-key-data: expected base64"},
      {R"({"token":"secret\nX-Evil: 1"})", ".token: expected a token without white space"},
      {R"({"token":5})", ".token: expected a text, found a number"},
  }));
  DYNAMIC_SECTION(test.want) {
    const std::string refusal = Refusal(Kubeconfig(kServer, test.user));
    CHECK(refusal == std::string(kFile) + ".users[0].user" + test.want);
    CHECK(refusal.find("secret") == std::string::npos);
  }
}

TEST_CASE("an auth-provider is refused with what has taken its place", "[kube][kubeconfig]") {
  const auto told = [](const std::string& name) {
    const std::string user = R"({"auth-provider":{"name":")" + name + R"("}})";
    const auto personal = ParsePersonalKubeconfig({{Kubeconfig(kServer, user), "c"}});
    REQUIRE_FALSE(personal.ok());
    return personal.error().ToString();
  };
  const std::string place = "c.users[0].user.auth-provider: ";
  CHECK(told("gcp") == place +
                           "gcp was removed from kubectl, too; use exec with "
                           "gke-gcloud-auth-plugin (`gcloud container clusters "
                           "get-credentials` writes it)");
  CHECK(told("azure") == place +
                             "azure was removed from kubectl, too; use exec with kubelogin "
                             "(`kubelogin convert-kubeconfig` writes it)");
  CHECK_THAT(told("oidc"), Catch::StartsWith(place + "is not supported; use exec"));
}

TEST_CASE("a person's kubeconfig may name a program for credentials", "[kube][kubeconfig]") {
  const std::string user =
      R"({"token":"old","exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"bin/get",
          "args":["token","--for","me"],"env":[{"name":"REGION","value":"eu"}],
          "installHint":"install it","provideClusterInfo":true}})";
  const auto personal = ParsePersonalKubeconfig({{Kubeconfig(kServer, user), "/ann/.kube/config"}});
  REQUIRE((personal.ok() ? "" : personal.error().ToString()) == "");
  REQUIRE(personal->plugin);
  const ExecPlugin& plugin = *personal->plugin;
  CHECK(plugin.command == "/ann/.kube/bin/get");
  CHECK(plugin.args == std::vector<std::string>{"token", "--for", "me"});
  CHECK(plugin.env == std::vector<std::pair<std::string, std::string>>{{"REGION", "eu"}});
  CHECK(plugin.install_hint == "install it");
  CHECK(personal->config.token.empty());
  CHECK_THAT(ExecInfo(plugin, personal->config, false),
             Catch::StartsWith(R"({"apiVersion":"client.authentication.k8s.io/v1",)"
                               R"("kind":"ExecCredential","spec":{"interactive":false,)"
                               R"("cluster":{"server":"https://)"));
  CHECK_FALSE(
      ParsePersonalKubeconfig({{Kubeconfig(kServer, R"({"exec":{"command":"x"}})"), "c"}}).ok());
  CHECK_FALSE(
      ParsePersonalKubeconfig({{Kubeconfig(kServer, R"({"exec":{"apiVersion":"v9"}})"), "c"}})
          .ok());
  CHECK_FALSE(ParsePersonalKubeconfig({{Kubeconfig(kServer, R"({"password":"x"})"), "c"}}).ok());
  CHECK_FALSE(ParsePersonalKubeconfig({{Kubeconfig(kServer, R"({"token":"t"})"), "c"}})->plugin);
}

TEST_CASE("of several kubeconfigs the first with a name counts", "[kube][kubeconfig]") {
  const KubeconfigText first = {
      R"({"contexts":[{"name":"own","context":{"cluster":"c","user":"u","namespace":"team"}}],)"
      R"("users":[{"name":"u","user":{"tokenFile":"token"}}]})",
      "/ann/first"};
  const KubeconfigText second = {Kubeconfig(kServer, R"({"token":"second"})"), "/etc/second"};
  const auto of = [&](const std::string& context) {
    const auto personal = ParsePersonalKubeconfig({first, second}, context);
    REQUIRE((personal.ok() ? "" : personal.error().ToString()) == "");
    return personal->config;
  };
  // The context of the second, the user of the first, whose file is beside it.
  CHECK(of("").host == "api");
  CHECK(of("").token.empty());
  CHECK(of("").token_file == "/ann/token");
  CHECK(of("").default_namespace == "default");
  CHECK(of("own").default_namespace == "team");
  CHECK(ParsePersonalKubeconfig({first, second}, "x").error().ToString() ==
        "/ann/first.contexts: there is no context x, here or in the other files");
  CHECK(ParsePersonalKubeconfig({first, {"[]", "/etc/list"}}).error().ToString() ==
        "/etc/list: expected an object, found a list");
}

TEST_CASE("what a program for credentials prints is taken or refused", "[kube][kubeconfig]") {
  ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.command = "get-token";
  const auto taken = [&](const std::string& version, const std::string& status) {
    ClientConfig config;
    const auto status_of = TakeExecCredential(plugin,
                                              R"({"apiVersion":"client.authentication.k8s.io/)" +
                                                  version + R"(","status":)" + status + "}",
                                              &config);
    return status_of.ok() ? config.token + config.client_certificate.data + config.client_key.data
                          : status_of.error().ToString();
  };
  CHECK(taken("v1", R"({"token":"secret"})") == "secret");
  CHECK(taken("v1", R"({"clientCertificateData":"C","clientKeyData":"K"})") == "CK");
  CHECK_THAT(taken("v1beta1", R"({"token":"secret"})"),
             Catch::Contains("expected client.authentication.k8s.io/v1"));
  for (const char* wrong : {"{}", R"({"token":"se cret"})", R"({"clientCertificateData":"secret"})",
                            R"({"token":{"secret":1}})"}) {
    const std::string said = taken("v1", wrong);
    CHECK_THAT(said, Catch::StartsWith("get-token") && !Catch::Contains("cret\""));
  }
  ClientConfig config;
  CHECK_THAT(TakeExecCredential(plugin, "secret", &config).error().ToString(),
             !Catch::Contains("secret"));
}

TEST_CASE("a cluster that is trusted blindly has no CA", "[kube][kubeconfig]") {
  const std::string refusal =
      Refusal(Kubeconfig(R"({"server":"https://a","insecure-skip-tls-verify":true,)"
                         R"("certificate-authority":"ca.crt"})"));
  CHECK(refusal == std::string(kFile) +
                       ".clusters[0].cluster.insecure-skip-tls-verify: contradicts "
                       "certificate-authority; leave one of them out");
}

TEST_CASE("a CA that is no base64 is refused by its field", "[kube][kubeconfig]") {
  CHECK(Refusal(Kubeconfig(R"({"server":"https://a","certificate-authority-data":"UEV"})")) ==
        std::string(kFile) + ".clusters[0].cluster.certificate-authority-data: expected base64");
}

TEST_CASE("a pod finds its API server", "[kube][kubeconfig]") {
  std::string folder = (std::filesystem::temp_directory_path() / "muster-pod-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::map<std::string, std::string> environment = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                    {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto env = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
  std::ofstream(folder + "/token") << "abc\n";

  SECTION("with all that is mounted") {
    std::ofstream(folder + "/namespace") << "muster-system\n";
    const auto config = InClusterConfig(folder, env);
    REQUIRE(config.ok());
    CHECK(config->host == "fd00::1");
    CHECK(config->port == 443);
    CHECK(config->tls);
    CHECK(config->ca.file == folder + "/ca.crt");
    CHECK(config->token_file == folder + "/token");
    CHECK(config->token.empty());
    CHECK(config->default_namespace == "muster-system");
  }
  SECTION("without a namespace") {
    const auto config = InClusterConfig(folder, env);
    REQUIRE(config.ok());
    CHECK(config->default_namespace == "default");
  }
  SECTION("not in a pod") {
    environment.erase("KUBERNETES_SERVICE_HOST");
    const auto config = InClusterConfig(folder, env);
    REQUIRE_FALSE(config.ok());
    CHECK(config.error().code == Code::kNotFound);
    CHECK(config.error().ToString() ==
          "KUBERNETES_SERVICE_HOST: is not set: this is no pod; name a kubeconfig instead");
  }
  SECTION("without a service account") {
    std::filesystem::remove(folder + "/token");
    const auto config = InClusterConfig(folder, env);
    REQUIRE_FALSE(config.ok());
    CHECK(config.error().code == Code::kNotFound);
    CHECK(config.error().message ==
          "cannot be read; does the pod have automountServiceAccountToken: false?");
  }
  SECTION("with an odd port") {
    environment["KUBERNETES_SERVICE_PORT"] = "https";
    CHECK_FALSE(InClusterConfig(folder, env).ok());
  }
  std::filesystem::remove_all(folder);
}
