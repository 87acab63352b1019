#include "policy/search/room.hpp"

#include <algorithm>
#include <optional>

namespace muster::policy {

using cluster::GpuRequest;
using cluster::NodeFree;
using cluster::NodeIndex;
using cluster::PodSpec;
using cluster::Resources;

namespace {

// So many of `pods` as that is enough for. Mostly it is enough for all: a multiplication costs a
// tenth of a division.
int64_t AtMost(int64_t pods, int64_t free, int64_t request) {
  if (request <= 0 || pods <= 0) return pods;
  if (cluster::SaturatingMultiply(request, pods) <= free) return pods;
  return free / request;
}

GpuMilliSum Sum(const cluster::DeviceAmount& each, int64_t count) {
  return {cluster::SaturatingMultiply(each.compute().value(), count),
          cluster::SaturatingMultiply(each.memory().value(), count)};
}

// What one pod takes at least of the devices of a node; what it names where none can serve it.
GpuMilliSum LeastOn(const DeviceView& view) {
  if (view.share != Eligibility::kDiffers)
    return Sum(view.share.none() ? view.request.each : view.share, view.request.count);
  std::optional<cluster::DeviceAmount> least;
  for (size_t i = 0; i < view.free.size(); ++i) {
    const cluster::DeviceAmount share = view.ShareAt(i);
    if (!share.none()) least = least ? least->AtMost(share) : share;
  }
  return Sum(least.value_or(view.request.each), view.request.count);
}

// The same on any node.
GpuMilliSum LeastAnywhere(const Shape& shape) {
  std::optional<cluster::DeviceAmount> least;
  for (const cluster::DeviceAmount& share : *shape.shares) {
    // No bound without a look at the devices.
    if (share == Eligibility::kDiffers) return {};
    if (!share.none()) least = least ? least->AtMost(share) : share;
  }
  const GpuRequest& request = shape.spec->gpus;
  return Sum(least.value_or(request.each), request.count);
}

// With `pods` on the node, one more would find its GPUs there if the kubelet admitted any set.
bool TurnedAway(const Search& search, const Shape& shape, NodeIndex node, int64_t pods) {
  const DeviceLinks* links = search.LinksOn(node);
  if (links == nullptr || !links->turns_away()) return false;
  if ((*shape.shares)[node.value] != cluster::DeviceAmount::All()) return false;
  return search.tx().free().at(node).gpu_whole >= (pods + 1) * shape.spec->gpus.count;
}

// With `pods` on the node, which resource is short for one more; some resource has to be.
Cause::What LackOn(const Search& search, const Shape& shape, NodeIndex node, int64_t pods) {
  const PodSpec& spec = *shape.spec;
  const NodeFree& free = search.tx().free().at(node);
  Resources left = free.resources;
  left -= spec.requests.Times(pods);
  const auto lacks = [](int64_t want, int64_t has) { return want > 0 && want > has; };
  if (lacks(spec.requests.pods, left.pods)) return Cause::What::kPodSlots;
  if (lacks(spec.requests.channels, left.channels)) return Cause::What::kChannels;
  if (lacks(spec.requests.cpu.value(), left.cpu.value())) return Cause::What::kCpu;
  if (lacks(spec.requests.memory.value(), left.memory.value())) return Cause::What::kMemory;
  if (!left.named.Fits(spec.requests.named)) return Cause::What::kNamed;
  if (TooFewGpus(search, shape, node, pods)) return Cause::What::kGpus;
  return TurnedAway(search, shape, node, pods) ? Cause::What::kNuma : Cause::What::kGpuDevices;
}

// What other pods say of it, or its own kind where one of it is there already.
std::optional<Cause::What> RuleAgainst(const Search& search, const Shape& shape,
                                       const Demand& demand, NodeIndex node, int64_t pods) {
  using Bar = PodConditions::Bar;
  PodConditions* conditions = search.conditions();
  const Bar bar = conditions == nullptr ? Bar::kNone : conditions->On(demand, node);
  if (bar == Bar::kPorts) return Cause::What::kPorts;
  // kube-scheduler asks for room first.
  if (PodsOn(search, shape, node, 1) == 0) return std::nullopt;
  switch (bar) {
    case Bar::kNone:
    case Bar::kPorts:
      break;
    case Bar::kAttachLimit:
      return Cause::What::kAttachLimit;
    case Bar::kNoVolumeLeft:
      return Cause::What::kNoVolumeLeft;
    case Bar::kNoSpreadLabel:
      return Cause::What::kNoSpreadLabel;
    case Bar::kSpread:
      return Cause::What::kSpread;
    case Bar::kAffinity:
      return Cause::What::kPodAffinity;
    case Bar::kAntiAffinity:
      return Cause::What::kPodAntiAffinity;
    case Bar::kOthersAntiAffinity:
      return Cause::What::kOthersAntiAffinity;
  }
  const cluster::PodRules& rules = shape.spec->rules;
  if (!rules.apart || pods == 0) return std::nullopt;
  return rules.host_ports.empty() ? Cause::What::kPodAntiAffinity : Cause::What::kPorts;
}

GpuMilliSum FreeOn(const Search& search, NodeIndex node) {
  const NodeFree& free = search.tx().free().at(node);
  return {free.gpu_compute, free.gpu_memory};
}

}  // namespace

int64_t PodsOn(const Search& search, const Shape& shape, NodeIndex node, int64_t limit) {
  if (search.BarsOn(shape, node) != 0) return 0;
  const PodSpec& spec = *shape.spec;
  const NodeFree& free = search.tx().free().at(node);
  int64_t pods = limit;
  const bool whole =
      !spec.gpus.none() && (*shape.shares)[node.value] == cluster::DeviceAmount::All();
  if (whole) pods = std::min<int64_t>(pods, free.gpu_whole / spec.gpus.count);
  pods = AtMost(pods, free.resources.cpu.value(), spec.requests.cpu.value());
  pods = AtMost(pods, free.resources.memory.value(), spec.requests.memory.value());
  pods = AtMost(pods, free.resources.pods, spec.requests.pods);
  pods = AtMost(pods, free.resources.channels, spec.requests.channels);
  for (const cluster::NamedAmount& one : spec.requests.named.list())
    pods = AtMost(pods, free.resources.named.Of(one.name), one.amount);
  if (spec.rules.apart) pods = std::min<int64_t>(pods, 1);
  if (spec.gpus.none() || pods == 0) return pods;
  if (whole) {
    const DeviceView view = search.DevicesOn(shape, node);
    if (view.links == nullptr || !view.links->turns_away()) return pods;
    return view.links->Times(view.free, static_cast<size_t>(spec.gpus.count), pods);
  }
  return PodsOnDevices(search.DevicesOn(shape, node), pods);
}

int64_t RoomFor(const Search& search, const Role& role) {
  int64_t room = 0;
  search.EachNode([&](NodeIndex node) {
    room += PodsOn(search, *role.shape, node, role.size() - room);
    return room < role.size();
  });
  return room;
}

bool WantMoreThanThereIs(const Search& search, const std::vector<Role>& roles) {
  Resources want;
  GpuMilliSum want_gpus;
  for (const Role& role : roles) {
    want += role.spec().requests.Times(role.size());
    if (role.spec().gpus.none()) continue;
    want_gpus.Add(LeastAnywhere(*role.shape), role.size());
  }
  Resources free;
  GpuMilliSum free_gpus;
  search.EachNode([&](NodeIndex node) {
    const bool open = std::any_of(roles.begin(), roles.end(), [&](const Role& role) {
      return search.BarsOn(*role.shape, node) == 0;
    });
    if (!open) return true;
    Resources here = search.tx().free().at(node).resources;
    if (want.named.empty()) here.named = {};
    free += here;
    free_gpus.Add(FreeOn(search, node), 1);
    return true;
  });
  return !free.Fits(want) || want_gpus.compute > free_gpus.compute ||
         want_gpus.memory > free_gpus.memory;
}

bool TooFewGpus(const Search& search, const Shape& shape, NodeIndex node, int64_t pods) {
  const NodeFree& free = search.tx().free().at(node);
  const GpuMilliSum need = LeastOn(search.DevicesOn(shape, node));
  return free.gpu_compute - cluster::SaturatingMultiply(need.compute, pods) < need.compute ||
         free.gpu_memory - cluster::SaturatingMultiply(need.memory, pods) < need.memory;
}

bool Excluded(const Demand& demand, NodeIndex node) {
  return std::binary_search(demand.excluded.begin(), demand.excluded.end(), node);
}

Cause::What WhyNot(const Search& search, const Shape& shape, const Demand& demand, NodeIndex node,
                   int64_t pods) {
  const uint8_t bars = search.BarsOn(shape, node);
  if ((bars & Bar::kUnschedulable) != 0) {
    return search.tx().node(node)->ready ? Cause::What::kCordoned : Cause::What::kNotReady;
  }
  if ((bars & (Bar::kTaint | Bar::kPassingTaint)) != 0) return Cause::What::kTaint;
  if ((bars & Bar::kConstraint) != 0) return Cause::What::kConstraint;
  if ((bars & Bar::kLeftOut) != 0) return Cause::What::kLeftOut;
  if ((bars & Bar::kKept) != 0) return Cause::What::kKept;
  if (Excluded(demand, node)) return Cause::What::kExcluded;
  if (const auto rule = RuleAgainst(search, shape, demand, node, pods)) return *rule;
  return LackOn(search, shape, node, pods);
}

}  // namespace muster::policy
