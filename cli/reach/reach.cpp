#include "cli/reach/reach.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "cli/reach/cluster_caller.hpp"
#include "cli/reach/kubeconfig.hpp"
#include "http/client/client.hpp"
#include "http/messages/host_port.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr const char* kServerVariable = "MUSTER_SERVER";
// Of a Muster on this machine, where nothing says that there is one.
constexpr std::chrono::milliseconds kLookPatience{2'000};
constexpr const char* kDirectFlags[] = {"--ca", "--cert", "--key"};
constexpr const char* kThroughClusterFlags[] = {"--kubeconfig", "--context", "--service",
                                                "--service-account"};

class DirectCaller final : public MusterCaller {
 public:
  explicit DirectCaller(http::ClientOptions options)
      : place_(std::string("http") + (options.tls ? "s" : "") + "://" + options.host + ":" +
               std::to_string(options.port)),
        client_(std::move(options)) {}

  Result<std::string> Get(const std::string& path) override { return BodyOf(client_.Get(path)); }
  Result<std::string> Post(const std::string& path, const std::string& body,
                           const std::string& content_type) override {
    return BodyOf(client_.Post(path, body, content_type));
  }
  std::string default_namespace() const override { return "default"; }

 private:
  Result<std::string> BodyOf(const Result<http::Reply>& reply) const {
    if (!reply.ok()) {
      return Error{Code::kUnavailable,
                   "no answer from " + place_ +
                       " (is \"muster serve\" running? --context and --server name another): " +
                       reply.error().ToString(),
                   ""};
    }
    return AnswerOf(place_, reply->status, reply->body);
  }

  const std::string place_;
  http::Client client_;
};

// What is sent there nobody else can read.
bool IsThisMachine(const std::string& host) {
  return host == "127.0.0.1" || host == "::1" || host == "localhost";
}

// `from`: the flag or the variable that says `url`.
Result<http::ClientOptions> OptionsOf(const Args& args, std::string url, const std::string& from) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  const bool tls = url.starts_with(kTlsScheme);
  if (tls) url.erase(0, kTlsScheme.size());
  if (url.starts_with(kScheme)) url.erase(0, kScheme.size());
  if (!url.empty() && url.back() == '/') url.pop_back();
  const Result<http::HostPort> address = http::ParseHostPort(url);
  if (!address.ok()) return address.error().At(from);
  http::ClientOptions options;
  options.host = address->host.empty() ? "127.0.0.1" : address->host;
  options.port = address->port;
  options.tls = tls;
  options.ca_file = args.Text("--ca");
  options.cert_file = args.Text("--cert");
  options.key_file = args.Text("--key");
  for (const char* flag : kDirectFlags) {
    if (args.Has(flag) && !tls)
      return Error{Code::kInvalidArgument, "needs --server https://HOST:PORT", flag};
  }
  if (args.Has("--cert") != args.Has("--key"))
    return Error{Code::kInvalidArgument, "--cert and --key go together", ""};
  Result<std::string> token = TokenIn(args);
  if (!token.ok()) return token.error();
  if (!token->empty() && !tls && !IsThisMachine(options.host)) {
    return Error{Code::kInvalidArgument,
                 "a token is sent over https or to this machine only: give --server "
                 "https://HOST:PORT, or forward the port (kubectl port-forward)",
                 "--token-file"};
  }
  options.bearer_token = *std::move(token);
  return options;
}

// The first of `flags` that is given; empty: none is.
template <typename Flags>
std::string GivenOf(const Args& args, const Flags& flags) {
  for (const char* flag : flags) {
    if (args.Has(flag)) return flag;
  }
  return {};
}

bool AnswersHere() {
  http::ClientOptions options;
  options.port = http::ParseHostPort(kDefaultApiAddress)->port;
  options.connect_timeout = kLookPatience;
  options.timeout = kLookPatience;
  return http::Client(options).Get("/healthz").ok();
}

Result<std::unique_ptr<MusterCaller>> Through(const Args& args,
                                              std::chrono::milliseconds patience) {
  if (const std::string flag = GivenOf(args, kDirectFlags); !flag.empty())
    return Error{Code::kInvalidArgument, "needs --server https://HOST:PORT", flag};
  return ReachThroughCluster(args, patience);
}

}  // namespace

std::vector<Flag> WithAccess(std::vector<Flag> flags) {
  flags.push_back({"--server", "URL",
                   "address of muster's API (default: $" + std::string(kServerVariable) +
                       ", else http://" + kDefaultApiAddress +
                       " if it answers, else by the kubeconfig)",
                   "-s"});
  flags = WithCluster(std::move(flags));
  flags.insert(
      flags.end(),
      {{"--service", "NS/NAME",
        "Muster's Service there (default: " + std::string(kDefaultService) + ")"},
       {"--service-account", "NS/NAME",
        "whose token is taken for Muster (default: muster-oncall beside the Service, else in "
        "your namespace)"},
       {"--ca", "FILE", "CA of the certificate of --server, PEM (default: the system's)"},
       {"--cert", "FILE", "certificate that names you to --server, PEM"},
       {"--key", "FILE", "key of --cert, PEM"},
       {"--token-file", "FILE", "bearer token that names you, as kubectl create token prints it"}});
  return flags;
}

Result<std::unique_ptr<MusterCaller>> ReachMuster(const Args& args, const CliStreams& streams,
                                                  Purpose purpose,
                                                  std::chrono::milliseconds patience) {
  const std::string through = GivenOf(args, kThroughClusterFlags);
  if (args.Has("--server") && !through.empty()) {
    return Error{Code::kInvalidArgument, "--server and " + through + " do not go together", ""};
  }
  const bool plugin = streams.program != kProgram;
  const std::string variable = plugin ? "" : Variable(kServerVariable);
  std::string url = args.Text("--server", variable);
  if (url.empty() && !args.Has("--server")) {
    if (plugin || !through.empty()) return Through(args, patience);
    const bool finds = purpose == Purpose::kAsk && !AnswersHere();
    if (finds && !KubeconfigFiles(args).empty()) return Through(args, patience);
    url = kDefaultApiAddress;
  }
  const bool by_variable = !args.Has("--server") && !variable.empty();
  Result<http::ClientOptions> options =
      OptionsOf(args, url, by_variable ? std::string("$") + kServerVariable : "--server");
  if (!options.ok()) return options.error();
  options->timeout = patience;
  return std::unique_ptr<MusterCaller>(std::make_unique<DirectCaller>(*std::move(options)));
}

}  // namespace muster::cli
