#include "kube/owners/grouping.hpp"

#include <algorithm>
#include <charconv>
#include <list>
#include <string_view>
#include <utility>

#include "cluster/records/owned_gang_name.hpp"
#include "kube/decode/decode.hpp"
#include "kube/dialects/pod_group_link.hpp"
#include "kube/json/json_view.hpp"
#include "kube/owners/gang_size.hpp"
#include "kube/owners/grouping_values.hpp"
#include "kube/owners/owner_terms.hpp"

namespace muster::kube {

using cluster::GroupingCase;
using cluster::GroupingException;
using cluster::GroupingRule;
using cluster::GroupingRules;

namespace {

Grouping Said(Grouping::Kind kind, std::string reason) {
  Grouping grouping;
  grouping.kind = kind;
  grouping.reason = std::move(reason);
  return grouping;
}
Grouping Alone(std::string reason) { return Said(Grouping::Kind::kAlone, std::move(reason)); }
Grouping Refused(std::string reason) { return Said(Grouping::Kind::kRefused, std::move(reason)); }

// What somebody wrote about grouping on a pod or an owner, label or annotation.
struct Wish {
  bool off = false;
  std::optional<int64_t> min_member;
  std::string defect;
};

Wish WishOn(const OwnerLink& link) {
  JsonProblems ignored;
  const std::string name = link.key.Shown();
  const JsonView object(*link.object, name, ignored);
  const JsonView metadata = object.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  const JsonView labels = metadata.Get("labels");
  const auto written = [&](const char* key) {
    const std::string_view text = annotations.Get(key).Text();
    return text.empty() ? labels.Get(key).Text() : text;
  };
  Wish wish;
  const std::string_view gang = written(kGroupingOff);
  wish.off = gang == "false";
  if (!gang.empty() && gang != "false" && gang != "true") {
    wish.defect = name + ": " + kGroupingOff + " expected \"false\" or nothing, found \"" +
                  std::string(gang.substr(0, 40)) + "\"";
  }
  const std::string_view size = written(kMinMemberAnnotation);
  if (size.empty()) return wish;
  int64_t count = 0;
  const auto read = std::from_chars(size.data(), size.data() + size.size(), count);
  if (read.ec == std::errc() && read.ptr == size.data() + size.size() && count > 0) {
    wish.min_member = count;
  } else {
    wish.defect = name + ": " + kMinMemberAnnotation + " expected a whole number from 1, found \"" +
                  std::string(size.substr(0, 40)) + "\"";
  }
  return wish;
}

// Nearest first: a pod's word counts before its owner's.
Wish WishOf(const OwnerChain& chain) {
  Wish wish;
  for (const OwnerLink& link : chain.links) {
    const Wish one = WishOn(link);
    if (wish.defect.empty()) wish.defect = one.defect;
    if (!wish.off && !wish.min_member) wish.off = one.off;
    if (!wish.off && !wish.min_member) wish.min_member = one.min_member;
  }
  return wish;
}

bool NamesPodGroup(const JsonNode& pod) {
  JsonProblems ignored;
  const JsonView view(pod, "Pod", ignored);
  const JsonView spec = view.Get("spec");
  const JsonView metadata = view.Get("metadata");
  const JsonView labels = metadata.Get("labels");
  const JsonView annotations = metadata.Get("annotations");
  return !ReadPodGroupLink(spec, labels, annotations).empty();
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Judges one pod whose owners are all known.
class Judge {
 public:
  explicit Judge(const OwnerChain& chain) : chain_(chain), leader_(&chain.links.front()) {
    for (const OwnerLink& link : chain.links) {
      if (link.is_pod()) leader_ = &link;
    }
  }

  Grouping Next() const {
    const OwnerKey& owner = *chain_.unread;
    Grouping grouping = Said(Grouping::Kind::kUnread, owner.Shown() + " is not read yet");
    grouping.next = owner;
    Name(owner, {}, {}, &grouping);
    return grouping;
  }

  // It waits with the others of that owner, whatever else they are.
  Grouping Wait() const {
    if (WishOf(chain_).off) return Alone(std::string(kGroupingOff) + " is \"false\"");
    const OwnerKey& owner = *chain_.unreadable;
    Grouping grouping = Said(Grouping::Kind::kUnreadable, owner.Shown() + ": " + chain_.why);
    Name(owner, {}, {}, &grouping);
    return grouping;
  }

  Grouping Run() {
    const Wish wish = WishOf(chain_);
    if (!wish.defect.empty()) return Refused(wish.defect);
    if (wish.off) return Alone(std::string(kGroupingOff) + " is \"false\"");
    if (!chain_.broken.empty()) return Alone(chain_.broken);
    FindRuleThatCounts();
    if (!problems_.none()) return Refused(problems_.first().ToString());
    if (owner_ == nullptr) return WithoutRule(wish.min_member);
    const GroupingException* exception = FindException();
    if (!problems_.none()) return Refused(problems_.first().ToString());
    if (exception != nullptr) return Said(Grouping::Kind::kNotMember, exception->because);
    if (terms_->one->gang == GroupingCase::Gang::kAlone && !wish.min_member) {
      return Alone(owner_->key.Shown() + ": " + terms_->one->because);
    }
    return InGang(wish.min_member);
  }

 private:
  GroupingValues::Objects ObjectsOf(const OwnerLink& owner) const {
    return {&owner, &chain_.links.front(), leader_};
  }
  GroupingValues ValuesOf(const OwnerLink& owner) { return {ObjectsOf(owner), problems_}; }

  OwnerTerms& TermsOf(const OwnerLink& owner) {
    if (owner.terms != nullptr) return owner.terms->Find(ObjectsOf(owner));
    return own_terms_.emplace_back(ObjectsOf(owner));
  }

  // The outermost owner that is no wrapper, with a case that holds.
  void FindRuleThatCounts() {
    for (auto link = chain_.links.rbegin(); link != chain_.links.rend(); ++link) {
      if (link->rule == nullptr || link->rule->wrapper) continue;
      OwnerTerms& terms = TermsOf(*link);
      if (terms.bad_case) problems_.Add(*terms.bad_case);
      if (terms.one == nullptr) continue;
      owner_ = &*link;
      terms_ = &terms;
      return;
    }
  }

  const GroupingException* FindException() {
    const GroupingValues values = ValuesOf(*owner_);
    for (const OwnerLink* link = owner_; link <= &chain_.links.back(); ++link) {
      if (link->rule == nullptr) continue;
      for (const GroupingException& one : link->rule->not_members) {
        if (values.Holds(one.when)) return &one;
      }
    }
    return nullptr;
  }

  Grouping WithoutRule(std::optional<int64_t> min_member) const {
    const OwnerKey* owner = nullptr;
    if (chain_.links.size() > 1) {
      owner = &chain_.links[1].key;
    } else if (chain_.beyond) {
      owner = &*chain_.beyond;
    } else if (chain_.unreadable) {
      owner = &*chain_.unreadable;
    }
    if (owner == nullptr) {
      if (!min_member || *min_member == 1) return Alone(kNoOwner);
      return Refused(std::string(kMinMemberAnnotation) + " asks for " +
                     std::to_string(*min_member) +
                     " members, but the pod has no owner and names no PodGroup, so nobody knows "
                     "the others");
    }
    if (!min_member) {
      if (chain_.links.size() > 1) return Alone(owner->Shown() + " runs its own pods one by one");
      if (chain_.unreadable) return Alone("its owner " + owner->Shown() + " cannot be read");
      return Alone("no grouping rule is for " + owner->kind + " of " + owner->group());
    }
    Grouping grouping;
    grouping.kind = Grouping::Kind::kGang;
    Name(*owner, {}, {}, &grouping);
    grouping.minimum = *min_member;
    return grouping;
  }

  // `part`: what tells gangs of one owner apart.
  void Name(const OwnerKey& owner, const std::string& part, const std::string& attempt,
            Grouping* grouping) const {
    grouping->owner = owner;
    grouping->attempt = attempt;
    grouping->key.ns = chain_.links.front().key.ns;
    const auto name = [&](const std::string& digest) {
      return cluster::OwnedGangName(LowerCase(owner.kind), owner.name, part, digest);
    };
    grouping->key.name = name(cluster::GangDigest({owner.uid, part, attempt}));
    if (!attempt.empty()) grouping->attempts_of = name(cluster::GangDigest({owner.uid, part}));
  }

  // Of the pod; empty: it has none. `known`: the role of the owner that it is.
  std::string RoleOf(const GroupingValues& values, const GangSize::Role** known) const {
    const cluster::GroupingPath& path = owner_->rule->role;
    std::string role = path.none() ? terms_->size->role() : values.Text(path);
    *known = terms_->size->Find(role);
    return *known == nullptr ? role : (*known)->name;
  }

  Grouping InGang(std::optional<int64_t> min_member) {
    const GroupingRule& rule = *owner_->rule;
    const GroupingValues values = ValuesOf(*owner_);
    const bool per_role = terms_->one->gang == GroupingCase::Gang::kPerRole;
    if (terms_->bad_role) problems_.Add(*terms_->bad_role);
    const GangSize::Role* known = nullptr;
    std::string role = RoleOf(values, &known);
    std::string part = values.Text(rule.per);
    const std::string attempt = values.Text(rule.attempt);
    if (!problems_.none()) return Refused(problems_.first().ToString());
    if (!rule.per.none() && part.empty()) {
      return Alone(owner_->key.Shown() + ": the pod does not say which of its gangs it is in");
    }
    if (per_role && known == nullptr) {
      return Alone(owner_->key.Shown() + ": the pod does not say which of its roles it has");
    }
    if (per_role) part += (part.empty() ? "" : ":") + role;
    const GangSize::Answer& answer = terms_->size->Of(per_role ? role : std::string(), min_member);
    if (known != nullptr && GangSize::Splits(*known) && values.Holds(known->early->pods))
      role += cluster::kFirstOfRole;
    Grouping grouping;
    Name(owner_->key, part, attempt, &grouping);
    grouping.role = std::move(role);
    grouping.ended = terms_->ended;
    if (terms_->bad_size) problems_.Add(*terms_->bad_size);
    if (!problems_.none()) {
      grouping.reason = problems_.first().ToString();
    } else if (!answer.defect.empty()) {
      grouping.reason = owner_->key.Shown() + " " + answer.defect;
    }
    grouping.makes = answer.makes;
    grouping.kind = grouping.reason.empty() ? Grouping::Kind::kGang : Grouping::Kind::kRefused;
    if (grouping.kind == Grouping::Kind::kGang) Say(answer, min_member.has_value(), &grouping);
    if (!part.empty()) grouping.since.reset();
    return grouping;
  }

  // What the owner says of all of its gangs. `asked`: somebody wrote their minimum.
  void Say(const GangSize::Answer& answer, bool asked, Grouping* grouping) const {
    grouping->minimum = answer.minimum;
    grouping->keeps_rest = terms_->one->keeps_rest && !asked;
    grouping->roles = answer.roles;
    grouping->starts_with = answer.starts_with;
    grouping->first_roles = answer.first_roles;
    grouping->units = answer.units;
    if (!asked) grouping->unheeded = terms_->unheeded;
    grouping->queue = terms_->queue;
    grouping->priority_class = terms_->priority_class;
    grouping->since = terms_->since;
    grouping->not_honoured = terms_->not_honoured;
  }

  const OwnerChain& chain_;
  const OwnerLink* leader_;
  JsonProblems problems_;
  const OwnerLink* owner_ = nullptr;
  OwnerTerms* terms_ = nullptr;      // its own
  std::list<OwnerTerms> own_terms_;  // of owners whose terms nobody keeps
};

}  // namespace

Grouping JudgeGrouping(const JsonNode& pod, const GroupingRules& rules, const OwnerLookup& lookup,
                       cluster::UnreadableOwners unreadable) {
  if (NamesPodGroup(pod)) return Said(Grouping::Kind::kLinked, "the pod names its PodGroup");
  const OwnerLookup nobody = [](const OwnerKey&) { return OwnerRead{}; };
  const OwnerChain itself = FollowOwners(pod, {}, nobody);
  const Wish own = WishOn(itself.links.front());
  if (own.off) return Alone(std::string(kGroupingOff) + " is \"false\"");
  const OwnerChain chain = FollowOwners(pod, rules, lookup);
  if (chain.unread) return Judge(chain).Next();
  const bool waits = unreadable == cluster::UnreadableOwners::kWait || !chain.lasts;
  if (chain.unreadable && waits && !own.min_member && own.defect.empty())
    return Judge(chain).Wait();
  Grouping grouping = Judge(chain).Run();
  grouping.owner_gone = chain.owner_gone;
  if (chain.unreadable) {
    grouping.note = chain.unreadable->Shown() + " cannot be read: what it and its owners say of " +
                    "gangs does not count";
  }
  return grouping;
}

}  // namespace muster::kube
