#include "engine/scheduler.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/claims/asked_rooms.hpp"
#include "engine/claims/booking_search.hpp"
#include "engine/claims/scale_up.hpp"
#include "engine/cycle/commit.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/handover.hpp"
#include "engine/cycle/intake.hpp"
#include "engine/cycle/membership_moves.hpp"
#include "engine/cycle/ordering.hpp"
#include "engine/cycle/planning.hpp"
#include "engine/cycle/settle.hpp"
#include "engine/cycle/verbs.hpp"
#include "engine/explain/decided_facts.hpp"
#include "engine/explain/view.hpp"
#include "engine/judging/durations.hpp"
#include "engine/judging/request.hpp"
#include "engine/judging/unknown_gang.hpp"
#include "engine/preemption/freeing.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/preemption/spared.hpp"

namespace muster::engine {

using cluster::FairMutexLock;
using cluster::Time;

namespace {

// A pass may give room back (a broken plan, say), which calls for another one; more than a few in
// one Advance only keep the caller from carrying out what was decided.
constexpr int kPasses = 4;

// Looked at under one lock.
constexpr size_t kPodsAtOnce = 512;
constexpr size_t kNodesAtOnce = 64;

}  // namespace

Scheduler::Scheduler(const Options& options, Rules rules)
    : state_(std::make_unique<EngineState>(options, std::move(rules))),
      replanner_(std::make_unique<policy::Placer>(options.placement)),
      placer_(std::make_unique<policy::Placer>(options.placement)) {}

Scheduler::~Scheduler() = default;

// The cycle: facts, outcomes and calls change the books (Apply, Report, Filter, Bind); Advance
// follows them up.
Progress Scheduler::Advance(Time now, const std::function<void()>& meanwhile) {
  {
    FairMutexLock lock(mu_);
    TellDue(*state_, now);
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    SettleAll(now);                                       // 1. states and deadlines
    FollowRooms(now);                                     //
    if (!BeginPass(now)) break;                           //
    while (std::optional<PlanJob> job = NextPlan(now)) {  // 2. plans, in order,
      const PlanResult result = Plan(*placer_, *job);     //    outside the lock
      if (meanwhile) meanwhile();
      FairMutexLock lock(mu_);
      Commit(*state_, *job, result, now);
    }
  }
  SettleAll(now);
  TellWhy(now);  // 3. what follows
  FairMutexLock lock(mu_);
  state_->progress.actions = state_->writes.Take();
  state_->progress.waits = state_->announcer.TakeWaits();
  return std::exchange(state_->progress, Progress{});
}

void Scheduler::SettleAll(Time now) {
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = Settle(*state_, now);
  }
}

void Scheduler::FollowRooms(Time now) {
  RoomsLook look = [&] {
    FairMutexLock lock(mu_);
    if (state_->preemptions.TakeWake(now)) state_->queue.AnythingMayFit();
    state_->shapes.Follow();
    FollowUse(*state_, now);
    FollowKeptRooms(*state_, now);
    return LookAtRooms(*state_, now);
  }();
  while (const std::optional<size_t> at = look.Next()) {
    std::optional<RoomSearch> search;
    {
      FairMutexLock lock(mu_);
      search = SearchFor(*state_, look, *at, now);
    }
    if (!search) continue;
    FoundRoom found = FindRoom(*search);
    FairMutexLock lock(mu_);
    Found(*state_, look, *at, std::move(found), now);
  }
}

bool Scheduler::BeginPass(Time now) {
  FairMutexLock lock(mu_);
  FollowBookings(*state_, now);
  if (!PassNeeded(*state_, now)) return false;
  state_->queue.End();  // NextJob begins another one
  const policy::Options& placement = state_->options.placement;
  if (placement != placer_->options()) placer_ = std::make_unique<policy::Placer>(placement);
  return true;
}

std::optional<PlanJob> Scheduler::NextPlan(Time now) {
  while (true) {
    FairMutexLock lock(mu_);
    Turn turn = NextJob(*state_, now);
    if (turn.over || turn.job) return std::move(turn.job);
  }
}

void Scheduler::TellWhy(Time now) {
  while (true) {
    std::optional<Reminders::Held> held;
    ChangesJob job;
    std::string clause;
    {
      FairMutexLock lock(mu_);
      held = state_->reminders.Next();
      if (!held) return;
      const Gang* gang = state_->members.Find(held->gang);
      if (gang != nullptr && state_->reminders.MaySearch(state_->cluster.node_count(), now))
        job = RoomJobOf(*state_, *gang, now);
      if (gang != nullptr) clause = UnseenText(*state_, *gang);
    }
    const bool searches = !job.request.required.empty();
    if (searches && job.placement != placer_->options())
      placer_ = std::make_unique<policy::Placer>(job.placement);
    if (const auto nearest = FindNearest(job, *placer_)) {
      const std::string unseen = std::exchange(clause, "it would start if " + nearest->text);
      if (!unseen.empty()) clause += "; " + unseen;
    }
    if (!clause.empty()) held->event.message = WithClause(held->event.message, clause);
    FairMutexLock lock(mu_);
    state_->writes.Ask(std::move(held->event));
  }
}

Time Scheduler::NextWake() const {
  FairMutexLock lock(mu_);
  return engine::NextWake(*state_);
}

void Scheduler::Apply(const Fact& fact, Time now) {
  FairMutexLock lock(mu_);
  engine::Apply(*state_, fact, now);
}

void Scheduler::Apply(std::span<const Fact> facts, Time now) {
  FairMutexLock lock(mu_);
  for (const Fact& fact : facts) engine::Apply(*state_, fact, now);
}

void Scheduler::Report(const Outcome& outcome, Time now) {
  FairMutexLock lock(mu_);
  engine::Report(*state_, outcome, now);
}

cluster::Result<OrderEffect> Scheduler::Consider(const Order& order, Time now) const {
  FairMutexLock lock(mu_);
  return engine::Consider(*state_, order, now);
}

cluster::Result<OrderEffect> Scheduler::Carry(const Order& order, Time now) {
  FairMutexLock lock(mu_);
  return engine::Carry(*state_, order, now);
}

StandingOrders Scheduler::Orders() const {
  FairMutexLock lock(mu_);
  return state_->orders.standing();
}

std::optional<queues::UsageRecord> Scheduler::UsedSoFar() const {
  FairMutexLock lock(mu_);
  return state_->queue_book.UsedSoFar();
}

void Scheduler::SetOptions(Options options) {
  std::vector<cluster::PodUid> pods;
  {
    FairMutexLock lock(mu_);
    replanner_ = std::make_unique<policy::Placer>(options.placement);
    pods = engine::SetOptions(*state_, std::move(options));
  }
  std::sort(pods.begin(), pods.end());
  for (const bool joins : {true, false}) {
    for (size_t next = 0; next < pods.size();) {
      FairMutexLock lock(mu_);
      const size_t end = std::min(pods.size(), next + kPodsAtOnce);
      for (; next < end; ++next) ReassignPod(*state_, pods[next], joins);
    }
  }
}

FilterAnswer Scheduler::Filter(const NodesQuestion& question, Time now) {
  FairMutexLock lock(mu_);
  return engine::Filter(*state_, *replanner_, question, now);
}

PrioritizeAnswer Scheduler::Prioritize(const NodesQuestion& question) const {
  FairMutexLock lock(mu_);
  return engine::Prioritize(*state_, question);
}

Scheduler::BindReceipt Scheduler::Bind(const BindCall& call, uint64_t ticket, Time now) {
  FairMutexLock lock(mu_);
  return engine::Bind(*state_, call, ticket, now);
}

std::vector<GangView> Scheduler::Gangs(const std::string* ns) const {
  std::vector<GangView> views;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = ViewGangs(*state_, ns, last, views);
  }
  return views;
}

std::vector<std::string> Scheduler::GangNamespaces() const {
  std::vector<std::string> namespaces;
  FairMutexLock lock(mu_);
  const auto& gangs = state_->members.gangs();
  for (auto next = gangs.begin(); next != gangs.end();) {
    namespaces.push_back(next->first.key.ns);
    // No namespace has a name between this one's and the same with a zero byte.
    next = gangs.lower_bound({{namespaces.back() + std::string(1, '\0'), ""}, false});
  }
  return namespaces;
}

std::optional<GangView> Scheduler::FindGang(const cluster::ObjectKey& key) const {
  FairMutexLock lock(mu_);
  std::optional<GangView> view = ViewGang(*state_, key);
  const Gang* gang = view ? state_->members.Find(view->id) : nullptr;
  if (gang != nullptr) state_->kubelet_picks.AddTo(*gang, *view);
  return view;
}

std::optional<GangView> Scheduler::FindGangOfOwner(const cluster::ObjectKey& owner) const {
  LikeGang like;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = CollectLike(*state_, owner, last, like);
  }
  if (like.of_owner.size() != 1) return std::nullopt;
  return FindGang(like.of_owner.front());
}

std::string Scheduler::HelpFor(const cluster::ObjectKey& unknown, bool elsewhere) const {
  std::string pods;
  LikeGang like;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    if (!last) pods = PodsText(*state_, unknown);
    done = CollectLike(*state_, unknown, last, like);
  }
  if (!elsewhere) like.elsewhere.clear();
  return pods.empty() ? LikeText(unknown, like) : pods;
}

std::optional<GangFabric> Scheduler::FabricOf(const cluster::ObjectKey& key, Time now) const {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  policy::Options options;
  std::optional<GangView> view;
  AskedOfFabric asked;
  FreeingJob freeing;
  {
    FairMutexLock lock(mu_);
    view = ViewGang(*state_, key);
    const Gang* gang = view ? state_->members.Find(view->id) : nullptr;
    if (gang == nullptr || gang->members.empty()) return std::nullopt;
    snapshot = state_->cluster.TakeSnapshot();
    options = state_->options.placement;
    asked.terms = TopologyOf(*state_, *gang);
    if (gang->pending()) {
      asked.request = RequestOf(*state_, *gang, now);
      if (!asked.terms.required.empty()) freeing = FreeingJobOf(*state_, *gang, now);
    }
    asked.waits = !asked.request.required.empty();
    if (!asked.waits) {
      asked.request = AsIfWithoutNodes(*state_, *gang);
      for (const policy::Demand& demand : asked.request.required) {
        const cluster::Allocation* held = state_->cluster.AllocationOf(demand.pod);
        if (held != nullptr) asked.held.push_back(held->placement);
      }
    }
  }
  GangFabric fabric = ViewGangFabric(snapshot, options, *view, asked);
  if (!asked.waits) return fabric;
  if (auto found = FindCheapest(snapshot, options, asked.request, asked.terms, freeing)) {
    FairMutexLock lock(mu_);
    fabric.cheapest = Named(*state_, view->id, freeing, std::move(*found));
  }
  return fabric;
}

std::vector<LeastChange> Scheduler::ChangesFor(const cluster::ObjectKey& key, Time now) const {
  ChangesJob job;
  {
    FairMutexLock lock(mu_);
    const std::optional<GangView> view = ViewGang(*state_, key);
    const Gang* gang = view ? state_->members.Find(view->id) : nullptr;
    if (gang == nullptr) return {};
    job = ChangesJobOf(*state_, *gang, now);
  }
  return FindLeastChanges(job);
}

std::vector<std::string> Scheduler::NobodyMakesWay(const cluster::ObjectKey& key, Time now) const {
  FairMutexLock lock(mu_);
  const std::optional<GangView> view = ViewGang(*state_, key);
  const Gang* gang = view ? state_->members.Find(view->id) : nullptr;
  return gang == nullptr ? std::vector<std::string>() : WhyNobodyMakesWay(*state_, *gang, now);
}

std::vector<QueueView> Scheduler::Queues() const {
  QueueFacts facts;
  {
    FairMutexLock lock(mu_);
    facts = LookAtQueues(*state_);
  }
  return ViewQueues(facts);
}

std::optional<TurnView> Scheduler::TurnOf(const cluster::ObjectKey& key) const {
  QueueFacts facts;
  std::string queue;
  LinePlace place;
  {
    FairMutexLock lock(mu_);
    const std::optional<GangView> view = ViewGang(*state_, key);
    const Gang* gang = view ? state_->members.Find(view->id) : nullptr;
    if (gang == nullptr || !gang->pending()) return std::nullopt;
    if (gang->state == GangState::kUnsatisfiable) return std::nullopt;  // it never has one
    facts = LookAtQueues(*state_);
    queue = gang->queue->queue;
    place = state_->queue.PlaceOf(*gang);
  }
  return ViewTurn(facts, queue, place.position, place.of);
}

FabricView Scheduler::Fabric(int64_t gpus) const {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  topology::FabricOptions fabric;
  {
    FairMutexLock lock(mu_);
    snapshot = state_->cluster.TakeSnapshot();
    fabric = state_->options.placement.fabric;
  }
  return ViewFabric(*snapshot, fabric, gpus);
}

std::shared_ptr<const topology::NodeTopology> Scheduler::LinksOf(const std::string& node) const {
  cluster::Node record;
  policy::Options options;
  {
    FairMutexLock lock(mu_);
    const cluster::Node* found = state_->cluster.FindNode(node);
    if (found == nullptr) return nullptr;
    record = *found;
    options = state_->options.placement;
  }
  return policy::LinksOf(record, options);
}

std::vector<NodeView> Scheduler::Nodes() const {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  {
    FairMutexLock lock(mu_);
    snapshot = state_->cluster.TakeSnapshot();
  }
  std::vector<cluster::NodeIndex> order;
  for (cluster::NodeIndex index{0}; index.value < snapshot->size(); ++index.value) {
    if (snapshot->node(index) != nullptr) order.push_back(index);
  }
  std::sort(order.begin(), order.end(), [&](cluster::NodeIndex a, cluster::NodeIndex b) {
    return snapshot->node(a)->name < snapshot->node(b)->name;
  });
  std::vector<NodeView> views(order.size());
  for (size_t next = 0; next < order.size();) {
    FairMutexLock lock(mu_);
    const size_t end = std::min(order.size(), next + kNodesAtOnce);
    for (; next < end; ++next) ViewHolders(*state_, order[next], views[next]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    views[i].node = *snapshot->node(order[i]);
    views[i].free = snapshot->free().at(order[i]).resources;
    const auto gpus = snapshot->free().gpus(order[i]);
    views[i].gpu_free.reserve(gpus.size());
    for (const cluster::DeviceAmount& free : gpus)
      views[i].gpu_free.push_back(static_cast<int16_t>(free.least().value()));
  }
  return views;
}

Counts Scheduler::Count() const {
  Counts counts;
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = CountGangs(*state_, last, counts);
    if (done) snapshot = state_->cluster.TakeSnapshot();
  }
  for (cluster::NodeIndex index{0}; index.value < snapshot->size(); ++index.value) {
    const cluster::Node* node = snapshot->node(index);
    if (node == nullptr) continue;
    counts.gpu_capacity_milli +=
        static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value();
    counts.gpu_free_milli += snapshot->free().at(index).gpu_total();
  }
  return counts;
}

std::optional<KnownEnd> Scheduler::EndOf(const GangId& id, Time now) const {
  FairMutexLock lock(mu_);
  const Gang* gang = state_->members.Find(id);
  if (gang == nullptr || gang->tally.bound == 0) return std::nullopt;
  const KnownEnd end = engine::EndOf(*state_, *gang, now);
  if (end.at == Time::Never()) return std::nullopt;
  return end;
}

std::vector<Fact> Scheduler::DecidedFacts() const {
  std::vector<Fact> facts;
  std::shared_ptr<const cluster::Snapshot> snapshot;
  {
    FairMutexLock lock(mu_);
    facts = FewFacts(*state_);
    snapshot = state_->cluster.TakeSnapshot();
  }
  for (cluster::NodeIndex index{0}; index.value < snapshot->size(); ++index.value) {
    if (snapshot->node(index) != nullptr) facts.emplace_back(AsFact(*snapshot->node(index)));
  }
  for (cluster::NodeIndex index{0}; index.value < snapshot->size();) {
    FairMutexLock lock(mu_);
    for (size_t i = 0; i < kNodesAtOnce && index.value < snapshot->size(); ++i, ++index.value)
      TellOthers(*state_, index, facts);
  }
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = TellGangs(*state_, last, facts);
  }
  return facts;
}

Options Scheduler::options() const {
  FairMutexLock lock(mu_);
  return state_->options;
}

std::vector<std::string> Scheduler::Audit(Time now) const {
  FairMutexLock lock(mu_);
  return engine::Audit(*state_, now);
}

std::string Scheduler::Dump() const {
  FairMutexLock lock(mu_);
  return engine::Dump(*state_);
}

}  // namespace muster::engine
