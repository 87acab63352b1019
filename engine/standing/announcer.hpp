// Announcer: what API objects say of gangs (status, record) and what Events tell of them (internal
// to engine/). Guarded by Scheduler.
//
// 1. A status is written when it differs from what was written last. States that pass quickly are
//    written only when they last kPublishAfter: a gang that starts at once costs one write.
// 2. What must outlive the process (Past) is written with the status, or by itself when a next
//    process would otherwise take the gang for another one. Without a PodGroup object the bound
//    pods carry it.
// 3. Each change of state that people should know gets one Event; an Event that says why the gang
//    waits is repeated (engine/standing/reminders.hpp). Each change of that reason is also one line
//    in the log.
// 4. Nothing is said of gangs in which Muster has no part.
//
// A restart forgets what was written: the record is taken up from the objects
// (engine/judging/remember.hpp), the status is written once more.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/contract/counts.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/gangs/membership.hpp"
#include "engine/standing/reminders.hpp"
#include "engine/standing/write_tracker.hpp"

namespace muster::engine {

class Announcer {
 public:
  // All must outlive it.
  Announcer(const Membership& members, WriteTracker& writes, Reminders& reminders)
      : members_(members), writes_(writes), reminders_(reminders) {}

  // The gang was judged: follows how long its state lasts, tells of members that are left out.
  void Follow(Gang& gang, cluster::Time now);
  // Writes what is due.
  void Publish(Gang& gang, cluster::Time now);
  // When there is something to be written without further facts; Never: nothing is.
  cluster::Time due(const Gang& gang) const;
  // What it says of how long it runs cannot be read: once for each such fault.
  void TellFault(Gang& gang, const std::string& fault);
  // What of it is not honoured (GroupTerms): once for each change of that.
  void TellNotHonoured(Gang& gang);
  // An Event on the PodGroup, or on the gang's first pod where it has none.
  void Tell(const Gang& gang, bool warning, std::string reason, std::string message);

  // Why gangs wait, where that changed and lasts; since the last call.
  std::vector<GangWaits> TakeWaits() { return std::exchange(waits_, {}); }

  // Bound pods without a PodGroup object are to carry what is known of the gang now, if that is
  // worth a write. True: they carry something.
  bool Carry(Gang& gang);
  // The object tells that record.
  void Read(Gang& gang, const cluster::GangRecord& record);
  // That is what the process began with.
  void Adopted(Gang& gang, const cluster::GangRecord& record);
  // Another PodGroup under its name: nothing was written to that one.
  void Forget(Gang& gang);

 private:
  bool Speaks(const Gang& gang) const;
  std::optional<cluster::Time> PublishAt(const Gang& gang) const;
  void PublishState(Gang& gang, cluster::Time now);
  // What is due of a gang that waits.
  void Remind(Gang& gang, cluster::Time now);
  // Nothing: there is no object that it could be on.
  std::optional<EmitEvent> EventOn(const Gang& gang, bool warning, std::string reason,
                                   std::string message) const;
  void TellWhy(const Gang& gang);

  const Membership& members_;
  WriteTracker& writes_;
  Reminders& reminders_;
  std::vector<GangWaits> waits_;
};

}  // namespace muster::engine
