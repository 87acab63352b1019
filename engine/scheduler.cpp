#include "engine/scheduler.hpp"

#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::MutexLock;
using cluster::Time;

namespace {

// A pass may give room back (a broken plan, say), which calls for another one; more than a few in
// one Advance only keep the caller from carrying out what was decided.
constexpr int kPasses = 4;

}  // namespace

Scheduler::Scheduler(const Options& options)
    : core_(std::make_unique<Core>(options)),
      placer_(std::make_unique<policy::Placer>(options.placement)) {}

Scheduler::~Scheduler() = default;

void Scheduler::Apply(const Fact& fact, Time now) {
  MutexLock lock(mu_);
  core_->Apply(fact, now);
}

void Scheduler::Report(const Outcome& outcome, Time now) {
  MutexLock lock(mu_);
  core_->Report(outcome, now);
}

void Scheduler::SetOptions(Options options) {
  MutexLock lock(mu_);
  core_->SetOptions(std::move(options));
}

Progress Scheduler::Advance(Time now) {
  for (int pass = 0; pass < kPasses; ++pass) {
    {
      MutexLock lock(mu_);
      core_->Settle(now);  // 1. deadlines  2. states
      if (!core_->PassNeeded()) break;
      core_->BeginPass();
      if (core_->options().placement.strategy != placer_->options().strategy) {
        placer_ = std::make_unique<policy::Placer>(core_->options().placement);
      }
    }
    while (true) {  // 3. plans, in order
      std::optional<PlanJob> job;
      {
        MutexLock lock(mu_);
        job = core_->NextJob(now);
      }
      if (!job) break;
      PlanResult result = Plan(*placer_, *job);  // outside the lock
      MutexLock lock(mu_);
      core_->Commit(*job, std::move(result), now);
    }
  }
  MutexLock lock(mu_);
  core_->Settle(now);
  return core_->TakeProgress();  // 4. what follows
}

Time Scheduler::NextWake() const {
  MutexLock lock(mu_);
  return core_->NextWake();
}

FilterAnswer Scheduler::Filter(const NodesQuestion& question, Time now) {
  MutexLock lock(mu_);
  return core_->Filter(question, now);
}

PrioritizeAnswer Scheduler::Prioritize(const NodesQuestion& question) const {
  MutexLock lock(mu_);
  return core_->Prioritize(question);
}

Scheduler::BindReceipt Scheduler::Bind(const BindCall& call, uint64_t ticket, Time now) {
  MutexLock lock(mu_);
  return core_->Bind(call, ticket, now);
}

std::vector<GangView> Scheduler::Gangs() const {
  MutexLock lock(mu_);
  return core_->Gangs();
}

std::optional<GangView> Scheduler::FindGang(const cluster::ObjectKey& key) const {
  MutexLock lock(mu_);
  return core_->FindGang(key);
}

std::vector<NodeView> Scheduler::Nodes() const {
  MutexLock lock(mu_);
  return core_->Nodes();
}

Counts Scheduler::Count() const {
  MutexLock lock(mu_);
  return core_->Count();
}

Options Scheduler::options() const {
  MutexLock lock(mu_);
  return core_->options();
}

std::vector<std::string> Scheduler::Audit(Time now) const {
  MutexLock lock(mu_);
  return core_->Audit(now);
}

std::string Scheduler::Dump() const {
  MutexLock lock(mu_);
  return core_->Dump();
}

}  // namespace muster::engine
