#include "engine/machines/node_health.hpp"

#include <algorithm>
#include <limits>

namespace muster::engine {

using cluster::Duration;
using cluster::Node;
using cluster::Pod;
using cluster::PodPhase;
using cluster::PodUid;
using cluster::Time;

namespace {

// So many devices out at a time are the node's fault.
constexpr size_t kManyDevices = 2;

// The device plugin of such a node keeps to the list that the pod was bound with.
bool KeepsToTheList(const Pod& pod, const Node* node) {
  if (node == nullptr || pod.bound_gpus.empty()) return false;
  return std::all_of(pod.bound_gpus.begin(), pod.bound_gpus.end(), [&](cluster::GpuIndex listed) {
    return std::any_of(node->gpus.begin(), node->gpus.end(), [&](const cluster::Gpu& gpu) {
      return gpu.index == listed && !gpu.sharing->counted();
    });
  });
}

std::string WithoutDigits(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

bool OfOneTemplate(const Strike& a, const Strike& b) {
  return a.pod.ns == b.pod.ns &&
         (*a.spec == *b.spec || WithoutDigits(a.pod.name) == WithoutDigits(b.pod.name));
}

Duration Penalty(const BadNodes& options, int64_t times) {
  Duration penalty = options.first;
  for (int64_t i = 1; i < times && penalty < options.max; ++i) penalty = penalty * 2;
  return std::min(penalty, options.max);
}

}  // namespace

std::vector<Subject> NodeHealth::SubjectsOf(const Pod& pod, const Node* node) {
  const std::string& name = pod.node_name;
  if (pod.spec->gpus.none()) return {{name, Subject::kWithoutGpus}};
  if (!KeepsToTheList(pod, node)) return {{name, Subject::kWithGpus}};
  std::vector<Subject> devices;
  for (const cluster::GpuIndex gpu : pod.bound_gpus)
    devices.push_back({name, static_cast<int32_t>(gpu.value)});
  return devices;
}

void NodeHealth::Note(const Pod& pod, const std::string& culprit, const Node* node,
                      const BadNodes& options) {
  latest_ = std::max(latest_, pod.running_since);
  if (pod.start_failure != nullptr) latest_ = std::max(latest_, pod.start_failure->at);
  // What is being deleted is stopped from outside.
  const bool judged = pod.bound() && !pod.daemon && !pod.deleting;
  const bool well = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kRunning;
  if (!judged || pod.start_failure != nullptr || !well) trials_.erase(pod.uid);
  if (!judged) return;
  std::vector<Subject> subjects = SubjectsOf(pod, node);
  if (const cluster::StartFailure* failure = pod.start_failure.get()) {
    if (!failure->admission && failure->ran > options.start_window) return;
    return Add(pod.uid, {std::move(subjects), culprit, pod.key, pod.spec, failure->admission,
                         failure->reason, failure->at});
  }
  if (!well || pod.running_since == Time() || !Watches(pod.node_name)) return;
  if (!pod.spec->gpus.none()) {
    subjects.push_back({pod.node_name, Subject::kWithGpus});
    subjects.push_back({pod.node_name, Subject::kWithoutGpus});
  }
  if (pod.phase == PodPhase::kSucceeded) {
    trials_.erase(pod.uid);
    return Acquit(subjects, pod.running_since);
  }
  const auto [trial, fresh] = trials_.try_emplace(pod.uid);
  if (!fresh && trial->second.since == pod.running_since) return;
  trial->second = {pod.running_since, std::move(subjects), std::nullopt};
  pending_ = true;
}

void NodeHealth::Add(const PodUid& pod, Strike strike) {
  if (strikes_.contains(pod) || latest_ - strike.at > kRemember) return;
  std::erase_if(strike.subjects, [&](const Subject& subject) {
    const auto record = records_.find(subject);
    return record != records_.end() && strike.at <= record->second.void_until;
  });
  if (strike.subjects.empty()) return;
  ++(strike.admission ? refused_ : failed_early_);
  ++culprits_[{strike.culprit, strike.admission}][strike.subjects.front().node];
  by_time_.insert({strike.at, pod});
  const Strike& kept = strikes_.emplace(pod, std::move(strike)).first->second;
  for (const Subject& subject : kept.subjects) records_[subject].strikes[{kept.at, pod}] = &kept;
  if (strikes_.size() > kMost) Drop(PodUid(by_time_.begin()->second));
  pending_ = true;
}

void NodeHealth::Drop(const PodUid& pod) {
  const auto found = strikes_.find(pod);
  const Strike& strike = found->second;
  for (const Subject& subject : strike.subjects)
    records_.at(subject).strikes.erase({strike.at, pod});
  const auto culprit = culprits_.find({strike.culprit, strike.admission});
  const auto node = culprit->second.find(strike.subjects.front().node);
  if (--node->second == 0) culprit->second.erase(node);
  if (culprit->second.empty()) culprits_.erase(culprit);
  by_time_.erase({strike.at, pod});
  strikes_.erase(found);
}

// What a node is left out for is kept until it is taken back.
void NodeHealth::Age() {
  std::vector<PodUid> aged;
  for (const auto& [at, pod] : by_time_) {
    if (latest_ - at <= kRemember) break;
    const std::vector<Subject>& subjects = strikes_.at(pod).subjects;
    if (std::none_of(subjects.begin(), subjects.end(),
                     [&](const Subject& subject) { return records_.at(subject).out; })) {
      aged.push_back(pod);
    }
  }
  for (const PodUid& pod : aged) Drop(pod);
}

void NodeHealth::ForgetPod(const PodUid& pod) { trials_.erase(pod); }

bool NodeHealth::Watches(const std::string& node) const {
  const auto first = records_.lower_bound({node, std::numeric_limits<int32_t>::min()});
  return first != records_.end() && first->first.node == node;
}

void NodeHealth::ForgetNode(const std::string& node) {
  std::set<PodUid> gone;
  const auto first = records_.lower_bound({node, std::numeric_limits<int32_t>::min()});
  auto last = first;
  for (; last != records_.end() && last->first.node == node; ++last) {
    for (const auto& [key, strike] : last->second.strikes) gone.insert(key.second);
  }
  for (const PodUid& pod : gone) Drop(pod);
  if (first != last) pending_ = true;  // another may take its place
  records_.erase(first, last);
  std::erase_if(trials_,
                [&](const auto& trial) { return trial.second.subjects.front().node == node; });
}

void NodeHealth::Acquit(const std::vector<Subject>& subjects, Time since) {
  for (const Subject& subject : subjects) {
    const auto found = records_.find(subject);
    if (found == records_.end()) continue;
    Record& record = found->second;
    record.void_until = std::max(record.void_until, since);
    if (Standing(record).empty()) record.times = 0;
    pending_ = true;
  }
}

bool NodeHealth::Excused(const Strike& strike) const {
  const size_t many = std::clamp<size_t>(nodes_, 2, kManyNodes);
  return culprits_.at({strike.culprit, strike.admission}).size() >= many;
}

std::vector<const Strike*> NodeHealth::Standing(const Record& record) const {
  std::vector<const Strike*> standing;
  for (const auto& [key, strike] : record.strikes) {
    if (strike->at > record.void_until && !Excused(*strike)) standing.push_back(strike);
  }
  const bool of_one = std::all_of(standing.begin(), standing.end(), [&](const Strike* strike) {
    return OfOneTemplate(*strike, *standing.front());
  });
  if (of_one) std::erase_if(standing, [](const Strike* strike) { return !strike->admission; });
  return standing;
}

bool NodeHealth::Convicts(const Record& record, const BadNodes& options) const {
  struct Blame {
    int64_t strikes = 0;
    Time last_crash{std::numeric_limits<int64_t>::min() / 2};
  };
  std::map<std::string, Blame> blames;
  for (const Strike* strike : Standing(record)) {
    if (record.times > 0) return true;
    Blame& blame = blames[strike->culprit];
    const bool same_incident = !strike->admission && strike->at - blame.last_crash <= kOneIncident;
    if (!strike->admission) blame.last_crash = strike->at;
    blame.strikes += same_incident ? 0 : 1;
    if (blame.strikes >= options.pods) return true;
  }
  return !blames.empty() && static_cast<int64_t>(blames.size()) >= options.gangs;
}

std::string NodeHealth::Why(const Record& record) const {
  const std::vector<const Strike*> standing = Standing(record);
  std::set<std::string> gangs;
  for (const Strike* strike : standing) gangs.insert(strike->culprit);
  const Strike& last = *standing.back();
  const auto some = [](size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  return some(standing.size(), "pod") + " of " + some(gangs.size(), "gang") +
         " failed there at their start, the last one " + last.pod.ToString() + ": " + last.reason +
         (last.admission ? " at admission" : "");
}

void NodeHealth::EndTrials(const BadNodes& options, Time now) {
  for (auto next = trials_.begin(); next != trials_.end();) {
    Trial& trial = next->second;
    if (!trial.ends) trial.ends = now + options.start_window;
    if (*trial.ends > now) {
      ++next;
      continue;
    }
    Acquit(trial.subjects, trial.since);
    next = trials_.erase(next);
  }
}

std::string NodeHealth::NameOf(const Subject& subject) {
  return subject.what < 0 ? "the node" : "GPU " + std::to_string(subject.what);
}

void NodeHealth::TakeBack(const Subject& subject, Record& record, std::vector<Change>& changes) {
  const bool acquitted = Standing(record).empty();
  record.out = false;
  record.why.clear();
  if (acquitted) record.times = std::max<int64_t>(record.times - 1, 0);
  // Pods that were on their way when it began are no news.
  if (!acquitted) record.void_until = record.strikes.rbegin()->first.first;
  changes.push_back({subject.node, false,
                     NameOf(subject) + " takes new members again: " +
                         (acquitted ? "a member started well there, or the gang that failed there "
                                      "fails everywhere"
                                    : "its time is over")});
}

void NodeHealth::LeaveOut(const BadNodes& options, size_t nodes, Time now,
                          std::vector<Change>& changes) {
  const int64_t share = static_cast<int64_t>(nodes) * options.most_percent / 100;
  const bool never = options.most_percent == 0 || nodes < 2;
  const size_t most = never ? 0 : static_cast<size_t>(std::max<int64_t>(share, 1));
  std::set<std::string> out = Out();
  for (auto& [subject, record] : records_) {
    const bool room = out.contains(subject.node) || out.size() < most;
    if (record.out || !room || !Convicts(record, options)) continue;
    const Duration penalty = Penalty(options, ++record.times);
    record.out = true;
    record.until = now + penalty;
    record.why = NameOf(subject) + ": " + Why(record);
    out.insert(subject.node);
    changes.push_back({subject.node, true,
                       NameOf(subject) + " is left out for new members for " +
                           std::to_string(penalty.value() / 1000) + " s: " + Why(record)});
  }
}

std::vector<NodeHealth::Change> NodeHealth::Decide(const BadNodes& options, size_t nodes,
                                                   Time now) {
  std::vector<Change> changes;
  if (!pending_ && due_ > now) return changes;
  nodes_ = nodes;
  Age();
  EndTrials(options, now);
  for (auto& [subject, record] : records_) {
    const bool over = record.until <= now || Standing(record).empty() || options.most_percent == 0;
    if (record.out && over) TakeBack(subject, record, changes);
  }
  LeaveOut(options, nodes, now, changes);
  pending_ = false;
  due_ = Time::Never();
  for (const auto& [subject, record] : records_) {
    if (record.out) due_ = std::min(due_, record.until);
  }
  for (const auto& [uid, trial] : trials_) due_ = std::min(due_, *trial.ends);
  return changes;
}

std::set<std::string> NodeHealth::Out() const {
  std::set<std::string> out;
  for (const auto& [subject, record] : records_) {
    if (record.out) out.insert(subject.node);
  }
  return out;
}

std::optional<LeftOut> NodeHealth::View(const std::string& node) const {
  std::optional<LeftOut> view;
  bool whole = false;
  for (auto next = records_.lower_bound({node, std::numeric_limits<int32_t>::min()});
       next != records_.end() && next->first.node == node; ++next) {
    const auto& [subject, record] = *next;
    if (!record.out) continue;
    if (!view) view.emplace();
    view->until = std::max(view->until, record.until);
    view->why += (view->why.empty() ? "" : "; ") + record.why;
    whole = whole || subject.what < 0;
    if (subject.what >= 0)
      view->gpus.push_back(cluster::GpuIndex{static_cast<uint16_t>(subject.what)});
  }
  if (view && (whole || view->gpus.size() >= kManyDevices)) view->gpus.clear();
  return view;
}

void NodeHealth::Mark(Node& node) const {
  const std::optional<LeftOut> view = View(node.name);
  node.left_out = view && view->gpus.empty();
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.left_out =
        view && std::find(view->gpus.begin(), view->gpus.end(), gpu.index) != view->gpus.end();
  }
}

NodeHealth::Totals NodeHealth::totals() const {
  Totals totals;
  for (const std::string& node : Out()) {
    const LeftOut view = *View(node);
    totals.nodes += view.gpus.empty() ? 1 : 0;
    totals.gpus += static_cast<int64_t>(view.gpus.size());
  }
  return totals;
}

std::vector<std::string> NodeHealth::Audit() const {
  std::vector<std::string> broken;
  if (strikes_.size() > kMost || by_time_.size() != strikes_.size())
    broken.push_back("failed starts are remembered for ever");
  size_t held = 0;
  size_t told = 0;
  for (const auto& [subject, record] : records_) {
    held += record.strikes.size();
    for (const auto& [key, strike] : record.strikes) {
      const auto found = strikes_.find(key.second);
      if (found == strikes_.end() || &found->second != strike)
        broken.push_back("a failed start that is forgotten is held against node " + subject.node);
    }
    if (record.out && record.times == 0 && !pending_)
      broken.push_back("node " + subject.node +
                       " is left out and the number of times is not known");
  }
  for (const auto& [uid, strike] : strikes_) told += strike.subjects.size();
  if (held != told) broken.push_back("failed starts are remembered without node or device");
  int64_t counted = 0;
  for (const auto& [culprit, nodes] : culprits_) {
    for (const auto& [node, count] : nodes) counted += count;
  }
  if (counted != static_cast<int64_t>(strikes_.size()))
    broken.push_back("failed starts are miscounted");
  return broken;
}

}  // namespace muster::engine
