// PlanJob: what is to be planned for a gang, and PlanResult: what was found (internal to engine/).
// Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/topology_terms.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/judging/elastic.hpp"
#include "engine/judging/shape_rules.hpp"
#include "engine/reasons/down.hpp"
#include "engine/standing/booking.hpp"
#include "engine/standing/victim_choice.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/victims/later.hpp"

namespace muster::engine {

// A bound member that may be evicted to be placed anew beside lost ones.
struct Movable {
  policy::Demand demand;    // of the pod that comes in its place
  cluster::Placement held;  // what it holds now
};

// What may be moved where lost members find no room in the domain that they have to be in.
struct MoveJob {
  LostMember most = LostMember::kWait;  // kWait: nothing
  std::vector<Movable> members;
  cluster::TopologyTerms topology;
  bool by_pods = false;  // said by pods: each role says for itself whether it is in segments
  bool whole = false;    // all or none of them: GroupTerms
};

// The members that are to leave, so that the gang is whole again elsewhere.
struct Move {
  std::vector<cluster::PodUid> pods;      // ordered
  bool whole = false;                     // all of the gang's
  std::string part;                       // else: who moves, "segment moves"
  std::string domain;                     // in which they find room; empty: in no single one
  std::vector<cluster::Placement> leave;  // what `pods` hold
  std::vector<cluster::Placement> take;   // what they and the lost ones get: room that was free
};

// Of a PlanJob that looks for room to book.
struct BookingJob {
  struct End {
    cluster::Time at;
    cluster::GangId gang;
    queues::Trust by = queues::Trust::kNone;  // the weakest estimate of all ends up to this one
  };
  // Who leaves, when that is known: one step and one end for each gang, in order of time.
  std::vector<policy::Leaving> steps;
  std::vector<End> ends;
  // Otherwise nodes are to be closed: `busy` says who is there. `level`: one domain of it is
  // closed.
  bool closing = false;
  bool exchange = false;  // see engine/claims/booking_exchange.hpp
  std::vector<policy::BusyNode> busy;
  std::string level;
  uint64_t growth = 0;  // ClusterState::growth() of what is searched
};

struct PlanJob {
  GangId id;
  uint64_t version = 0;  // of the gang
  queues::OrderKey order;
  std::shared_ptr<const cluster::Snapshot> snapshot;
  policy::GangRequest request;
  std::vector<SegmentRule> segments;  // for its elastic members, and lost ones
  // The gang runs, and its required members are lost ones: as many come back as find room.
  bool one_by_one = false;
  bool all_there = true;  // as many as the gang lacks
  bool plain = false;     // no exclusions: a failure holds for every gang that asks for this
  // If it does not fit, whether it would fit this is found out, too: the cluster with only what
  // stays on it (EverFits). Null: that is not asked.
  std::shared_ptr<const cluster::Snapshot> empty;
  uint64_t basis = 0;               // EverFits::basis() then
  std::string fits_in;              // EverFits::FitsIn, where that is known already
  KnownCandidates candidates;       // that it may preempt
  cluster::TopologyTerms topology;  // what it wants; where there are candidates
  // Its queues leave no room for it: it is placed only where victims make room.
  bool over_queue = false;
  int64_t preempts_below = INT64_MIN;  // its priority, if there may be any
  MoveJob move;
  // The bookings whose room the gang may not use: `snapshot` lacks that room, `unkept` has it.
  // Null: there are none.
  BookingNumbers kept_off;
  std::shared_ptr<const cluster::Snapshot> unkept;
  // Room to book is looked for. Null: a plan for the gang is.
  std::shared_ptr<const BookingJob> booking;
  // Nodes where no member goes except lost ones, because of the queue's limits for models of
  // devices. Null: there are none.
  std::shared_ptr<const cluster::NodeSet> closed;
  // Nodes that are promised to other queues as whole nodes.
  ShapedNodes shaped;
};

struct PlanResult {
  bool placed = false;
  std::vector<cluster::Placement> required;
  Batches elastic;
  policy::Shortage shortage;  // unless placed; of PlanJob::empty when it never fits
  bool never_fits = false;
  // On PlanJob::empty: the domain, of the level that it requires, in which it would fit. Empty: in
  // none, it requires none, or that was not asked.
  std::string fits_in;
  bool shielded = false;  // unless placed: victims that are protected for now would make room
  Down down;  // unless placed: where `shortage` says, or, if that is nowhere, what would be enough
  std::vector<cluster::PodUid> victims;  // the pods that must leave before it fits; ordered
  std::optional<Move> move;              // unless placed
  bool booked = false;  // unless placed: it would be without the bookings of others
  // It would be placed, or is, on nodes that other queues are guaranteed.
  bool on_shaped = false;
  policy::LaterAnswer later;  // of PlanJob::booking
};

struct Turn {
  bool over = false;           // the pass is: no gang is left
  std::optional<PlanJob> job;  // of a pending gang; nothing: none was found yet
};

}  // namespace muster::engine
