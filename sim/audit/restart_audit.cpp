#include "sim/audit/restart_audit.hpp"

#include <algorithm>

#include "queues/tree.hpp"

namespace muster::sim {

using cluster::Duration;
using cluster::ObjectKey;
using cluster::Pod;
using cluster::Time;

namespace {

// An event of the API server may be a moment older than Muster's news of it.
constexpr Duration kDoubt = cluster::Seconds(1);
constexpr Duration kHour = cluster::Seconds(3'600);

}  // namespace

// A gang that has others evicted has paid for it; one of which members are evicted for another
// keeps nothing.
std::string RestartAudit::NoteEviction(const PodRecord& pod, Time at) {
  if (!pod.evicted_by_muster || !evicted_.insert(pod.pod.uid).second) return {};
  const ObjectKey own{pod.pod.key.ns, pod.pod.pod_group};
  if (!pod.pod.pod_group.empty()) runs_[own].odd = true;
  if (pod.evicted_for == own || api_.FindPodGroup(pod.evicted_for) == nullptr) return {};
  runs_[pod.evicted_for].paid = true;
  const auto ended = ended_early_.find(pod.evicted_for);
  if (ended == ended_early_.end() || at + kDoubt >= ended->second + kHour) return {};
  return "pod " + pod.pod.key.ToString() + " is evicted for gang " + pod.evicted_for.ToString() +
         ", for which others were evicted within the hour and which ended early";
}

std::string RestartAudit::See(const PodPtr& pod, bool live,
                              const std::vector<queues::QueueSpec>& queues, Time at) {
  std::string fault = NoteEviction(*pod, at);
  if (!pod->pod.pod_group.empty()) SeeMember(*pod, live, queues, at);
  return fault;
}

void RestartAudit::SeeMember(const PodRecord& pod, bool live,
                             const std::vector<queues::QueueSpec>& queues, Time at) {
  const ObjectKey key{pod.pod.key.ns, pod.pod.pod_group};
  const PodGroupPtr group = api_.FindPodGroup(key);
  Run& run = runs_[key];
  if (live) {
    // It is plain how many members it needs and which queue is theirs, and all of them are
    // Muster's.
    const bool plain = group != nullptr && group->group.roles.empty() && pod.pod.bound_by_muster;
    const bool agrees = run.live.empty() || run.asked == pod.pod.asked_queue;
    run.odd = run.odd || !plain || !agrees || (pod.pod.deleting && !run.started);
    run.asked = pod.pod.asked_queue;
    run.lowest = std::min(run.lowest, queues_.Lowest(pod.pod));
    if (pod.pod.deleting && !run.told_to_go) run.told_to_go = at;
    Devices& devices = run.live[pod.pod.uid];
    for (const cluster::GpuIndex gpu : pod.pod.bound_gpus) {
      // Of a part others may have the rest.
      if (!pod.pod.spec->gpus.fractional()) devices.emplace(pod.pod.node_name, gpu);
    }
    if (!Whole(key, run)) return;
    run.had.clear();
    if (run.started) return;
    run.started = true;
    run.since = at;
    windows_of_.erase(key);
    return;
  }
  const auto known = run.live.find(pod.pod.uid);
  if (known == run.live.end()) return;
  if (pod.pod.phase == cluster::PodPhase::kSucceeded) run.odd = true;
  if (run.started) run.had.insert(known->second.begin(), known->second.end());
  run.live.erase(known);
  if (Whole(key, run)) run.had.clear();  // it can do without that one
  if (!run.live.empty()) return;
  const bool says = group != nullptr && !group->group.queue.empty();
  Judge(key, run, says ? group->group.queue : run.asked, queues, at);
  runs_.erase(key);
}

bool RestartAudit::Whole(const ObjectKey& key, const Run& run) const {
  const auto need = groups_.find(key);
  return need != groups_.end() && !run.live.empty() &&
         static_cast<int64_t>(run.live.size()) >= need->second.second;
}

// Nothing of it is live any more.
void RestartAudit::Judge(const ObjectKey& key, Run& run, const std::string& queue,
                         const std::vector<queues::QueueSpec>& queues, Time at) {
  if (!run.paid || run.odd || !run.started) return;
  const queues::Tree tree(queues);
  const auto index = tree.Find(queue);
  if (!index) return;
  const queues::PreemptionSpec& says = tree.at(*index).preemption;
  const Duration least(std::max(says.min_runtime_preempt, says.min_runtime_reclaim));
  const Duration ran = at - run.since;
  if (ran < kDoubt || ran + kDoubt >= least) return;
  ended_early_[key] = run.told_to_go.value_or(at);  // for Muster it ends when all are told to go
  if (says.restart_window == 0 || run.had.empty()) return;
  windows_of_[key] = {std::move(run.had), queue, run.lowest, at,
                      at + Duration(says.restart_window)};
  ++windows_;
}

void RestartAudit::SeeGroup(Change change, const PodGroupRecord& group) {
  const ObjectKey& key = group.group.key;
  if (change == Change::kDeleted) {
    groups_.erase(key);
    windows_of_.erase(key);
    ended_early_.erase(key);
    if (const auto run = runs_.find(key); run != runs_.end()) run->second.odd = true;
    return;
  }
  const std::pair now(std::string(group.group.uid.text()), group.group.min_member);
  const auto [known, fresh] = groups_.try_emplace(key, now);
  if (known->second == now) return;
  if (known->second.first != now.first) windows_of_.erase(key);
  known->second = now;
  runs_[key].odd = true;
}

void RestartAudit::NodeGone(const std::string& node) {
  const auto on_node = [&](const Devices& devices) {
    return std::any_of(devices.begin(), devices.end(),
                       [&](const auto& one) { return one.first == node; });
  };
  std::erase_if(windows_of_, [&](const auto& entry) { return on_node(entry.second.devices); });
  for (auto& [key, run] : runs_) {
    const bool ran_there = std::any_of(run.live.begin(), run.live.end(),
                                       [&](const auto& one) { return on_node(one.second); });
    if (ran_there || on_node(run.had)) run.odd = true;
  }
}

void RestartAudit::Restarted() {
  windows_of_.clear();
  ended_early_.clear();
  for (auto& [key, run] : runs_) run.odd = true;
}

bool RestartAudit::Cancelled(const ObjectKey& gang, Time since) const {
  const auto& events = api_.Events();
  return std::any_of(events.begin(), events.end(), [&](const EventRecord& event) {
    return event.key == gang && event.last_seen >= since &&
           (event.reason == "RestartWindowCancelled" || event.reason == "GangPlanCancelled");
  });
}

bool RestartAudit::Outranks(const Pod& pod, const ObjectKey& gang, const Window& window) const {
  int32_t lowest = window.lowest;
  for (const PodPtr& other : api_.Pods()) {  // that came in the place of those that went
    if (ObjectKey{other->pod.key.ns, other->pod.pod_group} != gang) continue;
    if (queues_.NameOf(other->pod) != window.queue) lowest = INT32_MIN;  // capped as it is there
    lowest = std::min(lowest, queues_.Lowest(other->pod));
  }
  return queues_.NameOf(pod) == window.queue && queues_.Highest(pod) > lowest;
}

std::string RestartAudit::Fault(const Pod& pod, Time at) const {
  for (const auto& [gang, window] : windows_of_) {
    if (gang == ObjectKey{pod.key.ns, pod.pod_group} || window.until <= at + kDoubt) continue;
    const auto& devices = window.devices;
    const bool there =
        std::any_of(pod.bound_gpus.begin(), pod.bound_gpus.end(), [&](cluster::GpuIndex gpu) {
          return devices.contains({pod.node_name, gpu});
        });
    if (!there || Outranks(pod, gang, window) || Cancelled(gang, window.opened)) continue;
    return "pod " + pod.key.ToString() + " is bound to devices on " + pod.node_name +
           " that are kept for the restart of gang " + gang.ToString();
  }
  return {};
}

}  // namespace muster::sim
