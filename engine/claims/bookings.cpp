#include "engine/claims/bookings.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"

namespace muster::engine {

using cluster::GangId;
using cluster::Time;

Booking* Bookings::Find(const GangId& gang) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Booking& one) { return one.gang == gang; });
  return found == all_.end() ? nullptr : &*found;
}

const Booking* Bookings::Of(const GangId& gang) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Booking& one) { return one.gang == gang; });
  return found == all_.end() ? nullptr : &*found;
}

void Bookings::Grant(Booking booking) {
  booking.number = ++edition_;
  looked_at_ = 0;
  refused_.erase(booking.gang);
  if (Booking* known = Find(booking.gang)) {
    *known = std::move(booking);
  } else {
    all_.push_back(std::move(booking));
  }
}

void Bookings::Close(const GangId& gang) {
  Booking* booking = Find(gang);
  MUSTER_CHECK(booking != nullptr);
  booking->number = ++edition_;
  looked_at_ = 0;
  booking->at = Time::Never();
  booking->by = queues::Trust::kNone;
  booking->last = {};
}

bool Bookings::SetOpen(const GangId& gang, bool open, Time until) {
  Booking* booking = Find(gang);
  MUSTER_CHECK(booking != nullptr);
  booking->turns_at = until;
  if (booking->open == open) return false;
  booking->number = ++edition_;
  booking->open = open;
  return true;
}

void Bookings::Reorder(const GangId& gang, const queues::OrderKey& order) {
  Booking* booking = Find(gang);
  MUSTER_CHECK(booking != nullptr);
  booking->number = ++edition_;
  booking->order = order;
}

void Bookings::End(const GangId& gang) {
  if (std::erase_if(all_, [&](const Booking& one) { return one.gang == gang; }) > 0) {
    ++edition_;
    search_due_ = Time(0);  // another gang may book now
  }
  std::erase_if(jumpers_, [&](const auto& one) { return one.second.over == gang; });
  if (all_.empty()) look_due_ = Time::Never();
}

void Bookings::EndAll() {
  if (!all_.empty()) ++edition_;
  all_.clear();
  jumpers_.clear();
  refused_.clear();
  look_due_ = search_due_ = Time::Never();
}

void Bookings::Look(const GangId& gang, std::vector<cluster::Placement> kept, bool free,
                    bool sound) {
  Booking* booking = Find(gang);
  MUSTER_CHECK(booking != nullptr);
  booking->kept = std::move(kept);
  booking->free = free;
  booking->sound = sound;
}

void Bookings::TurnedAway(const GangId& gang) {
  if (Booking* booking = Find(gang)) booking->turned_away = true;
}

bool Bookings::Call(const GangId& gang) {
  Booking* booking = Find(gang);
  return booking != nullptr && !std::exchange(booking->called, true);
}

void Bookings::Searched(const GangId& gang, Time now, uint64_t growth) {
  Booking* booking = Find(gang);
  if (booking == nullptr) return;
  booking->searched_at = now;
  booking->searched_growth = growth;
}

int64_t Bookings::CountJumpers(const std::string& ns, const std::string& queue,
                               const std::function<bool(const GangId&)>& holds) {
  std::erase_if(jumpers_, [&](const auto& one) { return !holds(one.first); });
  return std::count_if(jumpers_.begin(), jumpers_.end(), [&](const auto& one) {
    return one.first.key.ns == ns && one.second.queue == queue;
  });
}

const Unbookable* Bookings::WhyNot(const GangId& gang) const {
  const auto found = refused_.find(gang);
  return found == refused_.end() ? nullptr : &found->second;
}

bool Bookings::Overtaken(const GangId& gang, Time now) {
  if (overtaken_at_ != now) overtaken_.clear();
  overtaken_at_ = now;
  return !overtaken_.insert(gang).second;
}

void Bookings::Count(Time now) {
  const int64_t passed = std::max<int64_t>(0, (now - counted_at_).value());
  counted_at_ = std::max(counted_at_, now);
  for (Booking& booking : all_) {
    if (booking.open) continue;
    int64_t milli = 0;
    for (const cluster::Placement& kept : booking.kept) {
      for (const cluster::GpuShare& share : kept.gpus) milli += share.taken.most().value();
    }
    booking.idle += milli * passed / 1000;
    if (milli > 0) idle_[booking.queue] += milli * passed / 1000;
  }
}

}  // namespace muster::engine
