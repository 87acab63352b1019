#include "engine/scheduler.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core.hpp"

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

Scheduler::Scheduler(const Options& options)
    : core_(std::make_unique<Core>(options)),
      placer_(std::make_unique<policy::Placer>(options.placement)) {}

Scheduler::~Scheduler() = default;

void Scheduler::Apply(const Fact& fact, Time now) {
  FairMutexLock lock(mu_);
  core_->Apply(fact, now);
}

void Scheduler::Report(const Outcome& outcome, Time now) {
  FairMutexLock lock(mu_);
  core_->Report(outcome, now);
}

void Scheduler::SetOptions(Options options) {
  std::vector<cluster::PodUid> pods;
  {
    FairMutexLock lock(mu_);
    pods = core_->SetOptions(std::move(options));
  }
  std::sort(pods.begin(), pods.end());
  for (const bool joins : {true, false}) {
    for (size_t next = 0; next < pods.size();) {
      FairMutexLock lock(mu_);
      const size_t end = std::min(pods.size(), next + kPodsAtOnce);
      for (; next < end; ++next) core_->Rehome(pods[next], joins);
    }
  }
}

void Scheduler::Settle(Time now) {
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = core_->Settle(now);
  }
}

std::optional<PlanJob> Scheduler::NextJob(Time now) {
  while (true) {
    FairMutexLock lock(mu_);
    Turn turn = core_->NextJob(now);
    if (turn.over || turn.job) return std::move(turn.job);
  }
}

Progress Scheduler::Advance(Time now) {
  for (int pass = 0; pass < kPasses; ++pass) {
    Settle(now);  // 1. deadlines  2. states
    {
      FairMutexLock lock(mu_);
      if (!core_->PassNeeded()) break;
      core_->BeginPass();
      if (core_->options().placement != placer_->options()) {
        placer_ = std::make_unique<policy::Placer>(core_->options().placement);
      }
    }
    while (std::optional<PlanJob> job = NextJob(now)) {  // 3. plans, in order
      PlanResult result = Plan(*placer_, *job);          // outside the lock
      FairMutexLock lock(mu_);
      core_->Commit(*job, std::move(result), now);
    }
  }
  Settle(now);
  FairMutexLock lock(mu_);
  return core_->TakeProgress();  // 4. what follows
}

Time Scheduler::NextWake() const {
  FairMutexLock lock(mu_);
  return core_->NextWake();
}

FilterAnswer Scheduler::Filter(const NodesQuestion& question, Time now) {
  FairMutexLock lock(mu_);
  return core_->Filter(question, now);
}

PrioritizeAnswer Scheduler::Prioritize(const NodesQuestion& question) const {
  FairMutexLock lock(mu_);
  return core_->Prioritize(question);
}

Scheduler::BindReceipt Scheduler::Bind(const BindCall& call, uint64_t ticket, Time now) {
  FairMutexLock lock(mu_);
  return core_->Bind(call, ticket, now);
}

std::vector<GangView> Scheduler::Gangs() const {
  std::vector<GangView> views;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = core_->Gangs(last, views);
  }
  return views;
}

std::optional<GangView> Scheduler::FindGang(const cluster::ObjectKey& key) const {
  FairMutexLock lock(mu_);
  return core_->FindGang(key);
}

std::vector<NodeView> Scheduler::Nodes() const {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  {
    FairMutexLock lock(mu_);
    snapshot = core_->TakeSnapshot();
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
    for (; next < end; ++next) core_->ShowHolders(order[next], views[next]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    views[i].node = *snapshot->node(order[i]);
    views[i].free = snapshot->free().at(order[i]).resources;
    const auto gpus = snapshot->free().gpus(order[i]);
    views[i].gpu_free.assign(gpus.begin(), gpus.end());
  }
  return views;
}

Counts Scheduler::Count() const {
  Counts counts;
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::optional<GangId> last;
  for (bool done = false; !done;) {
    FairMutexLock lock(mu_);
    done = core_->Count(last, counts);
    if (done) snapshot = core_->TakeSnapshot();
  }
  for (cluster::NodeIndex index{0}; index.value < snapshot->size(); ++index.value) {
    const cluster::Node* node = snapshot->node(index);
    if (node == nullptr) continue;
    counts.gpu_capacity_milli +=
        static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value();
    counts.gpu_free_milli += snapshot->free().at(index).gpu_total;
  }
  return counts;
}

Options Scheduler::options() const {
  FairMutexLock lock(mu_);
  return core_->options();
}

std::vector<std::string> Scheduler::Audit(Time now) const {
  FairMutexLock lock(mu_);
  return core_->Audit(now);
}

std::string Scheduler::Dump() const {
  FairMutexLock lock(mu_);
  return core_->Dump();
}

}  // namespace muster::engine
