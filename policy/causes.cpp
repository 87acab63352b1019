#include "policy/causes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace muster::policy {

using cluster::Node;
using cluster::NodeFree;
using cluster::NodeIndex;
using What = Cause::What;

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr size_t kWhats = static_cast<size_t>(What::kNuma) + 1;

bool OfGpus(What what) {
  return what == What::kGpus || what == What::kGpuDevices || what == What::kNuma;
}

class Count {
 public:
  Count(const Search& search, const Shape& shape)
      : search_(search),
        shape_(shape),
        names_(search.eligibility().NamesFor(shape.spec->constraints)),
        taints_(names_.names()),
        mismatches_(names_.names()) {}

  void Add(NodeIndex index, What what) {
    const NodeFacts& facts = search_.eligibility().facts(index);
    const bool gpus = !shape_.spec->gpus.none();
    if (gpus && facts.gpus == 0 && what >= What::kConstraint) what = What::kNoGpus;
    // Where GPUs are short, that is what people want to know of a node without CPU, too.
    if (gpus && what > What::kExcluded && what < What::kNoGpus) {
      if (TooFewGpus(search_, shape_, index, 0)) what = What::kGpus;
    }
    if (OfGpus(what) && !Serves(index)) what = What::kOtherGpus;
    if (what == What::kTaint) ++taints_[names_.TaintOf(index.value)];
    if (what == What::kConstraint) ++mismatches_[names_.MismatchOf(index.value)];
    const NodeFree& free = search_.tx().free().at(index);
    const cluster::NamedAmount* lacks = nullptr;
    if (what == What::kNamed) lacks = free.resources.named.FirstShort(Requests().named);
    Tally& tally = lacks != nullptr ? named_[lacks->name] : tallies_[static_cast<size_t>(what)];
    const bool first = tally.cause.nodes++ == 0;
    if (lacks != nullptr) tally.cause.wants = lacks->amount;
    if (what != What::kCpu && what != What::kMemory && lacks == nullptr && !OfGpus(what)) return;
    const int64_t of = OfGpus(what) ? facts.gpus * 1000 : 0;
    tally.cause.of = first || tally.cause.of == of ? of : 0;
    const int64_t has = lacks != nullptr        ? free.resources.named.Of(lacks->name)
                        : what == What::kCpu    ? free.resources.cpu.value()
                        : what == What::kMemory ? free.resources.memory.value()
                                                : free.gpu_total();
    tally.cause.least_free = first ? has : std::min(tally.cause.least_free, has);
    const bool better =
        has > tally.cause.most_free || (has == tally.cause.most_free && facts.rank < tally.rank);
    if (!first && !better) return;
    tally.cause.most_free = has;
    tally.rank = facts.rank;
    tally.best = index;
  }

  std::vector<Cause> Causes() && {
    std::vector<Cause> causes;
    for (size_t i = 0; i < kWhats; ++i) {
      const auto what = static_cast<What>(i);
      if (what == What::kNamed) AddAmounts(causes);
      Tally& tally = tallies_[i];
      if (tally.cause.nodes == 0) continue;
      if (what == What::kTaint || what == What::kConstraint) {
        AddNamed(what, what == What::kTaint ? taints_ : mismatches_, causes);
        continue;
      }
      tally.cause.what = what;
      tally.cause.wants = WantOf(what);
      if (what == What::kOtherGpus) tally.cause.name = shape_.spec->gpus.choice.LimitsText();
      if (tally.best.valid()) tally.cause.best = search_.tx().node(tally.best)->name;
      causes.push_back(std::move(tally.cause));
    }
    return causes;
  }

 private:
  struct Tally {
    Cause cause;
    NodeIndex best;
    uint64_t rank = 0;  // of its name
  };

  const cluster::Resources& Requests() const { return shape_.spec->requests; }
  void AddAmounts(std::vector<Cause>& causes) {
    for (auto& [name, tally] : named_) {
      tally.cause.what = What::kNamed;
      tally.cause.name = name;
      tally.cause.best = search_.tx().node(tally.best)->name;
      causes.push_back(std::move(tally.cause));
    }
  }
  // Some device of the node can serve the pod, were it free.
  bool Serves(NodeIndex index) const {
    const cluster::DeviceAmount share = (*shape_.shares)[index.value];
    if (share != Eligibility::kDiffers) return !share.none();
    const DeviceView view = search_.DevicesOn(shape_, index);
    for (size_t i = 0; i < view.node.gpus.size(); ++i) {
      if (!view.ShareAt(i).none()) return true;
    }
    return false;
  }
  int64_t WantOf(What what) const {
    if (what == What::kCpu) return shape_.spec->requests.cpu.value();
    if (what == What::kMemory) return shape_.spec->requests.memory.value();
    return OfGpus(what) ? shape_.spec->gpus.total().value() : 0;
  }
  // Those of most nodes first, of equal ones by name.
  void AddNamed(What what, const std::vector<int64_t>& nodes, std::vector<Cause>& causes) const {
    const auto first = std::ssize(causes);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] > 0) causes.push_back({what, names_.Name(i), nodes[i]});
    }
    std::sort(causes.begin() + first, causes.end(), [](const Cause& a, const Cause& b) {
      return a.nodes != b.nodes ? a.nodes > b.nodes : a.name < b.name;
    });
  }

  const Search& search_;
  const Shape& shape_;
  const BarNames& names_;
  std::vector<int64_t> taints_;      // nodes, by number of the name
  std::vector<int64_t> mismatches_;  // likewise
  std::array<Tally, kWhats> tallies_;
  std::map<std::string, Tally> named_;  // by the resource
};

int64_t& CounterOf(What what, Shortage& shortage) {
  switch (what) {
    case What::kTaint:
      return shortage.taints;
    case What::kCordoned:
    case What::kNotReady:
      return shortage.unschedulable;
    case What::kConstraint:
      return shortage.constraints;
    case What::kLeftOut:
      return shortage.left_out;
    case What::kKept:
      return shortage.kept;
    case What::kExcluded:
      return shortage.excluded;
    case What::kPodSlots:
      return shortage.pod_slots;
    case What::kChannels:
      return shortage.channels;
    case What::kCpu:
      return shortage.cpu;
    case What::kMemory:
      return shortage.memory;
    case What::kNamed:
      return shortage.named;
    case What::kAttachLimit:
    case What::kNoVolumeLeft:
      return shortage.volumes;
    case What::kPorts:
    case What::kSpread:
    case What::kNoSpreadLabel:
    case What::kPodAffinity:
    case What::kPodAntiAffinity:
    case What::kOthersAntiAffinity:
      return shortage.pod_rules;
    case What::kGpuDevices:
      return shortage.gpu_devices;
    case What::kNuma:
      return shortage.numa;
    case What::kNoGpus:
    case What::kOtherGpus:
    case What::kGpus:
      break;
  }
  return shortage.gpus;
}

void CountRefusal(const Search& search, NodeIndex node, What what, Shortage& shortage) {
  ++CounterOf(what, shortage);
  if (what != What::kNuma) return;
  const bool single = search.LinksOn(node)->numa_policy() == cluster::NumaPolicy::kSingleNumaNode;
  shortage.numa_single += single ? 1 : 0;
}

}  // namespace

void CountRefusals(const Search& search, const Shape& shape, const Demand& demand,
                   Shortage& shortage) {
  search.EachNode([&](NodeIndex node) {
    if ((search.BarsOn(shape, node) & Bar::kNoNode) != 0) return true;
    const int64_t pods = PodsOn(search, shape, node, kNoLimit);
    CountRefusal(search, node, WhyNot(search, shape, demand, node, pods), shortage);
    return true;
  });
}

GpuMilliSum TellCauses(const Search& search, const Shape& shape, const Demand& demand,
                       bool count_too, Shortage& shortage) {
  Count count(search, shape);
  GpuMilliSum sum;
  search.EachNode([&](NodeIndex node) {
    const uint8_t bars = search.BarsOn(shape, node);
    if ((bars & Bar::kNoNode) != 0) return true;
    ++shortage.nodes;
    shortage.largest_node_gpus =
        std::max(shortage.largest_node_gpus, search.eligibility().facts(node).gpus);
    const bool open = bars == 0 && !Excluded(demand, node);
    if (open) {
      const NodeFree& free = search.tx().free().at(node);
      sum.Add({free.gpu_compute, free.gpu_memory}, 1);
      shortage.gpu_nodes += search.eligibility().facts(node).gpus > 0 ? 1 : 0;
    }
    const int64_t pods = bars == 0 ? PodsOn(search, shape, node, count_too ? kNoLimit : 1) : 0;
    const bool room = open && pods > 0 && !search.Closed(demand, node);
    shortage.with_room += room ? 1 : 0;
    if (room && !count_too) return true;
    const What what = WhyNot(search, shape, demand, node, pods);
    if (!room) count.Add(node, what);
    if (count_too) CountRefusal(search, node, what, shortage);
    return true;
  });
  shortage.causes = std::move(count).Causes();
  shortage.all_gpu_milli = search.eligibility().all_gpus() * 1000;
  return sum;
}

void TellWanted(const std::vector<Role>& roles, const Shape& shape, const GpuMilliSum& free,
                Shortage& shortage) {
  GpuMilliSum need;
  std::map<int64_t, int64_t, std::greater<>> pods;  // by what each asks for
  for (const Role& role : roles) {
    const cluster::GpuRequest& gpus = role.spec().gpus;
    GpuMilliSum pod;
    pod.Add({gpus.each.compute().value(), gpus.each.memory().value()}, gpus.count);
    need.Add(pod, role.size());
    pods[gpus.total().value()] += role.size();
  }
  for (const auto& [gpu_milli, count] : pods) shortage.roles.push_back({count, gpu_milli});
  // Of what there is less, beside what is needed.
  const bool memory = need.memory - free.memory >= need.compute - free.compute;
  shortage.free_gpu_milli = memory ? free.memory : free.compute;
  shortage.need_gpu_milli = memory ? need.memory : need.compute;
  shortage.pod_gpu_milli = shape.spec->gpus.total().value();
}

}  // namespace muster::policy
