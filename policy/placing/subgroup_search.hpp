// SubgroupSearch: a gang some of whose pods are to be in a domain of their own (Subgroup), placed
// within one domain, or not at all (internal to policy/).
//
// 1. Subgroups are placed one after the other, those that require the innermost levels first, then
//    those with most GPUs, then those with most pods: each in a domain that its wish names, in the
//    order in which it names them, and within the domain of the subgroup around it; there the
//    subgroups within it first, then its other pods. What is in no subgroup comes last, and near
//    the others.
// 2. Where one has no room the one before it is tried in its next domain, and so on backwards. So a
//    placement is found wherever choosing domains differently leads to one, within the budget: so
//    many placings are tried beyond those that placing everybody once takes. The number of ways
//    grows exponentially with the subgroups, as in bin packing (NP-hard). What has failed is not
//    tried again where as many alike pods lie in each domain, whichever subgroups they are of.
// 3. A domain that a wish names and that is wider than the one around, or lies across it, counts as
//    what the two have in common; but not where the wish requires segments in it and what is left
//    has not its tree.
//
// One call, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "cluster/holdings/transaction.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/terms/place_answer.hpp"

namespace muster::policy {

class SubgroupSearch {
 public:
  // Of one PlaceGang call.
  static constexpr int64_t kMostRetries = 1024;

  struct Ports {
    // What the wish of the terms names for those pods, as things stand.
    std::function<WishedDomains(const std::vector<Demand>&, const GangTerms&)> domains;
    // Places all of them in one domain, or none.
    std::function<PlaceAnswer(const std::vector<Demand>&, const GangTerms&, const Domain&)> place;
  };

  SubgroupSearch(cluster::Transaction& tx, const std::vector<Demand>& demands,
                 const GangTerms& terms, const Ports& ports);

  // The first time that it is called; takes what is used from the budget.
  PlaceAnswer Run(const Domain& domain, int64_t& budget);

 private:
  // A subgroup, or (the last one) the gang.
  struct Group {
    std::vector<size_t> own;  // demands, positions: in it and in none within it
    std::vector<size_t> all;  // in it
    int64_t gpu_milli = 0;    // that all of them ask for
    std::vector<size_t> inner = {};
    size_t end = 0;      // the step after its last one
    Domain domain = {};  // chosen for it
    Domain named = {};   // as its wish names that
  };
  // Choosing the domain of a group, or placing its own pods.
  struct Step {
    size_t group = 0;
    bool chooses = false;
  };

  // What all that follows depends on: where how many pods of which shape are, and which domains
  // are chosen for what is not placed yet.
  using State = std::vector<int64_t>;
  State StateAt(size_t step) const;

  void AddSteps(size_t group);
  bool From(size_t step);
  bool Chosen(size_t step);
  bool Placed(size_t step);
  std::vector<Demand> DemandsOf(const std::vector<size_t>& positions) const;
  GangTerms TermsOf(size_t group) const;
  void Note(PlaceAnswer answer, size_t group, const WishedDomains& wished);

  cluster::Transaction& tx_;
  const std::vector<Demand>& demands_;
  const GangTerms& terms_;
  const Ports& ports_;
  std::vector<Group> groups_;
  std::vector<Step> steps_;
  std::vector<int64_t> shapes_;  // by demand; those that are alike have the same
  std::set<State> failed_;
  std::vector<WishedDomains> wished_;           // by group, as last asked
  std::vector<cluster::Placement> placements_;  // by demand
  int64_t placed_ = 0;                          // so many of them
  int64_t left_ = 0;                            // placings
  PlaceAnswer nearest_;
  bool any_ = false;
};

}  // namespace muster::policy
