#include "sim/audit/auditor.hpp"

#include <algorithm>
#include <utility>

#include "sim/audit/auditor_impl.hpp"
#include "sim/audit/hami_audit.hpp"
#include "sim/audit/node_audit.hpp"

namespace muster::sim {

using cluster::ObjectKey;
using cluster::PodUid;
using cluster::Time;

namespace {

bool Live(const cluster::Pod& pod) { return pod.bound() && !pod.terminal(); }

}  // namespace

bool Auditor::Impl::Musters(const cluster::Pod& pod) const {
  return std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                   pod.spec->scheduler_name) != options_.scheduler_names.end();
}

void Auditor::Impl::See(const WatchEvent& event) {
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object)) {
    SeeNode(*node, event.change, event.at);
  } else if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) {
    SeePod(event.change, *pod, event.at);
  } else if (const PodGroupPtr* group = std::get_if<PodGroupPtr>(&event.object)) {
    restart_audit_.SeeGroup(event.change, **group);
    queue_audit_.SeeGroup((*group)->group);
    SeeGroup(event.change, **group, event.at);
  }
}

void Auditor::Impl::SeeNode(const NodePtr& node, Change change, Time at) {
  NodeBook& book = nodes_[node->node.name];
  if (!InDoubt(book.news, at)) book.before = book.node;
  book.node = change == Change::kDeleted ? nullptr : node;
  book.news = at;
  book.changed = at;
  if (change == Change::kDeleted) restart_audit_.NodeGone(node->node.name);
  if (change != Change::kAdded) shape_audit_.Disturbed(at);
}

void Auditor::Impl::SeePod(Change change, const PodPtr& pod, Time at) {
  const PodUid& uid = pod->pod.uid;
  const bool live = change != Change::kDeleted && Live(pod->pod);
  const auto known = bound_to_.find(uid);
  const bool waited = known == bound_to_.end() && (live || change == Change::kDeleted);
  if (waited && Musters(pod->pod)) {
    waited_[queue_audit_.Highest(pod->pod)] = at;
    queue_audit_.Waited(pod->pod, at);
  }
  if (known != bound_to_.end() && !live) {
    queue_audit_.Gone(pod, at);
    shape_audit_.Disturbed(at);
  }
  SeeTurn(*pod, live, at);
  SeePlace(pod, live, at);
  CheckEviction(*pod);
  owner_audit_.See(change, *pod, live, at);
  if (!pod->pod.pod_group.empty()) SeeMember(change, *pod, live, at);
}

// The node that it comes to, or leaves.
void Auditor::Impl::SeePlace(const PodPtr& pod, bool live, Time at) {
  const PodUid& uid = pod->pod.uid;
  const auto known = bound_to_.find(uid);
  std::string eviction;
  if (muster_ != nullptr)
    eviction = restart_audit_.See(pod, live, muster_->scheduler().options().queues, at);
  if (!InDoubt(at, at)) Find(std::move(eviction));
  const bool fresh = live && known == bound_to_.end() && pod->pod.bound_by_muster;
  if (fresh && !InDoubt(at, at)) Find(restart_audit_.Fault(pod->pod, at));
  if (live) {
    queue_audit_.Runs(pod);
    NodeBook& book = nodes_[pod->pod.node_name];
    PodPtr& there = book.pods[uid];
    if (there != nullptr && there->pod.held() != pod->pod.held()) book.changed = at;  // resized
    there = pod;
    if (known == bound_to_.end()) {
      bound_to_[uid] = pod->pod.node_name;
      if (Musters(pod->pod)) {
        CheckBinding(*pod);
        CheckGuarantee(*pod);
        CheckShapes(*pod, at);
      } else {
        book.changed = at;  // others bind as they please
      }
      CheckDevices(*pod, book);
    }
    Find(HamiGaveOther(*pod));
  } else if (known != bound_to_.end()) {
    nodes_[known->second].pods.erase(uid);
    bound_to_.erase(known);
  }
}

void Auditor::Impl::CheckBinding(const PodRecord& pod) {
  const NodeBook& book = nodes_[pod.pod.node_name];
  if (InDoubt(book.changed, loop_.now())) return;
  for (std::string& fault : BindingFaults(pod, book.node, book.pods)) Find(std::move(fault));
}

// Lost members come back whatever their queue has.
void Auditor::Impl::CheckGuarantee(const PodRecord& pod) {
  if (muster_ == nullptr) return;
  const auto gang = gangs_.find({pod.pod.key.ns, pod.pod.pod_group});
  const bool ran = !pod.pod.pod_group.empty() && gang != gangs_.end() && gang->second.perhaps;
  if (ran || !queue_audit_.IsKeptBeyond(pod.pod, muster_->scheduler().options().queues)) return;
  Find("pod " + pod.pod.key.ToString() +
       " is bound, is not preemptible, and its queue's guarantee is used up");
}

void Auditor::Impl::CheckShapes(const PodRecord& pod, Time at) {
  if (muster_ == nullptr) return;
  std::string fault = shape_audit_.FaultOf(pod.pod, muster_->scheduler().options().queues, at);
  if (!fault.empty()) Find(std::move(fault));
}

void Auditor::Impl::CheckDevices(const PodRecord& fresh, const NodeBook& book) {
  if (book.node == nullptr) return;
  // How its devices are shared may be news to Muster: it goes by what it knows.
  const NodePtr known = InDoubt(book.news, loop_.now()) ? book.before : nullptr;
  for (std::string& fault : DeviceFaults(fresh, book.node->node, known, book.pods))
    Find(std::move(fault));
}

// A pod of Muster's of higher priority waits, or did a moment ago.
bool Auditor::Impl::Outranked(const PodRecord& pod) {
  const int32_t priority = queue_audit_.Lowest(pod.pod);
  for (const PodPtr& other : api_.Pods()) {
    const cluster::Pod& waiting = other->pod;
    if (queue_audit_.Highest(waiting) > priority && Musters(waiting) && !waiting.bound())
      return true;
  }
  return std::any_of(waited_.upper_bound(priority), waited_.end(), [&](const auto& entry) {
    return entry.second + options_.slack + options_.node_slack >= loop_.now();
  });
}

// An operator had GPUs reclaimed: victims are asked to go until they have had their time.
bool Auditor::Impl::Reclaimed() const {
  return reclaimed_ > Time() && reclaimed_ + muster_->scheduler().options().victim_timeout +
                                        options_.slack + options_.node_slack >=
                                    loop_.now();
}

void Auditor::Impl::CheckEviction(const PodRecord& pod) {
  if (!pod.evicted_by_muster || !evicted_.insert(pod.pod.uid).second) return;
  const std::string what = "pod " + pod.pod.key.ToString() + " is evicted and ";
  if (!Musters(pod.pod) && !pod.pod.bound_by_muster) Find(what + "is not Muster's");
  if (muster_ == nullptr) return;
  const engine::Options options = muster_->scheduler().options();
  if (pod.over_budget && !queue_audit_.MayViolate(pod, options.queues))
    Find(what + "its PodDisruptionBudget does not let it go");
  const bool moves = options.lost_member == engine::LostMember::kMoveSegment ||
                     options.lost_member == engine::LostMember::kMoveGang;
  if (MayBeTakenBack(pod) || owner_audit_.MayBeTakenBack(pod, moves)) return;
  if (queue_audit_.IsKept(pod.pod)) Find(what + "its gang is not preemptible");
  if (Reclaimed()) return;
  if (queues::OnlyRoot(options.queues)) {
    const bool preempts =
        options.queues.front().preemption.within_queue != queues::WithinQueue::kNever;
    if (preempts && Outranked(pod)) return;
    Find(what + "its gang has lost nobody" + (preempts ? ", and nobody outranks it" : ""));
    return;
  }
  const cluster::Duration doubt = options_.slack + options_.node_slack + options.victim_timeout;
  const bool lawful =
      queue_audit_.MayGo(pod.pod, options.queues, Time(loop_.now().milliseconds() - doubt.value()));
  if (!lawful) Find(what + "its gang has lost nobody, and its queue lets nobody have it");
}

std::vector<std::string> Auditor::Impl::Check() {
  if (muster_ != nullptr) {
    const engine::StandingOrders orders = muster_->scheduler().Orders();
    const bool pauses =
        std::any_of(orders.queues.begin(), orders.queues.end(),
                    [](const auto& entry) { return entry.second.paused_until.has_value(); });
    if (pauses) reclaimed_ = std::max(loop_.now(), Time(1));
  }
  while (const WatchEvent* next = watch_->Peek()) {
    const WatchEvent event = *next;
    watch_->Pop();
    See(event);
  }
  if (muster_ != nullptr && muster_->stats().restarts != restarts_) {
    restarts_ = muster_->stats().restarts;
    NoteRestart(loop_.now());
  }
  if (muster_ != nullptr && IsLossy(muster_->faults())) lossy_ = loop_.now();
  const cluster::Duration limit = options_.partial_limit + options_.slack;
  const Time restarted = restarted_.empty() ? Time() : restarted_.back().at;
  while (!partial_.empty()) {
    const auto [since, key] = *partial_.begin();
    const Time from = std::max(since, restarted);
    if (from + PartialLimit(from) >= loop_.now()) break;
    CheckPartial(since, key, loop_.now());
    partial_.erase(partial_.begin());  // said once
  }
  // A process that may not read the owner of half a gang neither completes nor ends it. Where the
  // policy holds partial gangs the time does not begin.
  const bool holds = muster_ != nullptr &&
                     muster_->scheduler().options().partial_gang == engine::PartialGang::kHold;
  const Time from = holds ? loop_.now() : restarted;
  for (std::string& one : owner_audit_.Overdue(from, loop_.now(), limit)) Find(std::move(one));
  if (muster_ != nullptr && options_.ask_engine) {
    for (std::string& finding : muster_->scheduler().Audit(loop_.now())) {
      Find("engine: " + std::move(finding));
    }
  }
  std::vector<std::string> found;
  found.swap(found_);
  constexpr size_t kKept = 1000;
  for (const std::string& one : found) {
    if (findings_.size() < kKept) findings_.push_back(one);
  }
  return found;
}

std::vector<ObjectKey> PartialGangs(const ApiServer& api) {
  std::map<ObjectKey, int64_t> counted;
  for (const PodPtr& pod : api.Pods()) {
    if (pod->pod.pod_group.empty() || !pod->pod.bound() || pod->pod.deleting) continue;
    if (pod->pod.phase == cluster::PodPhase::kFailed) continue;
    ++counted[{pod->pod.key.ns, pod->pod.pod_group}];
  }
  std::vector<ObjectKey> partial;
  for (const auto& [key, bound] : counted) {
    const PodGroupPtr group = api.FindPodGroup(key);
    if (group != nullptr && bound < group->group.min_member) partial.push_back(key);
  }
  return partial;
}

Auditor::Auditor(EventLoop& loop, ApiServer& api, MusterLink* muster, AuditorOptions options)
    : impl_(std::make_unique<Impl>(loop, api, muster, std::move(options))) {}
Auditor::~Auditor() = default;

void Auditor::Doubt(const cluster::ObjectKey& pod_group) { impl_->Doubt(pod_group); }
void Auditor::Doubt(const PodRecord& pod) {
  if (!pod.pod.pod_group.empty()) impl_->Doubt({pod.pod.key.ns, pod.pod.pod_group});
  if (!pod.job_uid.empty()) impl_->DoubtJob(pod.job_uid);
}
std::vector<std::string> Auditor::Check() { return impl_->Check(); }

const std::vector<std::string>& Auditor::findings() const { return impl_->findings(); }

int64_t Auditor::restart_windows() const { return impl_->restart_windows(); }

}  // namespace muster::sim
