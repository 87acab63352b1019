// MissedPods: pods that are Muster's by the label of their namespace (kScheduleLabel) and have the
// default scheduler all the same, because nobody took them at their creation: the webhook was away
// (it fails open), or the admission policy is not installed. schedulerName cannot be changed, so
// all that is left is to say it.
//
// 1. Missed is a pod that does not name another scheduler by itself, is of no DaemonSet, and was
//    created while the label was there. Since when it is there is known of labels that came while
//    this process ran; a label that was there before counts from `look_back` before the start on.
// 2. A process reports each pod once. A pod that a replica sees while another one leads is left to
//    that leader; a new leader reports those of the last `handover`.
// 3. At most `most_told` in `per` get an Event; the others are counted, and the log says how many.
// 4. Bounded: what waits for its namespace or for a leader, `most_waiting`; what was told, as many
//    as there are such pods.
//
// No I/O. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/actions.hpp"
#include "engine/contract/facts.hpp"
#include "kube/admission/admission_review.hpp"
#include "kube/api/step_thread.hpp"

namespace muster::kube {

class MissedPods {
 public:
  struct Options {
    std::set<std::string> spared_namespaces = {kSystemNamespace};
    cluster::Duration look_back = cluster::Seconds(3'600);
    cluster::Duration handover = cluster::Seconds(120);
    int64_t most_told = 30;
    cluster::Duration per = cluster::Seconds(60);
    size_t most_waiting = 4'096;
  };
  // What is to be said now.
  struct Report {
    std::vector<engine::EmitEvent> events;
    std::vector<std::string> lines;  // for the log
  };
  using Names = std::vector<std::string>;

  MissedPods(Options options, const Clocks& start)
      : options_(std::move(options)), start_(start.wall) {}

  // A fact, as it was read. `ours`: Muster's schedulerNames.
  Report Note(const engine::Fact& fact, const Names& ours, const Clocks& now);
  // From now on this process says what there is to say.
  Report Lead(const Clocks& now);
  int64_t count() const { return count_; }  // so many were missed, as far as this process led

 private:
  struct Labelled {
    cluster::NamespaceUid uid;
    TakenPods taken = TakenPods::kNone;
    std::string label;
    cluster::Time since;  // wall; 0: before it was first seen
  };
  struct Candidate {
    cluster::PodUid uid;
    cluster::ObjectKey key;
    cluster::Time created;
    bool gpus = false;
    cluster::Time seen;  // steady
  };

  void NoteNamespace(const cluster::Namespace& ns, const Clocks& now, Report& report);
  void NotePod(const cluster::Pod& pod, const Names& ours, const Clocks& now, Report& report);
  bool IsMissed(const Candidate& pod, const Labelled& ns) const;
  void Judge(const Candidate& pod, const Clocks& now, Report& report);
  void JudgeWaiting(const Clocks& now, Report& report);
  void Tell(const Candidate& pod, const Labelled& ns, const Clocks& now, Report& report);

  const Options options_;
  const cluster::Time start_;  // wall
  bool leading_ = false;
  std::map<std::string, Labelled> namespaces_;  // all that are known, by name
  std::map<cluster::NamespaceUid, std::string> names_;
  // For their namespaces, or for this process to lead.
  std::map<cluster::PodUid, Candidate> waiting_;
  std::unordered_set<cluster::PodUid> told_;
  int64_t count_ = 0;
  int64_t untold_ = 0;     // of `count_`, without an Event, since the last line
  int64_t in_window_ = 0;  // Events since window_
  cluster::Time window_;   // steady
};

}  // namespace muster::kube
