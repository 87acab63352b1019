// What must hold in a ContestWorld, judged by its pods.
#include <algorithm>
#include <utility>

#include "queues/tournament.hpp"
#include "tests/engine/contest_world.hpp"

namespace muster::testing {

using cluster::Duration;
using cluster::Seconds;
using engine::GangState;
using engine::GangView;
using queues::Holding;
using queues::QueueIndex;
using queues::Resource;

namespace {

constexpr Duration kContestJudgeHour = cluster::Seconds(3600);

}  // namespace

queues::Vector ContestWorld::Gpus(int64_t count) const {
  queues::Vector amounts(tree_->resources().size());
  for (size_t r = 0; r < amounts.size(); ++r) {
    if (tree_->resources()[r] == Resource{Resource::Kind::kGpu}) amounts[r] = 1000 * count;
  }
  return amounts;
}

// What every queue has by the pods that are bound and the plans that are not, but for the plan of
// one gang.
ContestWorld::Use ContestWorld::Truth(const std::string& without, bool leaving) const {
  Use use{queues::Ledger(tree_)};
  int64_t gpus = 0;
  for (const auto& [node, ready] : nodes_ready_) gpus += ready ? node_gpus_ : 0;
  queues::Vector capacity(tree_->resources().size(), 1'000'000'000);
  for (size_t r = 0; r < capacity.size(); ++r) {
    if (Gpus(1)[r] > 0) capacity[r] = 1000 * gpus;
  }
  use.ledger.SetCapacity(capacity);
  std::map<QueueIndex, int64_t> used;
  for (const GangView& gang : engine().Gangs()) {
    const auto found = jobs_.find(gang.id.key.name);
    if (found == jobs_.end()) continue;
    for (const engine::MemberView& member : gang.members) {
      const bool planned = !member.planned_node.empty() && gang.id.key.name != without;
      const cluster::Pod& pod = Pod(member.pod.name);
      const bool holds = pod.bound() && (leaving || !pod.deleting);
      if (holds || planned) used[LeafOf(found->second)] += found->second.gpus;
      if (!holds && !(planned && gang.state == GangState::kPreempting)) continue;
      queues::Vector& rank = use.ranks[LeafOf(found->second)][found->second.priority];
      rank.resize(capacity.size());
      for (size_t r = 0; r < rank.size(); ++r) rank[r] += Gpus(found->second.gpus)[r];
    }
  }
  for (const auto& [leaf, count] : used) use.ledger.Set(leaf, Gpus(count));
  return use;
}

// Of a gang that asks for so many pods.
queues::Rights ContestWorld::RightsOf(const std::string& name, const Use& use, int pods) const {
  const Job& job = jobs_.at(name);
  queues::Rights rights(use.ledger,
                        {LeafOf(job), job.priority, Gpus(int64_t{job.gpus} * pods), false});
  for (const auto& [leaf, ranks] : use.ranks) rights.SetRanks(leaf, ranks);
  return rights;
}

void ContestWorld::Hear(const engine::Action& action) {
  if (const auto* bind = std::get_if<engine::BindPod>(&action)) JudgeEarmarks(*bind);
  const auto* evict = std::get_if<engine::EvictPod>(&action);
  if (evict == nullptr) return;
  const std::string pod = evict->pod.key.name;
  const std::string victim = Pod(pod).pod_group;
  const std::string& claimant = evict->gang.name;
  const bool slow = weather_ == Weather::kRough && !resting_ && Chance(20);
  leaves_at_.try_emplace(pod, now() + Seconds(Below(slow ? 1800 : 300)));
  leaves_for_[pod] = claimant;
  if (claimant == victim) return;
  ++tally_.evicted;
  // It has just started, and its turn to make way has come.
  if (BoundOf(jobs_.at(victim)) >= jobs_.at(victim).least && claims_.erase(victim) > 0)
    ++tally_.started;
  if (!jobs_.contains(claimant)) return Fail("pod " + pod + " is evicted for nobody");
  const auto at =
      batches_.try_emplace(claimant, Batch{now(), Truth(claimant), Truth(claimant, false), {}, {}})
          .first;
  if (!at->second.pods.contains(victim))
    at->second.broken[victim] = BoundOf(jobs_.at(victim)) < jobs_.at(victim).least;
  at->second.pods[victim].insert(pod);
}

void ContestWorld::JudgeBatches() {
  for (const auto& [claimant, batch] : std::exchange(batches_, {})) {
    if (claims_.insert(claimant).second) ++tally_.claims;
    JudgeBatch(claimant, batch);
  }
}

// Of the job, what left already when others were asked to go for the claimant, and for no other
// gang that still waits for it.
int64_t ContestWorld::LeavingFor(const std::string& claimant, const Batch& batch,
                                 const Job& job) const {
  int64_t gpus = 0;
  for (const std::string& name : job.names) {
    const cluster::Pod& pod = Pod(name);
    const auto now = batch.pods.find(pod.pod_group);
    if (!pod.bound() || !pod.deleting || (now != batch.pods.end() && now->second.contains(name)))
      continue;
    const auto other = leaves_for_.find(name);
    const bool taken = other != leaves_for_.end() && other->second != claimant &&
                       jobs_.contains(other->second) &&
                       Gang(other->second).state == GangState::kPreempting;
    gpus += taken ? 0 : job.gpus;
  }
  return gpus;
}

// I2: each victim of the set that is evicted is lawful, whoever goes before it.
void ContestWorld::JudgeBatch(const std::string& claimant, const Batch& batch) {
  const GangView gang = Gang(claimant);
  if (!gang.certificate)
    return Fail("others are evicted for " + claimant + " without a certificate");
  std::vector<Holding> holdings;
  std::vector<std::string> names;
  int64_t evicted = 0;
  for (const engine::VictimGang& victim : gang.certificate->victims) {
    const std::string& name = victim.gang.key.name;
    const auto pods = batch.pods.find(name);
    const auto job = jobs_.find(name);
    if (job == jobs_.end()) continue;
    if (pods == batch.pods.end()) continue;  // it leaves anyway
    const int64_t gpus = job->second.gpus * static_cast<int64_t>(pods->second.size());
    evicted += gpus;
    holdings.push_back({LeafOf(job->second), job->second.priority, Gpus(gpus), false});
    names.push_back(name);
    JudgeProtection(claimant, name, batch);
  }
  for (const auto& [name, pods] : batch.pods) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      Fail("gang " + name + " is evicted for " + claimant + " and not in its certificate");
  }
  for (const auto& [name, job] : jobs_) {  // what leaves for nobody else is gone first (R9)
    if (const int64_t gpus = LeavingFor(claimant, batch, job)) {
      holdings.push_back({LeafOf(job), job.priority, Gpus(gpus), true});
      names.push_back(name);
    }
  }
  std::vector<const Holding*> set;
  for (const Holding& holding : holdings) set.push_back(&holding);
  const Job& of = jobs_.at(claimant);
  const int missing = std::max(1, of.least - BoundOf(of));
  queues::Rights rights = RightsOf(claimant, batch.use, missing);
  const std::vector<queues::Judgement> judged = rights.JudgeAll(set);
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i]->leaves && judged[i].right == queues::Right::kNone)
      Fail("the final set is not lawful: gang " + names[i] + " is evicted for " + claimant + ": " +
           queues::Describe(*tree_, judged[i]));
  }
  // The same when all that leaves is gone: it is charged to those who get it.
  std::vector<const Holding*> staying;
  for (const Holding* holding : set) {
    if (!holding->leaves) staying.push_back(holding);
  }
  queues::Rights later = RightsOf(claimant, batch.without_leaving, missing);
  for (const queues::Judgement& one : later.JudgeAll(staying)) {
    if (one.right == queues::Right::kNone)
      Fail("the final set is not lawful when others have left: for " + claimant + ": " +
           queues::Describe(*tree_, one));
  }
  if (const auto excess = later.Exceeds(staying)) {
    Fail("gang " + claimant + " may not start, and yet it preempts others: in queue " +
         tree_->at(excess->queue).name + " it would use " + std::to_string(excess->would) + " of " +
         std::to_string(excess->most));
  }
  const queues::Queue& queue = tree_->at(LeafOf(jobs_.at(claimant)));
  const int64_t ratio = queue.preemption.max_evicted_ratio;
  const int64_t asked = gang.certificate->asked_milli / 1000;
  if (ratio > 0 && evicted > ratio * asked)
    Fail(std::to_string(evicted) + " GPUs are evicted for " + std::to_string(asked));
}

// R8, and how often a gang may be evicted.
void ContestWorld::JudgeProtection(const std::string& claimant, const std::string& victim,
                                   const Batch& batch) {
  Job& job = jobs_.at(victim);
  if (batch.broken.at(victim) || BoundOf(job) >= job.least) return;  // only what it has beyond
  const QueueIndex leaf = LeafOf(job);
  const auto branches = tree_->Diverge(LeafOf(jobs_.at(claimant)), leaf);
  const Duration least(branches ? tree_->at(branches->b).preemption.min_runtime_reclaim
                                : tree_->at(leaf).preemption.min_runtime_preempt);
  if (job.whole_since && *job.whole_since + least > batch.at)
    Fail("gang " + victim + " is evicted for " + claimant + " before its minRuntime");
  // Its surplus may go for one gang and the rest for another at the same time: that is once.
  if (!job.evicted_at.empty() && job.evicted_at.back() == batch.at) return;
  job.evicted_at.push_back(batch.at);
  while (job.evicted_at.front() + kContestJudgeHour <= batch.at) job.evicted_at.pop_front();
  const int64_t most = tree_->at(leaf).preemption.max_evictions_per_hour;
  if (static_cast<int64_t>(job.evicted_at.size()) > most)
    Fail("gang " + victim + " is evicted " + std::to_string(job.evicted_at.size()) +
         " times within an hour, which is more often than its queue lets it be");
}

// I3, devices: what a gang is to have whose victims are leaving, nobody else gets.
void ContestWorld::JudgeEarmarks(const engine::BindPod& bind) {
  const std::string& gang = Pod(bind.pod.key.name).pod_group;
  for (const GangView& other : engine().Gangs()) {
    if (other.id.key.name == gang) continue;
    for (const engine::MemberView& member : other.members) {
      const std::string& node = member.bound_node.empty() ? member.planned_node : member.bound_node;
      if (node != bind.node) continue;
      for (const cluster::GpuIndex gpu : bind.gpus) {
        // A victim may still be there until the gang that it makes way for is bound.
        if (std::find(member.gpus.begin(), member.gpus.end(), gpu) != member.gpus.end())
          Fail("pod " + bind.pod.key.name + " gets GPU " + std::to_string(gpu.value) + " of " +
               node + ", which pod " + member.pod.name + " of gang " + other.id.key.name + " has");
      }
    }
  }
}

// I3, quota: what runs and what is planned is within all limits together, when those have
// gone that are asked to. Lost members come back whatever others have taken of their queue.
void ContestWorld::JudgeLimits() {
  std::set<QueueIndex> of_lost;
  for (const auto& [name, job] : jobs_) {
    const std::vector<QueueIndex> path = tree_->PathOf(LeafOf(job));
    if (job.lost) of_lost.insert(path.begin(), path.end());
  }
  const queues::Ledger ledger = Truth("", false).ledger;
  for (uint32_t i = 0; i < tree_->size(); ++i) {
    const QueueIndex queue{i};
    for (size_t r = 0; r < tree_->resources().size(); ++r) {
      if (!of_lost.contains(queue) && ledger.used(queue)[r] > tree_->at(queue).limit[r])
        Fail("queue " + tree_->at(queue).name + " is over its limit");
    }
  }
}

std::vector<std::string> ContestWorld::Waiting() const {
  std::vector<std::string> waiting;
  for (const GangView& gang : engine().Gangs()) {
    const bool whole = gang.bound == 0 && gang.state == GangState::kQueued;
    if (whole && jobs_.contains(gang.id.key.name)) waiting.push_back(gang.id.key.name);
  }
  return waiting;
}

// I1: whoever may have another one evicted goes before it while both wait.
void ContestWorld::JudgeOrder() {
  if (!finding_.empty()) return;
  std::vector<std::string> waiting = Waiting();
  std::shuffle(waiting.begin(), waiting.end(), dice_);
  if (waiting.size() > 4) waiting.resize(4);
  const Use use = Truth("");
  const auto key = [&](const std::string& name) {
    const Job& job = jobs_.at(name);
    return queues::OrderKey{job.priority, false, false, job.created, {{"default", name}, false}};
  };
  for (const std::string& x : waiting) {
    for (const std::string& y : waiting) {
      if (x == y) continue;
      ++tally_.pairs;
      const Job& first = jobs_.at(x);
      const Job& other = jobs_.at(y);
      const queues::Vector asks = Gpus(int64_t{first.gpus} * first.least);
      const queues::Vector holds = Gpus(int64_t{other.gpus} * other.least);
      queues::Rights rights = RightsOf(x, use, first.least);
      const queues::Judgement judged =
          rights.JudgeIfStarted({LeafOf(other), other.priority, holds, false});
      if (judged.right == queues::Right::kNone) continue;
      ++tally_.rights;
      const queues::OrderKey own = key(x);
      const queues::OrderKey others = key(y);
      bool before = own < others;
      if (LeafOf(first) != LeafOf(other)) {
        queues::Tournament tournament(use.ledger);
        tournament.SetHead(LeafOf(first), &own, asks);
        tournament.SetHead(LeafOf(other), &others, holds);
        before = tournament.Winner() == LeafOf(first);
      }
      if (!before)
        Fail("gang " + x + " may have " + y + " evicted (" + queues::Describe(*tree_, judged) +
             ") and goes after it");
    }
  }
}

// Every eviction is followed by the start of the gang that it is for, or by a reason.
void ContestWorld::FollowClaims() {
  for (auto at = claims_.begin(); at != claims_.end();) {
    const std::string name = *at;
    const GangView gang = Gang(name);
    const bool started = BoundOf(jobs_.at(name)) >= jobs_.at(name).least;
    const bool on_its_way = gang.state == GangState::kPreempting ||
                            gang.state == GangState::kReserved || gang.state == GangState::kBinding;
    if (on_its_way && !started) {
      ++at;
      continue;
    }
    if (started) {
      ++tally_.started;
    } else {
      ++tally_.given_up[ToString(gang.reason.code)];
      if (weather_ == Weather::kCalm)
        Fail("others were evicted for " + name +
             ", and it does not start: " + engine::Describe(gang.reason));
    }
    at = claims_.erase(at);
  }
}

// At rest: a gang within its queue's guarantee does not wait while gangs run that it may have
// evicted, if these have what it asks for. What they have beyond their minima goes first.
void ContestWorld::JudgeGuarantees() {
  if (weather_ != Weather::kCalm) return;  // there rules may forbid it, and room be in pieces
  int64_t free = 0;
  for (const auto& [node, ready] : nodes_ready_) free += ready ? node_gpus_ : 0;
  std::vector<Holding> surplus;  // one GPU each
  std::vector<Holding> running;
  for (const auto& [name, job] : jobs_) {
    const int bound = BoundOf(job);
    const int least = std::min(bound, job.least);
    free -= bound;
    surplus.insert(surplus.end(), static_cast<size_t>(bound - least),
                   {LeafOf(job), job.priority, Gpus(1), false});
    if (least > 0) running.push_back({LeafOf(job), job.priority, Gpus(least), false});
  }
  std::sort(running.begin(), running.end(),
            [](const Holding& a, const Holding& b) { return a.held < b.held; });
  surplus.insert(surplus.end(), running.begin(), running.end());
  for (const std::string& name : Waiting()) {
    ++tally_.left_waiting;
    queues::Rights rights = RightsOf(name, Truth(""), jobs_.at(name).least);
    const queues::QueueIndex leaf = LeafOf(jobs_.at(name));
    std::vector<const Holding*> set;
    for (const Holding& holding : surplus) {
      if (holding.leaf != leaf) set.push_back(&holding);
    }
    for (size_t before = SIZE_MAX; before != set.size();) {  // each is judged as if all went
      before = set.size();
      const std::vector<queues::Judgement> judged = rights.JudgeInOrder(set);
      std::vector<const Holding*> lawful;
      for (size_t i = 0; i < set.size(); ++i) {
        if (judged[i].right == queues::Right::kGuarantee) lawful.push_back(set[i]);
      }
      set = std::move(lawful);
    }
    int64_t reach = free;
    for (const Holding* holding : set) reach += holding->held[queues::Tree::kGpu] / 1000;
    if (set.empty() || reach < jobs_.at(name).least || rights.Exceeds(set)) continue;
    Fail("gang " + name + " is within its queue's guarantee and waits (" +
         engine::Describe(Gang(name).reason) + ") while others borrow what it asks for");
  }
}

}  // namespace muster::testing
