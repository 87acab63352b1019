#include "kube/owners/owner_chain.hpp"

#include <algorithm>
#include <utility>

#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::GroupingRule;
using cluster::GroupingRules;

namespace {

// What the metadata of an object says of itself.
struct Identity {
  std::string ns;
  std::string name;
  std::string uid;
};

Identity IdentityOf(const JsonNode& object) {
  JsonProblems ignored;
  const JsonView view(object, "object", ignored);
  const JsonView metadata = view.Get("metadata");
  return {std::string(metadata.Get("namespace").Text()), std::string(metadata.Get("name").Text()),
          std::string(metadata.Get("uid").Text())};
}

std::optional<OwnerKey> ControllerOf(const JsonNode& object, const std::string& ns) {
  JsonProblems ignored;
  const JsonView view(object, "object", ignored);
  const JsonView metadata = view.Get("metadata");
  const JsonView owners = metadata.Get("ownerReferences");
  std::optional<OwnerKey> found;
  owners.Items([&](const JsonView& owner) {
    if (found || !owner.Get("controller").Flag(false)) return;
    found =
        OwnerKey{std::string(owner.Get("apiVersion").Text()), std::string(owner.Get("kind").Text()),
                 ns, std::string(owner.Get("name").Text()), std::string(owner.Get("uid").Text())};
  });
  return found;
}

bool IsIn(const std::vector<OwnerLink>& links, const std::string& uid) {
  return std::any_of(links.begin(), links.end(),
                     [&](const OwnerLink& link) { return link.key.uid == uid; });
}

}  // namespace

std::string OwnerKey::group() const {
  const size_t slash = api_version.find('/');
  return slash == std::string::npos ? cluster::kCoreGroup : api_version.substr(0, slash);
}

std::string OwnerKey::version() const {
  const size_t slash = api_version.find('/');
  return slash == std::string::npos ? api_version : api_version.substr(slash + 1);
}

std::string OwnerKey::Shown() const { return kind + " " + name; }

const GroupingRule* FindRule(const GroupingRules& rules, const OwnerKey& owner) {
  const std::string group = owner.group();
  const std::string version = owner.version();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const GroupingRule& rule) {
    const auto& versions = rule.versions;
    return rule.kind == owner.kind && rule.group == group &&
           (versions.empty() ||
            std::find(versions.begin(), versions.end(), version) != versions.end());
  });
  return found == rules.end() ? nullptr : &*found;
}

OwnerChain FollowOwners(const JsonNode& pod, const GroupingRules& rules,
                        const OwnerLookup& lookup) {
  OwnerChain chain;
  const Identity self = IdentityOf(pod);
  OwnerKey first{"v1", "Pod", self.ns, self.name, self.uid};
  const GroupingRule* const own = FindRule(rules, first);
  chain.links.push_back({std::move(first), &pod, own});
  while (true) {
    std::optional<OwnerKey> owner = ControllerOf(*chain.links.back().object, self.ns);
    if (!owner) return chain;
    OwnerLink link{*std::move(owner), nullptr, nullptr};
    link.rule = FindRule(rules, link.key);
    if (link.rule == nullptr && !link.is_pod()) {
      chain.beyond = std::move(link.key);
      return chain;
    }
    if (IsIn(chain.links, link.key.uid)) {
      chain.broken = "its owners own each other: " + link.key.Shown() + " is met twice";
      return chain;
    }
    if (chain.links.size() > kMostOwners) {
      chain.broken =
          "it has more than " + std::to_string(kMostOwners) + " owners, one above the other";
      return chain;
    }
    OwnerRead read = lookup(link.key);
    if (read.state == OwnerRead::State::kUnread) {
      chain.unread = std::move(link.key);
      return chain;
    }
    if (read.state == OwnerRead::State::kForbidden) {
      chain.unreadable = std::move(link.key);
      chain.why = std::move(read.why);
      chain.lasts = read.lasts;
      return chain;
    }
    const bool known = read.state == OwnerRead::State::kKnown && read.object != nullptr &&
                       IdentityOf(*read.object).uid == link.key.uid;
    if (!known) {
      const bool wrapper = link.rule != nullptr && link.rule->wrapper;
      chain.owner_gone = !wrapper;
      if (!wrapper) chain.broken = "its owner " + link.key.Shown() + " is gone";
      return chain;
    }
    link.object = read.object;
    link.held = std::move(read.held);
    link.terms = std::move(read.terms);
    chain.links.push_back(std::move(link));
  }
}

}  // namespace muster::kube
