// What people were told of a gang (internal to engine/). Plain values; parts of Gang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/base/units.hpp"
#include "cluster/records/gang_record.hpp"
#include "engine/contract/gang_view.hpp"

namespace muster::engine {

// What API objects say of the gang. See Announcer.
struct Published {
  GangState seen_state = GangState::kForming;  // as of changed_at
  ReasonCode seen_reason = ReasonCode::kNone;
  cluster::Time changed_at;  // when state or reason changed last
  cluster::Time said_at;     // when they were written last
  std::optional<GangState> state;
  ReasonCode reason = ReasonCode::kNone;
  int64_t done = -1;  // members that are bound or have ended
  int64_t succeeded = -1;
  cluster::GangRecord record;
  cluster::Time recorded_at;
  std::string duration_fault;   // told in an Event
  std::string not_honoured;     // likewise
  bool record_differs = false;  // the object says otherwise since
};

// When a gang that waits is reported. See Reminders.
struct Reminder {
  cluster::Time event = cluster::Time::Never();    // when its Event is repeated
  bool looked = false;                             // it was tried for that
  cluster::Time members = cluster::Time::Never();  // when its members are told
  cluster::Time told_at = cluster::Time::Never();  // to members, last; Never: not yet
};

}  // namespace muster::engine
