// GangRequest: what a gang asks for, as a whole. Wish: where it wants to be, as a whole.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// One pod to place. Demands are interchangeable when their specs ask for the same resources, GPUs
// and nodes.
struct Demand {
  cluster::PodUid pod;
  std::shared_ptr<const cluster::PodSpec> spec;
  cluster::NodeIndex preferred;              // invalid: none
  std::vector<cluster::NodeIndex> excluded;  // ordered; usually empty
  uint32_t rank = 0;                         // among the members of its gang, the lowest first
  size_t subgroup = SIZE_MAX;                // GangTerms::SubgroupOf its role
  size_t unit = SIZE_MAX;                    // GangTerms::UnitOf its role
  // Where some pod that is known of has rules among pods; null: none has.
  cluster::FacePtr face = nullptr;
};

class Wish;

// Pods of a gang that are to be in one domain, within that of the gang.
struct Subgroup {
  static constexpr size_t kNone = SIZE_MAX;
  std::string name;                  // for people
  std::vector<std::string> roles;    // of its pods; rising
  size_t parent = kNone;             // position of the one around it, before this one
  std::shared_ptr<const Wish> wish;  // not null
  // Of the level that it requires, 0 the outermost; -1: of none. The narrower ones go first.
  int64_t level = -1;
};

// Roles by interned PodSpec id, and how many pods of each; ordered by id.
using RoleCounts = std::vector<std::pair<uint64_t, int64_t>>;

// Gangs with equal keys and without exclusions fit or fail together.
struct RequestKey {
  RoleCounts roles;   // of the required pods
  std::string queue;  // to which the gang is charged
  std::string wish;   // Wish::Key(); empty: none
  // With a wish, which may go by it: GangTerms::beside.
  std::vector<cluster::NodeIndex> beside;
  bool non_preemptible = false;
  std::string rules;  // what rules among pods see of it, where there are any for it
  auto operator<=>(const RequestKey&) const = default;
};

// A member that has its node already.
struct PlacedMember {
  cluster::NodeIndex node;
  std::shared_ptr<const cluster::PodSpec> spec;
  size_t subgroup = SIZE_MAX;                // as Demand::subgroup
  std::vector<cluster::GpuIndex> gpus = {};  // that it has whole
  size_t unit = SIZE_MAX;                    // as Demand::unit
  uint32_t rank = 0;                         // as Demand::rank
  bool closed = false;                       // those that are placed do not join its segment
};

// Ordered and distinct.
std::vector<cluster::NodeIndex> NodesOf(const std::vector<PlacedMember>& members);

// What holds for every member of a gang.
struct GangTerms {
  std::string queue;  // to which what it takes is charged
  // Where members are that are bound or planned already; ordered, distinct.
  std::vector<cluster::NodeIndex> beside;
  // The same, one by one; in no order.
  std::vector<PlacedMember> placed = {};
  // Likewise: where members of the other gangs of its spread group are, gang by gang, each ordered
  // and distinct.
  std::vector<std::vector<cluster::NodeIndex>> others = {};
  // Members that have their nodes and are of other subgroups: they count for rails alone.
  std::vector<PlacedMember> elsewhere = {};
  std::shared_ptr<const Wish> wish = nullptr;  // null: all nodes are alike to it
  std::vector<Subgroup> subgroups = {};        // the wish's
  // Of elastic members, by their roles.
  std::vector<cluster::RoleUnit> units = {};
  static constexpr size_t kNoUnit = SIZE_MAX;
  // The position in `units`; kNoUnit: they start one by one.
  size_t UnitOf(const std::string& name) const {
    const std::string role = units.empty() ? name : cluster::WholeRole(name);
    for (size_t i = 0; i < units.size(); ++i)
      if (units[i].name == role) return i;
    return kNoUnit;
  }
  // The innermost in which pods of that role are; kNone: in none.
  size_t SubgroupOf(const std::string& name) const {
    size_t innermost = Subgroup::kNone;
    if (subgroups.empty()) return innermost;
    const std::string role = cluster::WholeRole(name);
    for (size_t i = 0; i < subgroups.size(); ++i) {
      const std::vector<std::string>& roles = subgroups[i].roles;
      if (std::binary_search(roles.begin(), roles.end(), role)) innermost = i;
    }
    return innermost;
  }
  // The required ones come back to a gang that runs: what is kept for lost members is theirs too.
  bool replaces = false;
  std::shared_ptr<const cluster::NodeSet> kept = nullptr;  // from them (reserve.hpp); null: nothing
  bool reasons = true;  // false: nobody asks why it does not fit, Shortage has no counts
};

struct GangRequest {
  // The gang's minimum, less what it has: all are placed or none, but for members that were lost.
  std::vector<Demand> required;
  // Members beyond the minimum: each is placed by itself, after the required ones.
  std::vector<Demand> elastic;
  GangTerms terms;
  RequestKey key;
};

// How a gang fits a domain of the fabric if nobody else is placed there. Exclusions do not count.
struct DomainRoom {
  bool fits = true;     // there is room for each role, taken by itself
  int64_t spare = 0;    // of the hardest role so many more than there are; below 0: too few
  int64_t members = 0;  // Σ over roles of those that find room
  // Where it fits: the slowest ring of a member, MB/s (0: not known, or no matter), and how many
  // free nodes it takes there, about.
  uint32_t ring = 0;
  int64_t opens = 0;
};

// How a gang fits a node that has room for each role; `spare` is at least 0.
struct NodeRoom {
  cluster::NodeIndex node;
  int64_t spare = 0;
  uint32_t ring = 0;
};

class Losses;

// What a wish may go by.
struct Surroundings {
  const cluster::Snapshot& nodes;
  const std::vector<cluster::NodeIndex>& beside;  // nodes of members that have theirs already
  const std::vector<std::vector<cluster::NodeIndex>>& others;  // GangTerms::others
  std::vector<cluster::NodeIndex> preferred;  // Demand::preferred of all that have one
  const topology::Fabric& fabric;             // of the nodes
  const std::vector<DomainRoom>& room;        // by topology::DomainId
  const Losses& losses;                       // in the fabric
  // Of gangs of several pods of which nobody is beside, and without subgroups; rising.
  std::vector<NodeRoom> single_nodes = {};
};

// Of a gang that is to be in segments, in one tree.
struct Segments {
  // The first that can be kept counts; the last one must be. Empty: no segments.
  std::vector<topology::Multiples> choices = {};
  bool by_pods = false;   // of those roles only whose pods say so themselves
  std::string text = {};  // for people: "of 8 in a domain of level rack each"
};

struct Domain {
  std::shared_ptr<const cluster::NodeSet> nodes;  // null: all nodes
  std::string name;                               // for people, may be empty
  // The tree of the fabric over whose domains below this one the gang is divided, and in whose
  // order its members are by rank; nothing: none.
  std::optional<size_t> tree = std::nullopt;
  topology::DomainId id = topology::kNoDomain;  // in that tree; kNoDomain: all of it
  bool divided = true;                          // false: only the order counts
  Segments segments = {};
  bool packed = false;  // each domain below is filled as far as it goes; else equal shares
};
struct WishedDomains {
  // Within one of them all of the gang is placed, the best first. Empty: it may be nowhere.
  std::vector<Domain> domains;
  std::string limit;  // for people: the level of which the gang needs one domain; empty: of none
  int64_t of = 0;     // how many domains of it there are for this gang
};

// Pure: the same request on the same snapshot has the same domains.
class Wish {
 public:
  virtual ~Wish() = default;
  // Equal for wishes that have the same domains everywhere, but perhaps in another order where
  // others are.
  virtual std::string Key() const = 0;
  virtual WishedDomains Domains(const Surroundings& around) const = 0;
  // Those within another one come after it.
  virtual std::vector<Subgroup> Subgroups(const topology::FabricOptions& /*fabric*/) const {
    return {};
  }
};

// What gangs wish for, by their PodGroup and one of their pods.
class Wishes {
 public:
  virtual ~Wishes() = default;
  // `group`: null for a gang of one pod. Null: nothing.
  virtual std::shared_ptr<const Wish> Of(const cluster::PodGroup* group,
                                         const cluster::Pod& member) const = 0;
};

// Nobody wishes for anything.
class NoWishes final : public Wishes {
 public:
  std::shared_ptr<const Wish> Of(const cluster::PodGroup* /*group*/,
                                 const cluster::Pod& /*member*/) const override {
    return nullptr;
  }
};

}  // namespace muster::policy
