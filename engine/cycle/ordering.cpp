#include "engine/cycle/ordering.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/cycle/setback.hpp"
#include "engine/judging/unknown_gang.hpp"
#include "engine/preemption/reclaim.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/standing/queue_hold.hpp"

namespace muster::engine {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Result;
using cluster::Time;
using queues::QueueState;

namespace {

const Gang* FindGang(const ClaimState& state, const ObjectKey& key) {
  for (const bool solo : {false, true}) {
    const Gang* gang = state.members.Find(GangId{key, solo});
    if (gang != nullptr && !gang->members.empty()) return gang;
  }
  return nullptr;
}

bool IsPlanned(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(),
                     [](const auto& entry) { return entry.second.planned(); });
}

Error NoGang(const ClaimState& state, const ObjectKey& key) {
  const bool group = state.cluster.FindPodGroup(key) != nullptr;
  std::string help = PodsText(state, key);
  if (help.empty() && !group) {
    LikeGang like;
    std::optional<GangId> last;
    while (!CollectLike(state, key, last, like)) {
    }
    like.elsewhere.clear();  // who gives the order may not know of them
    help = LikeText(key, like);
  }
  return {Code::kNotFound,
          "there is no gang " + key.ToString() + " with pods" +
              (group ? "; its PodGroup exists" : "") + help,
          ""};
}

// Null: nothing is kept for it. It may be gone, and another attempt not there yet.
const KeptRoom* KeptRoomFor(const ClaimState& state, const ObjectKey& key) {
  if (const Gang* gang = state.members.Find(GangId{key, false})) return KeptRoomOf(state, *gang);
  const auto& rooms = state.kept_rooms.all();
  const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const auto& one) {
    return one.second.lost_by == GangId{key, false};
  });
  return found == rooms.end() ? nullptr : &found->second;
}

Result<queues::QueueIndex> FindQueue(const ClaimState& state, const std::string& name) {
  const queues::Tree& tree = state.queue_book.tree();
  if (const auto queue = tree.Find(name)) {
    const queues::QueueIndex written = tree.WrittenOf(*queue);
    if (written == *queue) return *queue;
    return Error{Code::kInvalidArgument,
                 "expected a queue of the policy, found " + name + ", which is there for one " +
                     "namespace of queue " + tree.at(written).name,
                 ""};
  }
  return Error{Code::kNotFound,
               "there is no queue " + name + " in the policy: see \"muster get queues\"", ""};
}

// Whose order it may be: gangs of that name, and attempts of an owner that has it.
std::vector<const Gang*> Named(const ClaimState& state, const ObjectKey& key) {
  std::vector<const Gang*> gangs;
  for (const bool solo : {false, true}) {
    if (const Gang* gang = state.members.Find(GangId{key, solo})) gangs.push_back(gang);
  }
  return gangs.empty() ? state.members.AttemptsOf({key, false}) : gangs;
}

bool HasOrder(const std::vector<const Gang*>& gangs, const OrderedPriority& order) {
  return std::any_of(gangs.begin(), gangs.end(),
                     [&](const Gang* gang) { return OrderBook::UidOf(*gang) == order.uid; });
}

// All that stands, without gangs that are gone.
StandingOrders Present(const ClaimState& state) {
  StandingOrders standing = state.orders.standing();
  std::erase_if(standing.gangs, [&](const auto& entry) {
    const auto& [key, order] = entry;
    return !state.orders.Waits(key) && !HasOrder(Named(state, key), order);
  });
  return standing;
}

std::string PriorityText(int64_t priority, const std::string& by, int64_t cap) {
  std::string text = "priority " + std::to_string(priority);
  if (!by.empty()) text += ", ordered by " + by;
  if (priority > cap) text += "; its queue caps it at " + std::to_string(cap);
  return text;
}

std::string QueueText(const QueueOrder* order) {
  if (order == nullptr) return ToString(QueueState::kOpen);
  std::string text = ToString(order->state);
  if (!order->by.empty()) text += ", ordered by " + order->by;
  if (order->paused_until) text += "; it pauses, GPUs were reclaimed by " + order->paused_by;
  return text;
}

std::string GpuText(int64_t milli) {
  return std::to_string(milli / 1000) + (milli % 1000 == 0 ? "" : " and a part");
}

OrderEffect Now(const ClaimState& state, std::string was) {
  OrderEffect effect;
  effect.was = std::move(was);
  effect.standing = Present(state);
  return effect;
}

struct Considering {
  const ClaimState& state;
  const std::string& by;
  Time now;

  Result<OrderEffect> operator()(const SetPriority& order) const {
    const Gang* gang = FindGang(state, order.gang);
    if (gang == nullptr) return NoGang(state, order.gang);
    if (order.priority && (*order.priority < INT32_MIN || *order.priority > kMostOrderedPriority)) {
      return Error{Code::kInvalidArgument,
                   "expected a priority from " + std::to_string(INT32_MIN) + " to " +
                       std::to_string(kMostOrderedPriority) + ", found " +
                       std::to_string(*order.priority),
                   ""};
    }
    const int32_t own = PriorityOf(*gang, SaidPriority);
    if (own == INT32_MAX) {
      return Error{Code::kConflict,
                   "gang " + order.gang.ToString() +
                       " has no pod that Muster places and that has "
                       "not ended: there is nothing whose priority would count",
                   ""};
    }
    OrderEffect effect = Now(state, "");
    const ObjectKey key = OrderBook::KeyOf(*gang);
    const auto stands = effect.standing.gangs.find(key);
    const bool ordered = stands != effect.standing.gangs.end();
    if (!ordered && !order.priority) {
      return Error{Code::kConflict,
                   "no priority is ordered for gang " + order.gang.ToString() +
                       ": its pods' own, " + std::to_string(own) + ", counts",
                   ""};
    }
    effect.was = ordered
                     ? PriorityText(stands->second.priority, stands->second.by, gang->priority_cap)
                     : PriorityText(own, "", gang->priority_cap);
    if (!order.priority) {
      effect.standing.gangs.erase(stands);
      effect.is = PriorityText(own, "", gang->priority_cap);
      return effect;
    }
    if (!ordered && effect.standing.gangs.size() >= kMostGangOrders) {
      return Error{Code::kExhausted,
                   "priorities of " + std::to_string(kMostGangOrders) +
                       " gangs are ordered already: reset those that are not needed any more",
                   ""};
    }
    effect.standing.gangs[key] = {OrderBook::UidOf(*gang), static_cast<int32_t>(*order.priority),
                                  by, gang->id.solo ? gang->owner : std::string()};
    effect.is = PriorityText(*order.priority, by, gang->priority_cap);
    return effect;
  }

  Result<OrderEffect> operator()(const SetQueueState& order) const {
    const QueueOrder* stands = state.orders.Of(order.queue);
    const Result<queues::QueueIndex> queue = FindQueue(state, order.queue);
    const bool takes_back = stands != nullptr && order.state == QueueState::kOpen;
    if (!queue.ok() && !takes_back) return queue.error();
    OrderEffect effect = Now(state, QueueText(stands));
    QueueOrder next =
        stands == nullptr || order.state == QueueState::kOpen ? QueueOrder{} : *stands;
    next.state = order.state;
    next.by = order.state == QueueState::kOpen ? "" : by;
    effect.standing.queues.erase(order.queue);
    if (order.state != QueueState::kOpen) effect.standing.queues[order.queue] = next;
    effect.is = QueueText(&next);
    if (queue.ok() && order.state == QueueState::kOpen) {
      const QueueHold still = HoldOf(state.queue_book.tree(), effect.standing, *queue);
      if (still.state != QueueState::kOpen) effect.is += ", but " + still.why;
    }
    return effect;
  }

  Result<OrderEffect> operator()(const ReclaimGpus& order) const {
    const Result<queues::QueueIndex> queue = FindQueue(state, order.queue);
    if (!queue.ok()) return queue.error();
    if (order.gpus < 1 || order.gpus > kMostOrderedGpus) {
      return Error{Code::kInvalidArgument,
                   "expected a number of GPUs from 1 to " + std::to_string(kMostOrderedGpus) +
                       ", found " + std::to_string(order.gpus),
                   ""};
    }
    if (order.pause < cluster::Duration(0) || order.pause > kLongestReclaimPause) {
      return Error{Code::kInvalidArgument, "expected a pause from 0 s to 24 h", ""};
    }
    if (!state.stale_resources.empty()) {
      return Error{Code::kUnavailable,
                   "the API server has said nothing for too long about " + state.stale_resources +
                       ": nobody is evicted until it has",
                   ""};
    }
    const int64_t wanted = order.gpus * cluster::kWholeGpu.value();
    ReclaimChoice choice = ChooseReclaim(state, *queue, wanted, now);
    if (choice.gpu_milli < wanted) {
      return Error{Code::kConflict,
                   "nobody is evicted: of queue " + order.queue + " and those below it only " +
                       GpuText(choice.movable_milli) + " GPUs of " + std::to_string(order.gpus) +
                       " can be had; the others that are used are of pods that are being bound, "
                       "leave already, are the system's, are not Muster's, or could not be evicted "
                       "in the last hour" +
                       KeptWords(choice.kept),
                   ""};
    }
    const QueueOrder* stands = state.orders.Of(order.queue);
    OrderEffect effect = Now(state, QueueText(stands));
    QueueOrder next = stands == nullptr ? QueueOrder{} : *stands;
    if (order.pause > cluster::Duration(0)) {
      next.paused_until = std::max(next.paused_until.value_or(Time(0)), now + order.pause);
      next.paused_by = by;
      effect.standing.queues[order.queue] = next;
    }
    effect.is = QueueText(&next);
    effect.evicted = std::move(choice.gangs);
    effect.kept = std::move(choice.kept);
    return effect;
  }

  Result<OrderEffect> operator()(const CancelPlan& order) const {
    const Gang* gang = FindGang(state, order.gang);
    const KeptRoom* room = KeptRoomFor(state, order.gang);
    if (gang == nullptr) return room == nullptr ? NoGang(state, order.gang) : NothingKept(*room);
    const std::string who = "gang " + order.gang.ToString();
    const auto bound =
        std::count_if(gang->members.begin(), gang->members.end(), [](const auto& entry) {
          return entry.second.may_be_bound() || (entry.second.ours && entry.second.holds());
        });
    if (bound > 0) {
      return Error{Code::kConflict,
                   std::to_string(bound) + " of the pods of " + who +
                       " are bound or being bound: a plan is given back only as long as none is; "
                       "delete the gang, or reclaim GPUs of its queue",
                   ""};
    }
    const auto planned = std::count_if(gang->members.begin(), gang->members.end(),
                                       [](const auto& entry) { return entry.second.planned(); });
    const Booking* booking = state.bookings.Of(gang->id);
    if (planned == 0 && booking == nullptr) {
      if (room != nullptr) return NothingKept(*room);
      return Error{Code::kConflict,
                   who + " has no plan and no booked room that could be given back", ""};
    }
    OrderEffect effect = Now(state, "");
    effect.was =
        std::string(ToString(gang->state)) + ", " +
        (planned == 0 ? "room for " + std::to_string(booking->room.size()) + " members booked"
                      : std::to_string(planned) + " members planned");
    effect.is = "waits for " + std::to_string(kCancelPause.value() / 1000) + " s at least";
    return effect;
  }
  Result<OrderEffect> NothingKept(const KeptRoom& room) const {
    OrderEffect effect =
        Now(state, "what it had on " + NodesOf(state, room) + " is kept for its restart");
    effect.is = "nothing is kept for it";
    return effect;
  }
};

// What is planned for others depends on it.
void TouchAll(ClaimState& state) {
  state.queue.ForgetFailures();
  state.queue.AnythingMayFit();
  state.work.Note("", {.all = true});
}

const char* EventOf(QueueState state) {
  switch (state) {
    case QueueState::kHold:
      return "QueueHeld";
    case QueueState::kDrain:
      return "QueueDrained";
    case QueueState::kOpen:
      break;
  }
  return "QueueResumed";
}

struct Carrying {
  ClaimState& state;
  const std::string& by;
  const OrderEffect& effect;
  Time now;

  Gang& Of(const ObjectKey& key) const { return *state.members.Find(FindGang(state, key)->id); }
  std::string Text() const { return effect.is + " (before: " + effect.was + ")"; }

  void operator()(const SetPriority& order) const {
    Gang& gang = Of(order.gang);
    state.announcer.Tell(gang, false, order.priority ? "GangPriorityOrdered" : "GangPriorityReset",
                         Text() + (order.priority ? "" : ", reset by " + by));
    state.queue.ForgetFailures();
    state.queue.AnythingMayFit();
    state.work.Touch(gang);
  }
  void operator()(const SetQueueState& order) const {
    TellOfQueue(state, order.queue, false, EventOf(order.state),
                "queue " + order.queue + ": " + Text() +
                    (order.state == QueueState::kOpen ? ", resumed by " + by : ""));
    TouchAll(state);
  }
  void operator()(const ReclaimGpus& order) const {
    const int64_t wanted = order.gpus * cluster::kWholeGpu.value();
    const queues::QueueIndex queue = *state.queue_book.tree().Find(order.queue);
    const ReclaimChoice choice = ChooseReclaim(state, queue, wanted, now);
    const Reclaim reclaim{order, by, now + state.options.victim_timeout};
    BeginReclaim(state, reclaim, choice, now);
    std::string gangs;
    for (const OrderEffect::Evicted& one : effect.evicted) {
      gangs += (gangs.empty() ? "" : ", ") + one.gang.key.ToString() +
               (one.whole ? "" : " (" + std::to_string(one.pods) + " surplus)") +
               (one.despite.empty() ? "" : " (" + one.despite + ")");
    }
    TellOfQueue(state, order.queue, true, "QueueReclaimed",
                WhoseReclaim(reclaim) + ", evicted: " + gangs + KeptWords(effect.kept) +
                    "; the queue: " + Text());
    TouchAll(state);
  }
  void operator()(const CancelPlan& order) const {
    const GangId grouped{order.gang, false};
    const Gang* found = FindGang(state, order.gang);
    const bool plans = found != nullptr && (IsPlanned(*found) || state.bookings.Of(found->id));
    if (const KeptRoom* room = KeptRoomFor(state, order.gang)) {
      EndKeptRoom(state, GangId(room->gang), WindowEnd::kCancelled);
      const Gang* gang = state.members.Find(grouped);
      if (gang != nullptr && !plans)
        state.announcer.Tell(*gang, true, "RestartWindowCancelled", Text() + ", ordered by " + by);
    }
    if (!plans) return;
    Gang& gang = Of(order.gang);
    const Reason why = Because(ReasonCode::kCancelled, 0, 0, by);
    GiveBack(state, gang, "muster: " + Describe(why));
    gang.course.Cancel(why, now + kCancelPause);
    state.announcer.Tell(gang, true, "GangPlanCancelled", Text() + ", ordered by " + by);
    state.queue.AnythingMayFit();
    state.work.Touch(gang);
  }
};

}  // namespace

Result<OrderEffect> Consider(const ClaimState& state, const Order& order, Time now) {
  return std::visit(Considering{state, order.by, now}, order.what);
}

Result<OrderEffect> Carry(ClaimState& state, const Order& order, Time now) {
  Result<OrderEffect> effect = Consider(state, order, now);
  if (!effect.ok()) return effect;
  state.orders.Adopt(effect->standing);
  std::visit(Carrying{state, order.by, *effect, now}, order.what);
  return effect;
}

void AdoptOrders(ClaimState& state, const StandingOrders& orders, Time now) {
  if (state.orders.standing() == orders) return;
  state.orders.Adopt(orders);
  // Their pods may be made anew, or have been while nobody was there.
  for (const auto& [key, order] : orders.gangs) {
    const std::vector<const Gang*> gangs = Named(state, key);
    const bool handed_on = !order.owner.empty();
    if (HasOrder(gangs, order) || (!gangs.empty() && !handed_on)) continue;
    state.orders.KeepUntil(key, now + Owners::kKeptFor);
    LeftBehind left;
    left.gang = {key, true};
    if (handed_on) state.owners.Leave(order.owner, std::move(left), now);
  }
  TouchAll(state);
}

void FollowOrders(ClaimState& state, Time now) {
  if (state.orders.EndPauses(now)) TouchAll(state);
  state.orders.EndWaits(now);
  FollowReclaims(state, now);
}

}  // namespace muster::engine
