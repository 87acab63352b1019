// FabricWish: a gang that wants to be within one domain of a level of the fabric, or would rather
// be. FabricWishes: who wishes so, by annotations (cluster/records/topology_terms.hpp).
//
// 1. Required: no member is placed outside of one domain of that level.
// 2. Preferred: domains of that level are tried first, then of each level above it; with a required
//    level up to that one, else in the end all nodes. Trees that have the level are tried side by
//    side, level by level. Where nobody is beside, domains of the levels inside of the wished one
//    are tried before it, the innermost first: so the gang is never further apart than it must be.
// 3. Of the domains of one level those are tried first that have most of `beside`; where anybody is
//    beside, no others. With a required level only those that have most.
// 4. Then those that have most preferred nodes of the demands, then those with the fewest gangs of
//    the spread group, then the tightest: least room left for the hardest role once the gang is in;
//    then least in the domain around it, and so on. Ties by name.
// 5. Domains without room for each role by itself are skipped. Where no domain of a required level
//    has room, the one with the most room is reported, so that the reason can be given.
// 6. Of a level that is not required at most kMostTries are tried: only gangs of several roles,
//    with exclusions or in segments can fail in a domain that has room for each role by itself.
// 7. A gang that is to be spread over a level prefers one domain of that level too. Gangs of its
//    group are counted in the domain of that level around a domain that is tried; in the domain
//    itself where that is of a level above. They decide in which order domains are tried, never
//    whether: so they are no part of Key().
// 8. A gang that names neither a level that it requires or prefers nor segments is tried as gangs
//    that say nothing are.
// 9. Segments are those of layout.hpp; where the PodGroup says nothing they are those of the roles
//    whose pods ask for them. A gang that has members and segments is tried outside of its
//    outermost segments only, so that a lost member comes back into its segment.
// 10. Before all of them a gang of several pods of which nobody is beside is tried on single nodes
//     that have room for each role, kMostNodes at most: preferred ones first, then the fullest,
//     then as 4 says of the domains around. Not so where that would be against its spread.
// 11. A subgroup wishes what a gang would that requires and prefers its levels.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/records/topology_terms.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::policy {

class FabricWish final : public Wish {
 public:
  enum class SaidBy { kGroup, kPods };
  explicit FabricWish(cluster::TopologyTerms terms, SaidBy said_by = SaidBy::kGroup)
      : terms_(std::move(terms)), said_by_(said_by) {}
  static constexpr size_t kMostTries = 16;
  static constexpr size_t kMostNodes = 4;
  std::string Key() const override;
  WishedDomains Domains(const Surroundings& around) const override;
  std::vector<Subgroup> Subgroups(const topology::FabricOptions& fabric) const override;

 private:
  cluster::TopologyTerms terms_;
  SaidBy said_by_;
};

// Of gangs that say nothing: rather within the innermost level of the first tree. Null where the
// fabric has no levels.
std::shared_ptr<const Wish> UsualWish(const topology::FabricOptions& fabric);

// The terms of the PodGroup, else those of the pod.
const cluster::TopologyTerms& TermsOf(const cluster::PodGroup* group, const cluster::Pod& member);

class FabricWishes final : public Wishes {
 public:
  std::shared_ptr<const Wish> Of(const cluster::PodGroup* group,
                                 const cluster::Pod& member) const override;
};

}  // namespace muster::policy
