#include "kube/decode/pod_start.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Duration;
using cluster::Pod;
using cluster::PodPhase;
using cluster::StartFailure;
using cluster::Time;

namespace {

// Beside those that begin with "OutOf" and name a resource. NodeAffinity to TaintToleration are the
// names of kube-scheduler's plugins whose check the kubelet repeats.
constexpr std::array<std::string_view, 14> kNodeReasons = {
    "UnexpectedAdmissionError",
    "UnknownReason",
    "UnexpectedPredicateFailureType",
    "InvalidNodeInfo",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeUnschedulable",
    "TaintToleration",
    "TopologyAffinityError",
    "SMTAlignmentError",
    "VolumeAttachmentLimitExceeded",
    "NodeShutdown",
    "Evicted",  // at admission: the node is under pressure
};

bool OfTheNode(std::string_view reason) {
  return reason.starts_with("OutOf") ||
         std::find(kNodeReasons.begin(), kNodeReasons.end(), reason) != kNodeReasons.end();
}

// Nothing where there is none, and for Go's and the container runtimes' zero times.
std::optional<Time> TimeOf(const JsonView& text) {
  if (text.Text().empty()) return std::nullopt;
  const cluster::Result<Time> time = ParseTimestamp(text.Text());
  if (!time.ok() || time->milliseconds() <= 0) return std::nullopt;
  return *time;
}

// What the statuses of a pod's containers come to.
struct Runs {
  bool any = false;      // a container ran, at some time
  bool all_well = true;  // each of the main ones runs or has succeeded
  Time since;            // the last of these began
  std::shared_ptr<StartFailure> first_failure;
};

void AddRun(const JsonView& ended, Runs& runs) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!ended.present()) return;
  runs.any = true;
  const JsonView code = ended.Get("exitCode");
  const std::optional<Time> finished = TimeOf(ended.Get("finishedAt"));
  if (code.Integer(0, kLeast, kMost) == 0 || !finished) return;
  if (runs.first_failure != nullptr && runs.first_failure->at <= *finished) return;
  const Time started = TimeOf(ended.Get("startedAt")).value_or(*finished);
  const JsonView reason = ended.Get("reason");
  runs.first_failure = std::make_shared<StartFailure>(
      StartFailure{false, std::string(reason.Text()), *finished, *finished - started});
}

void AddContainer(const JsonView& container, bool main, Runs& runs) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const JsonView state = container.Get("state");
  const JsonView running = state.Get("running");
  const JsonView ended = state.Get("terminated");
  const JsonView last_state = container.Get("lastState");
  const JsonView before = last_state.Get("terminated");
  const JsonView restarts = container.Get("restartCount");
  runs.any = runs.any || running.present() || ended.present() || before.present();
  switch (restarts.Integer(0, 0, kMost)) {
    case 0:
      AddRun(ended, runs);
      break;
    case 1:
      AddRun(before, runs);
      break;
    default:
      break;  // the first run is forgotten
  }
  if (!main) return;
  const JsonView code = ended.Get("exitCode");
  const bool well = running.present() || (ended.present() && code.Integer(1, 0, kMost) == 0);
  const JsonView& begun = running.present() ? running : ended;
  const std::optional<Time> since = TimeOf(begun.Get("startedAt"));
  runs.all_well = runs.all_well && well && since;
  runs.since = std::max(runs.since, since.value_or(Time()));
}

}  // namespace

void ReadStart(const JsonView& status, Pod& record) {
  const JsonView reason = status.Get("reason");
  const bool failed = record.phase == PodPhase::kFailed;
  Runs runs;
  const JsonView before = status.Get("initContainerStatuses");
  before.Items([&](const JsonView& container) { AddContainer(container, false, runs); });
  const JsonView main = status.Get("containerStatuses");
  main.Items([&](const JsonView& container) { AddContainer(container, true, runs); });
  if (failed && !runs.any && OfTheNode(reason.Text())) {
    const Time at = TimeOf(status.Get("startTime")).value_or(record.created);
    record.start_failure = std::make_shared<const StartFailure>(
        StartFailure{true, std::string(reason.Text()), at, Duration(0)});
  } else if (reason.Text().empty()) {
    record.start_failure = std::move(runs.first_failure);
  }
  const bool runs_or_ran =
      record.phase == PodPhase::kRunning || record.phase == PodPhase::kSucceeded;
  if (runs_or_ran && runs.all_well) record.running_since = runs.since;
}

}  // namespace muster::kube
