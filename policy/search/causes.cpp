#include "policy/search/causes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace muster::policy {

using cluster::Node;
using cluster::NodeFree;
using cluster::NodeIndex;
using What = Cause::What;

// The nodes that one thing keeps a pod off.
struct CauseTally {
  What what = What::kTaint;
  std::string name = {};  // of kNamed: the resource
  int64_t nodes = 0;
  int64_t wants = 0;  // of kNamed
  int64_t of = 0;
  int64_t least_free = 0;
  int64_t most_free = 0;
  NodeIndex best = {};
  uint64_t rank = 0;  // of its name

  void Add(const CauseTally& other) {
    if (nodes == 0) {
      *this = other;
      return;
    }
    nodes += other.nodes;
    if (of != other.of) of = 0;
    least_free = std::min(least_free, other.least_free);
    const bool better =
        other.most_free > most_free || (other.most_free == most_free && other.rank < rank);
    if (!better) return;
    most_free = other.most_free;
    best = other.best;
    rank = other.rank;
  }
};

namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr size_t kWhats = static_cast<size_t>(What::kNuma) + 1;

bool OfGpus(What what) {
  return what == What::kGpus || what == What::kGpuDevices || what == What::kNuma;
}

bool Measured(What what) {
  return what == What::kCpu || what == What::kMemory || what == What::kNamed || OfGpus(what);
}

// What a person wants to know first of a node that `what` keeps the pod off.
What TellOf(const Search& search, const Shape& shape, NodeIndex index, What what) {
  const bool gpus = !shape.spec->gpus.none();
  if (gpus && search.eligibility().facts(index).gpus == 0 && what >= What::kConstraint)
    what = What::kNoGpus;
  // Where GPUs are short, that is what people want to know of a node without CPU, too.
  if (gpus && what > What::kExcluded && what < What::kNoGpus) {
    if (TooFewGpus(search, shape, index, 0)) what = What::kGpus;
  }
  if (!OfGpus(what)) return what;
  // Some device of the node can serve the pod, were it free.
  const cluster::DeviceAmount share = (*shape.shares)[index.value];
  bool serves = !share.none();
  if (share == Eligibility::kDiffers) {
    const DeviceView view = search.DevicesOn(shape, index);
    serves = false;
    for (size_t i = 0; i < view.node.gpus.size() && !serves; ++i) serves = !view.ShareAt(i).none();
  }
  return serves ? what : What::kOtherGpus;
}

CauseTally TallyOf(const Search& search, const Shape& shape, NodeIndex index, What what) {
  const NodeFacts& facts = search.eligibility().facts(index);
  const NodeFree& free = search.tx().free().at(index);
  CauseTally tally{.what = what, .nodes = 1};
  if (!Measured(what)) return tally;
  tally.best = index;
  tally.rank = facts.rank;
  if (what == What::kNamed) {
    const cluster::NamedAmount* lacks = free.resources.named.FirstShort(shape.spec->requests.named);
    if (lacks == nullptr) return tally;
    tally.name = lacks->name;
    tally.wants = lacks->amount;
    tally.most_free = free.resources.named.Of(lacks->name);
  } else {
    tally.of = OfGpus(what) ? facts.gpus * 1000 : 0;
    tally.most_free = what == What::kCpu      ? free.resources.cpu.value()
                      : what == What::kMemory ? free.resources.memory.value()
                                              : free.gpu_total();
  }
  tally.least_free = tally.most_free;
  return tally;
}

// The sum over chunks, in words.
class Told {
 public:
  Told(const Search& search, const Shape& shape)
      : search_(search),
        shape_(shape),
        names_(search.eligibility().NamesFor(shape.spec->constraints)),
        taints_(names_.names()),
        mismatches_(names_.names()) {}

  void Add(const CauseTally& tally) {
    if (tally.what == What::kNamed) {
      named_[tally.name].Add(tally);
    } else {
      tallies_[static_cast<size_t>(tally.what)].Add(tally);
    }
  }
  void AddTaint(NodeIndex node) { ++taints_[names_.TaintOf(node.value)]; }
  void AddMismatch(NodeIndex node) { ++mismatches_[names_.MismatchOf(node.value)]; }

  std::vector<Cause> Causes() const {
    std::vector<Cause> causes;
    for (size_t i = 0; i < kWhats; ++i) {
      const auto what = static_cast<What>(i);
      if (what == What::kNamed) {
        for (const auto& [name, tally] : named_) causes.push_back(CauseOf(tally, name));
      } else if (tallies_[i].nodes == 0) {
        continue;
      } else if (what == What::kTaint || what == What::kConstraint) {
        AddNamed(what, what == What::kTaint ? taints_ : mismatches_, causes);
      } else {
        causes.push_back(CauseOf(
            tallies_[i], what == What::kOtherGpus ? shape_.spec->gpus.choice.LimitsText() : ""));
      }
    }
    return causes;
  }

 private:
  Cause CauseOf(const CauseTally& tally, std::string name) const {
    Cause cause{tally.what, std::move(name), tally.nodes};
    cause.wants = tally.what == What::kNamed ? tally.wants : WantOf(tally.what);
    cause.least_free = tally.least_free;
    cause.most_free = tally.most_free;
    cause.of = tally.of;
    if (tally.best.valid()) cause.best = search_.tx().node(tally.best)->name;
    return cause;
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
  std::array<CauseTally, kWhats> tallies_;
  std::map<std::string, CauseTally> named_;  // by the resource
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

}  // namespace

// Of one chunk, as long as its free numbers (`token`) and its records stay.
struct ChunkCauses {
  cluster::FreeTable::Token token;
  int64_t nodes = 0;
  int64_t gpu_nodes = 0;
  int64_t with_room = 0;
  int64_t largest_node_gpus = 0;
  GpuMilliSum free;
  std::vector<CauseTally> tallies;                 // one of each
  uint64_t taints = 0;                             // as NodeSet::Word: nodes tallied under kTaint
  uint64_t mismatches = 0;                         // likewise kConstraint
  std::vector<std::pair<What, int64_t>> refusals;  // as CountRefusals counts
  int64_t numa_single = 0;
};

namespace {

void AddTally(const CauseTally& one, std::vector<CauseTally>& tallies) {
  const auto same = [&](const CauseTally& other) {
    return other.what == one.what && other.name == one.name;
  };
  const auto found = std::find_if(tallies.begin(), tallies.end(), same);
  if (found == tallies.end()) {
    tallies.push_back(one);
  } else {
    found->Add(one);
  }
}

bool SingleNuma(const Search& search, NodeIndex node, What what) {
  return what == What::kNuma &&
         search.LinksOn(node)->numa_policy() == cluster::NumaPolicy::kSingleNumaNode;
}

void LookAt(const Search& search, const Shape& shape, const Demand& demand, NodeIndex node,
            ChunkCauses& chunk) {
  const uint8_t bars = search.BarsOn(shape, node);
  if ((bars & Bar::kNoNode) != 0) return;
  const NodeFacts& facts = search.eligibility().facts(node);
  ++chunk.nodes;
  chunk.largest_node_gpus = std::max(chunk.largest_node_gpus, facts.gpus);
  const bool open = bars == 0 && !Excluded(demand, node);
  if (open) {
    const NodeFree& free = search.tx().free().at(node);
    chunk.free.Add({free.gpu_compute, free.gpu_memory}, 1);
    chunk.gpu_nodes += facts.gpus > 0 ? 1 : 0;
  }
  const int64_t pods = bars == 0 ? PodsOn(search, shape, node, kNoLimit) : 0;
  const bool room = open && pods > 0 && !search.Closed(demand, node);
  const What what = WhyNot(search, shape, demand, node, pods);
  chunk.numa_single += SingleNuma(search, node, what) ? 1 : 0;
  const auto same = [&](const auto& refusal) { return refusal.first == what; };
  const auto refusal = std::find_if(chunk.refusals.begin(), chunk.refusals.end(), same);
  if (refusal == chunk.refusals.end()) {
    chunk.refusals.emplace_back(what, 1);
  } else {
    ++refusal->second;
  }
  if (room) {
    ++chunk.with_room;
    return;
  }
  const What told = TellOf(search, shape, node, what);
  const uint64_t bit = uint64_t{1} << node.value % cluster::FreeTable::kChunk;
  if (told == What::kTaint) chunk.taints |= bit;
  if (told == What::kConstraint) chunk.mismatches |= bit;
  AddTally(TallyOf(search, shape, node, told), chunk.tallies);
}

std::shared_ptr<const ChunkCauses> LookAtChunk(const Search& search, const Shape& shape,
                                               const Demand& demand, uint32_t chunk) {
  auto found = std::make_shared<ChunkCauses>();
  found->token = search.tx().free().token(chunk);
  search.EachNodeOf(chunk, [&](NodeIndex node) {
    LookAt(search, shape, demand, node, *found);
    return true;
  });
  return found;
}

template <typename Visit>
void EachBit(uint32_t chunk, uint64_t bits, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1)
    visit(NodeIndex{chunk * cluster::FreeTable::kChunk +
                    static_cast<uint32_t>(std::countr_zero(bits))});
}

}  // namespace

void CountRefusals(const Search& search, const Shape& shape, const Demand& demand,
                   Shortage& shortage) {
  search.EachNode([&](NodeIndex node) {
    if ((search.BarsOn(shape, node) & Bar::kNoNode) != 0) return true;
    const int64_t pods = PodsOn(search, shape, node, kNoLimit);
    const What what = WhyNot(search, shape, demand, node, pods);
    ++CounterOf(what, shortage);
    shortage.numa_single += SingleNuma(search, node, what) ? 1 : 0;
    return true;
  });
}

GpuMilliSum TellCauses(const Search& search, Shape& shape, const Demand& demand, bool count_too,
                       Shortage& shortage) {
  Told told(search, shape);
  GpuMilliSum sum;
  // What depends on the demand beside its shape is not remembered.
  const bool plain = demand.excluded.empty() && search.conditions() == nullptr;
  Shape::Causes& known = shape.CausesFor(search.memory(), search.tx().free().chunks());
  search.EachChunk([&](uint32_t chunk, bool whole) {
    std::shared_ptr<const ChunkCauses> here = plain && whole ? known[chunk] : nullptr;
    if (here == nullptr || here->token != search.tx().free().token(chunk)) {
      here = LookAtChunk(search, shape, demand, chunk);
      if (plain && whole) known[chunk] = here;
    }
    shortage.nodes += here->nodes;
    shortage.gpu_nodes += here->gpu_nodes;
    shortage.with_room += here->with_room;
    shortage.largest_node_gpus = std::max(shortage.largest_node_gpus, here->largest_node_gpus);
    sum.Add(here->free, 1);
    for (const CauseTally& tally : here->tallies) told.Add(tally);
    EachBit(chunk, here->taints, [&](NodeIndex node) { told.AddTaint(node); });
    EachBit(chunk, here->mismatches, [&](NodeIndex node) { told.AddMismatch(node); });
    if (!count_too) return;
    for (const auto& [what, nodes] : here->refusals) CounterOf(what, shortage) += nodes;
    shortage.numa_single += here->numa_single;
  });
  shortage.causes = told.Causes();
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
