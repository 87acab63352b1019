#include "engine/judging/request.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/gangs/rank.hpp"
#include "engine/judging/nodes_refused.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/domains/fabric_wish.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::Pod;
using cluster::Time;

namespace {

// A member, and what tells first whether it is older than others.
struct Aged {
  explicit Aged(const Member* the_member)
      : created(the_member->pod->created),
        job_index(the_member->pod->job_index),
        member(the_member) {}
  bool operator<(const Aged& other) const {
    return std::tie(created, job_index, member->key.name, member->uid) <
           std::tie(other.created, other.job_index, other.member->key.name, other.member->uid);
  }

  Time created;
  int32_t job_index;
  const Member* member;
};

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Where it is or will be; invalid: nowhere.
NodeIndex NodeOf(const StandingState& state, const Member& member) {
  if (member.holds()) return state.cluster.IndexOf(member.pod->node_name);
  return member.planned() ? member.plan->placement->node : NodeIndex();
}

// Without those that leave: others come in their place.
std::vector<policy::PlacedMember> PlacedOf(const StandingState& state, const Gang& gang,
                                           const policy::GangTerms& terms,
                                           const std::vector<Member*>& but) {
  std::vector<policy::PlacedMember> placed;
  const bool ranked = !TopologyOf(state, gang).none() && gang.tally.bound + gang.tally.planned > 0;
  const Ranks ranks = ranked ? RanksOfLive(gang) : Ranks();
  for (const auto& [uid, member] : gang.members) {
    if (std::find(but.begin(), but.end(), &member) != but.end()) continue;
    const NodeIndex node = member.leaving() ? NodeIndex() : NodeOf(state, member);
    if (!node.valid()) continue;
    placed.push_back({node, member.pod->spec, terms.SubgroupOf(member.pod->role)});
    placed.back().unit = terms.UnitOf(member.pod->role);
    if (const auto rank = ranks.find(&member); rank != ranks.end())
      placed.back().rank = rank->second;
    const cluster::Allocation* held = member.held();
    if (held != nullptr && held->placement.node == node)
      placed.back().gpus = cluster::WholeGpusOf(held->placement);
  }
  return placed;
}

// Where members of the gangs of its spread group are and will be, gang by gang. Those that leave
// make way for those that come in their place.
std::vector<std::vector<NodeIndex>> OthersOf(const StandingState& state, const Gang& gang) {
  std::vector<std::vector<NodeIndex>> others;
  for (const auto& [id, other] : state.members.SpreadGroupOf(gang)) {
    if (other == &gang) continue;
    std::vector<NodeIndex> nodes;
    for (const auto& [uid, member] : other->members) {
      const NodeIndex node = member.leaving() ? NodeIndex() : NodeOf(state, member);
      if (node.valid()) nodes.push_back(node);
    }
    SortUnique(nodes);
    if (!nodes.empty()) others.push_back(std::move(nodes));
  }
  return others;
}

// One that says something, where its PodGroup does not: those that say nothing go by the others.
const Pod& Speaker(const Gang& gang) {
  const cluster::PodSpec* silent = nullptr;  // most members have the same
  for (const auto& [uid, member] : gang.members) {
    const cluster::PodSpec* spec = member.pod->spec.get();
    if (spec == silent) continue;
    if (!spec->topology.none() && !member.pod->terminal()) return *member.pod;
    if (spec->topology.none()) silent = spec;
  }
  return *gang.members.begin()->second.pod;
}

std::string KeyOfVolumes(const cluster::VolumeDemand& volumes) {
  std::string text;
  for (const cluster::AttachedVolume& one : volumes.attached)
    text += "," + one.driver + "/" + one.shared_as;
  for (const cluster::VolumeChoice& one : volumes.choices)
    text += "," + one.volumes->key + "/" + one.shared_as;
  return text;
}

// What RequestKey's roles do not say of pods that rules among pods are about: who they are to
// others.
std::string KeyOfFaces(const StandingState& state, const policy::GangRequest& request) {
  const auto concerned = [&](const policy::Demand& demand) {
    return state.cluster.RulesConcern(*state.cluster.FindPod(demand.pod));
  };
  const auto& required = request.required;
  if (!state.cluster.has_pod_rules() || std::none_of(required.begin(), required.end(), concerned))
    return {};
  std::map<std::string, int64_t> faces;
  for (const policy::Demand& demand : required) {
    std::string text = demand.face->ns + ":" + std::to_string(state.specs.IdOf(*demand.spec));
    for (const auto& label : demand.face->labels.list())
      text += "," + label->first + "=" + label->second;
    if (demand.face->volumes != nullptr) text += KeyOfVolumes(*demand.face->volumes);
    ++faces[text];
  }
  std::string text;
  for (const auto& [face, count] : faces) text += face + " × " + std::to_string(count) + "; ";
  return text;
}

// What RequestKey's roles and nodes do not say: in which subgroup they are.
std::string KeyOfSubgroups(const StandingState& state, const policy::GangRequest& request) {
  std::map<std::pair<size_t, uint64_t>, int64_t> pods;  // by subgroup and spec
  for (const policy::Demand& demand : request.required)
    ++pods[{demand.subgroup, state.specs.IdOf(*demand.spec)}];
  std::set<std::pair<size_t, uint32_t>> beside;
  for (const policy::PlacedMember& member : request.terms.placed)
    beside.emplace(member.subgroup, member.node.value);
  std::string text;
  for (const auto& [of, count] : pods) {
    text += " " + std::to_string(of.first) + ":" + std::to_string(of.second) + "=" +
            std::to_string(count);
  }
  for (const auto& [subgroup, node] : beside)
    text += " " + std::to_string(subgroup) + "@" + std::to_string(node);
  return text;
}

// Lost members have yet to be made, and not only when others of them are placed.
bool AwaitsMore(const StandingState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  return ComesBackOneByOne(gang, group) && !AllThere(state, gang) && !ComesInParts(gang, group);
}

}  // namespace

policy::Demand DemandOf(const StandingState& state, const policy::GangTerms& terms,
                        const Member& member, Time now) {
  const Pod& pod = *member.pod;
  policy::Demand demand;
  demand.pod = member.uid;
  demand.spec = pod.spec;
  demand.subgroup = terms.SubgroupOf(pod.role);
  if (state.cluster.has_pod_rules()) demand.face = cluster::FaceOf(pod);
  demand.unit = terms.UnitOf(pod.role);
  // What was nominated before (by us, before a restart, say) is kept where possible.
  if (!pod.nominated_node.empty()) demand.preferred = state.cluster.IndexOf(pod.nominated_node);
  const auto exclude = [&](const std::string& node) {
    const NodeIndex index = state.cluster.IndexOf(node);
    if (index.valid()) demand.excluded.push_back(index);
  };
  for (const auto& [node, until] : member.plan->excluded) {
    if (until > now) exclude(node);
  }
  for (const auto& [node, pods] : state.unfenced.nodes()) exclude(node);
  SortUnique(demand.excluded);
  return demand;
}

policy::GangTerms TermsOf(const StandingState& state, const Gang& gang,
                          const std::vector<Member*>& moving) {
  policy::GangTerms terms;
  terms.queue = QueueOf(gang);
  terms.wish = state.rules.wishes->Of(state.members.GroupOf(gang), Speaker(gang));
  if (terms.wish != nullptr)
    terms.subgroups = terms.wish->Subgroups(state.options.placement.fabric);
  if (const cluster::PodGroup* group = state.members.GroupOf(gang)) terms.units = group->units;
  terms.placed = PlacedOf(state, gang, terms, moving);
  terms.beside = policy::NodesOf(terms.placed);
  if (!TopologyOf(state, gang).spread.empty()) terms.others = OthersOf(state, gang);
  terms.replaces = Replaces(state, gang);
  return terms;
}

size_t WhollyLost(const policy::GangTerms& terms, size_t subgroup) {
  std::set<size_t> there;  // with a node of somebody in it
  for (const policy::PlacedMember& member : terms.placed) {
    for (size_t at = member.subgroup; at < terms.subgroups.size(); at = terms.subgroups[at].parent)
      there.insert(at);
  }
  size_t outermost = policy::Subgroup::kNone;
  for (size_t at = subgroup; at < terms.subgroups.size(); at = terms.subgroups[at].parent) {
    if (!there.contains(at)) outermost = at;
  }
  return outermost;
}

bool AllThere(const StandingState& state, const Gang& gang) {
  return Need(gang, Counting::kReady) == 0 &&
         std::none_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
           const Member& member = entry.second;
           return member.holds() && !state.cluster.IndexOf(member.pod->node_name).valid();
         });
}

bool Replaces(const StandingState& state, const Gang& gang) {
  return gang.tally.bound_of_muster > 0 && gang.past.has_run() &&
         !AwaitsRest(gang, state.members.GroupOf(gang));
}

const cluster::TopologyTerms& TopologyOf(const StandingState& state, const Gang& gang) {
  return policy::TermsOf(state.members.GroupOf(gang), Speaker(gang));
}

std::vector<const Member*> OpenMembers(const Gang& gang) {
  std::vector<Aged> aged;
  for (const auto& [uid, member] : gang.members) {
    if (!IsThere(member, Counting::kPlanned) && IsThere(member, Counting::kReady))
      aged.emplace_back(&member);
  }
  std::sort(aged.begin(), aged.end());
  std::vector<const Member*> open;
  open.reserve(aged.size());
  for (const Aged& one : aged) open.push_back(one.member);
  return open;
}

// The required pods: of each role as many as its minimum still lacks, then any up to min_member;
// oldest first, then by Job and name. All others are elastic.
policy::GangRequest RequestOf(const StandingState& state, const Gang& gang, Time now) {
  policy::GangRequest request;
  request.terms = TermsOf(state, gang, {});
  std::vector<const Member*> open = OpenMembers(gang);
  if (AwaitsMore(state, gang)) {
    std::erase_if(open, [&](const Member* member) {
      return WhollyLost(request.terms, request.terms.SubgroupOf(member->pod->role)) !=
             policy::Subgroup::kNone;
    });
  }
  const cluster::Headcount there =
      CountMembers(gang, !gang.minimum.roles.empty(),
                   [](const Member& member) { return IsThere(member, Counting::kPlanned); });
  const Ranks ranks = RanksOfLive(gang);
  NodesRefused refused(state, gang);
  const auto demand_of = [&](size_t i) {
    policy::Demand demand = DemandOf(state, request.terms, *open[i], now);
    refused.KeepOff(demand);
    demand.rank = ranks.at(open[i]);
    return demand;
  };
  std::vector<bool> required(open.size(), false);
  std::map<uint64_t, int64_t> roles;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  // The rest of a gang that starts with a part of its minimum starts together, when that part runs.
  const bool part =
      group != nullptr && group->starts_with > 0 && !gang.past.one_by_one() &&
      (!gang.past.running_since() || Lack(DeclaredMinimum(group), gang.past.whole()) > 0);
  for (const size_t i : Needed(gang.minimum, there, open)) {
    required[i] = true;
    request.required.push_back(demand_of(i));
    ++roles[state.specs.IdOf(*open[i]->pod->spec)];
  }
  // Those beyond the minimum are not ahead of lost ones that are still to come.
  const bool behind = AwaitsMore(state, gang) && !KeepsRest(gang, group);
  for (size_t i = 0; i < open.size() && !part && !behind; ++i) {
    if (!required[i]) request.elastic.push_back(demand_of(i));
  }
  request.key.roles.assign(roles.begin(), roles.end());
  request.key.queue = request.terms.queue;
  request.key.non_preemptible = gang.non_preemptible;
  request.key.rules = KeyOfFaces(state, request);
  if (request.terms.wish != nullptr) {
    request.key.wish = request.terms.wish->Key();
    if (!request.terms.subgroups.empty()) request.key.wish += KeyOfSubgroups(state, request);
    request.key.beside = request.terms.beside;
  }
  return request;
}

policy::GangRequest AsIfWithoutNodes(const StandingState& state, const Gang& gang) {
  std::vector<const Member*> there;
  for (const auto& [uid, member] : gang.members) {
    if (!member.leaving() && NodeOf(state, member).valid()) there.push_back(&member);
  }
  const std::vector<uint32_t> ranks = RanksOf(there);
  policy::GangRequest request;
  request.terms = TermsOf(state, gang, {});
  request.terms.placed.clear();
  request.terms.beside.clear();
  request.terms.replaces = false;
  for (size_t i = 0; i < there.size(); ++i) {
    const Pod& pod = *there[i]->pod;
    policy::Demand demand;
    demand.pod = there[i]->uid;
    demand.spec = pod.spec;
    demand.rank = ranks[i];
    demand.subgroup = request.terms.SubgroupOf(pod.role);
    if (state.cluster.has_pod_rules()) demand.face = cluster::FaceOf(pod);
    request.required.push_back(std::move(demand));
  }
  return request;
}

// Nodes that are withheld from all gangs make none of them another case.
bool Plain(const StandingState& state, const policy::GangRequest& request) {
  const auto& withheld = state.unfenced.nodes();
  const auto known = std::count_if(withheld.begin(), withheld.end(), [&](const auto& entry) {
    return state.cluster.IndexOf(entry.first).valid();
  });
  return std::all_of(
      request.required.begin(), request.required.end(),
      [&](const policy::Demand& demand) { return std::ssize(demand.excluded) == known; });
}

std::vector<const Member*> NeededForStart(const Gang& gang) {
  // The members that RequestOf takes as required.
  const std::vector<const Member*> open = OpenMembers(gang);
  const cluster::Headcount there =
      CountMembers(gang, !gang.minimum.roles.empty(),
                   [](const Member& member) { return IsThere(member, Counting::kPlanned); });
  std::vector<const Member*> needed;
  for (const size_t i : Needed(gang.minimum, there, open)) needed.push_back(open[i]);
  return needed;
}

}  // namespace muster::engine
