#include "kube/write/gang_status.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/contract/gang_view.hpp"
#include "engine/reasons/reason.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"
#include "kube/write/conditions.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Time;
using engine::GangState;
using engine::PatchGang;
using engine::ReasonCode;

namespace {

constexpr size_t kMaxMessage = 1024;
constexpr std::string_view kOurs = "muster: ";
constexpr const char* kScheduledWord = "Scheduled";
constexpr std::string_view kAllBound = "all required members are bound";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";
constexpr std::string_view kNodePoolLabel = "kai.scheduler/node-pool";
// What Volcano's scheduler itself writes, spaces and all.
constexpr std::string_view kVolcanoReady = "tasks in gang are ready to be scheduled";

std::optional<GangState> StateOf(const std::string& name) {
  for (int i = 0; i < engine::kGangStates; ++i) {
    const auto state = static_cast<GangState>(i);
    if (name == ToString(state)) return state;
  }
  return std::nullopt;
}

// What all flavours tell in words of their own.
enum class GangStanding { kWaiting, kStarting, kScheduled };

struct View {
  const PatchGang& gang;
  GangState state;
  GangStanding standing;
  Time now;
  int64_t generation;

  bool because(ReasonCode code) const { return gang.reason == ToString(code); }
  bool lost_members() const { return state == GangState::kDegraded; }
  bool partly_bound() const { return lost_members() || gang.bound > 0; }
  // "NotEnoughGpus: not enough free GPUs: …"
  std::string Message() const {
    const std::string text = gang.reason.empty() ? gang.message : gang.reason + ": " + gang.message;
    return std::string(CutText(text, kMaxMessage));
  }
  // There is something to wait for, and it is known what.
  bool unschedulable() const {
    return standing == GangStanding::kWaiting && !because(ReasonCode::kNone) &&
           !because(ReasonCode::kNotTried);
  }
};

GangStanding GangStandingOf(GangState state) {
  switch (state) {
    case GangState::kReserved:
    case GangState::kBinding:
      return GangStanding::kStarting;
    case GangState::kRunning:
    case GangState::kFinished:
      return GangStanding::kScheduled;
    default:
      return GangStanding::kWaiting;
  }
}

// The members of a status that are to change, as JSON.
class StatusChange {
 public:
  explicit StatusChange(const JsonView& status) : status_(status) {}

  void Text(std::string_view key, std::string_view wanted) {
    const JsonView is = status_.Get(key);
    if (is.Text() == wanted) return;
    std::string json;
    AppendJsonText(json, wanted);
    Put(key, std::move(json));
  }
  void Count(std::string_view key, int64_t wanted) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const JsonView is = status_.Get(key);
    const int64_t count = std::clamp<int64_t>(wanted, 0, kMost);
    if (is.Integer(0, -kMost, kMost) != count) Put(key, std::to_string(count));
  }
  void List(std::string_view key, const Conditions& conditions, bool merged_by_type) {
    if (!conditions.changed()) return;
    only_message_ = only_message_ && conditions.only_sentences();
    changes_.emplace_back(key, merged_by_type ? conditions.Changed() : conditions.All());
  }

  bool none() const { return changes_.empty(); }
  bool only_message() const { return only_message_; }
  std::string Body(std::string_view resource_version) const {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("metadata").BeginObject();
    json.Key("resourceVersion").Text(resource_version).EndObject();
    json.Key("status").BeginObject();
    for (const auto& [key, value] : changes_) json.Key(key).Raw(value);
    json.EndObject().EndObject();
    return body;
  }

 private:
  void Put(std::string_view key, std::string json) {
    only_message_ = false;
    changes_.emplace_back(key, std::move(json));
  }

  const JsonView& status_;
  std::vector<std::pair<std::string_view, std::string>> changes_;
  bool only_message_ = true;
};

void SayCounts(const View& view, StatusChange& change) {
  change.Count("running", view.gang.bound);
  change.Count("succeeded", view.gang.succeeded);
  change.Count("failed", view.gang.failed);
}

std::string_view PluginsPhase(const View& view) {
  if (view.standing == GangStanding::kStarting) return "Scheduling";
  if (view.state == GangState::kRunning) return "Running";
  const bool failed = view.gang.failed > 0;
  if (view.state == GangState::kFinished) return failed ? "Failed" : "Finished";
  if (view.lost_members()) return failed ? "Failed" : "Unknown";
  return view.partly_bound() ? "Unknown" : "Pending";
}

// The type of scheduler-plugins has no conditions, the one that Muster ships (manifests/crd) has.
// An API server leaves out what its type does not have.
void SayPluginsCondition(const View& view, const JsonView& status, StatusChange& change) {
  const JsonView list = status.Get("conditions");
  Conditions conditions(ConditionForm::kStandard, list);
  if (view.standing == GangStanding::kScheduled) {
    conditions.Set({kScheduledWord, "True", kScheduledWord, std::string(kAllBound)}, view.now,
                   view.generation);
  } else if (view.unschedulable()) {
    conditions.Set({kScheduledWord, "False", view.gang.reason,
                    std::string(CutText(view.gang.message, kMaxMessage))},
                   view.now, view.generation);
  }
  change.List("conditions", conditions, false);
}

void SayPlugins(const View& view, const JsonView& status, StatusChange& change) {
  change.Text("phase", PluginsPhase(view));
  SayCounts(view, change);
  const JsonView start = status.Get("scheduleStartTime");
  if (view.standing != GangStanding::kWaiting && start.Text().empty()) {
    change.Text("scheduleStartTime", FormatSeconds(view.now));
  }
  SayPluginsCondition(view, status, change);
}

bool HoldsNothing(GangState state) {
  return state == GangState::kInvalid || state == GangState::kForbidden ||
         state == GangState::kUnsatisfiable;
}

std::string_view VolcanoPhase(const View& view) {
  if (view.state == GangState::kRunning) return "Running";
  if (view.state == GangState::kFinished) return "Completed";
  if (view.standing == GangStanding::kStarting) return "Inqueue";
  if (view.partly_bound()) return "Unknown";
  return HoldsNothing(view.state) ? "Pending" : "Inqueue";
}

std::string_view VolcanoReason(const View& view) {
  if (view.lost_members()) return view.gang.failed > 0 ? "PodFailed" : "PodDeleted";
  return view.state == GangState::kForming ? "NotEnoughTasks" : "NotEnoughResources";
}

// KAI's types are Volcano's here. The condition that does not hold is turned only where it stands.
void SayConditions(const View& view, std::string_view ready_reason, const JsonView& status,
                   StatusChange& change) {
  const JsonView list = status.Get("conditions");
  Conditions conditions(ConditionForm::kTransition, list);
  const auto turn_off = [&](std::string_view type) {
    const Condition* is = conditions.Find(type);
    if (is == nullptr || !is->is_true()) return;
    conditions.Set({std::string(type), "False", is->reason, is->message}, view.now, 0);
  };
  if (view.standing == GangStanding::kScheduled) {
    turn_off("Unschedulable");
    conditions.Set({kScheduledWord, "True", std::string(ready_reason), ""}, view.now, 0);
  } else if (view.unschedulable()) {
    turn_off("Scheduled");
    conditions.Set({"Unschedulable", "True", std::string(VolcanoReason(view)), view.Message()},
                   view.now, 0);
  }
  change.List("conditions", conditions, false);
}

void SayVolcano(const View& view, const JsonView& status, StatusChange& change) {
  change.Text("phase", VolcanoPhase(view));
  SayCounts(view, change);
  SayConditions(view, kVolcanoReady, status, change);
}

std::string_view KaiPhase(const View& view) {
  if (view.state == GangState::kRunning) return "Running";
  if (view.state == GangState::kFinished) return view.gang.failed > 0 ? "Failed" : "Succeeded";
  return view.standing == GangStanding::kWaiting && view.partly_bound() ? "Unknown" : "Pending";
}

void SayKai(const View& view, const JsonView& object, const JsonView& status,
            StatusChange& change) {
  change.Text("phase", KaiPhase(view));
  SayCounts(view, change);
  SayConditions(view, "Scheduled", status, change);
  const JsonView metadata = object.Get("metadata");
  const JsonView labels = metadata.Get("labels");
  const JsonView label = labels.Get(kNodePoolLabel);
  const std::string pool(label.Text().empty() ? "default" : label.Text());
  const JsonView list = status.Get("schedulingConditions");
  Conditions conditions(ConditionForm::kScheduling, list);
  const Condition* is = conditions.Find("UnschedulableOnNodePool", pool);
  // KAI leaves a gang alone that has pods placed.
  if (view.unschedulable() && !view.partly_bound()) {
    conditions.Set({"UnschedulableOnNodePool", "True", "Unschedulable", view.Message(), pool},
                   view.now, 0);
  } else if (view.standing == GangStanding::kScheduled && is != nullptr && is->is_true()) {
    conditions.Set({"UnschedulableOnNodePool", "False", "Scheduled", "", pool}, view.now, 0);
  }
  change.List("schedulingConditions", conditions, false);
}

void SayNative(const View& view, const ServedPodGroups& as, const JsonView& status,
               StatusChange& change) {
  const std::string type =
      as.version == "v1alpha2" ? "PodGroupScheduled" : "PodGroupInitiallyScheduled";
  const JsonView list = status.Get("conditions");
  Conditions conditions(ConditionForm::kStandard, list);
  const Condition* is = conditions.Find(type);
  const std::string message = std::string(kOurs) + view.Message();
  if (is != nullptr && is->is_true()) return;
  if (view.standing == GangStanding::kScheduled) {
    conditions.Set({type, "True", kScheduledWord, std::string(kOurs) + std::string(kAllBound)},
                   view.now, view.generation);
  } else if (view.unschedulable() && !view.partly_bound() &&
             (is == nullptr || is->message.starts_with(kOurs))) {
    const bool mistaken =
        view.state == GangState::kInvalid || view.because(ReasonCode::kBindFailed);
    conditions.Set({type, "False", mistaken ? "SchedulerError" : "Unschedulable", message},
                   view.now, view.generation);
  }
  change.List("conditions", conditions, true);
}

}  // namespace

Result<std::optional<StatusPatch>> PlanGangStatus(const PatchGang& gang, const ServedPodGroups& as,
                                                  std::string_view object, Time now) {
  const std::optional<GangState> state = StateOf(gang.state);
  if (!state) return Error{Code::kInvalidArgument, "no state of a gang: " + gang.state, ""};
  const Result<Json> json = Json::Parse(object, kMaxPodGroupBytes, "PodGroup");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView group(json->root(), "PodGroup", problems);
  const JsonView metadata = group.Get("metadata");
  const std::string uid(metadata.Get("uid").RequiredText());
  const std::string version(metadata.Get("resourceVersion").RequiredText());
  const View view{gang, *state, GangStandingOf(*state), now,
                  metadata.Get("generation").Integer(0, 0, std::numeric_limits<int64_t>::max())};
  if (!problems.none()) return problems.first();
  if (uid != gang.uid.text()) {
    return Error{Code::kNotFound, "it is another PodGroup of that name now", ""};
  }
  // What is odd in the status itself is not carried over and keeps nobody from mending it.
  JsonProblems ignored;
  const JsonView again(json->root(), "PodGroup", ignored);
  const JsonView status = again.Get("status");
  StatusChange change(status);
  switch (as.flavour) {
    case PodGroupFlavour::kNative:
      SayNative(view, as, status, change);
      break;
    case PodGroupFlavour::kSchedulerPlugins:
      SayPlugins(view, status, change);
      break;
    case PodGroupFlavour::kVolcano:
      SayVolcano(view, status, change);
      break;
    case PodGroupFlavour::kKai:
      SayKai(view, again, status, change);
      break;
    case PodGroupFlavour::kGrove:  // its operator writes the status itself, by the pods' conditions
      break;
  }
  if (change.none()) return std::optional<StatusPatch>();
  const bool native = as.flavour == PodGroupFlavour::kNative;
  return std::optional(StatusPatch{PodGroupPath(as, gang.key) + (as.has_status ? "/status" : ""),
                                   std::string(native ? kStrategicPatch : kMergePatch),
                                   change.Body(version), change.only_message()});
}

}  // namespace muster::kube
