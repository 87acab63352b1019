#include "sim/schedulers/kube_scheduler.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "sim/api_server/informer.hpp"
#include "sim/schedulers/node_chooser.hpp"
#include "sim/schedulers/scheduler_cache.hpp"
#include "sim/schedulers/scheduling_queue.hpp"

namespace muster::sim {

using cluster::PodUid;
using cluster::Time;
using Entry = SchedulingQueue::Entry;

class KubeScheduler::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(KubeScheduler& owner)
      : loop_(owner.loop_),
        api_(owner.api_),
        extender_(owner.extender_),
        options_(owner.options_),
        stats_(owner.stats_),
        cache_(options_.gpu_count),
        queue_({options_.backoff_first, options_.backoff_max}),
        chooser_(cache_, extender_, options_, owner.other_checks_, stats_),
        backoff_timer_(loop_, false, [this] { OnBackoffOver(); }),
        flush_timer_(loop_, true, [this] { OnFlush(); }),
        bind_timer_(loop_, false, [this] { OnBindTimeout(); }) {}

  void Start() {
    informer_ = std::make_unique<Informer>(
        loop_, api_, Kinds{.nodes = true, .pods = true, .others = true}, options_.watch,
        options_.seed, [this](const WatchEvent& event) { OnEvent(event); }, [this] { Settle(); });
  }

  void Stir() {
    queue_.Stir(true, loop_.now());
    Settle();
  }

  const SchedulingQueue& queue() const { return queue_; }
  size_t binding() const { return binding_.size(); }

 private:
  // A pod on its way to be bound.
  struct Operation {
    uint64_t id = 0;
    std::string node;
    Time deadline;
    bool gone = false;  // the pod has ended or was deleted meanwhile
  };

  void OnEvent(const WatchEvent& event);
  void OnNode(Change change, const NodePtr& node);
  void OnPod(Change change, const PodPtr& pod);
  void OnPodGone(const PodRecord& pod);
  bool Responsible(const cluster::Pod& pod) const;

  // Posts the next cycle and sets the timers, as the queue now demands.
  void Settle();
  void Cycle();
  void OnBackoffOver();
  void OnFlush();
  void Turned(Entry& entry, const Choice& choice);
  void TellPod(const PodRecord& pod, const std::string& reason, const std::string& message);

  void Bind(Entry& entry, const std::string& node);
  void OnBound(const PodUid& pod, uint64_t operation, const std::string& error);
  void OnBindTimeout();

  EventLoop& loop_;
  ApiServer& api_;
  ExtenderPort* const extender_;
  const KubeSchedulerOptions& options_;
  KubeSchedulerStats& stats_;

  SchedulerCache cache_;
  SchedulingQueue queue_;
  NodeChooser chooser_;
  bool cycle_posted_ = false;
  Time next_cycle_;  // not before
  uint64_t next_operation_ = 1;
  std::unordered_map<PodUid, Operation> binding_;
  std::deque<std::pair<Time, PodUid>>
      deadlines_;  // of open Bind calls, in order of time; some are over
  Timer backoff_timer_;
  Timer flush_timer_;
  Timer bind_timer_;
  std::unique_ptr<Informer> informer_;
};

bool KubeScheduler::Impl::Responsible(const cluster::Pod& pod) const {
  return std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                   pod.spec->scheduler_name) != options_.scheduler_names.end();
}

void KubeScheduler::Impl::OnEvent(const WatchEvent& event) {
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object)) OnNode(event.change, *node);
  if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) OnPod(event.change, *pod);
  const OtherPtr* other = std::get_if<OtherPtr>(&event.object);
  if (other == nullptr || (*other)->storage == nullptr) return;
  cache_.volumes().OnStorage(event.change, **other);
  queue_.Stir(true, loop_.now());
}

void KubeScheduler::Impl::OnNode(Change change, const NodePtr& node) {
  if (change == Change::kDeleted) {
    cache_.RemoveNode(node->node.name);
    queue_.Stir(false, loop_.now());
    return;
  }
  cache_.SetNode(node);
  queue_.Stir(true, loop_.now());
}

void KubeScheduler::Impl::OnPod(Change change, const PodPtr& pod) {
  if (change == Change::kDeleted || pod->pod.terminal()) {
    OnPodGone(*pod);
    return;
  }
  if (pod->pod.bound()) {
    cache_.Unnominate(pod->pod.uid);
    const bool confirms = cache_.Holds(pod->pod.uid);
    const bool shrinks = cache_.Hold(pod->pod, pod->pod.node_name);
    if (binding_.contains(pod->pod.uid)) {
      queue_.Upsert(pod, loop_.now());  // the answer of Bind finds it there
    } else {
      queue_.Remove(pod->pod.uid, loop_.now());
    }
    if (!confirms || shrinks) queue_.Stir(shrinks || cache_.has_pod_rules(), loop_.now());
    return;
  }
  if (!Responsible(pod->pod)) return;
  // An assumed pod's nomination is spent.
  if (!cache_.Holds(pod->pod.uid)) cache_.Nominate(pod->pod, pod->pod.nominated_node);
  const cluster::ObjectKey key{pod->pod.key.ns, pod->pod.pod_group};
  const PodGroupPtr group = api_.FindPodGroup(key);
  const bool together = group != nullptr && group->group.gates_together;
  queue_.Upsert(pod, loop_.now(), together ? std::optional(key) : std::nullopt);
}

void KubeScheduler::Impl::OnPodGone(const PodRecord& pod) {
  cache_.Unnominate(pod.pod.uid);
  const auto operation = binding_.find(pod.pod.uid);
  if (operation != binding_.end()) {
    operation->second.gone = true;
  } else {
    queue_.Remove(pod.pod.uid, loop_.now());
  }
  // One that is being bound and was not seen bound stays assumed until Bind is answered.
  if (pod.pod.bound() && cache_.Release(pod.pod.uid)) queue_.Stir(true, loop_.now());
}

void KubeScheduler::Impl::Settle() {
  backoff_timer_.Set(queue_.NextBackoff());
  const Time oldest = queue_.OldestUnschedulable();
  flush_timer_.Set(oldest + options_.flush_after);
  if (cycle_posted_ || queue_.active() == 0) return;
  cycle_posted_ = true;
  loop_.Post(std::max(next_cycle_, loop_.now()), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Cycle();
  });
}

void KubeScheduler::Impl::OnBackoffOver() {
  queue_.FlushBackoff(loop_.now());
  Settle();
}

void KubeScheduler::Impl::OnFlush() {
  const Time now = loop_.now();
  queue_.FlushUnschedulable(Time((now - (Time() + options_.flush_after)).value()), now);
  Settle();
}

void KubeScheduler::Impl::Cycle() {
  cycle_posted_ = false;
  next_cycle_ = loop_.now() + options_.cycle_time;
  queue_.FlushBackoff(loop_.now());
  if (Entry* entry = queue_.Pop()) {
    ++stats_.cycles;
    const Choice choice = chooser_.Choose(entry->pod->pod);
    if (choice.kind == Choice::Kind::kNode) {
      Bind(*entry, choice.node);
    } else {
      Turned(*entry, choice);
    }
  }
  Settle();
}

void KubeScheduler::Impl::Turned(Entry& entry, const Choice& choice) {
  const PodPtr pod = entry.pod;
  if (choice.kind == Choice::Kind::kError) {
    queue_.Fail(entry, loop_.now());
    TellPod(*pod, "SchedulerError", choice.message);
    return;
  }
  ++stats_.rejected;
  queue_.Reject(entry, choice.by_extender, loop_.now());
  TellPod(*pod, "Unschedulable", choice.message);
}

// One patch of the status: the condition, and the nomination is cleared, which this attempt has
// used up.
void KubeScheduler::Impl::TellPod(const PodRecord& pod, const std::string& reason,
                                  const std::string& message) {
  cache_.Unnominate(pod.pod.uid);
  PodStatusPatch patch;
  if (!pod.pod.nominated_node.empty()) patch.nominated_node = "";
  if (pod.status_reason != reason) patch.reason = reason;
  if (pod.status_message != message) patch.message = message;
  if (!patch.nominated_node && !patch.reason && !patch.message) return;
  // The pod may be gone or bound by now; then there is nobody to tell.
  static_cast<void>(api_.PatchPodStatus(Actor::kKubeScheduler, {pod.pod.key, pod.pod.uid}, patch));
}

void KubeScheduler::Impl::Bind(Entry& entry, const std::string& node) {
  const cluster::Pod& pod = entry.pod->pod;
  cache_.Hold(pod, node);
  cache_.Unnominate(pod.uid);
  const uint64_t id = next_operation_++;
  const Time deadline = extender_ == nullptr ? Time::Never() : loop_.now() + options_.http_timeout;
  binding_[pod.uid] = {id, node, deadline};
  ++stats_.bind_calls;
  const auto done = [weak = weak_from_this(), uid = pod.uid, id](const std::string& error) {
    if (const auto self = weak.lock()) self->OnBound(uid, id, error);
  };
  if (extender_ != nullptr) {
    deadlines_.emplace_back(deadline, pod.uid);
    if (bind_timer_.due() == Time::Never()) bind_timer_.Set(deadline);
    extender_->Bind({pod.key, pod.uid, node}, done);
    return;
  }
  loop_.Post(loop_.now() + options_.bind_latency,
             [this, done, ref = engine::PodRef{pod.key, pod.uid}, node, weak = weak_from_this()] {
               if (weak.expired()) return;
               const cluster::Status status = api_.BindPod(Actor::kKubeScheduler, {ref, node, {}});
               done(status.ok() ? std::string() : status.error().ToString());
             });
}

void KubeScheduler::Impl::OnBound(const PodUid& pod, uint64_t operation, const std::string& error) {
  const auto found = binding_.find(pod);
  if (found == binding_.end() || found->second.id != operation) return;  // given up before
  const bool gone = found->second.gone;
  binding_.erase(found);
  if (binding_.empty()) {
    deadlines_.clear();
    bind_timer_.Stop();
  }
  Entry* const entry = queue_.Find(pod);
  if (error.empty()) {
    ++stats_.bound;
    queue_.Remove(pod, loop_.now());
    if (gone) cache_.Release(pod);
    return;
  }
  ++stats_.bind_errors;
  if (gone || entry == nullptr) {
    cache_.Release(pod);
    queue_.Remove(pod, loop_.now());
  } else if (entry->pod->pod.bound()) {
    queue_.Remove(pod, loop_.now());  // bound all the same: the failure was one of the call only
  } else {
    const PodPtr record = entry->pod;
    cache_.Release(pod);
    queue_.Fail(*entry, loop_.now());
    TellPod(*record, "SchedulerError", error);
  }
  queue_.Stir(true, loop_.now());
  Settle();
}

void KubeScheduler::Impl::OnBindTimeout() {
  const Time now = loop_.now();
  while (!deadlines_.empty() && deadlines_.front().first <= now) {
    const PodUid pod = deadlines_.front().second;
    deadlines_.pop_front();
    const auto found = binding_.find(pod);
    if (found == binding_.end() || found->second.deadline > now) continue;
    ++stats_.bind_timeouts;
    OnBound(pod, found->second.id, "extender bind: context deadline exceeded");
  }
  bind_timer_.Set(deadlines_.empty() ? Time::Never() : deadlines_.front().first);
}

KubeScheduler::KubeScheduler(EventLoop& loop, ApiServer& api, ExtenderPort* extender,
                             KubeSchedulerOptions options)
    : loop_(loop), api_(api), extender_(extender), options_(std::move(options)) {
  Restart();
}

KubeScheduler::~KubeScheduler() = default;

void KubeScheduler::Restart() {
  impl_ = std::make_shared<Impl>(*this);
  impl_->Start();
}

void KubeScheduler::TurnDownNoMore(const std::string& pods) {
  std::erase_if(other_checks_, [&](const OtherCheck& check) { return check.pods == pods; });
  impl_->Stir();
}

size_t KubeScheduler::active() const { return impl_->queue().active(); }
size_t KubeScheduler::backing_off() const { return impl_->queue().backing_off(); }
size_t KubeScheduler::unschedulable() const { return impl_->queue().unschedulable(); }
size_t KubeScheduler::gated() const { return impl_->queue().gated(); }
size_t KubeScheduler::binding() const { return impl_->binding(); }

}  // namespace muster::sim
