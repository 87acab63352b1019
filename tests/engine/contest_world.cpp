#include "tests/engine/contest_world.hpp"

#include <algorithm>
#include <utility>

#include "queues/tournament.hpp"

namespace muster::testing {

using cluster::Duration;
using cluster::Seconds;
using cluster::Time;
using engine::GangState;
using engine::GangView;
using queues::Holding;
using queues::QueueIndex;
using queues::QueueSpec;
using queues::Resource;

namespace {

constexpr int kClusterNodes = 6;
constexpr const char* kLeaves[] = {"a1", "a2", "b1", "b2", "c"};

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(static_cast<uint32_t>(seed * 2'654'435'761U + 17)) {}
  int64_t Below(int64_t most) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most));
  }
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  std::mt19937 engine_;
};

void SetPreemption(Dice& dice, Weather weather, QueueSpec& queue) {
  queues::PreemptionSpec& says = queue.preemption;
  if (dice.Chance(50)) says.reclaim = queues::Reclaim::kFairShare;
  if (weather == Weather::kCalm) return;
  if (dice.Chance(15)) says.reclaim = queues::Reclaim::kNever;
  if (dice.Chance(15)) says.within_queue = queues::WithinQueue::kNever;
  if (dice.Chance(20)) says.delay = 1000 * dice.Below(60);
  if (dice.Chance(30)) says.min_runtime_preempt = 1000 * dice.Below(900);
  if (dice.Chance(30)) says.min_runtime_reclaim = 1000 * dice.Below(900);
  if (dice.Chance(30)) says.max_evictions_per_hour = dice.Below(3);
  if (dice.Chance(30)) says.max_evicted_ratio = 1 + dice.Below(4);
}

// Two departments of two teams, and a team by itself. A calm world protects nobody, so that who
// has a right can use it.
std::vector<QueueSpec> SomeQueues(uint64_t seed, Weather weather) {
  Dice dice(seed);
  const Resource gpu{Resource::Kind::kGpu};
  std::vector<QueueSpec> queues = {{.name = "root"},
                                   {.name = "a"},
                                   {.name = "b"},
                                   {.name = "c"},
                                   {.name = "a1", .parent = "a"},
                                   {.name = "a2", .parent = "a"},
                                   {.name = "b1", .parent = "b"},
                                   {.name = "b2", .parent = "b"}};
  // Only GPUs count.
  for (const Resource::Kind kind :
       {Resource::Kind::kGpuMemory, Resource::Kind::kCpu, Resource::Kind::kMemory})
    queues[0].resource_weights[{kind}] = 0;
  for (size_t i = queues.size(); i-- > 1;) {
    QueueSpec& queue = queues[i];
    queue.weight = 1 + dice.Below(3);
    const bool leaf = i >= 3;
    int64_t guarantee = leaf ? 4000 * dice.Below(4) : 0;
    for (const QueueSpec& child : queues) {
      if (child.parent == queue.name) guarantee += child.guarantee.of(gpu).value();
    }
    queue.guarantee.Set(gpu, queues::Amount(guarantee));
    if (leaf && dice.Chance(20))
      queue.limit.Set(gpu, queues::Limit(std::max<int64_t>(guarantee, 8000) + 8000));
    if (leaf && guarantee > 0 && dice.Chance(20)) queue.lend.Set(gpu, queues::Limit(guarantee / 2));
    SetPreemption(dice, weather, queue);
  }
  queues[0].preemption.max_evicted_ratio = 0;
  queues[0].preemption.max_evictions_per_hour = weather == Weather::kCalm ? 1000 : 2;
  if (weather == Weather::kRough) {
    queues[0].bookings.depth = dice.Below(3);
    queues[0].bookings.reserve_after = Seconds(600);
    if (dice.Chance(20)) queues[1].order = queues::Order::kFifo;
    if (dice.Chance(20)) queues[3].order = queues::Order::kStrictFifo;
  } else {
    queues[0].bookings.depth = 0;
  }
  return queues;
}

engine::Options OptionsOf(uint64_t seed, Weather weather) {
  engine::Options options;
  options.queues = SomeQueues(seed, weather);
  return options;
}

}  // namespace

ContestWorld::ContestWorld(uint64_t seed, Weather weather)
    : Harness(OptionsOf(seed, weather)),
      dice_(static_cast<uint32_t>(seed)),
      weather_(weather),
      tree_(std::make_shared<const queues::Tree>(SomeQueues(seed, weather))) {
  for (int i = 0; i < kClusterNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    Add(MakeNode(name).Gpus(static_cast<int>(node_gpus_)).Build());
    nodes_ready_[name] = true;
  }
  fault = [this](const engine::Action& action) -> std::optional<engine::Outcome> {
    Hear(action);
    return std::nullopt;
  };
}

void ContestWorld::Submit() {
  const std::string name = "g" + std::to_string(made_++);
  Job& job = jobs_[name];
  job.queue = kLeaves[Below(5)];
  // One GPU each in calm worlds: whatever is free can be used.
  job.gpus = weather_ == Weather::kCalm ? 1 : 1 << Below(4);
  job.pods = weather_ == Weather::kCalm ? 1 + Below(16) : 1 + Below(4);
  job.least = Chance(20) ? std::max(1, job.pods / 2) : job.pods;
  job.priority = Below(3);
  job.created = now().milliseconds() + made_;
  job.runs_for = Seconds(60 + Below(4000));
  cluster::PodGroup group = MakePodGroup(name).MinMember(job.least).CreatedAt(job.created);
  group.queue = job.queue;
  Harness::Add(group);
  Create(name, job);
}

// Those that its controller misses.
void ContestWorld::Create(const std::string& name, Job& job) {
  while (static_cast<int>(job.names.size()) < job.pods) {
    const std::string pod = name + "-" + std::to_string(job.made++);
    job.names.insert(pod);
    Harness::Add(MakePod(pod)
                     .Gpus(job.gpus)
                     .Priority(static_cast<int32_t>(job.priority))
                     .CreatedAt(job.created)
                     .InGroup(name)
                     .Gated()
                     .Build());
  }
}

void ContestWorld::End(const std::string& name) {
  for (const std::string& pod : jobs_.at(name).names) {
    RemovePod(pod);
    leaves_at_.erase(pod);
    leaves_for_.erase(pod);
    calls_.erase(pod);
  }
  RemoveGroup(name);
  if (claims_.erase(name) > 0) ++tally_.given_up["it is gone"];
  jobs_.erase(name);  // the last: the name may be this job's own key
}

void ContestWorld::Disturb() {
  const auto job = [&] { return std::next(jobs_.begin(), Below(static_cast<int>(jobs_.size()))); };
  switch (Below(4)) {
    case 0: {
      const std::string node = "n" + std::to_string(Below(kClusterNodes));
      bool& ready = nodes_ready_.at(node);
      ready = !ready;
      NodeBuilder next = MakeNode(node).Gpus(static_cast<int>(node_gpus_));
      Add(ready ? next.Build() : next.NotReady().Build());
      break;
    }
    case 1:
      if (!jobs_.empty()) End(job()->first);
      break;
    case 2: {
      if (jobs_.empty()) break;
      const std::set<std::string>& names = job()->second.names;
      const std::string pod = *std::next(names.begin(), Below(static_cast<int>(names.size())));
      if (!Pod(pod).deleting) Change(pod, [](cluster::Pod& one) { one.deleting = true; });
      leaves_at_.try_emplace(pod, now() + Seconds(Below(60)));
      break;
    }
    default: {
      if (jobs_.empty()) break;
      const auto chosen = job();
      chosen->second.priority = Below(4);
      const engine::SetPriority order{{"default", chosen->first}, chosen->second.priority};
      if (!engine().Carry({"ann", order}, now()).ok()) Fail("an order was refused");
      break;
    }
  }
}

void ContestWorld::Step() {
  const int kind = Below(100);
  if (kind < 45 && jobs_.size() < 24) {
    Submit();
  } else if (kind < 55 && weather_ == Weather::kRough) {
    Disturb();
  }
  Run(Seconds(Below(kind % 7 == 0 ? 1200 : 120)), true);
  JudgeOrder();
}

Time ContestWorld::NextEvent(bool ending) const {
  Time next = Time::Never();
  for (const auto& [pod, at] : leaves_at_) next = std::min(next, at);
  for (const auto& [name, job] : jobs_) {
    if (ending && job.whole_since) next = std::min(next, *job.whole_since + job.runs_for);
  }
  return next;
}

void ContestWorld::Run(Duration duration, bool ending) {
  const Time until = now() + duration;
  while (finding_.empty()) {
    Serve();
    std::vector<std::string> ended;
    for (const auto& [name, job] : jobs_) {
      if (ending && job.whole_since && *job.whole_since + job.runs_for <= now())
        ended.push_back(name);
    }
    for (const std::string& name : ended) End(name);
    if (!ended.empty()) continue;
    if (now() >= until) return;
    const Time next = std::min({until, NextEvent(ending), engine().NextWake()});
    Pass(std::max(Duration(0), next - now()));
  }
}

// Until nothing more happens at this time.
void ContestWorld::Serve() {
  for (int round = 0; round < 1000 && finding_.empty(); ++round) {
    Settle();
    JudgeBatches();
    const bool gone = CollectGone();
    const bool bound = BindReleased();
    Settle();
    JudgeBatches();
    NoteStarts();
    JudgeLimits();
    FollowClaims();
    if (!gone && !bound) return;
  }
  Fail("the world does not come to rest");
}

// Their controllers make others at once.
bool ContestWorld::CollectGone() {
  bool any = false;
  for (auto& [name, job] : jobs_) {
    std::vector<std::string> gone;
    for (const std::string& pod : job.names) {
      const auto at = leaves_at_.find(pod);
      if (at != leaves_at_.end() && at->second <= now()) gone.push_back(pod);
    }
    for (const std::string& pod : gone) {
      RemovePod(pod);
      job.names.erase(pod);
      leaves_at_.erase(pod);
      leaves_for_.erase(pod);
      calls_.erase(pod);
      any = true;
    }
    job.lost = job.lost || (!gone.empty() && BoundOf(job) > 0);
    Create(name, job);
  }
  return any;
}

bool ContestWorld::BindReleased() {
  bool any = false;
  for (const auto& [name, job] : jobs_) {
    for (const std::string& pod : job.names) {
      const cluster::Pod& one = Pod(pod);
      if (!one.gates.empty() || one.bound() || one.deleting) continue;
      const auto call = calls_.find(pod);
      if (call != calls_.end() && !bind_answers.contains(call->second)) continue;
      calls_.erase(pod);
      const std::string node = Filter(pod).node;
      if (node.empty()) continue;
      calls_[pod] = Bind(pod, node);
      any = true;
    }
  }
  return any;
}

int ContestWorld::BoundOf(const Job& job) const {
  return static_cast<int>(
      std::count_if(job.names.begin(), job.names.end(), [&](const std::string& name) {
        const cluster::Pod& pod = Pod(name);
        return pod.bound() && !pod.deleting;
      }));
}

void ContestWorld::NoteStarts() {
  for (auto& [name, job] : jobs_) {
    const int bound = BoundOf(job);
    if (bound == 0) {
      job.whole_since.reset();
      job.lost = false;
    }
    if (bound < job.least || job.whole_since) continue;
    job.whole_since = now();
  }
}

void ContestWorld::ComeToRest() {
  resting_ = true;
  for (auto& [node, ready] : nodes_ready_) {
    if (!std::exchange(ready, true)) Add(MakeNode(node).Gpus(static_cast<int>(node_gpus_)).Build());
  }
  const auto most = static_cast<int64_t>(8 * 16 * (jobs_.size() + 1));
  const int64_t before = tally_.evicted;
  Run(Seconds(6 * 3600), false);
  const int64_t then = tally_.evicted;
  Run(Seconds(2 * 3600), false);
  if (then - before > most || tally_.evicted != then)
    Fail("evictions do not come to an end though nobody arrives, ends or fails");
  if (finding_.empty()) JudgeGuarantees();
  while (finding_.empty() && !jobs_.empty()) {
    const size_t left = jobs_.size();
    Run(Seconds(3 * 3600), true);
    for (const GangView& gang : engine().Gangs()) {  // larger than a limit of its queue (R12)
      if (gang.state == GangState::kUnsatisfiable) End(gang.id.key.name);
    }
    if (jobs_.size() < left) continue;
    Fail("gang " + jobs_.begin()->first +
         " never starts: " + engine::Describe(Gang(jobs_.begin()->first).reason));
  }
}

}  // namespace muster::testing
