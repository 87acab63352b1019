#include "engine/standing/write_tracker.hpp"

namespace muster::engine {

ActionId WriteTracker::Begin(Member& member, WriteKind doing) {
  MemberWrites& writes = member.writes.value_;
  writes.doing = doing;
  writes.action = NextId();
  under_way_[writes.action.value] = member.uid;
  return writes.action;
}

ActionId WriteTracker::BeginNomination(Member& member, const std::string& node, bool hands_over) {
  member.writes.value_.asked_node = node;
  member.writes.value_.asked_handover = hands_over;
  return Begin(member, WriteKind::kNominate);
}

ActionId WriteTracker::BeginBinding(Member& member, const std::string& gang) {
  member.writes.value_.asked_gang = gang;
  return Begin(member, WriteKind::kBind);
}

ActionId WriteTracker::BeginRecord(Member& member, const cluster::GangRecord& record) {
  member.writes.value_.asked_record = std::make_shared<const cluster::GangRecord>(record);
  return Begin(member, WriteKind::kRecord);
}

std::optional<cluster::PodUid> WriteTracker::End(ActionId id) {
  auto found = under_way_.extract(id.value);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

WriteKind WriteTracker::Finish(Member& member, OutcomeKind outcome) {
  MemberWrites& writes = member.writes.value_;
  const WriteKind doing = std::exchange(writes.doing, WriteKind::kNothing);
  const bool done = outcome == OutcomeKind::kDone;
  if (done) writes.refusals = 0;
  if (doing == WriteKind::kBind) writes.outcome_unknown = outcome == OutcomeKind::kRetry;
  if (doing == WriteKind::kWake && done) writes.needs_wake = false;
  if (doing == WriteKind::kEvict && done) writes.evicting = true;
  return doing;
}

void WriteTracker::Hold(Member& member, uint64_t ticket, cluster::Time answer_by) {
  member.writes.value_.held.push_back({ticket, answer_by});
  ++held_;
}

void WriteTracker::Answer(Member& member, const std::string& error) {
  std::vector<HeldBind>& held = member.writes.value_.held;
  for (const HeldBind& one : held) Ask(AnswerBind{one.ticket, error});
  held_ -= static_cast<int64_t>(held.size());
  held.clear();
}

void WriteTracker::Forget(Member& member, const std::string& why) {
  Answer(member, why);
  if (member.busy()) under_way_.erase(member.writes->action.value);
}

std::vector<std::string> WriteTracker::Audit(const std::vector<const Member*>& members) const {
  std::vector<std::string> broken;
  size_t busy = 0;
  int64_t held = 0;
  for (const Member* member : members) {
    held += static_cast<int64_t>(member->writes->held.size());
    if (!member->busy()) continue;
    ++busy;
    const auto found = under_way_.find(member->writes->action.value);
    if (found == under_way_.end() || found->second != member->uid) {
      broken.push_back("pod " + member->key.ToString() +
                       " waits for an outcome that belongs to no pod");
    }
  }
  if (busy != under_way_.size()) broken.emplace_back("actions of pods that left are remembered");
  if (held != held_) broken.emplace_back("held Bind calls are miscounted");
  return broken;
}

}  // namespace muster::engine
