// muster serve: runs the service until it is stopped.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/flags/cli.hpp"
#include "cli/flags/signals.hpp"
#include "extender/service.hpp"
#include "extender/telemetry/log.hpp"
#include "http/messages/host_port.hpp"
#include "http/server/allocator.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

// How soon a changed policy file is noticed.
constexpr std::chrono::milliseconds kLookAround{1'000};

Result<std::optional<http::HostPort>> AddressFrom(const Args& args, const std::string& flag) {
  if (!args.Has(flag)) return std::optional<http::HostPort>();
  const Result<http::HostPort> address = http::ParseHostPort(args.Text(flag));
  if (!address.ok()) return address.error().At(flag);
  return std::optional<http::HostPort>(*address);
}

// Which of them need each other depends on the policy as well: the service looks at that.
Status ReadTlsFlags(const Args& args, extender::ServiceOptions* options) {
  for (const char* flag : {"--tls-cert", "--tls-key", "--tls-client-ca", "--tls-client",
                           "--scheduler-ca", "--scheduler-cert", "--scheduler-key"}) {
    for (const std::string& value : args.All(flag)) {
      // As an empty variable of a script gives it; it must not read like a flag not given.
      if (value.empty()) return Error{Code::kInvalidArgument, "expected a value", flag};
    }
  }
  for (const auto& [cert, key] :
       {std::pair("--tls-cert", "--tls-key"), std::pair("--scheduler-cert", "--scheduler-key")}) {
    if (args.Has(cert) != args.Has(key)) {
      return Error{Code::kInvalidArgument, std::string(cert) + " and " + key + " go together", ""};
    }
  }
  options->tls = config::TlsSettings{args.Text("--tls-cert"), args.Text("--tls-key"),
                                     args.Text("--tls-client-ca"), args.All("--tls-client")};
  options->scheduler_ca_file = args.Text("--scheduler-ca");
  options->scheduler_cert_file = args.Text("--scheduler-cert");
  options->scheduler_key_file = args.Text("--scheduler-key");
  return Ok{};
}

// NAMESPACE/NAME of an object of the real cluster; without the flag nothing changes.
Status ReadKey(const Args& args, const extender::ClusterAccess& access, const std::string& flag,
               cluster::ObjectKey* key) {
  if (!args.Has(flag)) return Ok{};
  if (!access.given()) {
    return Error{Code::kInvalidArgument, "needs --kubeconfig or --in-cluster", flag};
  }
  const Result<cluster::ObjectKey> read = extender::ParseObjectKey(args.Text(flag));
  if (!read.ok()) return read.error().At(flag);
  *key = *read;
  return Ok{};
}

// The webhook; its Secret is beside the Lease where nothing else is said.
Status ReadAdmission(const Args& args, extender::ClusterAccess* access) {
  extender::AdmissionSettings& admission = access->admission;
  if (!access->lease.ns.empty()) admission.secret = {access->lease.ns, "muster-webhook"};
  if (Status read = ReadKey(args, *access, "--webhook-secret", &admission.secret); !read.ok())
    return read;
  admission.configuration = args.Text("--webhook-configuration", "muster-schedule");
  if (!args.Has("--webhook")) {
    for (const char* flag : {"--webhook-secret", "--webhook-configuration"}) {
      if (args.Has(flag)) return Error{Code::kInvalidArgument, "needs --webhook", flag};
    }
    return Ok{};
  }
  if (!access->given()) {
    return Error{Code::kInvalidArgument, "needs --kubeconfig or --in-cluster", "--webhook"};
  }
  if (admission.secret.ns.empty()) {
    return Error{Code::kInvalidArgument,
                 "needs a Secret for its certificate: --webhook-secret NAMESPACE/NAME, or --lease",
                 "--webhook"};
  }
  const Result<http::HostPort> listen = http::ParseHostPort(args.Text("--webhook"));
  if (!listen.ok()) return listen.error().At("--webhook");
  admission.listen = *listen;
  return Ok{};
}

// A real cluster, and nothing beside it that only an embedded one has.
Status ReadAccess(const Args& args, extender::ClusterAccess* access) {
  access->kubeconfig = args.Text("--kubeconfig");
  access->context = args.Text("--context");
  access->in_cluster = args.Has("--in-cluster");
  if (args.Has("--kubeconfig") && access->kubeconfig.empty()) {
    return Error{Code::kInvalidArgument, "expected a file", "--kubeconfig"};
  }
  if (access->in_cluster && !access->kubeconfig.empty()) {
    return Error{Code::kInvalidArgument, "--in-cluster and --kubeconfig exclude each other", ""};
  }
  if (args.Has("--context") && access->kubeconfig.empty()) {
    return Error{Code::kInvalidArgument, "needs --kubeconfig", "--context"};
  }
  if (Status read = ReadKey(args, *access, "--lease", &access->lease); !read.ok()) return read;
  if (!access->lease.ns.empty()) {
    access->orders = {access->lease.ns, "muster-orders"};
    access->usage = {access->lease.ns, "muster-usage"};
  }
  for (const auto& [flag, key] :
       {std::pair("--orders", &access->orders), std::pair("--usage", &access->usage)}) {
    if (Status read = ReadKey(args, *access, flag, key); !read.ok()) return read;
  }
  if (Status read = ReadAdmission(args, access); !read.ok()) return read;
  if (!access->given()) return Ok{};
  for (const char* flag :
       {"--cluster", "--seed", "--scheduler-ca", "--scheduler-cert", "--scheduler-key"}) {
    if (args.Has(flag)) {
      return Error{Code::kInvalidArgument, "is for the embedded cluster only", flag};
    }
  }
  return Ok{};
}

Result<extender::ServiceOptions> OptionsFrom(const Args& args) {
  extender::ServiceOptions options;
  options.policy_file = args.Text("--policy");
  options.cluster_file = args.Text("--cluster");
  if (const Status read = ReadAccess(args, &options.access); !read.ok()) return read.error();
  Result<std::optional<http::HostPort>> listen = AddressFrom(args, "--listen");
  if (!listen.ok()) return listen.error();
  options.listen = *std::move(listen);
  Result<std::optional<http::HostPort>> api = AddressFrom(args, "--metrics");
  if (!api.ok()) return api.error();
  options.api = *std::move(api);
  if (const Status read = ReadTlsFlags(args, &options); !read.ok()) return read.error();
  const Result<int64_t> drain = args.Number("--drain-seconds", 10, 0, 3600);
  if (!drain.ok()) return drain.error();
  options.drain_timeout = std::chrono::seconds(*drain);
  const Result<int64_t> seed = args.Number("--seed", 1, 0, INT64_MAX);
  if (!seed.ok()) return seed.error();
  options.seed = static_cast<std::uint64_t>(*seed);
  return options;
}

void FollowSignals(SignalInbox& signals, extender::Service& service, const extender::Logger& log) {
  while (!service.lost()) {
    switch (signals.Wait(kLookAround)) {
      case SignalEvent::kStop:
        log.Info("stopping");
        return;
      case SignalEvent::kReload:
        // What went wrong is in the log and in the metrics.
        static_cast<void>(service.ReloadPolicy());
        break;
      case SignalEvent::kNone:
        service.ReloadPolicyIfChanged();
        service.FollowFabric();
        break;
    }
  }
}

int Serve(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) {
    return Misused(streams, "serve", "unexpected \"" + args.positionals().front() + "\"");
  }
  Result<extender::ServiceOptions> options = OptionsFrom(args);
  if (!options.ok()) return Misused(streams, "serve", options.error().ToString());
  const std::string level = args.Text("--log-level", "info");
  const std::optional<extender::LogLevel> known = extender::LogLevelNamed(level);
  if (!known) {
    return Misused(streams, "serve",
                   "--log-level must be error, info or debug, not \"" + level + "\"");
  }

  // Both before any thread exists; all of them leave signals to this one.
  http::GiveFreedMemoryBack();
  SignalInbox signals;
  const extender::Logger log({.level = *known});
  extender::Service service(*std::move(options), log);
  if (const cluster::Status started = service.Start(); !started.ok()) {
    return Fail(streams, started.error().ToString());
  }
  streams.out << "extender: port " << service.extender_port()
              << "\napi:      http://127.0.0.1:" << service.api_port() << "/v1/gangs\n"
              << std::flush;
  FollowSignals(signals, service, log);
  service.Shutdown();
  if (service.lost()) return Fail(streams, "another replica leads now");
  return kExitOk;
}

}  // namespace

Command ServeCommand() {
  return {
      "serve",
      "",
      "run the extender, for a real cluster or an embedded one",
      {{"--policy", "FILE",
        "policy YAML, or a ConfigMap that holds it; reloaded on SIGHUP and when it changes"},
       {"--listen", "HOST:PORT",
        "address for kube-scheduler (default " + std::string(kDefaultExtenderAddress) + ")"},
       {"--metrics", "HOST:PORT",
        "address for health, metrics and /v1 (default " + std::string(kDefaultApiAddress) + ")"},
       {"--kubeconfig", "FILE", "use the real cluster of this kubeconfig"},
       {"--context", "NAME", "context of the kubeconfig (default: its current-context)"},
       {"--in-cluster", "", "use the cluster that this pod runs in"},
       {"--lease", "NS/NAME", "leader election: only the replica that holds this Lease decides"},
       {"--orders", "NS/NAME",
        "ConfigMap that keeps operators' orders (default: muster-orders beside the Lease)"},
       {"--usage", "NS/NAME",
        "ConfigMap that keeps what queues have used (default: muster-usage beside the Lease)"},
       {"--webhook", "HOST:PORT",
        "serve the webhook that takes pods of namespaces with label muster.dev/schedule"},
       {"--webhook-secret", "NS/NAME",
        "Secret of its certificate (default: muster-webhook beside the Lease)"},
       {"--webhook-configuration", "NAME",
        "MutatingWebhookConfiguration that gets its CA (default: muster-schedule)"},
       {"--cluster", "FILE", "manifests of the embedded cluster (default: 16 nodes of 8 GPUs)"},
       {"--tls-cert", "FILE", "certificate of the extender port, PEM"},
       {"--tls-key", "FILE", "key of --tls-cert, PEM"},
       {"--tls-client-ca", "FILE", "require callers to present a certificate of this CA"},
       {"--tls-client", "NAME", "admit only callers with this name; may be repeated", "", true},
       {"--scheduler-ca", "FILE", "CA that the embedded kube-scheduler trusts"},
       {"--scheduler-cert", "FILE", "certificate that the embedded kube-scheduler presents"},
       {"--scheduler-key", "FILE", "key of --scheduler-cert"},
       {"--drain-seconds", "N", "seconds that SIGTERM waits for held Bind calls (default 10)"},
       {"--seed", "N", "random seed of the embedded cluster (default 1)"},
       {"--log-level", "error|info|debug",
        "errors only, decisions as well (info, the default), or everything"}},
      Serve,
      {"muster serve", "muster serve --in-cluster --lease muster/muster --policy policy.yaml"}};
}

}  // namespace muster::cli
