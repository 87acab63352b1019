#include "kube/admission/missed_pods.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace muster::kube {

using cluster::Time;

namespace {

constexpr const char* kReason = "NotScheduledByMuster";

bool MayBeMissed(const cluster::Pod& pod, const std::vector<std::string>& ours) {
  const std::string& name = pod.spec->scheduler_name;
  return (name.empty() || name == kDefaultScheduler) && !pod.daemon && !pod.ending() &&
         !pod.bound_by_muster && std::find(ours.begin(), ours.end(), name) == ours.end();
}

}  // namespace

MissedPods::Report MissedPods::Note(const engine::Fact& fact, const Names& ours,
                                    const Clocks& now) {
  Report report;
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    NotePod(*pod, ours, now, report);
  } else if (const auto* ns = std::get_if<cluster::Namespace>(&fact)) {
    NoteNamespace(*ns, now, report);
  } else if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    told_.erase(gone->uid);
    waiting_.erase(gone->uid);
  } else if (const auto* left = std::get_if<engine::NamespaceRemoved>(&fact)) {
    const auto found = names_.find(left->uid);
    if (found != names_.end()) {
      // Another one may have its name by now.
      const auto named = namespaces_.find(found->second);
      if (named != namespaces_.end() && named->second.uid == left->uid) namespaces_.erase(named);
      names_.erase(found);
    }
  }
  return report;
}

void MissedPods::NoteNamespace(const cluster::Namespace& ns, const Clocks& now, Report& report) {
  const std::string& name = ns.key.name;
  const auto label = ns.labels.find(kScheduleLabel);
  const std::string text = label == ns.labels.end() ? "" : label->second;
  const bool spared = options_.spared_namespaces.contains(name);
  const TakenPods taken = spared ? TakenPods::kNone : TakenPodsOf(text);
  const auto [found, first] = namespaces_.try_emplace(name);
  names_.insert_or_assign(ns.uid, name);
  Labelled& known = found->second;
  if (known.label != text && !text.empty() && taken == TakenPods::kNone) {
    report.lines.push_back("namespace " + name + " has label " + kScheduleLabel + "=" + text +
                           (spared ? ", which has no effect there: it is never taken"
                                   : ", which has no effect: expected gpu or all"));
  }
  if (known.taken != taken) known.since = first ? Time(0) : now.wall;
  known.taken = taken;
  known.label = text;
  known.uid = ns.uid;
  if (first && leading_) JudgeWaiting(now, report);
}

void MissedPods::JudgeWaiting(const Clocks& now, Report& report) {
  for (const auto& [uid, pod] : std::exchange(waiting_, {})) Judge(pod, now, report);
}

void MissedPods::NotePod(const cluster::Pod& pod, const Names& ours, const Clocks& now,
                         Report& report) {
  if (!MayBeMissed(pod, ours) || told_.contains(pod.uid)) return;
  if (pod.created < Time(start_.milliseconds() - options_.look_back.value())) return;
  Judge({pod.uid, pod.key, pod.created, !pod.spec->gpus.none(), now.steady}, now, report);
}

// Of a namespace whose label changed from gpu to all the time of that change counts.
bool MissedPods::IsMissed(const Candidate& pod, const Labelled& ns) const {
  if (ns.taken == TakenPods::kNone || pod.created < ns.since) return false;
  return ns.taken == TakenPods::kAll || pod.gpus;
}

void MissedPods::Judge(const Candidate& pod, const Clocks& now, Report& report) {
  const auto ns = namespaces_.find(pod.key.ns);
  if (ns != namespaces_.end() && !IsMissed(pod, ns->second)) return;
  if (ns == namespaces_.end() || !leading_) {
    if (waiting_.size() < options_.most_waiting) waiting_.emplace(pod.uid, pod);
    return;
  }
  Tell(pod, ns->second, now, report);
}

void MissedPods::Tell(const Candidate& pod, const Labelled& ns, const Clocks& now, Report& report) {
  if (!told_.insert(pod.uid).second) return;
  ++count_;
  if (now.steady - window_ >= options_.per) {
    if (untold_ > 0) {
      report.lines.push_back(std::to_string(untold_) +
                             " more pods were not taken for Muster, without an Event each");
    }
    window_ = now.steady;
    in_window_ = 0;
    untold_ = 0;
  }
  if (in_window_ >= options_.most_told) {
    ++untold_;
    return;
  }
  ++in_window_;
  const std::string why =
      "its schedulerName is default-scheduler, though namespace " + pod.key.ns + " has label " +
      kScheduleLabel + "=" + ns.label +
      ": it was created while neither the admission policy nor Muster's webhook could take it. "
      "Create it again to have Muster schedule it";
  engine::EmitEvent event;
  event.key = pod.key;
  event.uid = pod.uid.text();
  event.on_pod = true;
  event.warning = true;
  event.reason = kReason;
  event.message = "Muster does not schedule this pod: " + why;
  report.lines.push_back("pod " + pod.key.ToString() + " is not Muster's: " + why);
  report.events.push_back(std::move(event));
}

MissedPods::Report MissedPods::Lead(const Clocks& now) {
  Report report;
  leading_ = true;
  std::erase_if(waiting_,
                [&](const auto& one) { return now.steady - one.second.seen > options_.handover; });
  JudgeWaiting(now, report);
  return report;
}

}  // namespace muster::kube
