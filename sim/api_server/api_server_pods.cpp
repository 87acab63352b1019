// The verbs on pods: create, delete, evict, bind, resize, patch.
#include <algorithm>
#include <charconv>

#include "cluster/records/hami_devices.hpp"
#include "sim/api_server/api_server_impl.hpp"
#include "sim/api_server/resize.hpp"

namespace muster::sim {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Ok;
using cluster::PodUid;
using cluster::Result;
using cluster::Status;

namespace {

// "0,3" as GPU indices; text that is no such list names none.
std::vector<cluster::GpuIndex> ParseGpus(const std::string& text) {
  std::vector<cluster::GpuIndex> gpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    uint16_t index = 0;
    const auto [next, error] = std::from_chars(at, end, index);
    if (error != std::errc() || (next != end && *next != ',')) return {};
    gpus.push_back({index});
    at = next == end ? end : next + 1;
  }
  return gpus;
}

// What Muster's record of a pod takes from annotations.
void Merge(PodRecord& record, const cluster::Labels& annotations) {
  for (const auto& [key, value] : annotations) record.annotations[key] = value;
  record.pod.handed_over = record.annotations.contains(cluster::kEpochAnnotation);
}

cluster::HamiTurn TurnOf(const PodRecord& record) {
  const auto text = [&](const char* annotation) -> std::string_view {
    const auto found = record.annotations.find(annotation);
    return found == record.annotations.end() ? std::string_view() : found->second;
  };
  return cluster::HamiTurnOf(record.pod, {.phase = text(cluster::kHamiPhaseAnnotation),
                                          .node = text(cluster::kHamiNodeAnnotation),
                                          .bind_time = text(cluster::kHamiBindTimeAnnotation),
                                          .acknowledged = record.acknowledged});
}

bool Has(const PodRecord& record, const cluster::Labels& annotations) {
  return std::all_of(annotations.begin(), annotations.end(), [&](const auto& wanted) {
    const auto found = record.annotations.find(wanted.first);
    return found != record.annotations.end() && found->second == wanted.second;
  });
}

// `now` is the loop's time, `stamp` the API server's.
void TakeNode(PodRecord& record, const std::string& node, cluster::Time now) {
  record.pod.node_name = node;
  record.pod.unschedulable = nullptr;
  record.pod.bound_at = now;
  record.bound_at = now;
  const auto by = record.annotations.find(cluster::kBoundByAnnotation);
  record.pod.bound_by_muster =
      by != record.annotations.end() && by->second == cluster::kBoundByMuster;
  const auto in = record.annotations.find(cluster::kBoundInAnnotation);
  if (in != record.annotations.end()) record.pod.bound_in = in->second;
  record.pod.says_disruption = record.annotations.contains(cluster::kDoNotDisrupt) ||
                               record.annotations.contains(cluster::kSafeToEvict);
  const auto gpus = record.annotations.find(cluster::kGpusAnnotation);
  if (gpus != record.annotations.end()) record.pod.bound_gpus = ParseGpus(gpus->second);
}

// As the kubelet's status would tell it.
std::shared_ptr<const cluster::StartFailure> FailureOf(const PodRecord& before,
                                                       const PodRecord& after, cluster::Time now) {
  if (!after.pod.bound()) return nullptr;
  cluster::StartFailure failure;
  failure.admission = !before.running_at;
  failure.reason = after.status_reason;
  failure.at = now;
  if (before.running_at) failure.ran = now - *before.running_at;
  return std::make_shared<const cluster::StartFailure>(std::move(failure));
}

ObjectKey BudgetOf(const cluster::Pod& pod) { return {pod.key.ns, pod.pod_group}; }

bool IsHeldToBudgets(const cluster::Pod& pod) {
  return pod.phase == cluster::PodPhase::kRunning && !pod.deleting;
}

// The deletion shows it; who is on the way out already goes by somebody else's.
void MarkEvicted(PodPtr& slot, const ObjectKey& whose, bool over_budget) {
  if (slot->pod.deleting) return;
  auto next = std::make_shared<PodRecord>(*slot);
  next->evicted_by_muster = true;
  next->evicted_for = whose;
  next->over_budget = over_budget;
  slot = std::move(next);
}

Error Protected(const cluster::Pod& pod) {
  return {
      Code::kConflict,
      "Cannot evict pod \"" + pod.key.ToString() + "\" as it would violate its disruption budget",
      ""};
}

}  // namespace

bool ApiServer::Impl::Gated(const PodRecord& record) const {
  const cluster::Pod& pod = record.pod;
  if (options.gating == Gating::kNone || pod.bound() || pod.daemon) return false;
  if (options.gating == Gating::kGangs && pod.pod_group.empty()) return false;
  return std::find(options.gated_schedulers.begin(), options.gated_schedulers.end(),
                   pod.spec->scheduler_name) != options.gated_schedulers.end();
}

Result<PodPtr*> ApiServer::Impl::Find(const engine::PodRef& ref) {
  const auto found = store.pods.find(ref.key);
  if (found == store.pods.end()) return NotFound("pod", ref.key.ToString());
  if (!ref.uid.empty() && found->second->pod.uid != ref.uid) {
    return Error{Code::kConflict,
                 "the UID in the precondition (" + ref.uid.text() + ") is not that of pod \"" +
                     ref.key.ToString() + "\" (" + found->second->pod.uid.text() + ")",
                 ""};
  }
  return &found->second;
}

void ApiServer::Impl::Store(PodPtr& slot, std::shared_ptr<PodRecord> next) {
  next->pod.resource_version = store.NextVersion();
  next->pod.hami_turn = TurnOf(*next);
  if (IsResized(*next)) next->resize.reset();
  next->pod.resized = ResizedOf(*next);
  slot = std::move(next);
  store.Log(Change::kModified, slot);
}

void ApiServer::Impl::Remove(const PodPtr& pod) {
  auto last = std::make_shared<PodRecord>(*pod);
  last->pod.resource_version = store.NextVersion();
  last->pod.deleting = true;
  store.pods_by_uid.erase(last->pod.uid);
  store.pods.erase(last->pod.key);
  store.Log(Change::kDeleted, PodPtr(std::move(last)));
}

Status ApiServer::Impl::Terminate(PodPtr& slot, Duration grace) {
  const cluster::Pod& pod = slot->pod;
  if (!pod.bound() || pod.terminal() || grace.value() <= 0) {
    Remove(PodPtr(slot));
    return Ok{};
  }
  const cluster::Time from = pod.deleting ? slot->deleted_at.value_or(loop.now()) : loop.now();
  const cluster::Time at = from + grace;
  // A second deletion can bring the end nearer, never move it away.
  if (pod.deleting && slot->delete_at && *slot->delete_at <= at) return Ok{};
  auto next = std::make_shared<PodRecord>(*slot);
  next->pod.deleting = true;
  next->pod.leaves_by = at;
  next->deleted_at = from;
  next->delete_at = at;
  Store(slot, std::move(next));
  return Ok{};
}

Result<PodPtr> ApiServer::CreatePod(Actor actor, PodRecord pod) {
  ApiStore& store = impl_->store;
  if (pod.pod.key.name.empty() || pod.pod.key.ns.empty()) {
    return Invalid("a pod needs a name and a namespace");
  }
  if (pod.pod.spec == nullptr) return Invalid("a pod needs a spec");
  if (pod.pod.bound() && !pod.pod.gates.empty()) {
    return Invalid("nodeName cannot be set on a pod with scheduling gates");
  }
  if (store.pods.contains(pod.pod.key)) return Taken("pod", pod.pod.key.ToString());
  auto record = std::make_shared<PodRecord>(std::move(pod));
  cluster::Pod& stored = record->pod;
  stored.uid = PodUid(store.NewUid());
  stored.created = impl_->loop.now();
  stored.resource_version = store.NextVersion();
  stored.phase = cluster::PodPhase::kPending;
  stored.deleting = false;
  stored.nominated_node.clear();
  stored.bound_gpus.clear();
  stored.bound_by_muster = false;
  Merge(*record, {});
  if (impl_->Gated(*record) && !stored.gated_by_muster()) {
    stored.gates.emplace_back(cluster::kGangGate);
  }
  if (stored.bound()) {
    TakeNode(*record, std::string(stored.node_name), impl_->loop.now());
  }
  PodPtr& slot = store.pods[stored.key];
  slot = record;
  store.pods_by_uid[stored.uid] = &slot;
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, slot);
  return PodPtr(record);
}

Status ApiServer::DeletePod(Actor actor, const engine::PodRef& pod, std::optional<Duration> grace,
                            const cluster::ObjectKey& whose) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kDelete);
  if (actor == Actor::kMuster) MarkEvicted(**slot, whose, true);
  return impl_->Terminate(**slot, grace.value_or((**slot)->pod.grace));
}

void ApiServer::SetBudget(const cluster::ObjectKey& group, int64_t allowed) {
  impl_->store.budgets[group] = allowed;
}

bool ApiServer::HasBudget(const cluster::ObjectKey& group) const {
  return impl_->store.budgets.contains(group);
}

const engine::EvictPod* ApiServer::OverBudget(
    const std::vector<engine::EvictPod>& evictions) const {
  ByKey<int64_t> left = impl_->store.budgets;
  for (const engine::EvictPod& one : evictions) {
    const PodPtr record = FindPod(one.pod.uid);
    if (record == nullptr) continue;
    const auto budget = left.find(BudgetOf(record->pod));
    if (budget != left.end() && IsHeldToBudgets(record->pod) && --budget->second < 0) return &one;
  }
  return nullptr;
}

Status ApiServer::EvictPod(Actor actor, const engine::PodRef& pod, const cluster::ObjectKey& whose,
                           std::optional<Duration> grace) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kEvict);
  const cluster::Pod& evicted = (**slot)->pod;
  const auto budget = impl_->store.budgets.find(BudgetOf(evicted));
  if (budget != impl_->store.budgets.end() && IsHeldToBudgets(evicted)) {
    if (budget->second <= 0) return Protected(evicted);
    --budget->second;
  }
  if (actor == Actor::kMuster) MarkEvicted(**slot, whose, false);
  return impl_->Terminate(**slot, grace.value_or((**slot)->pod.grace));
}

Status ApiServer::BindPod(Actor actor, const Binding& binding) {
  const Result<PodPtr*> slot = impl_->Find(binding.pod);
  if (!slot.ok()) return slot.error();
  const cluster::Pod& pod = (**slot)->pod;
  const auto conflict = [&](const std::string& why) {
    return Error{Code::kConflict, "pod \"" + pod.key.ToString() + "\" " + why, ""};
  };
  if (binding.node.empty()) return Invalid("a binding needs a node");
  if (pod.deleting) return conflict("is being deleted, cannot be assigned to a host");
  if (pod.bound()) return conflict("is already assigned to node \"" + pod.node_name + "\"");
  if (!pod.gates.empty()) return conflict("has non-empty scheduling gates");
  auto next = std::make_shared<PodRecord>(***slot);
  Merge(*next, binding.annotations);
  TakeNode(*next, binding.node, impl_->loop.now());
  next->pod.nominated_node.clear();
  next->status_reason.clear();
  next->status_message.clear();
  const auto gpus = next->annotations.find(cluster::kGpusAnnotation);
  impl_->decisions.Add(impl_->loop.now(), next->pod.key, binding.node,
                       gpus == next->annotations.end() ? std::string() : gpus->second);
  impl_->Count(actor, Verb::kBind);
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::ResizePod(Actor actor, const engine::PodRef& pod, cluster::MilliCpu cpu,
                            cluster::MiB memory) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  if ((**slot)->pod.phase != cluster::PodPhase::kRunning) return Invalid("the pod does not run");
  impl_->Count(actor, Verb::kPatch);
  auto next = std::make_shared<PodRecord>(***slot);
  auto spec = std::make_shared<cluster::PodSpec>(*next->pod.spec);
  if (!next->resize) next->resize = {spec->requests, spec->requests};
  spec->requests.cpu = cpu;
  spec->requests.memory = memory;
  next->pod.spec = std::move(spec);
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::RemoveGate(Actor actor, const engine::PodRef& pod, const std::string& gate,
                             const std::string& pin, const cluster::Labels& annotations) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kPatch);
  const std::vector<std::string>& gates = (**slot)->pod.gates;
  if (std::find(gates.begin(), gates.end(), gate) == gates.end()) return Ok{};
  auto next = std::make_shared<PodRecord>(***slot);
  std::erase(next->pod.gates, gate);
  Merge(*next, annotations);
  if (!pin.empty()) {
    auto spec = std::make_shared<cluster::PodSpec>(*next->pod.spec);
    cluster::PinTo(pin, &spec->constraints);
    next->pod.spec = std::move(spec);
  }
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::RecordPod(Actor actor, const engine::PodRef& pod,
                            const cluster::GangRecord& record) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  auto next = std::make_shared<PodRecord>(***slot);
  next->pod.gang_record = std::make_shared<const cluster::GangRecord>(record);
  impl_->Count(actor, Verb::kPatch);
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::Annotate(Actor actor, const engine::PodRef& pod,
                           const cluster::Labels& annotations) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kPatch);
  if (Has(***slot, annotations)) return Ok{};
  auto next = std::make_shared<PodRecord>(***slot);
  Merge(*next, annotations);
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::Unannotate(Actor actor, const engine::PodRef& pod,
                             const std::string& annotation) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kPatch);
  if (!(**slot)->annotations.contains(annotation)) return Ok{};
  auto next = std::make_shared<PodRecord>(***slot);
  next->annotations.erase(annotation);
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

Status ApiServer::PatchPodStatus(Actor actor, const engine::PodRef& pod,
                                 const PodStatusPatch& patch) {
  const Result<PodPtr*> slot = impl_->Find(pod);
  if (!slot.ok()) return slot.error();
  impl_->Count(actor, Verb::kPatchStatus);
  const PodRecord& old = ***slot;
  const bool same =
      patch.nominated_node.value_or(old.pod.nominated_node) == old.pod.nominated_node &&
      patch.phase.value_or(old.pod.phase) == old.pod.phase &&
      patch.reason.value_or(old.status_reason) == old.status_reason &&
      patch.message.value_or(old.status_message) == old.status_message && !patch.admitted_with &&
      !patch.resize && Has(old, patch.annotations);
  if (same) return Ok{};
  auto next = std::make_shared<PodRecord>(old);
  Merge(*next, patch.annotations);
  if (patch.nominated_node) next->pod.nominated_node = *patch.nominated_node;
  if (patch.reason) next->status_reason = *patch.reason;
  if (patch.message) next->status_message = *patch.message;
  const bool unschedulable = next->status_reason == "Unschedulable";
  next->pod.unschedulable =
      unschedulable ? std::make_shared<const std::string>(next->status_message) : nullptr;
  if (patch.resize) next->resize = patch.resize;
  if (patch.admitted_with) {
    next->acknowledged = true;
    next->hami_given = *patch.admitted_with;
  }
  if (patch.phase && *patch.phase != old.pod.phase) {
    next->pod.phase = *patch.phase;
    if (*patch.phase == cluster::PodPhase::kRunning) {
      next->running_at = impl_->loop.now();
      next->pod.running_since = impl_->loop.now();
    }
    if (next->pod.terminal()) next->finished_at = impl_->loop.now();
    if (*patch.phase == cluster::PodPhase::kFailed) {
      next->pod.running_since = {};
      next->pod.start_failure = FailureOf(old, *next, impl_->loop.now());
    }
  }
  impl_->Store(**slot, std::move(next));
  return Ok{};
}

}  // namespace muster::sim
