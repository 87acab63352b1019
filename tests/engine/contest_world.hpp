// ContestWorld: gangs of a tree of queues contend for one small cluster. They arrive, end, lose
// pods, have each other evicted and come back; in rough weather nodes fail and people change their
// minds. The three invariants of the queues, and what evictions are for, are judged by the API
// server's objects: with a ledger that is made anew from the pods each time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "queues/rights.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {

// kCalm: gangs arrive and end, and nothing goes wrong. kRough: everything else, too.
enum class Weather { kCalm, kRough };

class ContestWorld : public Harness {
 public:
  ContestWorld(uint64_t seed, Weather weather);

  void Step();
  // Nobody arrives, ends or fails for hours: evictions come to an end, and who has a right to
  // start has started. Then all run to their ends.
  void ComeToRest();
  // The first thing that was wrong; empty: nothing.
  const std::string& finding() const { return finding_; }

  struct Tally {
    int64_t evicted = 0;                      // pods
    int64_t claims = 0;                       // gangs for which others were evicted
    int64_t started = 0;                      // of these
    std::map<std::string, int64_t> given_up;  // of these, by what the gang says then
    int64_t pairs = 0;                        // of gangs that wait, compared for I1
    int64_t rights = 0;                       // of these, where one may evict the other
    int64_t left_waiting = 0;                 // looked at for their guarantee, at rest
  };
  const Tally& tally() const { return tally_; }

 private:
  struct Job {
    std::string queue;
    int pods = 0;
    int least = 0;  // minMember
    int gpus = 0;   // of each pod
    int64_t created = 0;
    int64_t priority = 0;
    cluster::Duration runs_for;
    std::set<std::string> names;  // of its pods that are there
    int made = 0;                 // pods, ever
    bool lost = false;            // of those that run some went, which come back
    std::optional<cluster::Time> whole_since;
    std::deque<cluster::Time> evicted_at;  // as a whole
  };
  // What queues use, and which priority that has.
  struct Use {
    queues::Ledger ledger;
    std::map<queues::QueueIndex, queues::Ranks> ranks = {};
  };
  // What is evicted for one gang at one time.
  struct Batch {
    cluster::Time at;
    Use use;  // as it was just before
    Use without_leaving;
    std::map<std::string, std::set<std::string>> pods;  // by gang
    std::map<std::string, bool> broken;                 // of these, what lacked members before
  };

  int Below(int most) { return static_cast<int>(dice_() % static_cast<uint32_t>(most)); }
  bool Chance(int percent) { return Below(100) < percent; }
  void Fail(const std::string& what) {
    if (finding_.empty()) finding_ = what;
  }
  void Submit();
  void Create(const std::string& name, Job& job);
  void End(const std::string& name);
  void Disturb();
  void Run(cluster::Duration duration, bool ending);
  void Serve();
  bool BindReleased();
  bool CollectGone();
  void NoteStarts();
  cluster::Time NextEvent(bool ending) const;

  void Hear(const engine::Action& action);
  void JudgeBatches();
  void JudgeBatch(const std::string& claimant, const Batch& batch);
  int64_t LeavingFor(const std::string& claimant, const Batch& batch, const Job& job) const;
  void JudgeProtection(const std::string& claimant, const std::string& victim, const Batch& batch);
  void JudgeEarmarks(const engine::BindPod& bind);
  void JudgeLimits();
  void JudgeOrder();
  void FollowClaims();
  void JudgeGuarantees();

  int BoundOf(const Job& job) const;
  queues::QueueIndex LeafOf(const Job& job) const { return *tree_->Find(job.queue); }
  queues::Vector Gpus(int64_t count) const;
  // `leaving`: what pods hold that are asked to go counts, too.
  Use Truth(const std::string& without, bool leaving = true) const;
  queues::Rights RightsOf(const std::string& name, const Use& use, int pods) const;
  std::vector<std::string> Waiting() const;

  std::mt19937 dice_;
  const Weather weather_;
  std::shared_ptr<const queues::Tree> tree_;
  int64_t node_gpus_ = 8;
  std::map<std::string, bool> nodes_ready_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, cluster::Time> leaves_at_;  // pods that are asked to go
  std::map<std::string, std::string> leaves_for_;   // of these, those that are evicted: for whom
  std::map<std::string, uint64_t> calls_;           // of pods: Bind calls without an answer
  std::map<std::string, Batch> batches_;            // by claimant, of this moment
  std::set<std::string> claims_;                    // gangs for which others were evicted
  int64_t made_ = 0;
  bool resting_ = false;  // nobody takes longer to leave than those who evict wait
  std::string finding_;
  Tally tally_;
};

}  // namespace muster::testing
