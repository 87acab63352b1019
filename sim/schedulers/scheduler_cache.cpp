#include "sim/schedulers/scheduler_cache.hpp"

#include <algorithm>
#include <utility>

#include "sim/schedulers/pod_checks.hpp"

namespace muster::sim {

using cluster::PodUid;
using cluster::Taint;
using cluster::TaintEffect;

Amounts RequestOf(const cluster::PodSpec& spec, GpuCount count) {
  Amounts request;
  request.resources = spec.requests;
  const bool counts =
      count == GpuCount::kEvery || (count == GpuCount::kWhole && !spec.gpus.fractional());
  if (counts) request.gpus = spec.gpus.count;
  return request;
}

Amounts HeldBy(const cluster::Pod& pod, GpuCount count) {
  Amounts held = RequestOf(*pod.spec, count);
  held.resources = pod.held();
  return held;
}

Amounts AllocatableOf(const cluster::Node& node) {
  Amounts amounts;
  amounts.resources = node.allocatable;
  for (const cluster::Gpu& gpu : node.gpus) {
    if (gpu.healthy) amounts.gpus += gpu.sharing->ReplicasOf(gpu.size());
  }
  return amounts;
}

const char* ToString(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "";
    case Fit::kNoNode:
      return "node not found";
    case Fit::kNotReady:
      return "node(s) were not ready";
    case Fit::kUnschedulable:
      return "node(s) were unschedulable";
    case Fit::kTaints:
      return "node(s) had untolerated taint(s)";
    case Fit::kAffinity:
      return "node(s) didn't match Pod's node affinity/selector";
    case Fit::kVolumes:
      return "node(s) had volume node affinity conflict";
    case Fit::kAttachLimit:
      return "node(s) exceed max volume count";
    case Fit::kNoVolumeLeft:
      return "node(s) didn't find available persistent volumes to bind";
    case Fit::kPods:
      return "Too many pods";
    case Fit::kCpu:
      return "Insufficient cpu";
    case Fit::kMemory:
      return "Insufficient memory";
    case Fit::kNamed:
      return "Insufficient resource";
    case Fit::kGpus:
      return "Insufficient nvidia.com/gpu";
    case Fit::kPorts:
      return "node(s) didn't have free ports for the requested pod ports";
    case Fit::kSpread:
      return "node(s) didn't match pod topology spread constraints";
    case Fit::kSpreadLabel:
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    case Fit::kPodAffinity:
      return "node(s) didn't match pod affinity rules";
    case Fit::kPodAntiAffinity:
      return "node(s) didn't match pod anti-affinity rules";
    case Fit::kExistingAntiAffinity:
      return "node(s) didn't satisfy existing pods anti-affinity rules";
  }
  return "";
}

namespace {

bool ToleratesKey(const cluster::Pod& pod, const char* key) {
  const Taint taint{key, "", TaintEffect::kNoSchedule};
  const auto& tolerations = pod.spec->constraints.tolerations;
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const auto& toleration) { return Tolerates(toleration, taint); });
}

// What the node is like, whatever runs on it.
Fit CheckNode(const cluster::Pod& pod, const cluster::Node& node) {
  if (!node.ready && !ToleratesKey(pod, "node.kubernetes.io/not-ready")) return Fit::kNotReady;
  if (node.unschedulable && !ToleratesKey(pod, "node.kubernetes.io/unschedulable")) {
    return Fit::kUnschedulable;
  }
  const cluster::NodeConstraints& wants = pod.spec->constraints;
  if (!node.taints.empty() && !ToleratesAll(wants.tolerations, node.taints)) return Fit::kTaints;
  if ((wants.has_affinity || !wants.node_selector.empty()) &&
      !MatchesNode(wants, node.name, node.labels)) {
    return Fit::kAffinity;
  }
  return Fit::kFits;
}

// A kind that is not asked for is not looked at, even where the node is over-committed in it.
Fit CheckAmounts(const Amounts& request, const Amounts& allocatable, const Amounts& used) {
  const auto fits = [](int64_t asked, int64_t offered, int64_t taken) {
    return asked <= 0 || asked <= offered - taken;
  };
  const cluster::Resources& ask = request.resources;
  const cluster::Resources& offer = allocatable.resources;
  const cluster::Resources& taken = used.resources;
  if (!fits(ask.pods, offer.pods, taken.pods)) return Fit::kPods;
  if (!fits(ask.cpu.value(), offer.cpu.value(), taken.cpu.value())) return Fit::kCpu;
  if (!fits(ask.memory.value(), offer.memory.value(), taken.memory.value())) return Fit::kMemory;
  for (const cluster::NamedAmount& one : ask.named.list()) {
    if (!fits(one.amount, offer.named.Of(one.name), taken.named.Of(one.name))) return Fit::kNamed;
  }
  if (!fits(request.gpus, allocatable.gpus, used.gpus)) return Fit::kGpus;
  return Fit::kFits;
}

}  // namespace

uint32_t SchedulerCache::IndexOf(const std::string& name) {
  const auto [at, fresh] = index_.try_emplace(name, static_cast<uint32_t>(infos_.size()));
  if (fresh) infos_.push_back(std::make_unique<NodeInfo>());
  return at->second;
}

void SchedulerCache::SetNode(const NodePtr& node) {
  NodeInfo& info = *infos_[IndexOf(node->node.name)];
  const bool fresh = info.record == nullptr;
  info.record = node;
  info.allocatable = AllocatableOf(node->node);
  if (fresh) present_.push_back(&info);
}

void SchedulerCache::RemoveNode(const std::string& name) {
  const auto found = index_.find(name);
  if (found == index_.end()) return;
  NodeInfo& info = *infos_[found->second];
  info.record = nullptr;
  std::erase(present_, &info);
}

bool SchedulerCache::Hold(const cluster::Pod& pod, const std::string& node) {
  const uint32_t index = IndexOf(node);
  const auto [at, fresh] = held_.try_emplace(pod.uid);
  Held& held = at->second;
  const bool stays = !fresh && held.node == index;
  const Amounts now = HeldBy(pod, count_);
  const cluster::Resources before = held.request.resources;
  if (!fresh) {
    Count(held.record, -1);
    infos_[held.node]->requested -= held.request;
  }
  Count(pod, 1);
  infos_[index]->requested += now;
  if (!stays)
    volumes_.Hold(pod, infos_[index]->record == nullptr ? nullptr : &infos_[index]->record->node);
  held = {index, now, pod};
  return stays && (now.resources.cpu < before.cpu || now.resources.memory < before.memory);
}

bool SchedulerCache::Release(const PodUid& pod) {
  const auto found = held_.find(pod);
  if (found == held_.end()) return false;
  infos_[found->second.node]->requested -= found->second.request;
  Count(found->second.record, -1);
  volumes_.Release(pod);
  held_.erase(found);
  return true;
}

void SchedulerCache::Nominate(const cluster::Pod& pod, const std::string& node) {
  Unnominate(pod.uid);
  if (node.empty()) return;
  const uint32_t index = IndexOf(node);
  nominated_[pod.uid] = index;
  infos_[index]->nominated.push_back({pod.uid, pod.spec->priority, Request(*pod.spec), pod});
  Count(pod, 1);
}

void SchedulerCache::Unnominate(const PodUid& pod) {
  const auto found = nominated_.find(pod);
  if (found == nominated_.end()) return;
  std::erase_if(infos_[found->second]->nominated, [&](const NodeInfo::Nominated& one) {
    if (one.pod == pod) Count(one.record, -1);
    return one.pod == pod;
  });
  nominated_.erase(found);
}

const SchedulerCache::NodeInfo* SchedulerCache::Find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : infos_[found->second].get();
}

Fit SchedulerCache::Check(const cluster::Pod& pod, const NodeInfo& node) const {
  if (node.record == nullptr) return Fit::kNoNode;
  const Fit fit = CheckNode(pod, node.record->node);
  if (fit != Fit::kFits) return fit;
  if (!volumes_.Reaches(pod, node.record->node)) return Fit::kVolumes;
  const Amounts request = Request(*pod.spec);
  Amounts expected;
  for (const NodeInfo::Nominated& one : node.nominated) {
    if (one.priority >= pod.spec->priority && one.pod != pod.uid) expected += one.request;
  }
  expected += node.requested;
  Fit fits = CheckAmounts(request, node.allocatable, expected);
  if (fits == Fit::kFits) fits = CheckAmounts(request, node.allocatable, node.requested);
  if (fits == Fit::kFits && pod.volumes != nullptr && volumes_.any())
    fits = CheckVolumes(pod, node);
  if (fits != Fit::kFits || (ruled_ == 0 && pod.spec->rules.none())) return fits;
  return CheckPodsAround(pod, node);
}

Fit SchedulerCache::CheckVolumes(const cluster::Pod& pod, const NodeInfo& node) const {
  std::vector<const cluster::Pod*> there;
  for (const auto& [uid, held] : held_) {
    if (infos_[held.node].get() == &node && uid != pod.uid) there.push_back(&held.record);
  }
  const cluster::Node& record = node.record->node;
  if (!volumes_.Attaches(pod, record, there)) return Fit::kAttachLimit;
  for (const NodeInfo::Nominated& one : node.nominated) {
    if (one.priority >= pod.spec->priority && one.pod != pod.uid) there.push_back(&one.record);
  }
  if (!volumes_.Attaches(pod, record, there)) return Fit::kAttachLimit;
  return volumes_.Binds(pod, record) ? Fit::kFits : Fit::kNoVolumeLeft;
}

Fit SchedulerCache::CheckPodsAround(const cluster::Pod& pod, const NodeInfo& node) const {
  std::vector<const cluster::Node*> nodes;
  std::vector<PodThere> there;
  for (const NodeInfo* info : present_) nodes.push_back(&info->record->node);
  const auto add = [&](const cluster::Pod& other, const NodeInfo& info) {
    if (info.record != nullptr && other.uid != pod.uid)
      there.push_back({&other, &info.record->node});
  };
  for (const auto& [uid, held] : held_) add(held.record, *infos_[held.node]);
  const PodBar alone = CheckPods(pod, node.record->node, nodes, there);
  // Nominated pods of this node only, as kube-scheduler adds them.
  for (const NodeInfo::Nominated& one : node.nominated) {
    if (one.priority >= pod.spec->priority) add(one.record, node);
  }
  PodBar bar = CheckPods(pod, node.record->node, nodes, there);
  if (bar == PodBar::kNone) bar = alone;
  switch (bar) {
    case PodBar::kNone:
      break;
    case PodBar::kPorts:
      return Fit::kPorts;
    case PodBar::kSpread:
      return Fit::kSpread;
    case PodBar::kSpreadLabel:
      return Fit::kSpreadLabel;
    case PodBar::kAffinity:
      return Fit::kPodAffinity;
    case PodBar::kAntiAffinity:
      return Fit::kPodAntiAffinity;
    case PodBar::kExisting:
      return Fit::kExistingAntiAffinity;
  }
  return Fit::kFits;
}

}  // namespace muster::sim
