#include "kube/owners/owner_table.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

namespace {

// When what was never read is due: what only ended pods need comes after what others wait for.
constexpr Time kFirst(0);
constexpr Time kLast(1);

// Pods name their owners, and anybody may write a pod: no name may lead out of its place in a path.
bool PlainName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 253 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), plain);
}

// Empty: it cannot be asked for.
std::string PathOf(const OwnerKey& key, const cluster::GroupingRules& rules) {
  const bool pod = key.kind == "Pod" && key.group() == cluster::kCoreGroup;
  const cluster::GroupingRule* const rule = FindRule(rules, key);
  if (!pod && rule == nullptr) return {};
  const bool core = key.group() == cluster::kCoreGroup;
  if (!PlainName(key.version()) || !PlainName(key.ns) || !PlainName(key.name)) return {};
  return (core ? "/api/v1" : "/apis/" + rule->group + "/" + key.version()) + "/namespaces/" +
         key.ns + "/" + (pod ? "pods" : rule->resource) + "/" + key.name;
}

struct Identified {
  std::string uid;
  std::string version;
};
Identified IdentifiedBy(const Json& object) {
  JsonProblems ignored;
  const JsonView view(object.root(), "object", ignored);
  const JsonView metadata = view.Get("metadata");
  return {std::string(metadata.Get("uid").Text()),
          std::string(metadata.Get("resourceVersion").Text())};
}

}  // namespace

OwnerTable::Kind OwnerTable::KindOf(const OwnerKey& key) {
  return {key.api_version + " " + key.kind, key.ns};
}

OwnerRead OwnerTable::Look(const OwnerKey& key) {
  const auto found = owners_.find(key);
  if (found == owners_.end()) return {};
  const Owner& owner = found->second;
  OwnerRead read{owner.state, nullptr, owner.why, owner.lasts};
  read.outdated = owner.outdated && owner.state == OwnerRead::State::kUnread;
  if (owner.state == OwnerRead::State::kKnown) {
    OwnerStore::Found kept = store_.Find(key);
    read.held = std::move(kept.json);
    read.object = &read.held->root();
    read.terms = std::move(kept.terms);
  }
  return read;
}

OwnerTable::Line& OwnerTable::LineOf(Time due) { return due == kLast ? last_ : line_; }

void OwnerTable::SetDue(const OwnerKey& key, Owner& owner, Time due) {
  if (owner.due != Time::Never()) due_.erase({owner.due, key});
  if (std::exchange(owner.in_line, false)) LineOf(owner.due).Remove(key.ns, key, owner.due);
  owner.due = due;
  if (due != Time::Never()) due_.emplace(due, key);
}

OwnerTable::Need OwnerTable::NeedOf(const Owner& owner) const {
  Need need = Need::kEnded;
  for (const auto& [pod, one] : owner.pods) need = std::max(need, one);
  return need;
}

void OwnerTable::Use(const PodUid& pod, std::vector<OwnerKey> keys, Need need,
                     const cluster::GroupingRules& rules) {
  std::vector<OwnerKey> before;
  if (const auto found = used_by_.find(pod); found != used_by_.end())
    before = std::move(found->second);
  for (const OwnerKey& key : before) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const auto owner = owners_.find(key);
    owner->second.pods.erase(pod);
    if (!owner->second.pods.empty()) continue;
    Forget(key, owner->second);
    owners_.erase(owner);
  }
  for (const OwnerKey& key : keys) {
    const auto [at, is_new] = owners_.try_emplace(key);
    Owner& owner = at->second;
    owner.pods[pod] = need;
    if (!is_new) {
      const bool rests = owner.due == Time::Never() && !owner.reading && !owner.path.empty() &&
                         owner.state != OwnerRead::State::kGone;
      if (rests && need != Need::kEnded)
        SetDue(key, owner, owner.read_at + LookAfter(Need::kWaiting));
      if (owner.due == kLast && need != Need::kEnded) SetDue(key, owner, kFirst);
      continue;
    }
    owner.path = PathOf(key, rules);
    if (!owner.path.empty()) owner.fields = FieldsOf(key, rules);
    if (key.kind == "Pod") pods_.emplace(key.uid, key);
    if (owner.path.empty()) {
      owner.state = OwnerRead::State::kGone;  // no object has such a name
    } else if (const auto refused = refused_until_.find(KindOf(key));
               refused != refused_until_.end()) {
      MarkUnreadable(owner, refused->second.why, true);
      SetDue(key, owner, kFirst);
    } else {
      SetDue(key, owner, need == Need::kEnded ? kLast : kFirst);
    }
  }
  if (keys.empty()) {
    used_by_.erase(pod);
  } else {
    used_by_.insert_or_assign(pod, std::move(keys));
  }
  UseRoom();
}

void OwnerTable::Forget(const OwnerKey& key, Owner& owner) {
  SetDue(key, owner, Time::Never());
  if (key.kind == "Pod") pods_.erase(key.uid);
  store_.Drop(key);
}

void OwnerTable::UseRoom() {
  const std::optional<OwnerKey> key = store_.TakeFitting();
  if (!key) return;
  Owner& owner = owners_.at(*key);
  if (!owner.reading) SetDue(*key, owner, kFirst);
}

std::shared_ptr<const OwnerFields> OwnerTable::Wanted(const OwnerKey& key) const {
  const auto found = owners_.find(key);
  return found == owners_.end() ? nullptr : found->second.fields;
}

std::shared_ptr<const OwnerFields> OwnerTable::FieldsOf(const OwnerKey& key,
                                                        const cluster::GroupingRules& rules) {
  std::shared_ptr<const OwnerFields>& fields = fields_[{FindRule(rules, key), key.kind == "Pod"}];
  if (fields == nullptr) fields = std::make_shared<const OwnerFields>(rules, key);
  return fields;
}

void OwnerTable::Follow(const cluster::GroupingRules& rules) {
  fields_.clear();
  store_.ForgetTerms();
  for (auto& [key, owner] : owners_) {
    std::string path = PathOf(key, rules);
    if (path.empty()) continue;
    const std::shared_ptr<const OwnerFields> before =
        std::exchange(owner.fields, FieldsOf(key, rules));
    const bool moved = path != owner.path;
    const bool unkept = before != nullptr && !before->Covers(*owner.fields);
    if (!moved && !unkept) continue;
    owner.path = std::move(path);
    if (moved) refused_until_.erase(KindOf(key));
    if (unkept && owner.state == OwnerRead::State::kKnown) {
      owner.state = OwnerRead::State::kUnread;
      owner.outdated = true;
    }
    if (!owner.reading) SetDue(key, owner, kFirst);
    owner.stale = owner.reading;
  }
}

size_t OwnerTable::CountPods(const OwnerKey& key) const {
  const auto found = owners_.find(key);
  return found == owners_.end() ? 0 : found->second.pods.size();
}

void OwnerTable::Refresh(const OwnerKey& key, Time now) {
  const auto found = owners_.find(key);
  if (found == owners_.end()) return;
  Owner& owner = found->second;
  if (owner.state != OwnerRead::State::kKnown) return;
  if (owner.reading) {
    owner.stale = true;
    return;
  }
  const Time due = std::max(now, owner.read_at + options_.again_after);
  if (due < owner.due) SetDue(key, owner, due);
}

void OwnerTable::RefreshPod(const PodUid& pod, Time now) {
  const auto found = pods_.find(std::string(pod.text()));
  if (found != pods_.end()) Refresh(found->second, now);
}

Time OwnerTable::NextDue() const { return due_.empty() ? Time::Never() : due_.begin()->first; }

std::optional<OwnerRequest> OwnerTable::Take(Time now) {
  for (; NextDue() <= now; due_.erase(due_.begin())) {
    const auto& [due, key] = *due_.begin();
    LineOf(due).Put(key.ns, key, due);
    owners_.at(key).in_line = true;
  }
  for (Line* line : {&line_, &last_}) {
    while (const auto turn = line->Take(now, options_.at_once)) {
      const OwnerKey& key = turn->key;
      Owner& owner = owners_.at(key);
      owner.in_line = false;
      owner.due = Time::Never();
      const auto refused = refused_until_.find(KindOf(key));
      if (refused != refused_until_.end() && now < refused->second.until) {
        line->Done(key.ns);
        SetDue(key, owner, refused->second.until);
        continue;
      }
      // The others of its kind wait for what is said of this one.
      if (refused != refused_until_.end()) refused->second.until = now + options_.refused_for;
      owner.reading = true;
      taken_.emplace(key, line);
      return OwnerRequest{key, owner.path, owner.fields};
    }
  }
  return std::nullopt;
}

Duration OwnerTable::LookAfter(Need need) const {
  const Duration all = options_.between_looks * static_cast<int64_t>(owners_.size());
  return std::max(all, need == Need::kWaiting ? options_.while_waiting : options_.while_running);
}

Time OwnerTable::NextRead(const Owner& owner, Time now) const {
  const Need need = NeedOf(owner);
  // A UID does not come back.
  const bool over = need == Need::kEnded || owner.state == OwnerRead::State::kGone;
  return over ? Time::Never() : now + LookAfter(need);
}

OwnerTable::Learnt OwnerTable::Learn(const OwnerKey& key, OwnerAnswer answer, Time now) {
  Learnt learnt;
  if (const auto taken = taken_.find(key); taken != taken_.end()) {
    taken->second->Done(key.ns);
    taken_.erase(taken);
  }
  const bool served = answer.kind == OwnerAnswer::Kind::kRead ||
                      answer.kind == OwnerAnswer::Kind::kGone ||
                      answer.kind == OwnerAnswer::Kind::kTooLarge;
  if (served) EndRefusal(KindOf(key), now);
  if (answer.kind == OwnerAnswer::Kind::kRefused)
    learnt.pods = BeginRefusal(KindOf(key), answer.why, now);
  bool any = !learnt.pods.empty();
  const auto found = owners_.find(key);
  if (found != owners_.end()) {
    Owner& owner = found->second;
    const bool stale = std::exchange(owner.stale, false);
    owner.reading = false;
    owner.read_at = now;
    bool changed = false;
    if (served && stale && owner.outdated) {
      SetDue(key, owner, kFirst);  // it was read by the rules of before
    } else if (served) {
      owner.failures = 0;
      changed = LearnObject(key, owner, answer);
      any = answer.kind == OwnerAnswer::Kind::kTooLarge;
      SetDue(key, owner, stale ? now + options_.again_after : NextRead(owner, now));
    } else if (answer.kind == OwnerAnswer::Kind::kRefused) {
      SetDue(key, owner, refused_until_.at(KindOf(key)).until);
    } else {
      changed = any = LearnFailure(key, owner, answer.why, now);
    }
    if (changed) {
      for (const auto& [pod, need] : owner.pods) learnt.pods.push_back(pod);
    }
  }
  if (any) learnt.warning = SayOnce(key, answer);
  UseRoom();
  return learnt;
}

void OwnerTable::EndRefusal(const Kind& kind, Time now) {
  if (refused_until_.erase(kind) == 0) return;
  for (auto& [key, owner] : owners_) {
    if (KindOf(key) == kind && owner.due != Time::Never()) SetDue(key, owner, now);
  }
}

void OwnerTable::MarkUnreadable(Owner& owner, const std::string& why, bool lasts) {
  owner.state = OwnerRead::State::kForbidden;
  owner.why = why;
  owner.lasts = lasts;
}

std::vector<PodUid> OwnerTable::BeginRefusal(const Kind& kind, const std::string& why, Time now) {
  // Nobody has asked for those any more.
  std::erase_if(refused_until_,
                [&](const auto& one) { return one.second.until + options_.refused_for < now; });
  Refusal& refusal = refused_until_[kind];
  const int doublings = std::min(refusal.times++, 10);
  refusal.why = why;
  refusal.until =
      now + std::min(options_.refused_first * (int64_t{1} << doublings), options_.refused_for);
  std::vector<PodUid> pods;
  for (auto& [key, owner] : owners_) {
    const bool fails = owner.state == OwnerRead::State::kForbidden && !owner.lasts;
    if (KindOf(key) != kind || (owner.state != OwnerRead::State::kUnread && !fails)) continue;
    MarkUnreadable(owner, why, true);
    for (const auto& [pod, need] : owner.pods) pods.push_back(pod);
  }
  return pods;
}

// `answer` becomes what it comes to.
bool OwnerTable::LearnObject(const OwnerKey& key, Owner& owner, OwnerAnswer& answer) {
  using Said = OwnerAnswer::Kind;
  using State = OwnerRead::State;
  owner.outdated = false;
  std::string version;
  if (answer.kind == Said::kRead) {
    const Identified is = IdentifiedBy(*answer.object.json);
    version = is.uid + " " + is.version;
    // One that was made anew under its name is another one.
    if (is.uid != key.uid) answer.kind = Said::kGone;
  }
  if (answer.kind == Said::kRead && !store_.Keep(key, std::move(answer.object))) {
    answer.kind = Said::kTooLarge;
    answer.why = store_.WhyNot(key);
  } else if (answer.kind != Said::kRead) {
    store_.Drop(key);
  }
  if (answer.kind == Said::kTooLarge) {
    const bool same = owner.state == State::kForbidden && owner.why == answer.why;
    MarkUnreadable(owner, answer.why, true);
    return !same;
  }
  const State now = answer.kind == Said::kRead ? State::kKnown : State::kGone;
  if (now == State::kGone) version.clear();
  const bool same = std::exchange(owner.state, now) == now && version == owner.version;
  owner.why.clear();
  owner.lasts = false;
  owner.version = std::move(version);
  return !same;
}

bool OwnerTable::LearnFailure(const OwnerKey& key, Owner& owner, const std::string& why, Time now) {
  if (owner.failures == 0) owner.failing_since = now;
  const int doublings = std::min(owner.failures++, 10);
  const auto wait = std::min(options_.retry_first * (int64_t{1} << doublings), options_.retry_most);
  SetDue(key, owner, now + wait);
  const bool known = owner.state == OwnerRead::State::kKnown ||
                     owner.state == OwnerRead::State::kGone || owner.lasts;
  const Duration fails_for = now - owner.failing_since;
  const bool lasts = fails_for >= options_.patience;
  const bool shown = owner.state == OwnerRead::State::kForbidden;
  if (known || fails_for < options_.shown_after || (shown && !lasts)) return false;
  MarkUnreadable(owner, why, lasts);
  return true;
}

std::string OwnerTable::SayOnce(const OwnerKey& key, const OwnerAnswer& answer) {
  const std::string kind = key.kind + " of " + key.group();
  if (answer.kind == OwnerAnswer::Kind::kTooLarge) {
    if (!said_.insert("large " + key.ns).second) return {};
    return "owners of pods are beyond a bound in namespace " + key.ns + ", " + key.Shown() +
           " for one, and their pods wait (" + answer.why + ")";
  }
  if (!said_.insert(kind).second) return {};
  return "owners of kind " + kind +
         " cannot be read, and what they and their owners say of gangs is not known (" +
         answer.why + ")";
}

}  // namespace muster::kube
