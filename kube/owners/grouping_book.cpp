#include "kube/owners/grouping_book.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/json/json_sieve.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

void CopyMember(const JsonView& object, const char* key, JsonWriter& json) {
  const JsonView member = object.Get(key);
  if (!member.present()) return;
  std::string text;
  member.AppendTo(text);
  json.Key(key).Raw(text);
}

bool Same(const Grouping& a, const Grouping& b) {
  return a.kind == b.kind && a.reason == b.reason && a.key == b.key && a.role == b.role &&
         a.since == b.since && a.minimum == b.minimum && a.roles == b.roles &&
         a.keeps_rest == b.keeps_rest && a.starts_with == b.starts_with &&
         a.first_roles == b.first_roles && a.units == b.units && a.unheeded == b.unheeded &&
         a.not_honoured == b.not_honoured && a.queue == b.queue &&
         a.priority_class == b.priority_class;
}

OwnerTable::Need NeedOf(const Pod& pod) {
  if (pod.terminal()) return OwnerTable::Need::kEnded;
  return pod.bound() ? OwnerTable::Need::kRunning : OwnerTable::Need::kWaiting;
}

// Those of one gang follow each other.
void OrderByGang(GroupingBook::Told& told) {
  for (std::vector<Pod>* pods : {&told.pods, &told.first}) {
    std::sort(pods->begin(), pods->end(), [](const Pod& a, const Pod& b) {
      return std::tie(a.key.ns, a.pod_group, a.uid) < std::tie(b.key.ns, b.pod_group, b.uid);
    });
  }
}

}  // namespace

// What GroupingText gives of metadata, beside annotations.
constexpr std::string_view kGroupingMeta[] = {"name", "namespace", "uid", "labels",
                                              "ownerReferences"};

std::string GroupingText(const JsonNode& pod, const Pod& record, std::string_view owners) {
  if (!record.pod_group.empty() || record.daemon) return {};
  JsonProblems ignored;
  const JsonView view(pod, "Pod", ignored);
  const JsonView metadata = view.Get("metadata");
  const JsonView labels = metadata.Get("labels");
  const JsonView annotations = metadata.Get("annotations");
  const bool asks =
      labels.Get(kMinMemberAnnotation).present() || annotations.Get(kMinMemberAnnotation).present();
  if (record.owner_uid.empty() && !asks) return {};
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("metadata").BeginObject();
  json.Key("name").Text(record.key.name).Key("namespace").Text(record.key.ns);
  json.Key("uid").Text(record.uid.text());
  for (const char* key : {"labels", "annotations"}) CopyMember(metadata, key, json);
  if (owners.empty()) {
    CopyMember(metadata, "ownerReferences", json);
  } else {
    json.Key("ownerReferences").Raw(owners);
  }
  json.EndObject().Key("spec").BeginObject();
  if (record.bound()) json.Key("nodeName").Text(record.node_name);
  json.EndObject().EndObject();
  return text;
}

bool IsInGroupingText(const cluster::GroupingPath& path) {
  const std::vector<std::string>& steps = path.steps;
  if (steps.empty()) return true;
  if (steps[0] == "spec") return steps.size() == 1 || steps[1] == "nodeName";
  if (steps[0] != "metadata") return false;
  if (steps.size() == 1) return true;
  if (steps[1] == "annotations") return steps.size() == 2 || KeepsPodAnnotation(steps[2]);
  return std::find(std::begin(kGroupingMeta), std::end(kGroupingMeta), steps[1]) !=
         std::end(kGroupingMeta);
}

bool GroupingBook::Mine(const Entry& entry) const {
  if (!settings_) return false;
  const Pod& pod = *entry.pod;
  const auto& names = settings_->scheduler_names;
  return entry.asked || pod.bound_by_muster || pod.handed_over || pod.gated_by_muster() ||
         std::find(names.begin(), names.end(), pod.spec->scheduler_name) != names.end();
}

GroupingBook::Told GroupingBook::Set(GroupingSettings settings) {
  settings_ = std::move(settings);
  owners_.Follow(settings_->rules);
  for (const auto& [uid, entry] : pods_) JudgeLater(uid);
  return GoOn();
}

void GroupingBook::JudgeLater(const PodUid& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const std::vector<OwnerKey>& owners = found->second.owners;
  to_judge_.emplace(owners.empty() ? "" : owners.back().ns + "/" + owners.back().uid, uid);
}

GroupingBook::Told GroupingBook::GoOn() {
  Told told;
  std::string owner;
  for (size_t judged = 0; !to_judge_.empty() && judged < slice_.most; ++judged) {
    if (judged >= slice_.least && to_judge_.begin()->first != owner) break;
    auto next = to_judge_.extract(to_judge_.begin());
    owner = std::move(next.value().first);
    JudgeAgain(next.value().second, told);
  }
  OrderByGang(told);
  return told;
}

void GroupingBook::Keep(const PodUid& pod, std::shared_ptr<const std::string> text) {
  Entry& entry = pods_[pod];
  if (entry.text != nullptr && *entry.text == *text) return;
  entry.text = std::move(text);
  entry.judged = false;
}

std::optional<Pod> GroupingBook::Join(Pod pod, Time now) {
  const auto found = pods_.find(pod.uid);
  if (found == pods_.end()) {
    if (pod.pod_group.empty() && pod.owner_uid.empty() && !pod.daemon) pod.alone = kNoOwner;
    return pod;
  }
  Entry& entry = found->second;
  const bool is_new = !entry.pod;
  const bool need = is_new || NeedOf(*entry.pod) != NeedOf(pod);
  entry.pod = std::move(pod);
  if (!Mine(entry)) {
    Pod others = *entry.pod;
    if (others.bound()) {
      owners_.Forget(others.uid);
      if (entry.withheld) --withheld_;
      pods_.erase(found);
    } else {
      entry.told = true;
    }
    return others;
  }
  const PodUid& uid = found->first;
  if (!entry.judged) {
    Judge(uid, entry);
    owners_.RefreshPod(uid, now);
  } else if (need) {
    Use(uid, entry);
  }
  // More than it is to have: the owner may want more now.
  const Grouping& grouping = entry.grouping;
  if (is_new && grouping.kind == Grouping::Kind::kGang &&
      static_cast<int64_t>(owners_.CountPods(grouping.owner)) > grouping.minimum) {
    for (const OwnerKey& owner : entry.owners) owners_.Refresh(owner, now);
  }
  return Tell(entry);
}

void GroupingBook::Forget(const PodUid& pod, Time now) {
  const auto found = pods_.find(pod);
  if (found == pods_.end()) return;
  const Entry& entry = found->second;
  owners_.Forget(pod);
  // Who has fewer pods may want fewer.
  if (entry.pod && !entry.pod->terminal()) {
    for (const OwnerKey& owner : entry.owners) owners_.Refresh(owner, now);
  }
  owners_.RefreshPod(pod, now);
  if (entry.withheld) --withheld_;
  pods_.erase(found);
}

void GroupingBook::Use(const PodUid& uid, const Entry& entry) {
  owners_.Use(uid, entry.owners, NeedOf(*entry.pod), settings_->rules);
}

Grouping GroupingBook::LookAt(const PodUid& uid, const JsonNode& pod, Entry& entry) {
  std::vector<OwnerKey> before = std::exchange(entry.owners, {});
  if (!settings_->by_owner) {
    Use(uid, entry);
    Grouping alone;
    alone.reason = "gangs.byOwner of the policy is false";
    return alone;
  }
  const OwnerLookup look = [&](const OwnerKey& key) {
    entry.owners.push_back(key);
    return owners_.Look(key);
  };
  Grouping grouping = JudgeGrouping(pod, settings_->rules, look, settings_->unreadable);
  if (KeepsJudgement(entry, grouping)) entry.owners = std::move(before);
  Use(uid, entry);
  return grouping;
}

// Until what the rules read of its owner now has been read, what was said of the pod before holds.
bool GroupingBook::KeepsJudgement(const Entry& entry, const Grouping& grouping) {
  return entry.judged && grouping.next && owners_.Look(*grouping.next).outdated;
}

bool GroupingBook::Judge(const PodUid& uid, Entry& entry) {
  const auto text = Json::Parse(*entry.text, JsonSieve::kMaxKept, "Pod");
  if (!text.ok()) return false;
  Grouping grouping = LookAt(uid, text->root(), entry);
  // Of an owner whose kind is refused that is known as soon as somebody needs it.
  if (grouping.kind == Grouping::Kind::kUnread &&
      owners_.Look(*grouping.next).state != OwnerRead::State::kUnread)
    grouping = LookAt(uid, text->root(), entry);
  if (KeepsJudgement(entry, grouping)) return false;
  entry.judged = true;
  const bool was_gang = entry.grouping.kind == Grouping::Kind::kGang;
  const bool unread =
      grouping.kind == Grouping::Kind::kUnread || grouping.kind == Grouping::Kind::kUnreadable;
  const bool refused_late = grouping.kind == Grouping::Kind::kRefused && entry.pod->bound();
  // What runs is held to no more than its owner still makes.
  if (was_gang && refused_late && grouping.makes && *grouping.makes < entry.grouping.minimum) {
    entry.grouping.minimum = std::max<int64_t>(*grouping.makes, 1);
    entry.grouping.roles = {};
    return true;
  }
  if (was_gang && (unread || grouping.owner_gone || refused_late)) return false;
  // That more have ended makes a difference to those that wait only.
  const bool same = Same(entry.grouping, grouping) && (entry.grouping.ended == grouping.ended ||
                                                       entry.pod->bound() || entry.pod->terminal());
  entry.grouping = std::move(grouping);
  return !same;
}

std::optional<Pod> GroupingBook::Tell(Entry& entry) {
  Pod pod = *entry.pod;
  const Grouping& grouping = entry.grouping;
  const bool unread = grouping.kind == Grouping::Kind::kUnread;
  const bool holds = pod.bound() || pod.handed_over;
  const bool withhold = unread && !pod.terminal() && !(holds && started_);
  if (withhold && !entry.withheld) ++withheld_;
  if (!withhold && entry.withheld) --withheld_;
  entry.withheld = withhold;
  if (std::exchange(entry.told, !withhold) && withhold) withdrawn_.push_back(pod.uid);
  if (withhold) return std::nullopt;
  if (grouping.kind == Grouping::Kind::kGang) {
    pod.pod_group = grouping.key.name;
    pod.declared_min_member = grouping.minimum;
    if (!grouping.role.empty()) pod.role = grouping.role;
  }
  // A process before may have released it, or it runs: it is no single pod for that.
  if (unread || grouping.kind == Grouping::Kind::kUnreadable) {
    pod.pod_group = pod.bound() ? pod.bound_in : grouping.key.name;
    pod.declared_min_member = pod.pod_group.empty() ? 0 : 1;
    if (pod.pod_group.empty()) pod.alone = grouping.reason;
  }
  const bool alone =
      grouping.kind == Grouping::Kind::kAlone || grouping.kind == Grouping::Kind::kNotMember;
  if (alone && !pod.owner_uid.empty()) pod.alone = grouping.reason;
  if (grouping.kind == Grouping::Kind::kRefused && !pod.bound() && pod.defect.empty())
    pod.defect = grouping.reason;
  return pod;
}

void GroupingBook::JudgeAgain(const PodUid& uid, Told& told) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.pod) return;
  Entry& entry = found->second;
  if (Mine(entry)) {
    if (Judge(uid, entry) || entry.withheld) TellAgain(entry, told);
  } else if (entry.judged) {  // it was Muster's
    owners_.Forget(uid);
    entry.owners.clear();
    entry.grouping = {};
    entry.judged = false;
    TellAgain(entry, told);
  }
}

void GroupingBook::TellAgain(Entry& entry, Told& told) {
  const bool withheld = entry.withheld;
  std::optional<Pod> pod = Tell(entry);
  if (pod) (withheld ? told.first : told.pods).push_back(*std::move(pod));
}

GroupingBook::Told GroupingBook::Learn(const OwnerKey& key, OwnerAnswer answer, Time now) {
  OwnerTable::Learnt learnt = owners_.Learn(key, std::move(answer), now);
  for (const PodUid& uid : learnt.pods) JudgeLater(uid);
  Told told = GoOn();
  if (!learnt.warning.empty()) told.warnings.push_back(std::move(learnt.warning));
  return told;
}

GroupingBook::Told GroupingBook::Start() {
  started_ = true;
  for (const auto& [uid, entry] : pods_) {
    if (entry.withheld) JudgeLater(uid);
  }
  return GoOn();
}

GroupingBook::Asked GroupingBook::Ask(Pod& pod) {
  Asked asked;
  if (!settings_ || !pod.pod_group.empty() || pod.daemon) return asked;
  const auto found = pods_.find(pod.uid);
  if (found == pods_.end() || !found->second.pod) {
    if (!pod.owner_uid.empty())
      asked.why = "pod " + pod.key.ToString() + " did not come with the watch yet";
    return asked;
  }
  Entry& entry = found->second;
  const bool mine = Mine(entry);
  entry.asked = true;
  if (!mine) JudgeAgain(pod.uid, asked.told);
  if (entry.withheld) {
    asked.why = "pod " + pod.key.ToString() + ": " + entry.grouping.reason;
    return asked;
  }
  const Pod as_read = std::exchange(*entry.pod, pod);
  if (std::optional<Pod> said = Tell(entry)) pod = *std::move(said);
  *entry.pod = as_read;
  return asked;
}

const Grouping* GroupingBook::Find(const PodUid& pod) const {
  const auto found = pods_.find(pod);
  return found == pods_.end() || !found->second.judged ? nullptr : &found->second.grouping;
}

}  // namespace muster::kube
