// muster discover: the topology of the machine that it runs on, as the annotation of its node.
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/flags/cli.hpp"
#include "config/dns_names.hpp"
#include "config/file.hpp"
#include "extender/live/cluster_access.hpp"
#include "kube/api/api_client.hpp"
#include "kube/json/json_writer.hpp"
#include "topology/links/machine.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

constexpr const char* kAnnotation = "muster.dev/gpu-topology";

// What tells the links of a machine, by vendor. The first that is installed and succeeds counts.
constexpr std::array<const char*, 5> kTools = {"nvidia-smi topo -m", "rocm-smi --showtopo",
                                               "amd-smi topology", "npu-smi info -t topo",
                                               "ppu-smi topo -m"};

// What a program prints; kNotFound when it is not installed, kIo when it fails.
Result<std::string> OutputOf(const std::string& command) {
  constexpr int kNoSuchCommand = 127;
  const auto close = [](std::FILE* pipe) { pclose(pipe); };
  std::unique_ptr<std::FILE, decltype(close)> pipe(popen((command + " 2>/dev/null").c_str(), "r"),
                                                   close);
  if (!pipe) return Error{Code::kIo, "cannot be started", command};
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), read);
    if (text.size() > topology::kMostTopologyBytes) break;
  }
  const int status = pclose(pipe.release());
  if (status == 0) return text;
  if (status >> 8 == kNoSuchCommand) return Error{Code::kNotFound, "is not installed", command};
  return Error{Code::kIo, "failed with status " + std::to_string(status >> 8), command};
}

// A matrix of the machine, fit for an annotation.
Result<std::string> Checked(const std::string& text, const std::string& source) {
  const Result<topology::Machine> machine = topology::ParseMachine(text, source);
  if (!machine.ok()) return machine.error();
  if (!machine->has_links()) {
    return Error{Code::kInvalidArgument,
                 "a list of GPUs, without the links between them; nvidia-smi topo -m has them",
                 source};
  }
  return WriteMachine(*machine);
}

Result<std::string> Discovered(const std::string& file) {
  if (!file.empty()) {
    const std::string path = file == "-" ? "/dev/stdin" : file;
    const Result<std::string> text = config::ReadFile(path, topology::kMostTopologyBytes);
    if (!text.ok()) return text.error();
    return Checked(*text, path);
  }
  Error last{Code::kNotFound,
             "neither nvidia-smi, rocm-smi, amd-smi, npu-smi nor ppu-smi is installed here; give "
             "--file",
             ""};
  for (const char* tool : kTools) {
    const Result<std::string> text = OutputOf(tool);
    if (text.ok()) return Checked(*text, tool);
    if (text.error().code != Code::kNotFound) last = text.error();
  }
  return last;
}

std::string PatchOf(const std::string& matrix) {
  std::string json;
  kube::JsonWriter writer(json);
  writer.BeginObject().Key("metadata").BeginObject().Key("annotations").BeginObject();
  writer.Key(kAnnotation).Text(matrix).EndObject().EndObject().EndObject();
  return json;
}

Status Annotate(kube::ApiClient* client, const std::string& node, const std::string& matrix) {
  kube::ApiRequest request;
  request.method = kube::Method::kPatch;
  request.path = "/api/v1/nodes/" + node + "?fieldManager=muster-discover";
  request.body = PatchOf(matrix);
  request.content_type = "application/merge-patch+json";
  request.metadata_only = true;
  const Result<kube::ApiReply> reply = client->Call(request);
  if (!reply.ok()) return reply.error();
  if (reply->ok()) return cluster::Ok{};
  return Error{Code::kForbidden,
               "the API server answered " + std::to_string(reply->status) + ": " +
                   reply->body.substr(0, 500),
               "node " + node};
}

struct Plan {
  std::string file;
  std::string node;
  extender::ClusterAccess access;
  std::chrono::seconds every{0};  // 0: once
};

Result<Plan> ReadPlan(const Args& args) {
  Plan plan;
  plan.file = args.Text("--file");
  plan.node = args.Text("--node");
  plan.access = {args.Text("--kubeconfig"), "", args.Has("--in-cluster"), {}};
  const auto wrong = [](const char* message) { return Error{Code::kInvalidArgument, message, ""}; };
  if (args.Has("--file") && plan.file.empty()) return wrong("--file: expected a file or -");
  if (args.Has("--in-cluster") && args.Has("--kubeconfig")) {
    return wrong("--in-cluster and --kubeconfig exclude each other");
  }
  if (args.Has("--node") != plan.access.given()) {
    return wrong("--node goes with --in-cluster or --kubeconfig FILE");
  }
  if (args.Has("--node") && !config::IsDnsSubdomain(plan.node)) {
    return wrong("--node: expected the name of a node");
  }
  if (args.Has("--every") && !args.Has("--node")) return wrong("--every: needs --node");
  const Result<int64_t> every = args.Number("--every", 0, 10, 86'400);
  if (args.Has("--every") && !every.ok()) return every.error();
  plan.every = std::chrono::seconds(args.Has("--every") ? *every : 0);
  return plan;
}

// Returns when it was to be done once.
int AnnotateNode(const Plan& plan, const CliStreams& streams) {
  const Result<kube::ClientConfig> config = extender::ReadClientConfig(plan.access);
  if (!config.ok()) return Fail(streams, config.error().ToString());
  const auto client = kube::ApiClient::Create(*config, {});
  if (!client.ok()) return Fail(streams, client.error().ToString());
  std::string written;
  while (true) {
    const Result<std::string> matrix = Discovered(plan.file);
    Status status = cluster::Ok{};
    if (!matrix.ok()) {
      status = matrix.error();
    } else if (*matrix != written) {
      status = Annotate(client->get(), plan.node, *matrix);
    }
    if (!status.ok()) {
      Fail(streams, status.error().ToString());
    } else if (*matrix != written) {
      written = *matrix;
      streams.err << "node " << plan.node << ": " << kAnnotation << " is set\n";
    }
    if (plan.every.count() == 0) return status.ok() ? kExitOk : kExitFailed;
    // A driver that is not ready yet is asked again soon.
    std::this_thread::sleep_for(status.ok() ? plan.every
                                            : std::min(plan.every, std::chrono::seconds(60)));
  }
}

int Discover(const Args& args, const CliStreams& streams) {
  const std::string format = args.Text("--output", "text");
  if (!args.positionals().empty() || (format != "text" && format != "json")) {
    return Misused(streams, "discover",
                   "--output must be text or json, and there are no arguments");
  }
  const Result<Plan> plan = ReadPlan(args);
  if (!plan.ok()) return Misused(streams, "discover", plan.error().ToString());
  if (!plan->node.empty()) return AnnotateNode(*plan, streams);
  const Result<std::string> matrix = Discovered(plan->file);
  if (!matrix.ok()) return Fail(streams, matrix.error().ToString());
  if (format == "json") {
    streams.out << PatchOf(*matrix) << "\n";
  } else {
    streams.out << kAnnotation << "=" << *matrix;
  }
  return kExitOk;
}

}  // namespace

Command DiscoverCommand() {
  return {
      "discover",
      "",
      "print or set the annotation muster.dev/gpu-topology of the node that this runs on",
      {{"--file", "FILE", "a tool's output instead of running it; - is the standard input", "-f"},
       {"--node", "NAME", "set the annotation of this node"},
       {"--in-cluster", "", "by the service account of this pod"},
       {"--kubeconfig", "FILE", "by this kubeconfig"},
       {"--every", "SECONDS", "look again, and set it when it changed"},
       {"--output", "FORMAT",
        "text (default): KEY=VALUE for kubectl annotate; json: for kubectl patch --type merge",
        "-o"}},
      Discover,
      {"muster discover -o json", "muster discover --node gpu-7 --in-cluster --every 300"}};
}

}  // namespace muster::cli
