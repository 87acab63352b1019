#include "cluster/holdings/node_ledger.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cluster/base/check.hpp"

namespace muster::cluster {
namespace {

bool Earlier(const PodEntry* a, const PodEntry* b) {
  if (a->pod.created != b->pod.created) return a->pod.created < b->pod.created;
  return a->pod.uid < b->pod.uid;
}

// A request may have several turns of it.
bool Replicated(const Gpu& gpu) { return gpu.sharing->ReplicasOf(gpu.size()) > 1; }

// What of the devices is not given away yet while one node is settled. Health does not decide who
// holds a device, only what is shown as free.
class DeviceRoom {
 public:
  explicit DeviceRoom(const Node& node)
      : node_(node), room_(node.gpus.size(), DeviceAmount::All()), withheld_(node.gpus.size()) {}

  // Withholds a healthy device, or turn, for each that is taken of a broken one: the
  // highest-numbered with room. Which they are depends only on what was taken so far.
  void WithholdForBroken() {
    const auto shared = [&](size_t at) { return !node_.gpus[at].sharing->counted(); };
    int64_t turns = 0;
    for (size_t at = 0; at < room_.size(); ++at) {
      if (node_.gpus[at].healthy || shared(at)) continue;
      turns += (DeviceAmount::All() - room_[at]).Times(TurnOf(at));
    }
    for (size_t at = room_.size(); at > 0 && turns > 0; --at) {
      if (!node_.gpus[at - 1].healthy || shared(at - 1)) continue;
      const int64_t here = std::min(turns, room_[at - 1].Times(TurnOf(at - 1)));
      withheld_[at - 1] = TurnOf(at - 1) * here;
      turns -= here;
    }
  }

  // Exactly the listed devices or nothing. A replicated device may be listed once per turn.
  bool TakeListed(const std::vector<GpuIndex>& listed, const GpuRequest& request,
                  std::vector<GpuShare>& taken) {
    if (listed.size() != static_cast<size_t>(std::max(request.count, 0))) return false;
    const std::vector<DeviceAmount> before = room_;
    for (GpuIndex index : listed) {
      const size_t at = Position(index);
      if (at == room_.size() || !TakeOne(at, request, taken)) {
        room_ = before;
        taken.clear();
        return false;
      }
    }
    return true;
  }

  // Those of the listed devices that are still there and free; returns how many. (A node may lose
  // devices under a running pod, which keeps the others.)
  int32_t TakeRest(const std::vector<GpuIndex>& listed, const GpuRequest& request,
                   std::vector<GpuShare>& taken) {
    if (listed.size() != static_cast<size_t>(std::max(request.count, 0))) return 0;
    int32_t count = 0;
    for (GpuIndex index : listed) {
      const size_t at = Position(index);
      if (at < room_.size() && TakeOne(at, request, taken)) ++count;
    }
    return count;
  }

  // True when the planned shares are what `request` takes of these devices.
  bool Meets(const std::vector<GpuShare>& plan, const GpuRequest& request) const {
    int64_t count = 0;
    for (const GpuShare& share : plan) {
      const size_t at = Position(share.index);
      if (at == room_.size()) return false;
      const DeviceAmount each = HeldOn(node_.gpus[at], request);
      const int64_t turns = share.taken.Times(each);
      if (turns < 1 || share.taken != each * turns) return false;
      if (turns > 1 && !Replicated(node_.gpus[at])) return false;
      count += turns;
    }
    return count == request.count;
  }

  // Exactly the planned shares or nothing; for a promise, only of what can be offered.
  bool TakePlanned(const std::vector<GpuShare>& plan, bool promise, std::vector<GpuShare>& taken) {
    for (const GpuShare& share : plan) {
      const size_t at = Position(share.index);
      if (at == room_.size() || !room_[at].Holds(share.taken)) return false;
      if (promise && (!node_.gpus[at].usable() || !Offered(at).Holds(share.taken))) return false;
    }
    for (const GpuShare& share : plan) room_[Position(share.index)] -= share.taken;
    taken = plan;
    return true;
  }

  // What the assigner says, beside the `had` that are in `taken`. False when the request is not
  // met: then `taken` is what there was.
  bool TakeAssigned(const DeviceAssigner& assigner, const GpuRequest& request, int32_t had,
                    std::vector<GpuShare>& taken) {
    int32_t missing = request.count - had;
    if (missing <= 0) return true;
    for (const size_t at : assigner.Choose({node_, request, missing, room_, taken})) {
      if (missing > 0 && at < room_.size() && TakeOne(at, request, taken)) --missing;
    }
    return missing == 0;
  }

  // What of a device may be given to pods to come.
  DeviceAmount Offered(size_t at) const { return (room_[at] - withheld_[at]).AtLeast({}); }

 private:
  // What a pod takes that asks for one whole GPU.
  DeviceAmount TurnOf(size_t at) const { return HeldOn(node_.gpus[at], {1, kWholeGpu, MiB()}); }

  size_t Position(GpuIndex index) const {
    const auto at =
        std::lower_bound(node_.gpus.begin(), node_.gpus.end(), index,
                         [](const Gpu& gpu, GpuIndex wanted) { return gpu.index < wanted; });
    if (at == node_.gpus.end() || at->index != index) return node_.gpus.size();
    return static_cast<size_t>(at - node_.gpus.begin());
  }

  // One device of a request, kept in order in `taken`. A second time only on a replicated device.
  bool TakeOne(size_t at, const GpuRequest& request, std::vector<GpuShare>& taken) {
    const Gpu& gpu = node_.gpus[at];
    const DeviceAmount share = HeldOn(gpu, request);
    if (share.none() || !room_[at].Holds(share)) return false;
    auto place =
        std::lower_bound(taken.begin(), taken.end(), gpu.index,
                         [](const GpuShare& have, GpuIndex wanted) { return have.index < wanted; });
    if (place != taken.end() && place->index == gpu.index) {
      if (!Replicated(gpu)) return false;
      place->taken += share;
    } else {
      taken.insert(place, {gpu.index, share});
    }
    room_[at] -= share;
    return true;
  }

  const Node& node_;
  std::vector<DeviceAmount> room_;
  std::vector<DeviceAmount> withheld_;
};

// What one holder gets while its node is settled.
struct Grant {
  std::vector<GpuShare> gpus;
  int32_t listed = 0;  // devices of its list that it still has, when it does not have all of them
  bool settled = false;
  bool known = true;
};

std::vector<Grant> GrantDevices(const std::vector<PodEntry*>& entries,
                                const DeviceAssigner& assigner, DeviceRoom& room) {
  std::vector<Grant> grants(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const Pod& pod = entries[i]->pod;
    Grant& grant = grants[i];
    if (!pod.bound()) continue;
    grant.settled =
        pod.spec->gpus.none() ||
        (!pod.bound_gpus.empty() && room.TakeListed(pod.bound_gpus, pod.spec->gpus, grant.gpus));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const Pod& pod = entries[i]->pod;
    if (grants[i].settled || !pod.bound()) continue;
    grants[i].listed = room.TakeRest(pod.bound_gpus, pod.spec->gpus, grants[i].gpus);
  }
  room.WithholdForBroken();
  for (size_t i = 0; i < entries.size(); ++i) {
    const PodEntry& entry = *entries[i];
    Grant& grant = grants[i];
    if (grant.settled || grant.listed > 0 || entry.plan == nullptr) continue;
    // It may ask for something else now, and the node may give its devices out in another way.
    const bool meets = room.Meets(entry.plan->gpus, entry.pod.spec->gpus);
    if (entry.pod.bound() && !meets) continue;
    // A promise of a device that broke down is not kept; a pod that runs on one still has it.
    const bool had = meets && room.TakePlanned(entry.plan->gpus, entry.reserved(), grant.gpus);
    grant.settled = had || entry.reserved();
    grant.known = had || !entry.reserved();
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    Grant& grant = grants[i];
    if (grant.settled) continue;
    grant.known = room.TakeAssigned(assigner, entries[i]->pod.spec->gpus, grant.listed, grant.gpus);
  }
  return grants;
}

const Resources& RequestsOf(const PodEntry& entry) {
  return entry.pod.bound() ? entry.pod.held() : entry.plan->requests;
}

// What is left of the node when these have what they were granted.
NodeTally Count(const Node& node, const std::vector<PodEntry*>& entries,
                const std::vector<Grant>& grants, const DeviceRoom& room) {
  NodeTally tally;
  tally.balance = OfferOf(node);
  for (size_t i = 0; i < entries.size(); ++i) {
    tally.devices_known = tally.devices_known && grants[i].known;
    tally.balance -= RequestsOf(*entries[i]);
    const GpuRequest& wants = entries[i]->pod.spec->gpus;
    tally.gpu_balance -= wants.fractional() ? 0 : wants.count;
  }
  tally.gpus.resize(node.gpus.size());
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    if (tally.devices_known && node.gpus[i].usable()) tally.gpus[i] = room.Offered(i);
    const Gpu& gpu = node.gpus[i];
    if (gpu.healthy) tally.gpu_balance += gpu.sharing->ReplicasOf(gpu.size());
  }
  const bool shared = std::any_of(node.gpus.begin(), node.gpus.end(),
                                  [](const Gpu& gpu) { return !gpu.sharing->counted(); });
  if (shared) tally.gpu_balance = 0;
  tally.offered = tally.balance;
  return tally;
}

// True when what the entry holds is not what it held before.
bool Assign(PodEntry& entry, NodeIndex index, Grant grant) {
  const Resources& requests = RequestsOf(entry);
  const Holding holding = entry.pod.bound() ? Holding::kBound : Holding::kReserved;
  if (entry.held && entry.held->placement.node == index &&
      entry.held->placement.requests == requests && entry.held->placement.gpus == grant.gpus &&
      entry.held->holding == holding && entry.held->devices_known == grant.known) {
    return false;
  }
  entry.held =
      Allocation{{entry.pod.uid, index, requests, std::move(grant.gpus)}, holding, grant.known};
  return true;
}

}  // namespace

void NodeLedger::Add(PodEntry& entry) {
  std::vector<PodEntry*>& list = entry.earmarked() ? earmarks_ : entries_;
  list.insert(std::upper_bound(list.begin(), list.end(), &entry, Earlier), &entry);
  if (!entry.earmarked()) holders_.insert(entry.pod.uid);
}

void NodeLedger::Remove(const PodEntry& entry) {
  std::vector<PodEntry*>& list = entry.earmarked() ? earmarks_ : entries_;
  const auto at = std::lower_bound(list.begin(), list.end(), &entry, Earlier);
  MUSTER_CHECK(at != list.end() && *at == &entry);
  list.erase(at);
  holders_.erase(entry.pod.uid);
}

bool NodeTally::Short(const Resources& requests, const GpuRequest& gpu_request) const {
  return (requests.cpu > MilliCpu() && balance.cpu < MilliCpu()) ||
         (requests.memory > MiB() && balance.memory < MiB()) ||
         (requests.pods > 0 && balance.pods < 0) ||
         (requests.channels > 0 && balance.channels < 0) ||
         balance.named.OwesAnyOf(requests.named) ||
         (!gpu_request.none() && (gpu_balance < 0 || !devices_known));
}

bool NodeTally::overcommitted() const {
  return balance.cpu < MilliCpu() || balance.memory < MiB() || balance.pods < 0 ||
         balance.channels < 0 || balance.named.AnyNegative() || gpu_balance < 0 || !devices_known;
}

NodeTally NodeLedger::Settle(const Node& node, NodeIndex index, const DeviceAssigner& assigner,
                             bool& changed) {
  DeviceRoom room(node);
  std::vector<Grant> grants = GrantDevices(entries_, assigner, room);
  NodeTally tally = Count(node, entries_, grants, room);
  for (size_t i = 0; i < entries_.size(); ++i)
    changed = Assign(*entries_[i], index, std::move(grants[i])) || changed;
  if (!earmarks_.empty()) WithholdForEarmarks(node, 0, tally);
  return tally;
}

bool NodeLedger::Holds(const Node& node, const DeviceAssigner& assigner, uint64_t claim) const {
  std::vector<PodEntry*> staying;
  for (PodEntry* entry : entries_) {
    if (entry->claim != claim) staying.push_back(entry);
  }
  DeviceRoom room(node);
  const std::vector<Grant> grants = GrantDevices(staying, assigner, room);
  NodeTally tally = Count(node, staying, grants, room);
  WithholdForEarmarks(node, claim, tally);
  const Need need = NeedOf(claim);
  const bool met = std::all_of(earmarks_.begin(), earmarks_.end(), [&](const PodEntry* entry) {
    return entry->claim != claim || room.Meets(entry->plan->gpus, entry->pod.spec->gpus);
  });
  const bool devices =
      met && std::all_of(need.gpus.begin(), need.gpus.end(), [&](const auto& wanted) {
        for (size_t i = 0; i < node.gpus.size(); ++i) {
          if (node.gpus[i].index == wanted.first) return tally.gpus[i].Holds(wanted.second);
        }
        return false;
      });
  return devices && tally.offered.Fits(need.resources);
}

bool Meets(const Node& node, const std::vector<GpuShare>& plan, const GpuRequest& request) {
  return DeviceRoom(node).Meets(plan, request);
}

NodeLedger::Need NodeLedger::NeedOf(uint64_t claim) const {
  Need need;
  for (const PodEntry* entry : earmarks_) {
    if (entry->claim != claim) continue;
    need.resources += entry->plan->requests;
    for (const GpuShare& share : entry->plan->gpus) need.gpus[share.index] += share.taken;
  }
  return need;
}

void NodeLedger::WithholdForEarmarks(const Node& node, uint64_t except, NodeTally& tally) const {
  std::map<uint64_t, Need> claims;
  for (const PodEntry* entry : earmarks_) {
    if (entry->claim != except) claims.try_emplace(entry->claim, NeedOf(entry->claim));
  }
  for (const PodEntry* entry : entries_) {
    const auto claim = claims.find(entry->claim);
    if (claim == claims.end()) continue;
    claim->second.resources -= entry->held->placement.requests;
    for (const GpuShare& share : entry->held->placement.gpus)
      claim->second.gpus[share.index] -= share.taken;
  }
  for (const auto& [id, need] : claims) {
    tally.offered -= need.resources.Positive();
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      const auto found = need.gpus.find(node.gpus[i].index);
      if (found == need.gpus.end()) continue;
      tally.gpus[i] = (tally.gpus[i] - found->second.AtLeast({})).AtLeast({});
    }
  }
}

}  // namespace muster::cluster
