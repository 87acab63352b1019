#include "engine/trial/what_if.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "engine/gangs/membership.hpp"
#include "engine/trial/trial_world.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

// Gangs that hold something, by when they are known to end.
class Ends {
 public:
  explicit Ends(const TrialWorld& world) : world_(world) {}
  void AddAll() {
    for (const GangView& gang : world_.scheduler().Gangs()) Add(gang.id);
  }
  void Add(const GangId& gang) {
    const std::optional<KnownEnd> end = world_.scheduler().EndOf(gang, world_.now());
    if (end) ends_.insert({{end->at, gang}, end->by});
  }
  Time next() const { return ends_.empty() ? Time::Never() : ends_.begin()->first.first; }
  // Of `next`.
  std::pair<GangId, queues::Trust> Take() {
    const auto node = ends_.extract(ends_.begin());
    return {node.key().second, node.mapped()};
  }

 private:
  const TrialWorld& world_;
  std::map<std::pair<Time, GangId>, queues::Trust> ends_;
};

// One way in which it may go on.
class Trial {
 public:
  explicit Trial(const WhatIf& what) : what_(what), world_(what.options, what.rules, what.now) {
    for (const Fact& fact : what.known) world_.Tell(fact);
    for (const Fact& fact : what.workload) world_.Tell(fact);
  }

 protected:
  bool Stopped() {
    if (std::exchange(moment_, world_.now()) != world_.now()) rounds_ = 0;
    return rounds_++ >= what_.most_rounds || (what_.stop && what_.stop());
  }
  cluster::Duration Passed() const { return world_.now() - what_.now; }
  std::vector<WhatIfEviction> TakeEvictions() {
    std::vector<WhatIfEviction> evictions = world_.TakeEvictions();
    for (WhatIfEviction& one : evictions) one.after = Passed();
    return evictions;
  }

  const WhatIf& what_;
  TrialWorld world_;

 private:
  int64_t rounds_ = 0;  // at `moment_`
  Time moment_;
};

class NowTrial : Trial {
 public:
  using Trial::Trial;

  void Go(WhatIfAnswer& answer) {
    answer.complete = Run(answer);
    answer.queues = world_.scheduler().Queues();
    for (GangView& gang : world_.scheduler().Gangs()) {
      if (!Waits(gang)) continue;
      WhatIfWait wait{std::move(gang), {}, {}};
      const GangId& id = wait.gang.id;
      if (std::binary_search(answer.workload.begin(), answer.workload.end(), id))
        wait.turn = world_.scheduler().TurnOf(id.key);
      answer.waits.push_back(std::move(wait));
    }
  }

 private:
  // False: it was stopped.
  bool Run(WhatIfAnswer& answer) {
    while (!Stopped()) {
      const bool more = world_.Cycle();
      for (GangView& gang : world_.TakeStarts())
        answer.starts.push_back({std::move(gang), Passed()});
      for (WhatIfEviction& one : TakeEvictions()) answer.evictions.push_back(std::move(one));
      if (more) continue;
      const Time wake = world_.scheduler().NextWake();
      if (wake > what_.now + what_.horizon) return true;
      world_.Pass(wake);
    }
    return false;
  }
};

// Of gangs of the workload, where there are some, else of all that wait.
class LaterTrial : Trial {
 public:
  LaterTrial(const WhatIf& what, WhatIfAnswer& answer)
      : Trial(what), answer_(answer), ends_(world_) {}

  void Go() {
    for (const WhatIfWait& wait : answer_.waits) {
      if (AskedFor(wait.gang.id)) left_.insert(wait.gang.id);
    }
    world_.Cycle();  // it has looked at what it was told
    ends_.AddAll();
    answer_.looked_at_all = Run();
    answer_.looked_ahead = Passed();
  }

 private:
  bool AskedFor(const GangId& gang) const {
    const std::vector<GangId>& workload = answer_.workload;
    return workload.empty() || std::binary_search(workload.begin(), workload.end(), gang);
  }

  // False: it was stopped.
  bool Run() {
    while (!left_.empty()) {
      if (Stopped()) return false;
      const bool more = world_.Cycle();
      for (WhatIfEviction& one : TakeEvictions()) evictions_[one.by].push_back(std::move(one));
      for (const GangView& gang : world_.TakeStarts()) {
        NoteStart(gang.id);
        ends_.Add(gang.id);
      }
      if (more) continue;
      const Time next = std::min(world_.scheduler().NextWake(), ends_.next());
      if (next > what_.now + what_.outlook) break;
      world_.Pass(next);
      while (ends_.next() <= world_.now()) EndOne();
    }
    return true;
  }

  void EndOne() {
    const auto [gang, by] = ends_.Take();
    last_ = gang;
    weakest_ = std::max(weakest_, by);
    world_.End(gang);
  }

  void NoteStart(const GangId& gang) {
    if (left_.erase(gang) == 0) return;
    const auto wait =
        std::lower_bound(answer_.waits.begin(), answer_.waits.end(), gang,
                         [](const WhatIfWait& one, const GangId& id) { return one.gang.id < id; });
    wait->later = WhatIfLater{Passed(), weakest_, last_, evictions_[gang.key]};
  }

  WhatIfAnswer& answer_;
  Ends ends_;
  std::set<GangId> left_;
  GangId last_;  // that has ended
  queues::Trust weakest_ = queues::Trust::kNone;
  std::map<cluster::ObjectKey, std::vector<WhatIfEviction>> evictions_;  // by for whom
};

// Ordered.
std::vector<GangId> GangsOf(const std::vector<Fact>& workload) {
  std::set<GangId> gangs;
  for (const Fact& fact : workload) {
    if (const auto* pod = std::get_if<Pod>(&fact)) gangs.insert(Membership::IdFor(*pod));
    if (const auto* group = std::get_if<cluster::PodGroup>(&fact))
      gangs.insert(GangId{group->key, false});
  }
  return {gangs.begin(), gangs.end()};
}

}  // namespace

WhatIfAnswer TryOut(const WhatIf& what) {
  WhatIfAnswer answer;
  answer.workload = GangsOf(what.workload);
  NowTrial(what).Go(answer);
  if (answer.complete && what.outlook > cluster::Duration(0)) LaterTrial(what, answer).Go();
  return answer;
}

}  // namespace muster::engine
