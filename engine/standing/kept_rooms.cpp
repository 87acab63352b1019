#include "engine/standing/kept_rooms.hpp"

#include <algorithm>

#include "cluster/base/check.hpp"

namespace muster::engine {

using cluster::GangId;
using cluster::Time;

const KeptRoom* KeptRooms::Of(const GangId& gang) const {
  if (all_.empty()) return nullptr;
  const auto found = all_.find(gang);
  return found == all_.end() ? nullptr : &found->second;
}

void KeptRooms::Lose(const KeptRoom& room) {
  MUSTER_CHECK(room.placements.size() == 1 && room.hosts.size() == 1);
  KeptRoom& known = all_.try_emplace(room.gang, room).first->second;
  if (known.number != 0) {
    known.placements.push_back(room.placements.front());
    known.hosts.push_back(room.hosts.front());
    known.lost_by = room.lost_by;
    known.priority = std::min(known.priority, room.priority);
    known.until.reset();
  }
  known.nodes.Add(room.placements.front().node);
  known.number = ++last_number_;
}

void KeptRooms::KeepUntil(const GangId& gang, Time until) { all_.at(gang).until = until; }

void KeptRooms::Shorten(const GangId& gang, Time until) {
  std::optional<Time>& now = all_.at(gang).until;
  now = std::min(now.value_or(until), until);
}

void KeptRooms::Died(const GangId& gang) {
  const auto found = all_.find(gang);
  if (found != all_.end()) found->second.died = true;
}

bool KeptRooms::End(const GangId& gang, WindowEnd how) {
  const auto found = all_.find(gang);
  if (found == all_.end()) return false;
  const bool died = found->second.died;
  all_.erase(found);
  if (died) ++ended_[static_cast<size_t>(how)];
  return died;
}

Time KeptRooms::due() const {
  Time due = Time::Never();
  for (const auto& [gang, room] : all_) due = std::min(due, room.until.value_or(Time(0)));
  return due;
}

void KeptRooms::Count(Time now) {
  for (auto& [gang, room] : all_) {
    int64_t milli = 0;
    for (const cluster::Placement& kept : room.placements) {
      for (const cluster::GpuShare& share : kept.gpus) milli += share.taken.most().value();
    }
    const int64_t passed = room.counted_at ? (now - *room.counted_at).value() : 0;
    if (milli * passed > 0) idle_[room.queue] += milli * passed / 1000;
    room.counted_at = now;
  }
}

int64_t KeptRooms::pods() const {
  size_t pods = 0;
  for (const auto& [gang, room] : all_) pods += room.placements.size();
  return static_cast<int64_t>(pods);
}

std::vector<std::string> KeptRooms::Audit() const {
  std::vector<std::string> broken;
  for (const auto& [gang, room] : all_) {
    const std::string who = "the room that is kept for gang " + gang.key.ToString();
    if (room.gang != gang || !Owns(room.number)) broken.push_back(who + " is another one's");
    if (room.placements.empty() || room.placements.size() != room.hosts.size())
      broken.push_back(who + " has not one node for each pod");
    const cluster::NodeSet& nodes = room.nodes;
    const bool covered = std::all_of(room.placements.begin(), room.placements.end(),
                                     [&](const auto& one) { return nodes.Contains(one.node); });
    if (!covered) broken.push_back(who + " is on nodes that it does not name");
  }
  return broken;
}

}  // namespace muster::engine
