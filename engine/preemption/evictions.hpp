// Evictions: what follows when pods are chosen, asked, refused or lost for a gang of higher
// priority (internal to engine/). Changes Preemptions and whatever depends on it.
#pragma once

#include "engine/contract/actions.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/judging/judge.hpp"
#include "engine/judging/plan_job.hpp"

namespace muster::engine {

struct StandingState;

// kStale: the plan was made on what is no more, another one may do. kRefused: none will, as things
// are.
enum class Earmarked { kDone, kStale, kRefused };
// Earmarks what the plan gives the gang, and records its victims.
Earmarked Earmark(StandingState& state, const Gang& gang, const PlanJob& job,
                  const PlanResult& result, cluster::Time now);

// Nothing: it preempts nobody.
std::optional<VictimsLeft> LookAtVictims(const StandingState& state, const Gang& gang);
// Evictions of gangs all of whose members are nominated (Preemptions::WantToAsk): all of them are
// asked for, if all are still lawful by what is planned now. False: there are none. Otherwise the
// gangs are to be looked at again.
bool AskEvictions(StandingState& state, cluster::Time now);
// Those that did not leave in time are nobody's victims for now.
void ProtectVictims(StandingState& state, const Gang& gang, cluster::Time now);
// The gang waits for nobody any more. Those that are not on their way out yet stay.
void SpareVictims(StandingState& state, const Gang& gang);

// A gang that ran since then does not any more, and not because all of it had ended well.
void NoteEnd(StandingState& state, const Gang& gang, cluster::Time since, cluster::Time now);
// The member's eviction was not done, whoever it was for. True: it will not be for now, because it
// was refused or has failed too often.
bool RefuseEviction(StandingState& state, Member& victim, const Outcome& outcome,
                    cluster::Time now);
// The preemptor of the first member that is a victim; null: none is one.
const GangId* FirstPreemptor(const StandingState& state, const Gang& gang);

// Times that are over.
void ExpireProtection(StandingState& state, const Gang& gang, cluster::Time now);
// What the gang holds may have changed. Gangs of higher priority are tried again for what they
// could not have before.
void FollowHolding(StandingState& state, const Gang& gang);

}  // namespace muster::engine
