#include "kube/api/kubeconfig.hpp"

#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "http/messages/base64.hpp"
#include "http/messages/url.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

constexpr std::size_t kMaxKubeconfigBytes = std::size_t{4} << 20;

std::string InFolderOf(const std::string& file_name, std::string_view path) {
  if (path.empty() || path.starts_with('/')) return std::string(path);
  const std::size_t slash = file_name.rfind('/');
  if (slash == std::string::npos) return std::string(path);
  return file_name.substr(0, slash + 1) + std::string(path);
}

// Calls visit(inner) with member `kind` of the element of `list` that is called `name`. Every name
// must be unique, as for kubectl. False when no element has that name.
template <typename Visit>
bool VisitNamed(const JsonView& list, std::string_view kind, std::string_view name, Visit visit) {
  std::set<std::string_view> seen;
  bool found = false;
  list.Items([&](const JsonView& item) {
    const JsonView item_name = item.Get("name");
    if (!seen.insert(item_name.Text()).second) item_name.Problem("is the name of an earlier one");
    if (item_name.Text() != name || found) return;
    found = true;
    const JsonView inner = item.Get(kind);
    visit(inner);
  });
  return found;
}

PemSource ReadPem(const JsonView& object, std::string_view field, const std::string& file_name) {
  PemSource pem;
  const std::string data_field = std::string(field) + "-data";  // the view keeps no copy of it
  const JsonView data = object.Get(data_field);
  const JsonView file = object.Get(field);
  if (!data.Text().empty()) {
    std::optional<std::string> decoded = http::DecodeBase64(data.Text());
    if (decoded) {
      pem.data = *std::move(decoded);
    } else {
      data.Problem("expected base64");
    }
  }
  // Both may stand there; kubectl then looks at the text only.
  if (pem.data.empty()) pem.file = InFolderOf(file_name, file.Text());
  return pem;
}

void ReadServer(const JsonView& server, ClientConfig& config) {
  const std::string_view text = server.RequiredText();
  if (text.empty()) return;
  Result<http::Url> url = http::ParseUrl(text);
  if (!url.ok()) return server.Problem(url.error());
  if (url->scheme != "http" && url->scheme != "https")
    return server.Problem("expected https:// or http://");
  if (!url->username.empty() || !url->password.empty())
    return server.Problem("a user in the URL is not supported; give users[].user.token");
  config.tls = url->scheme == "https";
  config.host = url->host;
  config.port = url->port;
  config.path_prefix = url->path;
}

void ReadProxy(const JsonView& proxy, ClientConfig& config) {
  if (proxy.Text().empty()) return;
  Result<http::Proxy> parsed = http::ParseProxy(proxy.Text());
  if (!parsed.ok()) return proxy.Problem(parsed.error());
  config.proxy = *std::move(parsed);
}

void ReadCluster(const JsonView& cluster, const std::string& file_name, ClientConfig& config) {
  if (!cluster.ExpectObject()) return;
  const JsonView server = cluster.Get("server");
  ReadServer(server, config);
  const JsonView proxy = cluster.Get("proxy-url");
  ReadProxy(proxy, config);
  config.ca = ReadPem(cluster, "certificate-authority", file_name);
  config.tls_server_name = cluster.Get("tls-server-name").Text();
  const JsonView insecure = cluster.Get("insecure-skip-tls-verify");
  config.insecure_skip_tls_verify = insecure.Flag(false);
  if (config.insecure_skip_tls_verify && !config.ca.empty())
    insecure.Problem("contradicts certificate-authority; leave one of them out");
  config.disable_compression = cluster.Get("disable-compression").Flag(false);
}

constexpr const char* kExec = "exec";
constexpr const char* kAuthProvider = "auth-provider";

// The advice to a person who may use `exec`. kubectl dropped the first two in 1.26.
const char* InsteadOf(std::string_view auth_provider) {
  if (auth_provider == "gcp")
    return "gcp was removed from kubectl, too; use exec with gke-gcloud-auth-plugin "
           "(`gcloud container clusters get-credentials` writes it)";
  if (auth_provider == "azure")
    return "azure was removed from kubectl, too; use exec with kubelogin "
           "(`kubelogin convert-kubeconfig` writes it)";
  return "is not supported; use exec with a program that gives tokens (oidc: kubectl-oidc_login)";
}

// What would run a program, send a password or act as somebody else. `own`: a program may be run.
void RefuseForeignCredentials(const JsonView& user, bool own) {
  struct Refused {
    std::string_view field;
    const char* instead;
  };
  constexpr const char* kTokenInstead =
      "is not supported, Muster runs no programs; use the token of a service account (tokenFile) "
      "or client-certificate";
  constexpr const char* kNoPasswords =
      "is not supported, Kubernetes has no passwords any more; use token, tokenFile or "
      "client-certificate";
  constexpr const char* kNoDisguise =
      "is not supported; give a user that may itself do what is needed";
  for (const Refused& refused : {Refused{kExec, kTokenInstead},
                                 {kAuthProvider, kTokenInstead},
                                 {"username", kNoPasswords},
                                 {"password", kNoPasswords},
                                 {"as", kNoDisguise},
                                 {"as-uid", kNoDisguise},
                                 {"as-groups", kNoDisguise},
                                 {"as-user-extra", kNoDisguise}}) {
    const JsonView field = user.Get(refused.field);
    if (!field.present() || (own && refused.field == kExec)) continue;
    const bool asks_provider = own && refused.field == kAuthProvider;
    field.Problem(asks_provider ? InsteadOf(field.Get("name").Text()) : refused.instead);
  }
}

void ReadExec(const JsonView& exec, const std::string& file_name, ExecPlugin& plugin) {
  if (!exec.ExpectObject()) return;
  const JsonView version = exec.Get("apiVersion");
  plugin.api_version = version.RequiredText();
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1")
    version.Problem("expected client.authentication.k8s.io/v1 or v1beta1");
  const std::string_view command = exec.Get("command").RequiredText();
  // A name alone is searched in PATH; a path is relative to the kubeconfig.
  const bool path = command.find('/') != std::string_view::npos;
  plugin.command = path ? InFolderOf(file_name, command) : std::string(command);
  const JsonView args = exec.Get("args");
  args.Items([&](const JsonView& arg) { plugin.args.emplace_back(arg.Text()); });
  const JsonView env = exec.Get("env");
  env.Items([&](const JsonView& variable) {
    plugin.env.emplace_back(variable.Get("name").RequiredText(), variable.Get("value").Text());
  });
  plugin.install_hint = exec.Get("installHint").Text();
  plugin.provide_cluster_info = exec.Get("provideClusterInfo").Flag(false);
}

// `plugin`: null where no program may be run.
void ReadUser(const JsonView& user, const std::string& file_name, ClientConfig& config,
              std::optional<ExecPlugin>* plugin) {
  if (!user.present()) return;
  RefuseForeignCredentials(user, plugin != nullptr);
  if (const JsonView exec = user.Get(kExec); exec.present() && plugin != nullptr) {
    ReadExec(exec, file_name, plugin->emplace());
    return;
  }
  PemSource certificate = ReadPem(user, "client-certificate", file_name);
  PemSource key = ReadPem(user, "client-key", file_name);
  const JsonView token = user.Get("token");
  const JsonView token_file = user.Get("tokenFile");
  if (certificate.empty() != key.empty()) {
    user.Problem(certificate.empty() ? "client-key needs client-certificate"
                                     : "client-certificate needs client-key");
  }
  if (token.Text().find_first_of("\r\n\t ") != std::string_view::npos)
    token.Problem("expected a token without white space");
  if (!config.tls) return;  // nobody's credentials go over the wire in clear
  config.client_certificate = std::move(certificate);
  config.client_key = std::move(key);
  config.token = token.Text();
  config.token_file = InFolderOf(file_name, token_file.Text());
}

struct OpenKubeconfig {
  Json json;
  std::string file;
};

// The files of one kubeconfig, and what is wrong with them. At least one.
class Kubeconfigs {
 public:
  explicit Kubeconfigs(std::vector<OpenKubeconfig> files) : files_(std::move(files)) {}

  // Calls visit(element, file) with the first `kind` (cluster, user or context) called `name`.
  template <typename Visit>
  void VisitFirst(const std::string& kind, const std::string& name, Visit visit) {
    const std::string list_name = kind + "s";
    for (const OpenKubeconfig& file : files_) {
      const JsonView root(file.json.root(), file.file, problems_);
      const JsonView list = root.Get(list_name);
      if (VisitNamed(list, kind, name, [&](const JsonView& inner) { visit(inner, file.file); }))
        return;
    }
    const JsonView root(files_.front().json.root(), files_.front().file, problems_);
    const JsonView list = root.Get(list_name);
    list.Problem("there is no " + kind + " " + name +
                 (files_.size() > 1 ? ", here or in the other files" : ""));
  }

  // That is asked for, else of the first file that has one.
  std::string ContextName(const std::string& wanted) {
    if (!wanted.empty()) return wanted;
    for (const OpenKubeconfig& file : files_) {
      const JsonView root(file.json.root(), file.file, problems_);
      const JsonView current = root.Get("current-context");
      if (!current.Text().empty()) return std::string(current.Text());
    }
    const JsonView root(files_.front().json.root(), files_.front().file, problems_);
    const JsonView current = root.Get("current-context");
    current.Problem("is missing, and no context was asked for");
    return {};
  }

  const JsonProblems& problems() const { return problems_; }

 private:
  std::vector<OpenKubeconfig> files_;
  JsonProblems problems_;
};

Result<Kubeconfigs> Open(const std::vector<KubeconfigText>& texts) {
  std::vector<OpenKubeconfig> files;
  for (const KubeconfigText& text : texts) {
    Result<Json> json = Json::Parse(text.json, kMaxKubeconfigBytes, text.file);
    if (!json.ok()) return json.error();
    JsonProblems problems;
    const JsonView root(json->root(), text.file, problems);
    if (!root.ExpectObject()) return problems.first();
    files.push_back({*std::move(json), text.file});
  }
  return Kubeconfigs(std::move(files));
}

Result<ClientConfig> Parse(const std::vector<KubeconfigText>& texts, const std::string& context,
                           std::optional<ExecPlugin>* plugin) {
  Result<Kubeconfigs> files = Open(texts);
  if (!files.ok()) return files.error();
  ClientConfig config;
  std::string cluster_name;
  std::string user_name;
  if (const std::string name = files->ContextName(context); !name.empty()) {
    files->VisitFirst("context", name, [&](const JsonView& one, const std::string&) {
      if (!one.ExpectObject()) return;
      const JsonView cluster = one.Get("cluster");
      cluster_name = cluster.RequiredText();
      user_name = one.Get("user").Text();
      const std::string_view space = one.Get("namespace").Text();
      if (!space.empty()) config.default_namespace = space;
    });
  }
  files->VisitFirst("cluster", cluster_name, [&](const JsonView& one, const std::string& file) {
    ReadCluster(one, file, config);
  });
  if (!user_name.empty()) {
    files->VisitFirst("user", user_name, [&](const JsonView& one, const std::string& file) {
      ReadUser(one, file, config, plugin);
    });
  }
  if (!files->problems().none()) return files->problems().first();
  return config;
}

}  // namespace

Result<ClientConfig> ParseKubeconfig(const KubeconfigText& text, const std::string& context) {
  return Parse({text}, context, nullptr);
}

Result<PersonalConfig> ParsePersonalKubeconfig(const std::vector<KubeconfigText>& files,
                                               const std::string& context) {
  PersonalConfig personal;
  Result<ClientConfig> config = Parse(files, context, &personal.plugin);
  if (!config.ok()) return config.error();
  personal.config = *std::move(config);
  // Nobody's credentials go to a server without TLS.
  if (!personal.config.tls) personal.plugin.reset();
  return personal;
}

}  // namespace muster::kube
