#include "engine/preemption/certificate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/judging/queue_rules.hpp"
#include "engine/preemption/budgets.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/reasons/cause_words.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

constexpr size_t kMostNodes = 4;    // named in `where`
constexpr size_t kMostVictims = 4;  // named in an Event

std::string NodesOf(const StandingState& state, const std::vector<cluster::Placement>& places) {
  std::set<std::string> names;
  for (const cluster::Placement& place : places) names.insert(state.cluster.node(place.node)->name);
  std::string text;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == kMostNodes) break;
    text += (text.empty() ? "" : ", ") + name;
  }
  if (names.size() > kMostNodes)
    text += " and " + std::to_string(names.size() - kMostNodes) + " more nodes";
  return text;
}

std::string Hours(cluster::Duration time) {
  const int64_t minutes = time.value() / 60'000;
  return minutes < 120 ? std::to_string(minutes) + " min" : std::to_string(minutes / 60) + " h";
}

}  // namespace

Certificate Certify(const StandingState& state, const Gang& gang, const PlanJob& job,
                    const PlanResult& result, Time now) {
  Certificate certificate;
  certificate.made_at = now;
  certificate.where = NodesOf(state, result.required);
  certificate.asked_milli = UsageOf(state, result.required).gpu_milli;
  for (const RefusedVictim& refused : job.candidates.refused)
    certificate.refused.push_back("gang " + refused.gang.key.ToString() + ": " + refused.why);
  const std::set<PodUid> pods(result.victims.begin(), result.victims.end());
  std::map<GangId, RightOverGang> rights = RightsOver(state, gang, pods);
  const BudgetBook book(state);
  std::map<GangId, BudgetCount> budgets;
  std::map<GangId, VictimGang> victims;
  for (const PodUid& uid : pods) {
    const Gang* of = state.members.GangOf(uid);
    if (of == nullptr) continue;
    VictimGang& victim = victims[of->id];
    victim.gang = of->id;
    ++victim.pods;
    const cluster::Allocation* held = state.cluster.AllocationOf(uid);
    if (held != nullptr) victim.gpu_milli += UsageOf(state, {held->placement}).gpu_milli;
    const auto& since = of->past.running_since();
    const bool leaves = of->members.at(uid).leaving();
    if (since && !leaves && *since < now) victim.ran = now - *since;
    victim.right = rights[of->id].words;
    if (!leaves)
      (void)budgets.try_emplace(of->id, book).first->second.Take(*of->members.at(uid).pod);
  }
  for (auto& [id, victim] : victims) {
    const auto count = budgets.find(id);
    if (count != budgets.end() && rights[id].over_budgets && !count->second.violated().empty())
      victim.right += ", in spite of " + count->second.violated();
    certificate.victims.push_back(std::move(victim));
  }
  return certificate;
}

std::string RightOver(const Certificate* certificate, const GangId& victim) {
  if (certificate != nullptr) {
    for (const VictimGang& one : certificate->victims) {
      if (one.gang == victim) return one.right;
    }
  }
  return "by the rules of its queue";
}

std::string Describe(const Certificate& certificate) {
  int64_t evicted = 0;
  std::string gangs;
  size_t named = 0;
  for (const VictimGang& victim : certificate.victims) {
    evicted += victim.gpu_milli;
    if (named++ >= kMostVictims) continue;
    gangs += (gangs.empty() ? "" : "; ") + victim.gang.key.ToString() + " (" +
             std::to_string(victim.pods) + (victim.pods == 1 ? " pod, " : " pods, ") +
             GpuCount(victim.gpu_milli) +
             (victim.ran > cluster::Duration(0) ? ", runs for " + Hours(victim.ran) : "") + ")";
  }
  const size_t all = certificate.victims.size();
  if (all > kMostVictims) gangs += "; and " + std::to_string(all - kMostVictims) + " more gangs";
  const std::string taken = certificate.asked_milli == 0
                                ? "it"
                                : "the " + GpuCount(certificate.asked_milli) + " that it takes";
  return GpuCount(evicted) + " are freed for " + taken + " on " + certificate.where + ": " + gangs;
}

}  // namespace muster::engine
