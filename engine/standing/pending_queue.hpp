// PendingQueue: the gangs that wait for a plan, which is next, and which fail together (internal
// to engine/). Owned and guarded by Scheduler.
//
// 1. Gangs that ask for the same under the same priority are of one Kind: where one does not fit,
//    none does. They have one verdict, and a pass looks at one of them until something has become
//    free. A gang that was not tried since it was added, or whose fate is its own, is of no kind.
// 2. What did not fit is remembered by what was asked for, as long as nothing became free.
// 3. A restart forgets all of it: every gang is tried again.
//   Begin(growth)  a pass: all gangs where something became free, else those not tried yet and
//                  those that RetryQueue names. They do not change until it is over, but for Judge
//   Next()         the gang to plan next: in each queue in order the gangs not tried yet, and
//                  within the scope the gangs of no kind and one of each kind after the other; of
//                  the queues the one that the policy says (QueueBook)
//   Judge(…)       a kind's verdict: no other gang of it is planned in this pass
//   PropagateVerdict(most)  brings it to the kind's gangs that had another one, so many a call
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/holdings/usage.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/standing/kind.hpp"
#include "engine/standing/lane.hpp"
#include "policy/terms/gang_request.hpp"
#include "queues/order_key.hpp"

namespace muster::engine {

class QueueBook;

class PendingQueue {
 public:
  // `book` says which queue is next. Must outlive this.
  explicit PendingQueue(QueueBook& book) : book_(book) {}

  // To wait in `queue`. `asks`: see QueuePlace.
  void Add(Gang& gang, queues::OrderKey order, const std::string& queue,
           const cluster::Usage& asks = {});
  // True when it was there.
  bool Remove(Gang& gang);
  // A plan was attempted: it has no turn by itself before something changes.
  static void Tried(Gang& gang) { gang.queue.value_.tried = true; }
  // What was attempted says nothing any more.
  static void ForgetTry(Gang& gang) { gang.queue.value_.tried = false; }
  bool Contains(const Gang& gang) const { return all_.contains(&gang); }
  bool empty() const { return all_.empty(); }
  // The first one of the queue in which `gang` waits.
  const Gang& FirstBeside(const Gang& gang) const {
    return **lanes_.at(gang.queue->queue).all.begin();
  }
  size_t kinds() const { return kinds_.size(); }
  std::map<std::string, WaitingQueue> LookAtQueues() const;
  LinePlace PlaceOf(const Gang& gang) const;
  // Those that count: in all queues' order as if none started; and queue by
  // queue, where goes_on is asked of each.
  void Walk(const WalkQuestions& ask);
  void WalkEach(const WalkQuestions& ask);
  // Of its queue, tried before its turn; null: nobody.
  const Gang* FirstBefore(const Gang& gang, const GangQuestion& blocks) const;

  // It has a turn in the next pass, whatever that goes through.
  void Retry(Gang& gang);
  void RetryAll() { retry_all_ = true; }  // all have; what is known to fail still does
  // Something may fit that did not before, though nothing need have become free.
  void AnythingMayFit() { anything_may_fit_ = true; }
  // A gang of that queue holds more than before: others may be able to have it evicted.
  void HoldsMore(const std::string& queue) { grown_.insert(queue); }
  std::set<std::string> TakeGrown() { return std::exchange(grown_, {}); }
  // Gangs of that queue may preempt that could not before: those of higher priority than `above`.
  void RetryQueue(const std::string& queue, int64_t above = INT64_MIN) {
    int64_t& all = retry_queues_.try_emplace(queue, above).first->second;
    all = std::min(all, above);
  }
  // In which gangs wait, and the highest priority among them.
  std::vector<std::pair<std::string, int64_t>> queues() const;

  // There is somebody to be tried. `growth`: ClusterState::growth().
  bool PassNeeded(uint64_t growth) const;
  void Begin(uint64_t growth);
  // Right after it: asks of the first of each kind, `most` in all; those kinds have no turn in it.
  void PassOver(int64_t most, const GangQuestion& still_waits);
  void End() { in_pass_ = false; }
  bool in_pass() const { return in_pass_; }
  // Null: the pass is over.
  Gang* Next();
  // What is known to fail; null: nothing is. `below`: PlanJob::preempts_below.
  const Reason* Failed(const policy::RequestKey& request, int64_t below,
                       const BookingNumbers& kept_off = {}) const;
  void Fail(const policy::RequestKey& request, int64_t below, const Reason& why,
            const BookingNumbers& kept_off = {});
  void ForgetFailures() { failed_.clear(); }
  // The gang is of that kind, for all of which this holds.
  void Judge(Gang& gang, const KindKey& key, GangState state, const Reason& reason);
  // Looks at `most` gangs of kinds whose verdict changed, and calls `changed` for those whose state
  // or reason's code is not yet what holds for their kind; true when none is left.
  bool PropagateVerdict(int64_t most, const std::function<void(Gang&, const Kind&)>& changed);
  // Its fate is its own again.
  void Leave(Gang& gang);
  // What its kind has in common; null: it is of none.
  static const KindKey* KeyOf(const Gang& gang);

  // Why the gang waits, with the newest numbers of its kind.
  static const Reason& ReasonOf(const Gang& gang);
  std::vector<std::string> Audit() const;  // what does not hold of what stands above

 private:
  using Kinds = std::map<KindKey, Kind>;
  Lane& LaneOf(const Gang& gang) { return lanes_.at(gang.queue->queue); }
  // Who is next in its queue; null: nobody.
  Gang* Best(const Lane& lane) const;
  // It has its turn. False: its kind was judged in this pass, and nobody of it has another one.
  bool Take(Lane& lane, Gang& gang);
  // Of all queues; null: nobody.
  Gang* Choose();
  void Changed(Lane& lane);
  static cluster::Time OldestOf(Lane& lane);
  void SetHead(const std::string& queue, Lane& lane, Gang* head);

  QueueBook& book_;
  uint64_t edition_ = 0;  // of the book, in which heads are
  std::vector<Lane*> changed_;
  GangsInOrder all_;
  std::map<std::string, Lane> lanes_;  // by queue; none is empty
  Kinds kinds_;                        // none is empty
  bool retry_all_ = false;
  bool anything_may_fit_ = false;
  std::set<std::string> grown_;
  std::map<std::string, int64_t> retry_queues_;
  std::map<std::tuple<policy::RequestKey, int64_t, BookingNumbers>, Reason> failed_;
  uint64_t growth_ = 0;  // when the last pass began
  bool in_pass_ = false;
  Scope scope_;
  uint64_t pass_ = 0;
  std::vector<Propagation> propagations_;
};

}  // namespace muster::engine
