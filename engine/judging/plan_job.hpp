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

// Those that are to leave so that the gang is whole again elsewhere.
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
    queues::Trust by = queues::Trust::kNone;  // the weakest up to this one
  };
  // Who leaves, when that is known: one step and one end for each gang, in order of time.
  std::vector<policy::Leaving> steps;
  std::vector<End> ends;
  // Else, where nodes are to be closed: who is there. `level`: of which one domain is closed.
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
  // Its required members are lost ones of a gang that runs: as many come back as find room.
  bool one_by_one = false;
  bool all_there = true;  // as many as the gang lacks
  bool plain = false;     // no exclusions: a failure holds for every gang that asks for this
  // On failure, find out whether it would fit this: the cluster with only that on it which stays,
  // see EverFits. Null: nobody asks.
  std::shared_ptr<const cluster::Snapshot> empty;
  uint64_t basis = 0;               // EverFits::basis() then
  std::string fits_in;              // EverFits::FitsIn, where that is known already
  KnownCandidates candidates;       // that it may preempt
  cluster::TopologyTerms topology;  // what it wants; where there are candidates
  // Its queues leave no room for it: it is placed only where victims make some.
  bool over_queue = false;
  int64_t preempts_below = INT64_MIN;  // its priority, if there may be any
  MoveJob move;
  // From whose booked room the gang is kept: `snapshot` does not have it, `unkept` does. Null: from
  // nobody's.
  BookingNumbers kept_off;
  std::shared_ptr<const cluster::Snapshot> unkept;
  // Not the gang's plan, but room to book for it. Null: its plan.
  std::shared_ptr<const BookingJob> booking;
  // Besides what is kept for others, no member that is not lost goes there: the queue's limits of
  // the devices' models forbid it. Null: nowhere.
  std::shared_ptr<const cluster::NodeSet> closed;
  // Nodes that other queues are guaranteed as a whole.
  ShapedNodes shaped;
};

struct PlanResult {
  bool placed = false;
  std::vector<cluster::Placement> required;
  Batches elastic;
  policy::Shortage shortage;  // unless placed; of PlanJob::empty when it never fits
  bool never_fits = false;
  // Of PlanJob::empty: the domain of the level that it requires in which it would fit; empty: in
  // none, it requires none, or nobody asked.
  std::string fits_in;
  bool shielded = false;  // unless placed: those that are protected for now would make room
  Down down;  // unless placed: where `shortage` says, or, if that is nowhere, what would be enough
  std::vector<cluster::PodUid> victims;  // the pods that must leave before it fits; ordered
  std::optional<Move> move;              // unless placed
  bool booked = false;                   // unless placed: it would be, but for what others booked
  // It would be placed, or is, on nodes that other queues are guaranteed.
  bool on_shaped = false;
  policy::LaterAnswer later;  // of PlanJob::booking
};

struct Turn {
  bool over = false;           // of the pass: nobody is left
  std::optional<PlanJob> job;  // of a pending gang; nothing: none was found yet
};

}  // namespace muster::engine
