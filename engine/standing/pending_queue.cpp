#include "engine/standing/pending_queue.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"
#include "engine/standing/queue_book.hpp"

namespace muster::engine {

void PendingQueue::Add(Gang& gang, queues::OrderKey order, const std::string& queue,
                       const cluster::Usage& asks) {
  MUSTER_CHECK(!gang.pending() && gang.queue->kind == nullptr);
  gang.queue.value_.order = std::move(order);
  gang.queue.value_.queue = queue;
  gang.queue.value_.asks = asks;
  all_.insert(&gang);
  Lane& lane = lanes_[queue];
  lane.asks += asks;
  lane.all.insert(&gang);
  lane.oldest.reset();
  lane.untried.insert(&gang);
  Changed(lane);
}

bool PendingQueue::Remove(Gang& gang) {
  if (!gang.pending()) return false;
  Leave(gang);
  const auto at = lanes_.find(gang.queue->queue);
  Lane& lane = at->second;
  if (lane.head == &gang) SetHead(at->first, lane, nullptr);
  Changed(lane);
  for (GangsInOrder* gangs : {&lane.all, &lane.untried, &lane.heads, &lane.next})
    gangs->erase(&gang);
  lane.oldest.reset();
  lane.asks -= gang.queue->asks;
  if (lane.last == &gang) lane.last = nullptr;
  if (lane.all.empty()) {
    std::erase(changed_, &lane);
    lanes_.erase(at);
  }
  all_.erase(&gang);
  gang.queue.value_.order.reset();
  return true;
}

void PendingQueue::Retry(Gang& gang) {
  Lane& lane = LaneOf(gang);
  lane.untried.insert(&gang);
  Changed(lane);
}

bool PendingQueue::PassNeeded(uint64_t growth) const {
  if (all_.empty()) return false;
  if (retry_all_ || anything_may_fit_ || !grown_.empty() || !retry_queues_.empty() ||
      growth_ != growth)
    return true;
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& entry) { return !entry.second.untried.empty(); });
}

void PendingQueue::Begin(uint64_t growth) {
  const bool others = std::exchange(retry_all_, false);
  const bool grown = std::exchange(anything_may_fit_, false) || growth_ != growth;
  scope_ = {others || grown, std::exchange(retry_queues_, {})};
  std::erase_if(scope_.queues, [&](const auto& entry) {
    const auto lane = lanes_.find(entry.first);
    return lane == lanes_.end() ||
           (*lane->second.all.begin())->queue->order->priority <= entry.second;
  });
  if (grown || !scope_.queues.empty()) ForgetFailures();
  growth_ = growth;
  in_pass_ = true;
  ++pass_;
  for (auto& [queue, lane] : lanes_) {
    lane.last = nullptr;
    lane.next.clear();
    Changed(lane);
  }
}

void PendingQueue::PassOver(int64_t most, const GangQuestion& still_waits) {
  for (auto& [queue, lane] : lanes_) {
    for (Gang* head : lane.heads) {
      Kind* kind = head->queue->kind;
      if (kind == nullptr || !head->queue->tried || !scope_.Has(*head)) continue;
      if (most-- <= 0) return;
      if (still_waits(*head)) kind->judged_in = pass_;
    }
  }
}

const Reason* PendingQueue::Failed(const policy::RequestKey& request, int64_t below,
                                   const BookingNumbers& kept_off) const {
  const auto found = failed_.find({request, below, kept_off});
  return found == failed_.end() ? nullptr : &found->second;
}

void PendingQueue::Fail(const policy::RequestKey& request, int64_t below, const Reason& why,
                        const BookingNumbers& kept_off) {
  failed_[{request, below, kept_off}] = why;
}

Gang* PendingQueue::Best(const Lane& lane) const {
  const auto after = [&](const GangsInOrder& gangs) -> Gang* {
    const auto at = lane.last == nullptr ? gangs.begin() : gangs.upper_bound(lane.last);
    return at == gangs.end() ? nullptr : *at;
  };
  Gang* best = after(lane.untried);
  const auto consider = [&](Gang* other) {
    if (other != nullptr && (best == nullptr || GangOrder{}(other, best))) best = other;
  };
  consider(after(lane.next));
  auto head = lane.last == nullptr ? lane.heads.begin() : lane.heads.upper_bound(lane.last);
  const auto judged = [&](const Gang& gang) {
    return gang.queue->kind != nullptr && gang.queue->kind->judged_in == pass_;
  };
  while (head != lane.heads.end() && judged(**head)) ++head;
  // Those above a priority come first in order, so the first one outside the scope ends it.
  if (head != lane.heads.end() && scope_.Has(**head)) consider(*head);
  return best;
}

bool PendingQueue::Take(Lane& lane, Gang& gang) {
  lane.last = &gang;
  Changed(lane);
  const bool untried = lane.untried.erase(&gang) > 0;
  lane.next.erase(&gang);
  const Kind* kind = gang.queue->kind;
  if (kind == nullptr) {
    lane.heads.insert(&gang);
    return true;
  }
  const bool judged = kind->judged_in == pass_;
  if (!judged) {
    const auto other = kind->gangs.upper_bound(&gang);
    if (other != kind->gangs.end() && scope_.Has(**other)) lane.next.insert(*other);
  }
  return untried || !judged;
}

Gang* PendingQueue::Next() {
  while (Gang* gang = Choose()) {
    if (Take(LaneOf(*gang), *gang)) return gang;
  }
  return nullptr;
}

Gang* PendingQueue::Choose() {
  if (edition_ != book_.edition()) {  // nobody stands for a queue there yet
    edition_ = book_.edition();
    for (auto& [queue, lane] : lanes_) {
      lane.head = nullptr;
      Changed(lane);
    }
  }
  for (Lane* lane : std::exchange(changed_, {})) {
    lane->changed = false;
    SetHead((*lane->all.begin())->queue->queue, *lane, Best(*lane));
  }
  const std::optional<queues::QueueIndex> winner = book_.tournament().Winner();
  return winner ? lanes_.at(book_.tree().at(*winner).name).head : nullptr;
}

void PendingQueue::Changed(Lane& lane) {
  if (std::exchange(lane.changed, true)) return;
  changed_.push_back(&lane);
}

// Gangs in queues that the policy does not have any more wait until they are settled.
void PendingQueue::SetHead(const std::string& queue, Lane& lane, Gang* head) {
  lane.head = head;
  if (edition_ != book_.edition()) return;
  const std::optional<queues::QueueIndex> leaf = book_.tree().Find(queue);
  if (!leaf || !book_.tree().at(*leaf).leaf()) return;
  if (head == nullptr) return book_.tournament().SetHead(*leaf, nullptr, {});
  book_.tournament().SetHead(*leaf, &*head->queue->order, book_.tree().Dense(head->queue->asks));
}

std::vector<std::pair<std::string, int64_t>> PendingQueue::queues() const {
  std::vector<std::pair<std::string, int64_t>> queues;
  queues.reserve(lanes_.size());
  for (const auto& [name, lane] : lanes_)
    queues.emplace_back(name, (*lane.all.begin())->queue->order->priority);
  return queues;
}

cluster::Time PendingQueue::OldestOf(Lane& lane) {
  if (!lane.oldest) {
    lane.oldest = cluster::Time::Never();
    for (const Gang* gang : lane.all) {
      if (gang->course.queued_at) lane.oldest = std::min(*lane.oldest, *gang->course.queued_at);
    }
  }
  return *lane.oldest;
}

void PendingQueue::Walk(const WalkQuestions& ask) {
  std::map<queues::QueueIndex, std::pair<GangsInOrder::iterator, GangsInOrder::iterator>> left;
  queues::Tournament& tournament = book_.tournament();
  const auto enter = [&](queues::QueueIndex leaf) {
    auto& [next, end] = left.at(leaf);
    while (next != end && !ask.counts(**next)) ++next;
    if (next == end) return tournament.SetHead(leaf, nullptr, {});
    const QueuePlace& place = *(*next)->queue;
    tournament.SetHead(leaf, &*place.order, book_.tree().Dense(place.asks));
  };
  for (auto& [queue, lane] : lanes_) {
    if (lane.head != nullptr) {
      SetHead(queue, lane, nullptr);
      Changed(lane);
    }
    if (!ask.enters(**lane.all.begin(), OldestOf(lane))) continue;
    const std::optional<queues::QueueIndex> leaf = book_.tree().Find(queue);
    if (!leaf || !book_.tree().at(*leaf).leaf()) continue;
    left[*leaf] = {lane.all.begin(), lane.all.end()};
    enter(*leaf);
  }
  while (const std::optional<queues::QueueIndex> winner = tournament.Winner()) {
    if (!ask.goes_on(**left.at(*winner).first)) break;
    ++left.at(*winner).first;
    enter(*winner);
  }
  for (const auto& [leaf, where] : left) tournament.SetHead(leaf, nullptr, {});
}

void PendingQueue::WalkEach(const WalkQuestions& ask) {
  for (auto& [queue, lane] : lanes_) {
    if (!ask.enters(**lane.all.begin(), OldestOf(lane))) continue;
    for (const Gang* gang : lane.all) {
      if (ask.counts(*gang) && !ask.goes_on(*gang)) break;
    }
  }
}

const Gang* PendingQueue::FirstBefore(const Gang& gang, const GangQuestion& blocks) const {
  for (const Gang* before : lanes_.at(gang.queue->queue).heads) {
    if (!GangOrder{}(before, &gang)) break;
    if (blocks(*before)) return before;
  }
  return nullptr;
}

namespace {

bool MayStart(const Gang* gang) { return gang->state != GangState::kUnsatisfiable; }

}  // namespace

std::map<std::string, WaitingQueue> PendingQueue::LookAtQueues() const {
  std::map<std::string, WaitingQueue> queues;
  for (const auto& [queue, lane] : lanes_) {
    WaitingQueue& waiting = queues[queue] = {lane.all.size(), lane.asks, nullptr};
    for (const GangsInOrder* gangs : {&lane.heads, &lane.untried}) {
      const auto first = std::find_if(gangs->begin(), gangs->end(), MayStart);
      const bool sooner =
          first != gangs->end() && (waiting.first == nullptr || GangOrder{}(*first, waiting.first));
      if (sooner) waiting.first = *first;
    }
  }
  return queues;
}

LinePlace PendingQueue::PlaceOf(const Gang& gang) const {
  LinePlace place{1, 0};
  for (const Gang* one : lanes_.at(gang.queue->queue).all) {
    if (!MayStart(one)) continue;
    ++place.of;
    if (GangOrder{}(one, &gang)) ++place.position;
  }
  return place;
}

void PendingQueue::Judge(Gang& gang, const KindKey& key, GangState state, const Reason& reason) {
  const auto at = kinds_.try_emplace(key).first;
  Kind& kind = at->second;
  const bool fresh = kind.gangs.empty();
  kind.key = &at->first;
  if (gang.queue->kind != &kind) {
    Leave(gang);
    GangsInOrder& heads = LaneOf(gang).heads;
    Changed(LaneOf(gang));
    heads.erase(&gang);
    if (fresh || GangOrder{}(&gang, *kind.gangs.begin())) {
      if (!fresh) heads.erase(*kind.gangs.begin());
      heads.insert(&gang);
    }
    kind.gangs.insert(&gang);
    gang.queue.value_.kind = &kind;
  }
  const bool other = kind.state != state || kind.reason.code != reason.code;
  kind.state = state;
  kind.reason = reason;
  kind.judged_in = pass_;
  if (other && !fresh) propagations_.push_back({&kind, kind.gangs.begin()});
}

bool PendingQueue::PropagateVerdict(int64_t most,
                                    const std::function<void(Gang&, const Kind&)>& changed) {
  while (!propagations_.empty()) {
    Propagation& now = propagations_.back();
    for (; now.next != now.kind->gangs.end(); ++now.next) {
      if (most-- <= 0) return false;
      Gang& gang = **now.next;
      const bool same = gang.state == now.kind->state && gang.reason.code == now.kind->reason.code;
      if (!same) changed(gang, *now.kind);
    }
    propagations_.pop_back();
  }
  return true;
}

const KindKey* PendingQueue::KeyOf(const Gang& gang) {
  return gang.queue->kind == nullptr ? nullptr : gang.queue->kind->key;
}

void PendingQueue::Leave(Gang& gang) {
  Kind* kind = std::exchange(gang.queue.value_.kind, nullptr);
  if (kind == nullptr) return;
  const auto at = kind->gangs.find(&gang);
  for (Propagation& one : propagations_) {
    if (one.kind == kind && one.next == at) ++one.next;
  }
  const bool head = at == kind->gangs.begin();
  kind->gangs.erase(at);
  GangsInOrder& heads = LaneOf(gang).heads;
  if (head && !kind->gangs.empty()) heads.insert(*kind->gangs.begin());
  heads.insert(&gang);
  Changed(LaneOf(gang));
  if (!kind->gangs.empty()) return;
  std::erase_if(propagations_, [&](const Propagation& one) { return one.kind == kind; });
  kinds_.erase(kinds_.find(*kind->key));
}

const Reason& PendingQueue::ReasonOf(const Gang& gang) {
  const Kind* kind = gang.queue->kind;
  const bool shared =
      kind != nullptr && kind->state == gang.state && kind->reason.code == gang.reason.code;
  return shared ? kind->reason : gang.reason;
}

std::vector<std::string> PendingQueue::Audit() const {
  std::vector<std::string> broken;
  const auto expect = [&](bool holds, const Gang& gang, const char* what) {
    if (!holds) broken.push_back("gang " + gang.id.key.ToString() + " " + what);
  };
  std::set<const Kind*> kinds;
  for (const auto& [key, kind] : kinds_) kinds.insert(&kind);
  size_t in_lanes = 0;
  for (const auto& [queue, lane] : lanes_) {
    in_lanes += lane.all.size();
    Lane now = lane;
    now.oldest.reset();
    if (lane.oldest && *lane.oldest != OldestOf(now))
      broken.push_back("queue \"" + queue + "\" has another oldest gang");
    if (lane.all.empty()) broken.push_back("queue \"" + queue + "\" is kept without a gang");
    for (const GangsInOrder* some : {&lane.untried, &lane.heads, &lane.next}) {
      for (const Gang* gang : *some)
        expect(lane.all.contains(gang), *gang, "has a turn in a queue in which it does not wait");
    }
    for (const Gang* gang : lane.all) {
      expect(all_.contains(gang) && gang->queue->queue == queue, *gang, "waits in two queues");
      const Kind* kind = gang->queue->kind;
      expect(kind == nullptr || (kinds.contains(kind) && kind->gangs.contains(gang)), *gang,
             "is of a kind that does not know it");
      if (kind != nullptr && *kind->gangs.begin() == gang)
        expect(lane.heads.contains(gang), *gang, "is the first of its kind and has no turn");
    }
  }
  if (in_lanes != all_.size()) broken.push_back("the queues have not the gangs that wait");
  for (const auto& [key, kind] : kinds_) {
    if (kind.gangs.empty()) broken.push_back("a kind is kept without a gang");
    if (kind.key != &key) broken.push_back("a kind does not know its key");
    for (const Gang* gang : kind.gangs)
      expect(gang->queue->kind == &kind, *gang, "is counted for a kind that is not its own");
  }
  return broken;
}

}  // namespace muster::engine
