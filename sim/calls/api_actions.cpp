#include "sim/calls/api_actions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "cluster/records/hami_devices.hpp"

namespace muster::sim {

using cluster::Code;
using cluster::Duration;
using cluster::Status;
using cluster::Time;
using engine::Action;
using engine::Outcome;
using engine::OutcomeKind;

namespace {

constexpr const char* kWakeAnnotation = "muster.dev/wake";
constexpr Duration kStatusAgain = cluster::Seconds(1);  // a status that was lost
constexpr const char* kTerm = "0";  // the embedded cluster has one leader, and no lease

std::string GpuList(const std::vector<cluster::GpuIndex>& gpus) {
  std::string text;
  for (const cluster::GpuIndex gpu : gpus) {
    if (!text.empty()) text += ',';
    text += std::to_string(gpu.value);
  }
  return text;
}

// The write of each action; the pod's state decides afterwards what a refusal means.
Status Write(ApiServer& api, const engine::Nominate& action) {
  PodStatusPatch patch;
  patch.nominated_node = action.node;
  if (action.unsays) patch.message = "";
  if (action.hands_over) patch.annotations[cluster::kEpochAnnotation] = kTerm;
  return api.PatchPodStatus(Actor::kMuster, action.pod, patch);
}
Status Write(ApiServer& api, const engine::RemoveGate& action) {
  cluster::Labels mark;
  if (action.hands_over) mark[cluster::kEpochAnnotation] = kTerm;
  return api.RemoveGate(Actor::kMuster, action.pod, cluster::kGangGate, action.pin, mark);
}
Status Write(ApiServer& api, const engine::WakePod& action) {
  // Any value that the pod does not have yet.
  return api.Annotate(Actor::kMuster, action.pod,
                      {{kWakeAnnotation, std::to_string(api.resource_version())},
                       {cluster::kEpochAnnotation, kTerm}});
}
Status Write(ApiServer& api, const engine::RecordPod& action) {
  return api.RecordPod(Actor::kMuster, action.pod, action.record);
}
Status Write(ApiServer& api, const engine::BindPod& action) {
  Binding binding{
      action.pod, action.node, {{cluster::kBoundByAnnotation, cluster::kBoundByMuster}}};
  if (!action.gang.empty()) binding.annotations[cluster::kBoundInAnnotation] = action.gang;
  if (!action.gpus.empty()) binding.annotations[cluster::kGpusAnnotation] = GpuList(action.gpus);
  if (!action.gpu_uuids.empty())
    binding.annotations[cluster::kGpuUuidsAnnotation] = action.gpu_uuids;
  if (action.rank) binding.annotations[cluster::kRankAnnotation] = std::to_string(*action.rank);
  if (!action.topology_path.empty())
    binding.annotations[cluster::kTopologyPathAnnotation] = action.topology_path;
  if (action.keeps_node) {
    binding.annotations[cluster::kDoNotDisrupt] = "true";
    binding.annotations[cluster::kSafeToEvict] = "false";
  }
  if (!action.consumes.empty()) {
    binding.annotations[cluster::kConsumesRequest] = action.consumes;
    binding.annotations[cluster::kRequestClass] = action.request_class;
  }
  if (!action.hami_devices.empty()) {
    binding.annotations[cluster::kHamiNodeAnnotation] = action.node;
    binding.annotations[cluster::kHamiPhaseAnnotation] = cluster::kHamiAllocating;
    binding.annotations[cluster::kHamiBindTimeAnnotation] = "0";  // nobody reads what it says
    binding.annotations[cluster::kHamiToAllocateAnnotation] = action.hami_devices;
    binding.annotations[cluster::kHamiAllocatedAnnotation] = action.hami_devices;
  }
  Status status = api.BindPod(Actor::kMuster, binding);
  if (status.ok() || status.error().code != Code::kConflict) return status;
  // A lost answer may be the reason: bound to that node already is what was wanted.
  const PodPtr pod = api.FindPod(action.pod.uid);
  if (pod != nullptr && pod->pod.node_name == action.node) return cluster::Ok{};
  return status;
}
Status Write(ApiServer& api, const engine::EndHamiTurn& action) {
  return api.Unannotate(Actor::kMuster, action.pod, cluster::kHamiBindTimeAnnotation);
}
Status Write(ApiServer& api, const engine::EvictPod& action) {
  Status evicted = api.EvictPod(Actor::kMuster, action.pod, action.gang, action.grace);
  const bool refused = !evicted.ok() && evicted.error().code == Code::kConflict;
  if (!refused || !action.over_budgets) return evicted;
  return api.DeletePod(Actor::kMuster, action.pod, action.grace, action.gang);
}
Status Write(ApiServer& api, const engine::TellPod& action) {
  PodStatusPatch patch;
  patch.message = action.message;
  return api.PatchPodStatus(Actor::kMuster, action.pod, patch);
}
Status Write(ApiServer& api, const engine::PatchGang& action) {
  return api.PatchPodGroupStatus(Actor::kMuster, action);
}
Status Write(ApiServer& api, const engine::EmitEvent& action) {
  api.RecordEvent(Actor::kMuster, action);
  return cluster::Ok{};
}
Status Write(ApiServer& api, const engine::AskForNodes& action) {
  for (const engine::AskedPods& set : action.sets) {
    if (api.FindPod(set.uid) == nullptr)
      return cluster::Error{Code::kNotFound, "pod " + set.like.ToString() + " not found", ""};
  }
  RequestRecord record;
  record.request.key = action.key;
  record.request.gang = action.gang;
  record.request.fingerprint = action.fingerprint;
  record.request.attempt = action.attempt;
  record.request.pod_sets = static_cast<int64_t>(action.sets.size());
  record.request.class_name = action.class_name;
  record.sets = action.sets;
  (void)api.CreateRequest(Actor::kMuster, std::move(record));  // there already: as good
  return cluster::Ok{};
}
Status Write(ApiServer& api, const engine::WithdrawAsk& action) {
  const RequestPtr there = api.FindRequest(action.key);
  const bool other = there != nullptr && !action.uid.empty() && there->request.uid != action.uid;
  if (there != nullptr && !other) return api.DeleteRequest(Actor::kMuster, action.key);
  return cluster::Ok{};
}
Status Write(ApiServer& /*api*/, const engine::AnswerBind& /*action*/) { return cluster::Ok{}; }

struct Target {
  engine::ActionId id;  // 0: no outcome is waited for
  std::string object;   // writes to the same one stay in order
};
template <typename PodAction>
Target TargetOf(const PodAction& action) {
  return {action.id, action.pod.uid.text()};
}
Target TargetOf(const engine::PatchGang& action) { return {{}, action.uid.text()}; }
Target TargetOf(const engine::EmitEvent& action) { return {{}, action.uid}; }
Target TargetOf(const engine::AskForNodes& action) { return {action.id, action.key.ToString()}; }
Target TargetOf(const engine::WithdrawAsk& action) { return {action.id, action.key.ToString()}; }
Target TargetOf(const engine::AnswerBind& /*action*/) { return {}; }

bool PodExists(const ApiServer& api, const Target& target) {
  return api.FindPod(cluster::PodUid(target.object)) != nullptr;
}

}  // namespace

ApiActions::ApiActions(EventLoop& loop, ApiServer& api, WriteFaults faults, uint64_t seed,
                       Report report)
    : loop_(loop), api_(api), faults_(faults), random_(seed), report_(std::move(report)) {}

ApiActions::~ApiActions() = default;

void ApiActions::Disown() {
  for (const auto& [number, action] : travelling_) {
    std::string nobody_hears;
    if (random_.Chance(500)) CarryOut(action, nobody_hears);
  }
  travelling_.clear();
  busy_.clear();
}

OutcomeKind ApiActions::CarryOut(const Action& action, std::string& message) {
  const Status status = std::visit([&](const auto& one) { return Write(api_, one); }, action);
  if (status.ok()) return OutcomeKind::kDone;
  message = status.error().ToString();
  const Target target = std::visit([](const auto& one) { return TargetOf(one); }, action);
  if (!PodExists(api_, target)) return OutcomeKind::kGone;
  return status.error().code == Code::kConflict ? OutcomeKind::kConflict : OutcomeKind::kRefused;
}

// What is evicted for one gang goes together: one that a budget protects spares the others. Those
// that go over budgets leave what these allow to the rest, unless Muster may not delete them.
std::set<engine::ActionId> ApiActions::Spare(const std::vector<Action>& actions) {
  std::map<cluster::ObjectKey, std::vector<engine::EvictPod>> sets;  // by gang
  for (const Action& action : actions) {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict != nullptr) sets[evict->gang].push_back(*evict);
  }
  std::set<engine::ActionId> spared;
  for (const auto& [gang, evictions] : sets) {
    std::vector<engine::EvictPod> held;
    std::copy_if(
        evictions.begin(), evictions.end(), std::back_inserter(held),
        [&](const engine::EvictPod& one) { return faults_.refuse_deletes || !one.over_budgets; });
    const engine::EvictPod* obstacle = api_.OverBudget(held);
    if (obstacle == nullptr) continue;
    for (const engine::EvictPod& one : evictions) {
      spared.insert(one.id);
      const bool it = one.id == obstacle->id;
      report_({one.id, it ? OutcomeKind::kConflict : OutcomeKind::kRetry,
               "a PodDisruptionBudget protects pod " + obstacle->pod.key.ToString() +
                   (obstacle->over_budgets ? ", and Muster may not delete it" : "") +
                   ", so none is evicted",
               !it});
    }
  }
  return spared;
}

void ApiActions::Perform(const std::vector<Action>& actions) {
  const bool at_once = faults_.latency == Duration() && faults_.jitter == Duration();
  const std::set<engine::ActionId> spared = Spare(actions);
  for (const Action& action : actions) {
    if (std::holds_alternative<engine::AnswerBind>(action)) continue;
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict != nullptr && spared.contains(evict->id)) continue;
    if (at_once && busy_.empty()) {
      Do(action);
    } else {
      Later(action, Duration());
    }
  }
}

void ApiActions::Do(const Action& action) {
  const Target target = std::visit([](const auto& one) { return TargetOf(one); }, action);
  Outcome outcome{target.id, OutcomeKind::kRetry, "the API server did not answer"};
  const bool lost = random_.Chance(faults_.lost_per_mille);
  const bool unclear = random_.Chance(faults_.unclear_per_mille);
  // The engine gets no outcome: the writer retries until the write succeeds.
  if (lost && std::holds_alternative<engine::PatchGang>(action)) {
    return Later(action, kStatusAgain);
  }
  if (!lost && faults_.refuse_all) {
    outcome.kind = OutcomeKind::kRefused;
    outcome.message = "forbidden";
  } else if (!lost && faults_.refuse_binds && std::holds_alternative<engine::BindPod>(action)) {
    outcome.kind = OutcomeKind::kRefused;
    outcome.message = "denied by an admission webhook";
  } else if (!lost) {
    std::string message;
    const OutcomeKind kind = CarryOut(action, message);
    if (!unclear) {
      outcome.kind = kind;
      outcome.message = std::move(message);
    }
  }
  if (target.id.value != 0) report_(outcome);
}

void ApiActions::Later(const Action& action, Duration wait) {
  const Target target = std::visit([](const auto& one) { return TargetOf(one); }, action);
  const Duration late = faults_.latency + Duration(random_.Between(0, faults_.jitter.value()));
  Time& busy = busy_[target.object];
  busy = std::max(busy, loop_.now() + wait + late);
  const uint64_t number = next_number_++;
  travelling_.emplace(number, action);
  loop_.Post(busy, [this, number] { Arrive(number); });
}

void ApiActions::Arrive(uint64_t number) {
  const auto found = travelling_.find(number);
  if (found == travelling_.end()) return;  // its process is gone
  const Action action = std::move(found->second);
  travelling_.erase(found);
  const Target target = std::visit([](const auto& one) { return TargetOf(one); }, action);
  const auto busy = busy_.find(target.object);
  if (busy != busy_.end() && busy->second <= loop_.now()) busy_.erase(busy);
  Do(action);
}

}  // namespace muster::sim
