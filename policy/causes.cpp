#include "policy/causes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "policy/room.hpp"

namespace muster::policy {

using cluster::Node;
using cluster::NodeFree;
using cluster::NodeIndex;
using What = Cause::What;

namespace {

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
    const Node& node = *search_.tx().node(index);
    const bool gpus = !shape_.spec->gpus.none();
    if (gpus && node.gpus.empty() && what >= What::kConstraint) what = What::kNoGpus;
    // Where GPUs are short, that is what people want to know of a node without CPU, too.
    if (gpus && what > What::kExcluded && what < What::kNoGpus) {
      if (TooFewGpus(search_, shape_, index, 0)) what = What::kGpus;
    }
    if (OfGpus(what) && !Serves(index)) what = What::kOtherGpus;
    if (what == What::kTaint) ++taints_[names_.TaintOf(index.value)];
    if (what == What::kConstraint) ++mismatches_[names_.MismatchOf(index.value)];
    Tally& tally = tallies_[static_cast<size_t>(what)];
    const bool first = tally.cause.nodes++ == 0;
    if (what != What::kCpu && what != What::kMemory && !OfGpus(what)) return;
    const NodeFree& free = search_.tx().free().at(index);
    const int64_t of = OfGpus(what) ? std::ssize(node.gpus) * 1000 : 0;
    tally.cause.of = first || tally.cause.of == of ? of : 0;
    const int64_t has = what == What::kCpu      ? free.resources.cpu.value()
                        : what == What::kMemory ? free.resources.memory.value()
                                                : free.gpu_total();
    const uint64_t rank = search_.eligibility().facts(index).rank;
    tally.cause.least_free = first ? has : std::min(tally.cause.least_free, has);
    const bool better =
        has > tally.cause.most_free || (has == tally.cause.most_free && rank < tally.rank);
    if (!first && !better) return;
    tally.cause.most_free = has;
    tally.rank = rank;
    tally.best = index;
  }

  std::vector<Cause> Causes() && {
    std::vector<Cause> causes;
    for (size_t i = 0; i < kWhats; ++i) {
      Tally& tally = tallies_[i];
      if (tally.cause.nodes == 0) continue;
      const auto what = static_cast<What>(i);
      if (what == What::kTaint || what == What::kConstraint) {
        AddNamed(what, what == What::kTaint ? taints_ : mismatches_, causes);
        continue;
      }
      tally.cause.what = what;
      tally.cause.wants = WantOf(what);
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

  // Some device of the node can serve the pod, were it free.
  bool Serves(NodeIndex index) const {
    const DeviceView view = search_.DevicesOn(shape_, index);
    if (view.share != Eligibility::kDiffers) return !view.share.none();
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
};

// What the roles want; their sum.
GpuMilliSum TellWanted(const std::vector<Role>& roles, Shortage& shortage) {
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
  return need;
}

}  // namespace

void TellCauses(const Search& search, const std::vector<Role>& roles, const Shape& shape,
                const Demand& demand, Shortage& shortage) {
  Count count(search, shape);
  GpuMilliSum sum;
  shortage.nodes = 0;
  search.EachNode([&](NodeIndex node) {
    const uint8_t bars = search.BarsOn(shape, node);
    if ((bars & Bar::kNoNode) != 0) return true;
    ++shortage.nodes;
    const bool open = bars == 0 && !Excluded(demand, node);
    if (open) {
      const NodeFree& free = search.tx().free().at(node);
      sum.Add({free.gpu_compute, free.gpu_memory}, 1);
      shortage.gpu_nodes += search.eligibility().facts(node).gpus > 0 ? 1 : 0;
    }
    if (open && PodsOn(search, shape, node, 1) > 0) {
      ++shortage.with_room;
    } else {
      count.Add(node, WhyNot(search, shape, demand, node, 0));
    }
    return true;
  });
  shortage.causes = std::move(count).Causes();
  const GpuMilliSum need = TellWanted(roles, shortage);
  // Of what there is less, beside what is needed.
  const bool memory = need.memory - sum.memory >= need.compute - sum.compute;
  shortage.free_gpu_milli = memory ? sum.memory : sum.compute;
  shortage.need_gpu_milli = memory ? need.memory : need.compute;
  shortage.pod_gpu_milli = shape.spec->gpus.total().value();
  shortage.all_gpu_milli = search.eligibility().all_gpus() * 1000;
}

}  // namespace muster::policy
