#include "policy/search/devices.hpp"

#include <algorithm>

namespace muster::policy {

using cluster::DeviceAmount;
using cluster::GpuShare;

namespace {

struct Fit {
  int64_t preference = 0;  // smaller first
  int64_t tie = 0;         // smaller first
  GpuShare share;
};

int64_t PreferenceOf(const DeviceView& view, size_t i, DeviceOrder order) {
  switch (order) {
    case DeviceOrder::kTightest:
      return view.free[i].least().value();
    case DeviceOrder::kEmptiest:
      return -view.free[i].least().value();
    case DeviceOrder::kMostTurns:
      return -view.TurnsAt(i);
  }
  return 0;
}

// Where what is taken depends on the device, there is no short cut.
std::optional<DeviceUse> UseOfChosen(const DeviceView& view, DeviceOrder order) {
  const auto chosen = ChooseDevices(view, order);
  if (!chosen) return std::nullopt;
  DeviceUse use;
  auto next = chosen->begin();
  for (size_t i = 0; i < view.free.size() && next != chosen->end(); ++i) {
    if (view.node.gpus[i].index != next->index) continue;
    use.milli += static_cast<int32_t>(next->taken.most().value());
    if (view.free[i] == DeviceAmount::All())
      ++(next->taken == DeviceAmount::All() ? use.whole : use.opened);
    ++next;
  }
  return use;
}

// Then there is nothing to choose.
bool TakesAll(const DeviceView& view) {
  return view.share == DeviceAmount::All() &&
         static_cast<size_t>(view.request.count) == view.free.size() &&
         std::all_of(view.free.begin(), view.free.end(),
                     [](const DeviceAmount& free) { return free == DeviceAmount::All(); });
}

}  // namespace

uint32_t RingOf(const DeviceView& view) {
  if (view.links == nullptr || view.share != DeviceAmount::All()) return 0;
  return view.links->RingOf(view.free, static_cast<size_t>(view.request.count));
}

std::vector<uint32_t> RingsOf(const DeviceView& view, int64_t pods) {
  const auto count = static_cast<size_t>(pods);
  if (view.links == nullptr || view.share != DeviceAmount::All())
    return std::vector<uint32_t>(count, 0);
  return view.links->RingsOf(view.free, static_cast<size_t>(view.request.count), count);
}

int32_t AstrayOf(const DeviceView& view) {
  if (view.links == nullptr || view.share != DeviceAmount::All()) return 0;
  return view.links->AstrayOf(view.free, static_cast<size_t>(view.request.count));
}

std::optional<std::vector<GpuShare>> ChooseDevices(const DeviceView& view, DeviceOrder order,
                                                   const RailsOnNode* rails) {
  std::vector<GpuShare> chosen;
  if (view.request.none()) return chosen;
  if (view.links != nullptr && view.share == DeviceAmount::All()) {
    const auto count = static_cast<size_t>(view.request.count);
    const std::vector<size_t> places =
        rails == nullptr ? view.links->Choose(view.free, count)
                         : rails->rails.Take(rails->node, *view.links, view.free, count);
    chosen.reserve(places.size());
    for (const size_t place : places) chosen.push_back({view.node.gpus[place].index, view.share});
    if (!chosen.empty()) return chosen;
    if (view.links->turns_away()) return std::nullopt;
  }
  if (TakesAll(view)) {
    chosen.reserve(view.free.size());
    for (const cluster::Gpu& gpu : view.node.gpus) chosen.push_back({gpu.index, view.share});
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }
  std::vector<Fit> fits;
  fits.reserve(view.free.size());
  std::vector<size_t> unused;  // of these
  for (size_t i = 0; i < view.free.size(); ++i) {
    const DeviceAmount share = view.ShareAt(i);
    if (share.none() || !view.Fits(i, share)) continue;
    if (view.free[i] == DeviceAmount::All()) unused.push_back(i);
    fits.push_back({PreferenceOf(view, i, order),
                    -view.free[i].least().value(),
                    {view.node.gpus[i].index, share}});
  }
  const auto count = static_cast<size_t>(view.request.count);
  if (fits.size() < count) return std::nullopt;
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    if (a.preference != b.preference) return a.preference < b.preference;
    return a.tie != b.tie ? a.tie < b.tie : a.share.index < b.share.index;
  });
  chosen.reserve(count);
  if (view.links != nullptr && count == 1 && fits[0].tie == -DeviceAmount::All().least().value()) {
    if (const auto place = view.links->ChooseOne(view.free, unused)) {
      chosen.push_back({view.node.gpus[*place].index, view.ShareAt(*place)});
      return chosen;
    }
  }
  for (size_t i = 0; i < count; ++i) chosen.push_back(fits[i].share);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::optional<DeviceUse> UseOf(const DeviceView& view, DeviceOrder order) {
  if (view.share == Eligibility::kDiffers) return UseOfChosen(view, order);
  if (view.share.none()) return std::nullopt;
  const int32_t count = view.request.count;
  int32_t fitting = 0;
  int32_t fresh = 0;  // fully free ones among them
  for (size_t i = 0; i < view.free.size(); ++i) {
    fitting += view.Fits(i, view.share) ? 1 : 0;
    fresh += view.free[i] == DeviceAmount::All() ? 1 : 0;
  }
  if (fitting < count) return std::nullopt;
  DeviceUse use;
  use.milli = count * static_cast<int32_t>(view.share.most().value());
  // The tightest devices are the shared ones, the emptiest the fresh ones.
  const int32_t taken = order == DeviceOrder::kTightest ? std::max(count - (fitting - fresh), 0)
                                                        : std::min(count, fresh);
  (view.share == DeviceAmount::All() ? use.whole : use.opened) = taken;
  return use;
}

int64_t PodsOnDevices(const DeviceView& view, int64_t limit) {
  if (view.request.none()) return limit;
  int64_t turns = 0;
  for (size_t i = 0; i < view.free.size(); ++i) turns += view.TurnsAt(i);
  const int64_t count = view.request.count;
  const auto feasible = [&](int64_t pods) {
    int64_t usable = 0;
    for (size_t i = 0; i < view.free.size(); ++i) usable += std::min(view.TurnsAt(i), pods);
    return usable >= count * pods;
  };
  int64_t low = 0;
  int64_t high = std::min(limit, turns / count);
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (feasible(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace muster::policy
