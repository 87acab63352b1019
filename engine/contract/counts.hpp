// What one Advance did, and how much of everything there is. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "engine/contract/actions.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/reasons/reason.hpp"

namespace muster::engine {

// How a restart window ended.
enum class WindowEnd {
  kStarted,    // the gang runs again
  kPassed,     // it did not come in time
  kDeleted,    // its PodGroup was
  kNodeGone,   // one that the gang had
  kCancelled,  // by an operator
  kPolicy,     // its queue is gone, or keeps nothing any more
};
inline constexpr int kWindowEnds = 6;

// A gang whose minMember became bound.
struct GangStarted {
  GangId gang;
  cluster::Duration waited;                    // since it was complete
  std::optional<cluster::Duration> late = {};  // against its first booking; nothing: it had none
};

// Why a gang waits has changed, and lasts.
struct GangWaits {
  GangId gang;
  GangState state = GangState::kForming;
  ReasonCode code = ReasonCode::kNone;
  std::string message;
};

struct Progress {
  std::vector<Action> actions;
  std::vector<GangStarted> started;
  std::vector<GangWaits> waits;
  int64_t gangs_tried = 0;    // plans attempted in this call
  int64_t gangs_planned = 0;  // of these, reserved
};

struct Counts {
  int64_t nodes = 0;
  int64_t pods = 0;
  int64_t reservations = 0;  // pods with a reservation
  int64_t held_binds = 0;
  int64_t gangs[kGangStates] = {};  // by GangState
  std::vector<std::pair<ReasonCode, int64_t>>
      waiting;  // gangs not started, by reason, ordered by code
  int64_t gpu_capacity_milli = 0;
  int64_t gpu_free_milli = 0;
  int64_t nodes_left_out = 0;
  int64_t gpus_left_out = 0;   // on other nodes
  int64_t starts_refused = 0;  // ever: members that the kubelet did not admit
  int64_t starts_failed = 0;   // ever: members that failed within BadNodes::start_window
  // Ever: pods bound with whole GPUs of NVIDIA's device plugin, by topology::PickOutcome.
  std::array<int64_t, topology::kPickOutcomes> kubelet_picks{};
  int64_t scale_ups = 0;  // gangs for which nodes are asked for
  // ProvisioningRequests of gangs that wait, by cluster::RequestState.
  std::array<int64_t, cluster::kRequestStates> requests{};
  // For which room is kept: see engine/preemption/restart_window.hpp.
  int64_t restart_kept_pods = 0;
  std::array<int64_t, kWindowEnds> restart_windows{};  // ever, by WindowEnd
};

}  // namespace muster::engine
