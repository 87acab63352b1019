#include "engine/standing/holdings.hpp"

namespace muster::engine {

void Holdings::LetGo(const GangId& gang, const Holder& holder) {
  const auto alike = all_.find(holder.priority);
  alike->second.erase(gang);
  if (alike->second.empty()) all_.erase(alike);
  const auto beside = by_queue_.find(holder.queue);
  beside->second.erase({holder.priority, gang});
  if (beside->second.empty()) by_queue_.erase(beside);
}

bool Holdings::Hold(const Gang& gang, std::optional<int32_t> priority, int64_t available,
                    const std::string& queue) {
  const GangId& id = gang.id;
  const auto known = holders_.find(id);
  if (known == holders_.end() && !priority) return false;
  const int64_t before = known == holders_.end() ? 0 : known->second.available;
  const bool same =
      known != holders_.end() && priority == known->second.priority && queue == known->second.queue;
  if (same) {
    known->second.available = available;
    return available > before;
  }
  if (known != holders_.end()) LetGo(id, known->second);
  if (!priority) {
    holders_.erase(known);
    return false;
  }
  all_[*priority].emplace(id, &gang);
  by_queue_[queue].emplace(std::pair(*priority, id), &gang);
  holders_[id] = {*priority, available, queue};
  return available > before;
}

std::vector<std::string> Holdings::Audit() const {
  std::vector<std::string> broken;
  size_t holders = 0;
  for (const auto& [priority, gangs] : all_) holders += gangs.size();
  size_t in_queues = 0;
  for (const auto& [queue, gangs] : by_queue_) in_queues += gangs.size();
  for (const auto& [priority, gangs] : all_) {
    for (const auto& [id, gang] : gangs) {
      if (gang->id != id) broken.push_back("gang " + id.key.ToString() + " is not where it was");
    }
  }
  if (holders != holders_.size() || in_queues != holders_.size())
    broken.emplace_back("gangs that hold something are miscounted");
  return broken;
}

}  // namespace muster::engine
