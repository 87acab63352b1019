#include "engine/preemption/reclaim.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/preemption/budgets.hpp"
#include "engine/preemption/losses.hpp"
#include "engine/reasons/cause_words.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

// What goes together.
struct Part {
  policy::Loss loss;
  const Gang* gang = nullptr;
  bool whole = false;
  std::vector<LostPod> pods;
  int64_t gpu_milli = 0;
  std::string refused;  // why budgets let it not go, as far as the eviction API has said it
};

bool IsBelow(const QueueBook& book, const Gang& gang, queues::QueueIndex queue) {
  if (gang.members.empty()) return false;  // the last one has just gone
  const std::vector<queues::QueueIndex> path =
      book.tree().PathOf(book.IndexOf(gang.members.begin()->second.pod->queue));
  return std::find(path.begin(), path.end(), queue) != path.end();
}

int64_t GpusOf(const StandingState& state, const std::vector<LostPod>& pods) {
  int64_t milli = 0;
  for (const LostPod& pod : pods)
    milli += cluster::UsageOf(*pod.held, *state.cluster.node(pod.held->node)).gpu_milli;
  return milli;
}

bool MayGo(const StandingState& state, const Gang& gang) {
  return std::none_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    return entry.second.holds() && state.preemptions.PreemptorOf(entry.first) != nullptr;
  });
}

void AddParts(const StandingState& state, const BudgetBook& book, const Gang& gang,
              int64_t priority, Time now, std::vector<Part>& parts) {
  if (!MayGo(state, gang)) return;
  std::vector<Lost> losses;
  AddLosses(state, gang, priority, false, losses);
  std::vector<LostPod> without_gpus;  // surplus that goes with the rest, if that goes
  const std::string refused = RefusedByBudget(state, book, gang).why;
  for (Lost& lost : losses) {
    if (lost.loss.leaves) continue;
    std::vector<LostPod> pods = std::move(lost.pods);
    const int64_t gpus = GpusOf(state, pods);
    if (gpus == 0) {
      without_gpus.insert(without_gpus.end(), pods.begin(), pods.end());
      continue;
    }
    if (lost.whole) pods.insert(pods.end(), without_gpus.begin(), without_gpus.end());
    lost.loss.whole = lost.whole;
    const std::optional<Time> since = gang.past.running_since();
    if (lost.whole && since) lost.loss.gpu_time = gpus / 100 * ((now - *since).value() / 1000);
    parts.push_back({lost.loss, &gang, lost.whole, std::move(pods), gpus, refused});
  }
}

std::vector<Part> PartsOf(const StandingState& state, const BudgetBook& book,
                          queues::QueueIndex queue, Time now) {
  std::vector<Part> parts;
  for (const auto& [priority, gangs] : state.holdings.all()) {
    for (const auto& [id, gang] : gangs) {
      if (IsBelow(state.queue_book, *gang, queue))
        AddParts(state, book, *gang, priority, now, parts);
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return policy::SmallerLoss(a.loss, b.loss); });
  return parts;
}

// Takes back what is not needed, the costliest first. What is left of a gang that goes whole goes
// with it.
void PutBack(std::vector<Part>& taken, int64_t& held, int64_t wanted) {
  for (size_t i = taken.size(); i-- > 0;) {
    const Part& part = taken[i];
    if (held - part.gpu_milli < wanted) continue;
    const bool goes_whole = !part.whole && std::any_of(taken.begin(), taken.end(), [&](auto& one) {
      return one.whole && one.gang == part.gang;
    });
    if (goes_whole) continue;
    held -= part.gpu_milli;
    taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Whose minRuntime an operator's order does not wait for; empty: it is over.
std::string MinRuntimeOf(const StandingState& state, const Gang& gang, Time now) {
  const QueueBook& book = state.queue_book;
  const queues::Queue& queue = book.tree().at(book.IndexOf(QueueOf(gang)));
  const cluster::Duration least(
      std::max(queue.preemption.min_runtime_preempt, queue.preemption.min_runtime_reclaim));
  const std::optional<Time>& since = gang.past.running_since();
  if (!since || *since + least <= now) return {};
  return "the minRuntime of queue " + queue.name + " is not over";
}

void EndVictims(StandingState& state, const GangId& id) {
  for (const PodUid& uid : state.preemptions.End(id)) {
    if (Gang* gang = state.members.Find(uid).gang) state.work.Touch(*gang);
  }
  state.orders.End(id);
  state.queue.AnythingMayFit();  // who was spared may be another gang's victim
}

void TellOfThoseLeft(StandingState& state, const Reclaim& reclaim, int64_t left) {
  TellOfQueue(state, reclaim.order.queue, true, "QueueReclaimLate",
              std::to_string(left) + (left == 1 ? " pod is" : " pods are") +
                  " still there, and not asked to go any more: " + WhoseReclaim(reclaim));
}

// Nobody was evicted: one that will not be is protected now, and others may do.
void ChooseAgain(StandingState& state, const GangId& id, const std::string& obstacle, Time now) {
  Reclaim reclaim = *state.orders.Find(id);
  EndVictims(state, id);
  const ReclaimGpus& order = reclaim.order;
  const auto queue = state.queue_book.tree().Find(order.queue);
  const int64_t wanted = order.gpus * cluster::kWholeGpu.value();
  ReclaimChoice choice;
  if (queue && reclaim.deadline > now) {
    choice = ChooseReclaim(state, *queue, wanted, now);
    if (choice.gpu_milli >= wanted) return BeginReclaim(state, std::move(reclaim), choice, now);
  }
  TellOfQueue(state, order.queue, true, "QueueNotReclaimed",
              "nobody was evicted, too few of its pods may go: " + WhoseReclaim(reclaim) +
                  KeptWords(choice.kept) + (obstacle.empty() ? "" : "; " + obstacle));
}

}  // namespace

std::string KeptWords(const std::vector<OrderEffect::Kept>& kept) {
  std::string words;
  for (size_t i = 0; i < kept.size() && i < kMostNamed; ++i)
    words += "; gang " + kept[i].gang.key.ToString() + ": " + kept[i].why;
  if (kept.size() > kMostNamed)
    words += "; and " + std::to_string(kept.size() - kMostNamed) + " more gangs";
  return words;
}

std::string WhoseReclaim(const Reclaim& reclaim) {
  return reclaim.by + " reclaimed " + std::to_string(reclaim.order.gpus) +
         (reclaim.order.gpus == 1 ? " GPU" : " GPUs") + " from queue " + reclaim.order.queue;
}

ReclaimChoice ChooseReclaim(const StandingState& state, queues::QueueIndex queue, int64_t gpu_milli,
                            Time now) {
  ReclaimChoice choice;
  const BudgetBook book(state);
  BudgetCount count(book);
  std::vector<Part> taken;
  std::set<GangId> kept;
  for (Part& part : PartsOf(state, book, queue, now)) {
    const GangId& id = part.gang->id;
    if (kept.contains(id)) continue;  // a cheaper part of it stays
    std::string why = part.refused;
    if (BudgetCount next = count; why.empty()) {
      if (next.Take(part.pods) > 0) why = "kept by " + next.violated();
      if (why.empty()) count = std::move(next);
    }
    if (!why.empty()) {
      kept.insert(id);
      if (choice.gpu_milli < gpu_milli) choice.kept.push_back({id, std::move(why)});
      continue;
    }
    choice.movable_milli += part.gpu_milli;
    if (choice.gpu_milli >= gpu_milli) continue;
    choice.gpu_milli += part.gpu_milli;
    taken.push_back(std::move(part));
  }
  PutBack(taken, choice.gpu_milli, gpu_milli);
  std::map<GangId, OrderEffect::Evicted> gangs;
  for (const Part& part : taken) {
    OrderEffect::Evicted& evicted = gangs[part.gang->id];
    evicted.gang = part.gang->id;
    evicted.queue = part.loss.holder.queue;
    evicted.pods += static_cast<int64_t>(part.pods.size());
    evicted.whole = evicted.whole || part.whole;
    evicted.gpu_milli += part.gpu_milli;
    if (part.whole) evicted.despite = MinRuntimeOf(state, *part.gang, now);
    for (const LostPod& pod : part.pods) choice.pods.push_back(pod.member->uid);
  }
  for (auto& [id, evicted] : gangs) choice.gangs.push_back(std::move(evicted));
  return choice;
}

void BeginReclaim(StandingState& state, Reclaim reclaim, const ReclaimChoice& choice, Time now) {
  Victims victims;
  victims.pods.insert(choice.pods.begin(), choice.pods.end());
  for (const OrderEffect::Evicted& gang : choice.gangs)
    victims.gangs += (victims.gangs.empty() ? "" : ", ") + gang.gang.key.ToString();
  const GangId id = state.orders.Begin(std::move(reclaim));
  state.preemptions.Begin(id, std::move(victims));
  state.preemptions.Ask(id, choice.pods, now);
  for (const PodUid& uid : choice.pods) state.work.Touch(*state.members.Find(uid).gang);
}

void FollowReclaims(StandingState& state, Time now) {
  std::vector<GangId> ids;
  for (const auto& [id, reclaim] : state.orders.reclaims()) ids.push_back(id);
  for (const GangId& id : ids) {
    const Victims& victims = *state.preemptions.VictimsOf(id);
    int64_t left = 0;
    bool under_way = false;
    for (const PodUid& uid : victims.pods) {
      const Member* member = state.members.FindMember(uid);
      const bool holds = state.cluster.AllocationOf(uid) != nullptr;
      left += holds && state.preemptions.PreemptorOf(uid) != nullptr ? 1 : 0;
      under_way = under_way || (member != nullptr && member->writes->doing == WriteKind::kEvict);
    }
    const bool late = state.orders.Find(id)->deadline <= now;
    if (left > 0 && !victims.begun && !under_way && (late || !victims.obstacle.empty())) {
      ChooseAgain(state, id, std::string(victims.obstacle), now);
    } else if (left == 0 || late) {
      if (left > 0) TellOfThoseLeft(state, *state.orders.Find(id), left);
      EndVictims(state, id);
    }
  }
}

Reason WhyEvicted(const StandingState& state, const GangId& preemptor) {
  const Reclaim* reclaim = state.orders.Find(preemptor);
  if (reclaim == nullptr) return Because(ReasonCode::kPreempted, 0, 0, preemptor.key.ToString());
  return Because(ReasonCode::kReclaimed, 0, 0, WhoseReclaim(*reclaim));
}

void TellOfQueue(StandingState& state, const std::string& queue, bool warning, std::string reason,
                 std::string message) {
  EmitEvent event{.key = {"", queue},
                  .uid = "queue " + queue,
                  .on_pod = false,
                  .warning = warning,
                  .reason = std::move(reason),
                  .message = std::move(message)};
  event.on_orders = true;
  state.writes.Ask(std::move(event));
}

}  // namespace muster::engine
