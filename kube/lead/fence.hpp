// Fence: keeps what the leader before this one sent late from binding a pod.
//
//   Raise ── a write to each pod, `calls` at a time, all `within` ──▶ fenced: nothing is said
//                 │ refused, not answered, not reached in time
//                 ▼
//              Unfenced told ── Step: the same again ──▶ fenced, changed by anybody, gone, or
//                               after 1, 2, … seconds     `stray` has passed: Fenced told
//
// 1. A Binding names the version of the pod that its sender knew. Whatever changes the pod after
//    everything was listed in this term makes a Binding of an earlier term one of an old version,
//    which the API server refuses.
// 2. Only pods that bear cluster::kEpochAnnotation and have no gate can have a Binding under way
//    (MayBeBound). Each costs one write, all others none.
// 3. Raise fails only when the term ends. A pod that cannot be written keeps nobody from leading:
//    the engine is notified which pod, on which node and why, and when that is over.
// 4. A write of a leader that is gone ends with the API server's own limit on a request (1 min as
//    it comes), and a call reaches the server within the time in which the network gives up on it;
//    `stray` leaves as much again.
// 5. In a round namespaces take turns. Within a namespace, the pods that had no turn in the rounds
//    before come first. So a namespace whose writes hang holds up its own pods, and no pods of
//    other namespaces.
//
// Raise by one thread, and only then Step by one thread; nothing else is shared.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/facts.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/write/pod_writer.hpp"

namespace muster::kube {

struct FenceOptions {
  int calls = 16;                                 // at a time
  std::chrono::milliseconds within{3'000};        // of a round over all pods: a third of a term
  std::chrono::milliseconds timeout{1'500};       // of one call
  cluster::Duration again = cluster::Seconds(1);  // before the second round; then twice as long
  cluster::Duration again_max = cluster::Seconds(15);
  cluster::Duration stray = cluster::Seconds(120);
};

// A pod that an earlier leader may have sent a Binding of.
struct HandedOverPod {
  engine::PodRef pod;
  std::string node;     // that it was planned on as far as the pod tells; empty: it does not
  int64_t version = 0;  // as listed in this term
};

// What the fence has to do with this pod; nothing: no Binding of it can be under way.
std::optional<HandedOverPod> MayBeBound(const cluster::Pod& pod);

class Fence {
 public:
  struct Ports {
    ApiCaller& api;
    PodVersions& versions;                          // told what the pods have now
    std::function<bool()> leads;                    // asked before each call
    std::function<void(const engine::Fact&)> tell;  // pods as they are now, Unfenced, Fenced
    std::function<void(const std::string&)> warn;
    std::function<Clocks()> clock = ReadClocks;
  };

  Fence(Ports ports, FenceOptions options) : ports_(std::move(ports)), options_(options) {}

  // `epoch`: unlike that of any leader before. An error: the term is over.
  cluster::Status Raise(const std::vector<HandedOverPod>& pods, const std::string& epoch);
  // Tries those that are left, and returns when it wants to be called again.
  cluster::Time Step(const Clocks& now);

 private:
  struct Left {
    HandedOverPod at;
    std::string why;
    int tries = 0;         // rounds in which it had its turn
    bool changed = false;  // somebody wrote it; the engine has been told with the next Step
  };

  // Why each of them is not fenced; empty: it is.
  std::vector<std::string> Round(const std::vector<HandedOverPod>& pods);
  std::string Write(const HandedOverPod& at, std::chrono::milliseconds timeout);
  std::string Look(const HandedOverPod& at, const std::string& why,
                   std::chrono::milliseconds timeout);
  void Take(const std::string& body);
  void Settle(const HandedOverPod& at);

  const Ports ports_;
  const FenceOptions options_;
  std::string epoch_;
  cluster::Time raised_;  // steady
  cluster::Time next_;    // round
  cluster::Duration wait_;
  std::map<cluster::PodUid, Left> left_;
};

}  // namespace muster::kube
