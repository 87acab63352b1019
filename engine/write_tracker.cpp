#include "engine/write_tracker.hpp"

namespace muster::engine {

void WriteTracker::Begin(Member& member, Doing doing) {
  member.doing = doing;
  member.action = NextId();
  under_way_[member.action.value] = member.uid;
}

std::optional<cluster::PodUid> WriteTracker::End(ActionId id) {
  auto found = under_way_.extract(id.value);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

void WriteTracker::Hold(Member& member, uint64_t ticket, cluster::Time answer_by) {
  member.held.push_back({ticket, answer_by});
  ++held_;
}

void WriteTracker::Answer(Member& member, const std::string& error) {
  for (const HeldBind& held : member.held) Ask(AnswerBind{held.ticket, error});
  held_ -= static_cast<int64_t>(member.held.size());
  member.held.clear();
}

void WriteTracker::Forget(Member& member, const std::string& why) {
  Answer(member, why);
  if (member.doing != Doing::kNothing) under_way_.erase(member.action.value);
}

std::vector<std::string> WriteTracker::Audit(const std::vector<const Member*>& members) const {
  std::vector<std::string> broken;
  size_t busy = 0;
  int64_t held = 0;
  for (const Member* member : members) {
    held += static_cast<int64_t>(member->held.size());
    if (member->doing == Doing::kNothing) continue;
    ++busy;
    const auto found = under_way_.find(member->action.value);
    if (found == under_way_.end() || found->second != member->uid) {
      broken.push_back("pod " + member->key.ToString() + " waits for an outcome that is nobody's");
    }
  }
  if (busy != under_way_.size()) broken.emplace_back("actions of pods that left are remembered");
  if (held != held_) broken.emplace_back("held Bind calls are miscounted");
  return broken;
}

}  // namespace muster::engine
