#include "sim/calls/muster_link.hpp"

#include "sim/api_server/informer.hpp"

namespace muster::sim {

using cluster::Time;
using engine::Fact;

Fact FactOf(const WatchEvent& event) {
  const bool gone = event.change == Change::kDeleted;
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object)) {
    return gone ? Fact(engine::NodeRemoved{(*node)->node.uid}) : Fact((*node)->node);
  }
  if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) {
    const bool succeeded = (*pod)->pod.phase == cluster::PodPhase::kSucceeded;
    return gone ? Fact(engine::PodRemoved{(*pod)->pod.uid, false, succeeded}) : Fact((*pod)->pod);
  }
  if (const RequestPtr* asked = std::get_if<RequestPtr>(&event.object)) {
    const cluster::ProvisioningRequest& request = (*asked)->request;
    return gone ? Fact(engine::ProvisioningRequestRemoved{request.uid}) : Fact(request);
  }
  const PodGroupPtr& group = std::get<PodGroupPtr>(event.object);
  return gone ? Fact(engine::PodGroupRemoved{group->group.uid}) : Fact(group->group);
}

engine::Rules SilentRules() {
  engine::Rules rules;
  rules.tell_again = {};
  return rules;
}

class MusterLink::Impl {
 public:
  Impl(EventLoop& loop, ApiServer& api, MusterLinkOptions options)
      : loop_(loop),
        api_(api),
        options_(std::move(options)),
        actions_(loop, api, options_.writes, options_.seed,
                 [this](const engine::Outcome& outcome) {
                   scheduler_->Report(outcome, loop_.now());
                   Kick();
                 }),
        wake_(loop, false, [this] { Advance(); }) {}

  void Start() {
    scheduler_ = std::make_unique<engine::Scheduler>(options_.engine, options_.rules);
    reader_ = options_.make_reader ? options_.make_reader() : MusterLinkOptions::Reader();
    informer_ = std::make_unique<Informer>(
        loop_, api_,
        Kinds{.nodes = true,
              .pods = true,
              .pod_groups = true,
              .jobs = reader_ != nullptr,
              .others = reader_ != nullptr,
              .requests = true},
        options_.watch, options_.seed + static_cast<uint64_t>(stats_.restarts),
        [this](const WatchEvent& event) { Tell(event); }, [this] { OnNews(); });
    started_ = true;
    Kick();
  }

  void Restart() {
    ++stats_.restarts;
    started_ = false;
    informer_.reset();
    actions_.Disown();
    wake_.Stop();
    if (on_restart_) on_restart_();
    Start();
  }

  void Kick() {
    if (advance_posted_) return;
    advance_posted_ = true;
    loop_.Post([this] {
      advance_posted_ = false;
      Advance();
    });
  }

  engine::Scheduler& scheduler() { return *scheduler_; }

  EventLoop& loop_;
  ApiServer& api_;
  MusterLinkOptions options_;
  MusterLinkStats stats_;
  std::unique_ptr<engine::Scheduler> scheduler_;
  ApiActions actions_;
  AnswerBind on_answer_;
  Started on_started_;
  Restarted on_restart_;

 private:
  void Advance();
  void Tell(const WatchEvent& event) {
    if (!reader_) return scheduler_->Apply(FactOf(event), loop_.now());
    scheduler_->Apply(reader_(event), loop_.now());
  }
  // At once, so that what follows from an event is written before kube-scheduler hears of the
  // event.
  void OnNews() {
    if (started_) Advance();
  }

  bool started_ = false;
  bool advance_posted_ = false;
  Timer wake_;
  MusterLinkOptions::Reader reader_;  // of this process
  std::unique_ptr<Informer> informer_;
};

void MusterLink::Impl::Advance() {
  ++stats_.advances;
  const engine::Progress progress = scheduler_->Advance(loop_.now(), options_.meanwhile);
  stats_.gangs_tried += progress.gangs_tried;
  stats_.gangs_planned += progress.gangs_planned;
  stats_.gangs_started += static_cast<int64_t>(progress.started.size());
  actions_.Perform(progress.actions);
  for (const engine::Action& action : progress.actions) {
    const auto* answer = std::get_if<engine::AnswerBind>(&action);
    if (answer != nullptr && on_answer_) on_answer_(*answer);
  }
  if (on_started_) {
    for (const engine::GangStarted& started : progress.started) on_started_(started);
  }
  wake_.Set(scheduler_->NextWake());
}

MusterLink::MusterLink(EventLoop& loop, ApiServer& api, MusterLinkOptions options)
    : impl_(std::make_unique<Impl>(loop, api, std::move(options))) {
  impl_->Start();
}
MusterLink::~MusterLink() = default;

engine::Scheduler& MusterLink::scheduler() { return impl_->scheduler(); }
void MusterLink::Kick() { impl_->Kick(); }
void MusterLink::Restart() { impl_->Restart(); }

void MusterLink::SetOptions(engine::Options options) {
  impl_->options_.engine = options;
  impl_->scheduler().SetOptions(std::move(options));
  impl_->Kick();
}
const WriteFaults& MusterLink::faults() const { return impl_->options_.writes; }

void MusterLink::SetFaults(WriteFaults faults) {
  impl_->options_.writes = faults;
  impl_->actions_.SetFaults(faults);
}

void MusterLink::OnAnswerBind(AnswerBind callback) { impl_->on_answer_ = std::move(callback); }
void MusterLink::OnStarted(Started callback) { impl_->on_started_ = std::move(callback); }
void MusterLink::OnRestart(Restarted callback) { impl_->on_restart_ = std::move(callback); }

const MusterLinkStats& MusterLink::stats() const { return impl_->stats_; }

}  // namespace muster::sim
