// BookingWorld: a Harness with queues, whose pods run for as long as they say and then succeed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::testing {

inline engine::Options WithQueues(std::vector<queues::QueueSpec> queues) {
  engine::Options options;
  if (!queues.empty()) options.queues = std::move(queues);
  return options;
}

class BookingWorld : public Harness {
 public:
  explicit BookingWorld(const engine::Options& options, engine::Rules rules = {})
      : Harness(options, std::move(rules)) {}

  // `gpus` GPUs, expected to run so long; 0: nobody says. It really runs for `really`, or as long
  // as it says; without either it does not end.
  void Ask(const std::string& name, int gpus, int64_t seconds, const std::string& queue = "",
           int64_t really = 0) {
    AskLike(MakePod(name).Gpus(gpus), seconds, queue, really);
  }
  void AskLike(PodBuilder like, int64_t seconds, const std::string& queue = "",
               int64_t really = 0) {
    cluster::Pod pod = like.CreatedAt(now().milliseconds() + made_++).Gated().Build();
    pod.asked_queue = queue;
    if (seconds > 0) {
      pod.run_times = std::make_shared<const cluster::RunTimes>(
          cluster::RunTimes{.declared = cluster::Seconds(seconds)});
    }
    if (const int64_t runs = really > 0 ? really : seconds; runs > 0)
      runs_[pod.key.name] = cluster::Seconds(runs);
    const std::string name = pod.key.name;
    Add(std::move(pod));
  }

  // Lets time pass; whatever is reserved starts at once, whatever has run its time succeeds.
  void Run(cluster::Duration duration) {
    const cluster::Time until = now() + duration;
    while (true) {
      StartReserved();
      const cluster::Time next = std::min({until, NextEnd(), engine().NextWake()});
      if (next > until || now() >= until) return;
      Pass(std::max(cluster::Duration(0), next - now()));
      EndDue();
    }
  }
  // Of a gang of one pod.
  bool Runs(const std::string& name) const { return ends_.contains(name); }
  bool Started(const std::string& name) const { return started_.contains(name); }
  cluster::Time StartedAt(const std::string& name) const { return started_.at(name); }
  // When the last pod there ends, of those that do.
  cluster::Time LastEndOn(const std::string& node) const {
    cluster::Time last = now();
    for (const auto& [name, end] : ends_) {
      if (Pod(name).node_name == node) last = std::max(last, end);
    }
    return last;
  }
  std::string Why(const std::string& name) const { return Describe(Gang(name).reason); }

 private:
  void StartReserved() {
    for (bool more = true; more;) {
      more = false;
      Settle();
      for (const engine::GangView& gang : engine().Gangs()) {
        if (gang.state != engine::GangState::kReserved) continue;
        for (const engine::MemberView& member : gang.members) {
          Bind(member.pod.name);
          started_[member.pod.name] = now();
          ends_[member.pod.name] = runs_.contains(member.pod.name)
                                       ? now() + runs_.at(member.pod.name)
                                       : cluster::Time::Never();
        }
        more = true;
      }
    }
  }
  cluster::Time NextEnd() const {
    cluster::Time next = cluster::Time::Never();
    for (const auto& [name, end] : ends_) next = std::min(next, end);
    return next;
  }
  void EndDue() {
    std::vector<std::string> ended;
    for (const auto& [name, end] : ends_) {
      if (end <= now()) ended.push_back(name);
    }
    for (const std::string& name : ended) {
      ends_.erase(name);
      Succeed(name);
    }
  }

  int64_t made_ = 0;
  std::map<std::string, cluster::Duration> runs_;
  std::map<std::string, cluster::Time> started_;
  std::map<std::string, cluster::Time> ends_;  // of those that run
};

}  // namespace muster::testing
