#include "sim/world/kubelet.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "cluster/records/hami_devices.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/api_server/random.hpp"
#include "sim/api_server/resize.hpp"
#include "sim/api_server/watch.hpp"
#include "sim/world/hami_plugin.hpp"

namespace muster::sim {

using cluster::PodPhase;
using cluster::PodUid;
using cluster::Time;

class Kubelet::Impl {
 public:
  Impl(EventLoop& loop, ApiServer& api, KubeletOptions options)
      : loop_(loop), api_(api), options_(options), hami_(api), random_(options.seed) {
    informer_ = std::make_unique<Informer>(
        loop_, api_, Kinds{.nodes = true, .pods = true}, WatchFaults{}, options_.seed,
        [this](const WatchEvent& event) { OnEvent(event); }, [] {});
  }

  void TurnDownAll(const std::string& node, bool down) {
    down ? static_cast<void>(broken_.insert(node)) : static_cast<void>(broken_.erase(node));
  }

 private:
  // What was last arranged for a pod, so that seeing it again arranges nothing twice.
  struct Known {
    Time admit = Time::Never();  // HAMi's plugin is asked for its devices then
    Time start = Time::Never();  // it becomes Running then
    Time stop = Time::Never();   // it ends by itself then
    Time kill = Time::Never();   // its deletion is over then
    Time resize;                 // its resize goes on then, or did last
    std::string node;
  };
  // Members of one PodGroup that run or have succeeded.
  struct Company {
    std::set<PodUid> running;
    std::set<PodUid> succeeded;
  };

  void OnEvent(const WatchEvent& event);
  void OnNode(Change change, const cluster::Node& node);
  void OnPod(Change change, const PodPtr& pod);
  // Posts what is due for the pod next and is not posted yet.
  void Arrange(const PodRecord& pod);
  void Act(const PodUid& uid);
  // It gets its devices from HAMi's plugin, and has none yet.
  bool AsksHami(const PodRecord& pod) const;
  PodStatusPatch AskHami(const PodRecord& pod);
  // What is due of the pod's resize; other resizes on its node may go on.
  void ArrangeResizes(const PodRecord& pod);
  std::optional<ResizeStatus> ResizeStep(const PodRecord& pod) const;
  void Post(const PodUid& uid, Time at);
  // Lets the members' run time begin, if enough of them run.
  void Meet(const PodRecord& pod);
  void Forget(const PodRecord& pod);
  void RemoveOrphans(const std::string& node);
  bool Alive(const std::string& node) const;

  EventLoop& loop_;
  ApiServer& api_;
  const KubeletOptions options_;
  HamiPlugin hami_;
  Random random_;
  std::map<cluster::ObjectKey, Company> companies_;
  std::unordered_map<PodUid, Known> known_;                    // bound pods that exist
  std::unordered_map<std::string, std::set<PodUid>> pods_on_;  // of these, by node
  std::set<PodUid> resizing_;                                  // of these, not done
  std::set<std::string> broken_;                               // nodes that admit nobody
  std::unique_ptr<Informer> informer_;
};

void Kubelet::Impl::OnEvent(const WatchEvent& event) {
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object))
    OnNode(event.change, (*node)->node);
  if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) OnPod(event.change, *pod);
}

void Kubelet::Impl::OnNode(Change change, const cluster::Node& node) {
  if (!pods_on_.contains(node.name)) return;
  if (change == Change::kDeleted) {
    loop_.Post(loop_.now() + options_.orphan_delay,
               [this, name = node.name] { RemoveOrphans(name); });
    return;
  }
  if (!node.ready) return;
  // Back again: what stood still goes on.
  for (const PodUid& uid : pods_on_[node.name]) {
    if (const PodPtr pod = api_.FindPod(uid)) Post(uid, loop_.now());
  }
}

void Kubelet::Impl::OnPod(Change change, const PodPtr& pod) {
  const PodUid& uid = pod->pod.uid;
  if (change == Change::kDeleted) {
    const auto found = known_.find(uid);
    if (found == known_.end()) return;
    Forget(*pod);
    pods_on_[found->second.node].erase(uid);
    known_.erase(found);
    ArrangeResizes(*pod);
    return;
  }
  if (!pod->pod.bound()) return;
  const auto [at, fresh] = known_.try_emplace(uid);
  if (fresh) {
    at->second.node = pod->pod.node_name;
    pods_on_[pod->pod.node_name].insert(uid);
    if (api_.FindNode(pod->pod.node_name) == nullptr) {
      loop_.Post(loop_.now() + options_.orphan_delay,
                 [this, name = pod->pod.node_name] { RemoveOrphans(name); });
    }
  }
  Arrange(*pod);
  ArrangeResizes(*pod);
}

void Kubelet::Impl::Arrange(const PodRecord& pod) {
  const auto found = known_.find(pod.pod.uid);
  if (found == known_.end()) return;
  Known& known = found->second;
  const Time now = loop_.now();
  const auto post_once = [&](Time& slot, Time at) {
    if (slot == at) return;
    slot = at;
    Post(pod.pod.uid, at);
  };
  if (pod.pod.deleting) {
    const Time limit = known.kill != Time::Never() ? known.kill : now + options_.grace_limit;
    post_once(known.kill, std::min(limit, pod.delete_at.value_or(now)));
  } else if (pod.pod.phase == PodPhase::kPending) {
    if (known.admit == Time::Never() && AsksHami(pod))
      post_once(known.admit, now + std::min(options_.hami_delay, options_.start_delay));
    if (known.start == Time::Never()) post_once(known.start, now + options_.start_delay);
  } else if (!pod.pod.pod_group.empty()) {
    Meet(pod);
  } else if (pod.pod.phase == PodPhase::kRunning && pod.runs_for) {
    post_once(known.stop, pod.running_at.value_or(now) + *pod.runs_for);
  }
}

void Kubelet::Impl::Meet(const PodRecord& pod) {
  const cluster::ObjectKey key{pod.pod.key.ns, pod.pod.pod_group};
  Company& company = companies_[key];
  if (pod.pod.phase == PodPhase::kRunning) {
    company.running.insert(pod.pod.uid);
  } else {
    company.running.erase(pod.pod.uid);
    if (pod.pod.phase == PodPhase::kSucceeded) company.succeeded.insert(pod.pod.uid);
  }
  const PodGroupPtr group = api_.FindPodGroup(key);
  const int64_t need = group == nullptr ? 0 : group->group.min_member;
  if (static_cast<int64_t>(company.running.size() + company.succeeded.size()) < need) return;
  for (const PodUid& uid : company.running) {
    Known& member = known_.at(uid);
    const PodPtr record = member.stop == Time::Never() ? api_.FindPod(uid) : nullptr;
    if (record == nullptr || !record->runs_for) continue;
    member.stop = loop_.now() + *record->runs_for;
    Post(uid, member.stop);
  }
}

void Kubelet::Impl::Forget(const PodRecord& pod) {
  const auto found = companies_.find({pod.pod.key.ns, pod.pod.pod_group});
  if (found == companies_.end()) return;
  found->second.running.erase(pod.pod.uid);
  found->second.succeeded.erase(pod.pod.uid);
  if (found->second.running.empty() && found->second.succeeded.empty()) companies_.erase(found);
}

void Kubelet::Impl::ArrangeResizes(const PodRecord& pod) {
  const bool resizes = pod.resize && known_.contains(pod.pod.uid);
  resizes ? static_cast<void>(resizing_.insert(pod.pod.uid))
          : static_cast<void>(resizing_.erase(pod.pod.uid));
  for (const PodUid& uid : resizing_) {
    Known& known = known_.at(uid);
    if (known.node != pod.pod.node_name || known.resize > loop_.now()) continue;
    known.resize = loop_.now() + options_.resize_delay;
    Post(uid, known.resize);
  }
}

std::optional<ResizeStatus> Kubelet::Impl::ResizeStep(const PodRecord& pod) const {
  cluster::Resources others;
  for (const PodUid& uid : pods_on_.at(pod.pod.node_name)) {
    const PodPtr other = api_.FindPod(uid);
    if (other == nullptr || other->pod.terminal() || uid == pod.pod.uid) continue;
    others += AllocatedTo(*other);
  }
  return NextStep(pod, api_.FindNode(pod.pod.node_name)->node.allocatable, others);
}

void Kubelet::Impl::Post(const PodUid& uid, Time at) {
  loop_.Post(at, [this, uid] { Act(uid); });
}

bool Kubelet::Impl::Alive(const std::string& node) const {
  const NodePtr record = api_.FindNode(node);
  return record != nullptr && record->node.ready;
}

bool Kubelet::Impl::AsksHami(const PodRecord& pod) const {
  return pod.pod.phase == PodPhase::kPending && !pod.acknowledged &&
         pod.annotations.contains(cluster::kHamiAllocatedAnnotation);
}

// Container by container, as the kubelet asks.
PodStatusPatch Kubelet::Impl::AskHami(const PodRecord& pod) {
  std::vector<cluster::HamiDevice> given;
  const auto ask = [&](int64_t count) {
    if (count == 0) return true;
    const auto devices = hami_.Allocate(pod.pod.node_name, static_cast<size_t>(count));
    if (devices) given.insert(given.end(), devices->begin(), devices->end());
    return devices.has_value();
  };
  const cluster::PodSpec& spec = *pod.pod.spec;
  const auto& containers = spec.gpu_containers;
  const bool admitted = containers.empty()
                            ? ask(spec.gpus.count)
                            : std::all_of(containers.begin(), containers.end(),
                                          [&](const auto& one) { return ask(one.count); });
  PodStatusPatch patch;
  if (admitted) {
    patch.admitted_with = std::move(given);
  } else {
    patch.phase = PodPhase::kFailed;
    patch.reason = "UnexpectedAdmissionError";
    patch.message = "HAMi's device plugin refused";
  }
  return patch;
}

// Does for the pod whatever is due. On a node that is not there nothing is done; OnNode comes back
// to it.
void Kubelet::Impl::Act(const PodUid& uid) {
  const auto found = known_.find(uid);
  const PodPtr pod = api_.FindPod(uid);
  if (found == known_.end() || pod == nullptr || !Alive(found->second.node)) return;
  const Known known = found->second;
  const Time now = loop_.now();
  const engine::PodRef ref{pod->pod.key, uid};
  if (pod->pod.deleting) {
    if (known.kill <= now) {
      static_cast<void>(api_.DeletePod(Actor::kKubelet, ref, cluster::Duration()));
    }
    return;
  }
  PodStatusPatch patch;
  const bool broken = broken_.contains(found->second.node);
  if (known.admit <= now && !broken && AsksHami(*pod)) {
    patch = AskHami(*pod);
  } else if (pod->pod.phase == PodPhase::kPending && known.start <= now) {
    patch.phase = PodPhase::kRunning;
    if (random_.Chance(options_.admission_failures_per_mille) || broken) {
      patch.phase = PodPhase::kFailed;
      patch.reason = "UnexpectedAdmissionError";
      patch.message = "the kubelet did not admit the pod";
    }
  } else if (pod->pod.phase == PodPhase::kRunning && known.stop <= now) {
    patch.phase = PodPhase::kSucceeded;
  } else if (pod->pod.phase == PodPhase::kRunning && pod->resize && known.resize <= now) {
    patch.resize = ResizeStep(*pod);
  }
  // It may have been deleted a moment ago; then there is nothing to report.
  if (patch.phase || patch.admitted_with || patch.resize)
    static_cast<void>(api_.PatchPodStatus(Actor::kKubelet, ref, patch));
}

void Kubelet::Impl::RemoveOrphans(const std::string& node) {
  if (api_.FindNode(node) != nullptr) return;  // a node of that name is back
  const auto found = pods_on_.find(node);
  if (found == pods_on_.end()) return;
  const std::set<PodUid> orphans = found->second;
  for (const PodUid& uid : orphans) {
    const PodPtr pod = api_.FindPod(uid);
    if (pod == nullptr) continue;
    static_cast<void>(api_.DeletePod(Actor::kController, {pod->pod.key, uid}, cluster::Duration()));
  }
}

Kubelet::Kubelet(EventLoop& loop, ApiServer& api, KubeletOptions options)
    : impl_(std::make_unique<Impl>(loop, api, options)) {}
Kubelet::~Kubelet() = default;

void Kubelet::TurnDownAll(const std::string& node, bool down) { impl_->TurnDownAll(node, down); }

}  // namespace muster::sim
