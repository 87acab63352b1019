#include "engine/standing/refusals.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/gangs/course.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::PodSpec;
using cluster::PodUid;
using cluster::Time;

namespace {

// "0/4 nodes are available: 3 node(s) had …, 1 Insufficient cpu. preemption: …" -> what stands
// against nodes, without the counts. What is said of preemption is left out.
std::set<std::string_view> CausesIn(std::string_view words) {
  constexpr std::string_view kBegin = "nodes are available: ";
  const size_t begin = words.find(kBegin);
  if (begin != std::string_view::npos) words.remove_prefix(begin + kBegin.size());
  // There is no node at all.
  if (begin == std::string_view::npos && words.ends_with("nodes are available.")) return {};
  words = words.substr(0, words.find(". "));
  if (words.ends_with('.')) words.remove_suffix(1);
  std::set<std::string_view> causes;
  while (!words.empty()) {
    const size_t end = words.find(", ");
    std::string_view cause = words.substr(0, end);
    const size_t text = cause.find_first_not_of("0123456789 ");
    cause.remove_prefix(std::min(text, cause.size()));
    if (!cause.empty()) causes.insert(cause);
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 2);
  }
  return causes;
}

bool OfRoom(std::string_view cause) {
  return cause.starts_with("Insufficient ") || cause == "Too many pods";
}

bool Planned(std::string_view cause) {
  constexpr auto kPlanned = std::to_array<std::string_view>(
      {"node(s) had untolerated taint", "node(s) didn't match Pod's node affinity/selector",
       "node(s) were unschedulable", "node(s) were not ready",
       "node(s) didn't have free ports for the requested pod ports",
       "node(s) didn't match pod affinity rules", "node(s) didn't match pod anti-affinity rules",
       "node(s) didn't satisfy existing pods anti-affinity rules",
       "node(s) didn't match pod topology spread constraints",
       "node(s) had volume node affinity conflict", "node(s) exceed max volume count",
       "node(s) didn't find available persistent volumes to bind"});
  return OfRoom(cause) || std::any_of(kPlanned.begin(), kPlanned.end(),
                                      [&](std::string_view one) { return cause.starts_with(one); });
}

}  // namespace

const std::string* WordsOn(const cluster::Pod& pod) {
  const std::string* words = pod.unschedulable.get();
  if (words == nullptr || words->find("muster: ") != std::string::npos) return nullptr;
  return words;
}

bool Relents(std::string_view before, std::string_view now) {
  const std::set<std::string_view> still = CausesIn(now);
  const std::set<std::string_view> was = CausesIn(before);
  return std::any_of(was.begin(), was.end(), [&](std::string_view cause) {
    return !OfRoom(cause) && !still.contains(cause);
  });
}

bool NamesUnplanned(std::string_view words) {
  const std::set<std::string_view> causes = CausesIn(words);
  return !std::all_of(causes.begin(), causes.end(), Planned);
}

Refusal& Refusals::Begin(const GangId& gang, const Members& members, Time now) {
  Refusal& refusal = refused_[gang];
  if (!refusal.waits || refusal.members.empty()) {  // else it gets more members
    ++refusal.times;
    refusal.members.clear();
  }
  refusal.since = now;
  refusal.asked = false;
  for (const Member* member : members) refusal.members.insert(member->uid);
  Await(gang, refusal);
  return refusal;
}

void Refusals::Await(const GangId& gang, Refusal& refusal) {
  refusal.waits = true;
  refusal.seen = changes_;
  stirred_.erase(gang);
  quiet_.insert(gang);
}

void Refusals::Refuse(const GangId& gang, const Members& members, std::string words, Time now) {
  Refusal& refusal = Begin(gang, members, now);
  refusal.words = std::move(words);
  refusal.until = Time::Never();
  refusal.may_evict = false;
  refusal.silent.clear();
  refusal.learnt = changes_;
  for (const Member* member : members)
    refusal.templates[member->pod->spec.get()] = {member->pod->spec, {}};
}

void Refusals::Await(const GangId& gang, const Members& members, Time until, Time now) {
  Refusal& refusal = Begin(gang, members, now);
  refusal.words.clear();
  refusal.until = until;
  refusal.silent.clear();
  for (const Member* member : members) refusal.silent.insert(member->pod->spec);
}

void Refusals::Resume(const GangId& gang, Refusal silence) {
  Refusal& refusal = refused_[gang];
  refusal = std::move(silence);
  Await(gang, refusal);
}

void Refusals::FoundNoRoom(const GangId& gang, Time now) {
  Refusal& refusal = refused_.at(gang);
  refusal.since = now;
  refusal.asked = false;
  Await(gang, refusal);
}

bool Refusals::Lift(const GangId& gang) {
  auto& templates = refused_.at(gang).templates;
  return !std::exchange(templates, {}).empty();
}

void Refusals::Retry(const GangId& gang) {
  refused_.at(gang).waits = false;
  quiet_.erase(gang);
  stirred_.erase(gang);
}

void Refusals::Forget(const GangId& gang) {
  refused_.erase(gang);
  quiet_.erase(gang);
  stirred_.erase(gang);
  if (refused_.empty()) nodes_.clear();
}

bool Refusals::Asked(const GangId& gang, const Member& member,
                     const std::vector<std::string>& nodes) {
  const auto found = refused_.find(gang);
  if (found == refused_.end() || nodes.empty()) return false;
  Refusal& refusal = found->second;
  if (!refusal.members.contains(member.uid)) return false;
  const auto known = refusal.templates.find(member.pod->spec.get());
  if (known != refusal.templates.end()) known->second.passed.insert(nodes.begin(), nodes.end());
  refusal.may_evict = true;
  return refusal.waits && !std::exchange(refusal.asked, true);
}

bool Refusals::Relented(const GangId& gang, const PodUid& pod) {
  const auto found = refused_.find(gang);
  if (found == refused_.end() || !found->second.members.contains(pod)) return false;
  Refusal& refusal = found->second;
  refusal.may_evict = true;
  refusal.templates.clear();
  return refusal.waits && !std::exchange(refusal.asked, true);
}

void Refusals::NodeChanged(const std::string& node) {
  if (refused_.empty()) return;
  last_of_node_ = nodes_[node] = ++changes_;
  stirred_.merge(std::exchange(quiet_, {}));
}

void Refusals::Changed() {
  if (refused_.empty()) return;
  last_change_ = ++changes_;
  for (auto next = quiet_.begin(); next != quiet_.end();) {
    const auto gang = next++;
    if (!refused_.at(*gang).words.empty()) stirred_.insert(quiet_.extract(gang));
  }
}

std::vector<GangId> Refusals::TakeStirred() {
  std::vector<GangId> gangs(stirred_.begin(), stirred_.end());
  stirred_.clear();
  return gangs;
}

const Refusal* Refusals::Of(const GangId& gang) const {
  const auto found = refused_.find(gang);
  return found == refused_.end() ? nullptr : &found->second;
}

bool Refusals::ChangedSince(const Refusal& refusal) const {
  return last_of_node_ > refusal.seen || (!refusal.words.empty() && last_change_ > refusal.seen);
}

Time Refusals::RetryFrom(const Refusal& refusal) const {
  if (refusal.asked) return std::min(refusal.until, refusal.since + kRetryApart);
  if (!ChangedSince(refusal)) return refusal.until;
  const Duration apart = Doubled(kRetryApart, refusal.times, kMostApart);
  return std::min(refusal.until, refusal.since + apart);
}

bool Refusals::KeepsOffAny(const Refusal& refusal, const PodSpec& spec) const {
  return refusal.templates.contains(&spec) && last_change_ <= refusal.learnt;
}

bool Refusals::KeepsOff(const Refusal& refusal, const PodSpec& spec,
                        const std::string& node) const {
  if (!KeepsOffAny(refusal, spec)) return false;
  const auto changed = nodes_.find(node);
  if (changed != nodes_.end() && changed->second > refusal.learnt) return false;
  return !refusal.templates.at(&spec).passed.contains(node);
}

}  // namespace muster::engine
