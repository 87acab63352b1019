#include "sim/replay/still_waiting.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::sim {

using engine::GangState;
using engine::GangView;
using engine::ReasonCode;

namespace {

bool Waits(const GangView& gang) {
  return gang.bound == 0 && gang.state != GangState::kFinished && gang.state != GangState::kRunning;
}

bool IsRefused(const GangView& gang) {
  return gang.state == GangState::kInvalid || gang.state == GangState::kForbidden;
}

bool IsNever(const GangView& gang) {
  return IsRefused(gang) || gang.state == GangState::kUnsatisfiable ||
         gang.reason.code == ReasonCode::kNoMatchingNode ||
         gang.reason.code == ReasonCode::kNodesUnavailable;
}

}  // namespace

std::vector<WaitingRow> StillWaiting(const std::vector<GangView>& gangs) {
  std::map<std::pair<std::string, bool>, WaitingRow> rows;
  for (const GangView& gang : gangs) {
    if (!Waits(gang)) continue;
    const std::string code = engine::ToString(gang.reason.code);
    const bool never = IsNever(gang);
    WaitingRow& row = rows[{code, never}];
    if (row.gangs++ > 0) continue;
    row.code = code;
    row.never = never;
    row.gang = gang.id.key.ToString();
    row.why = engine::Describe(gang.reason);
  }
  std::vector<WaitingRow> sorted;
  sorted.reserve(rows.size());
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WaitingRow& a, const WaitingRow& b) { return a.gangs > b.gangs; });
  return sorted;
}

std::set<cluster::ObjectKey> RefusedPods(const std::vector<GangView>& gangs) {
  std::set<cluster::ObjectKey> pods;
  for (const GangView& gang : gangs) {
    if (!Waits(gang) || !IsRefused(gang)) continue;
    for (const engine::MemberView& member : gang.members) pods.insert(member.pod);
  }
  return pods;
}

}  // namespace muster::sim
