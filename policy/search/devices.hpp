// ChooseDevices: which GPUs of a node a pod gets, the one place where devices are chosen; and what
// a choice would cost, for scoring (internal to policy/). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cluster/amounts/resources.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/records/node.hpp"
#include "policy/fit/eligibility.hpp"
#include "policy/gpu_links/gang_rails.hpp"
#include "policy/search/score.hpp"
#include "policy/terms/options.hpp"

namespace muster::policy {

// Which of the devices that fit come first; the lower index on a tie. Among whole exclusive devices
// that is the lowest-numbered free ones.
//   kTightest    least free: shares fill devices that are shared already
//   kEmptiest    most free: those who share a device are as few as can be
//                (free is what of both is, compute and memory)
//   kMostTurns   those that can serve most further pods of the kind: of equal pods that want
//                several devices each, as many as can be find room (any other order may strand
//                turns)
enum class DeviceOrder { kTightest, kEmptiest, kMostTurns };

constexpr DeviceOrder DeviceOrderOf(Strategy strategy) {
  return strategy == Strategy::kBinpack ? DeviceOrder::kTightest : DeviceOrder::kEmptiest;
}

// As the policy says, unless the request says it.
inline Strategy FillingOf(cluster::GpuWords::Filling asked, Strategy strategy) {
  switch (asked) {
    case cluster::GpuWords::Filling::kUnsaid:
      return strategy;
    case cluster::GpuWords::Filling::kBinpack:
      return Strategy::kBinpack;
    case cluster::GpuWords::Filling::kSpread:
      return Strategy::kSpread;
  }
  return strategy;
}
inline Strategy NodeFillingOf(const cluster::GpuRequest& request, Strategy strategy) {
  const cluster::GpuWords* words = request.choice.words();
  return words == nullptr ? strategy : FillingOf(words->nodes, strategy);
}
// kMostTurns stays: with another order the gang found no room.
inline DeviceOrder DeviceOrderOf(const cluster::GpuRequest& request, DeviceOrder order) {
  const cluster::GpuWords* words = request.choice.words();
  if (words == nullptr || order == DeviceOrder::kMostTurns) return order;
  const bool tight = order == DeviceOrder::kTightest;
  return DeviceOrderOf(FillingOf(words->devices, tight ? Strategy::kBinpack : Strategy::kSpread));
}

// The devices of one node as one kind of request sees them.
struct DeviceView {
  const cluster::Node& node;
  std::span<const cluster::DeviceAmount> free;  // in the order of node.gpus
  const cluster::GpuRequest& request;
  cluster::DeviceAmount share;         // of each device, or Eligibility::kDiffers
  const DeviceLinks* links = nullptr;  // null: not known

  // What the request takes of device `i`; none: it cannot serve it.
  cluster::DeviceAmount ShareAt(size_t i) const {
    return share == Eligibility::kDiffers ? cluster::ShareOn(node.gpus[i], request) : share;
  }
  // It has so much free, and, where the request wants that, nothing of it is in use.
  bool Fits(size_t i, const cluster::DeviceAmount& wanted) const {
    return free[i].Holds(wanted) &&
           (!request.choice.untouched() || free[i] == cluster::DeviceAmount::All());
  }
  // How many shares are free on device `i`.
  int64_t TurnsAt(size_t i) const {
    const cluster::DeviceAmount each = ShareAt(i);
    if (request.choice.untouched()) return !each.none() && Fits(i, each) ? 1 : 0;
    return free[i].Times(each);
  }
};

// `request.count` distinct devices, ordered by index; nothing when there are not so many. Where
// links are known, whole devices are those with the best ring, and a device that is opened for a
// share is the one that the others miss least. `rails`: whole devices go to a member of that gang;
// null: where the gang's other members are is no matter.
std::optional<std::vector<cluster::GpuShare>> ChooseDevices(const DeviceView& view,
                                                            DeviceOrder order,
                                                            const RailsOnNode* rails = nullptr);

// What ChooseDevices would take, without the list. `order` is not kMostTurns.
std::optional<DeviceUse> UseOf(const DeviceView& view, DeviceOrder order);

// The slowest link of the ring over the devices that ChooseDevices would take, MB/s; 0 where links
// are not known or do not matter.
uint32_t RingOf(const DeviceView& view);

// RingOf for each of so many pods that are placed one after the other.
std::vector<uint32_t> RingsOf(const DeviceView& view, int64_t pods);

// DeviceLinks::AstrayOf the devices that ChooseDevices would take; 0 where links are not known or
// do not matter.
int32_t AstrayOf(const DeviceView& view);

// How many pods with this request find devices one after the other, at most `limit`: the largest t
// with Σ min(turns, t) ≥ count · t, which choosing by kMostTurns attains.
int64_t PodsOnDevices(const DeviceView& view, int64_t limit);

}  // namespace muster::policy
