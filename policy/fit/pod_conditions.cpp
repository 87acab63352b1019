#include "policy/fit/pod_conditions.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace muster::policy {

using cluster::FacePtr;
using cluster::Node;
using cluster::NodeIndex;
using cluster::PodFace;
using cluster::PodSpec;
using cluster::PodTerm;
using cluster::PodUid;
using cluster::SpreadRule;

PodConditions::PodConditions(cluster::Transaction& tx)
    : tx_(tx), field_(tx.base().pods()), volumes_(tx) {}

std::unique_ptr<PodConditions> PodConditions::Of(cluster::Transaction& tx,
                                                 const std::vector<Demand>& demands) {
  const auto unknown = [](const Demand& demand) { return demand.face == nullptr; };
  if (demands.empty() || std::any_of(demands.begin(), demands.end(), unknown)) return nullptr;
  for (const Demand& demand : demands) tx.Know(demand.face);
  std::unique_ptr<PodConditions> conditions(new PodConditions(tx));
  for (const Demand& demand : demands) conditions->asking_.insert(demand.pod);
  const bool guarded = conditions->FindGuards(demands);
  VolumeConditions& volumes = conditions->volumes_;
  for (const Demand& demand : demands) volumes.AskFor(*demand.face);
  if (volumes.asked()) {
    conditions->EachPod([&](const PodFace& face, NodeIndex node) { volumes.Apply(face, node, 1); });
  }
  const bool ruled = std::any_of(demands.begin(), demands.end(),
                                 [](const Demand& demand) { return !demand.spec->rules.none(); });
  if (!guarded && !ruled && !volumes.asked()) return nullptr;
  return conditions;
}

template <typename Visit>
void PodConditions::EachPod(const Visit& visit) const {
  const uint32_t size = tx_.base().size();
  for (NodeIndex node{0}; node.value < size; ++node.value) {
    if (tx_.node(node) == nullptr) continue;
    if (const auto there = there_.find(node); there != there_.end()) {
      for (const PodFace* face : there->second) visit(*face, node);
    } else if (field_ != nullptr) {
      for (const FacePtr& face : field_->on(node)) {
        if (!asking_.contains(face->uid)) visit(*face, node);
      }
    }
  }
}

// Anti-affinity of pods that are there and of the members themselves, where it means a member.
// False: there is none.
bool PodConditions::FindGuards(const std::vector<Demand>& demands) {
  std::map<PodTerm, bool> means;
  const auto look = [&](const PodFace& face) {
    for (const PodTerm& term : face.spec->rules.anti_affinity) {
      const auto [at, fresh] = means.try_emplace(term, false);
      if (!fresh) continue;
      at->second = std::any_of(demands.begin(), demands.end(),
                               [&](const Demand& demand) { return Meant(term, *demand.face); });
    }
  };
  EachPod([&](const PodFace& face, NodeIndex) { look(face); });
  for (const Demand& demand : demands) look(*demand.face);
  for (const cluster::Delta& delta : tx_.deltas()) {
    if (const PodFace* face = tx_.FaceOf(delta.placement.pod)) look(*face);
  }
  for (const auto& [term, meant] : means) {
    if (!meant) continue;
    const Domains& domains = DomainsOf(term.topology_key);
    guards_[term] = {&domains, Counts(static_cast<size_t>(domains.size))};
  }
  EachPod([&](const PodFace& face, NodeIndex node) { CountGuards(face, node, 1); });
  return !guards_.empty();
}

const PodConditions::Domains& PodConditions::DomainsOf(const std::string& key) {
  const auto [at, fresh] = domains_.try_emplace(key);
  Domains& domains = at->second;
  if (!fresh) return domains;
  std::unordered_map<std::string, int32_t> numbers;
  const uint32_t size = tx_.base().size();
  domains.of.assign(size, -1);
  for (uint32_t i = 0; i < size; ++i) {
    const Node* node = tx_.node(NodeIndex{i});
    if (node == nullptr) continue;
    const auto label = node->labels.find(key);
    if (label == node->labels.end()) continue;
    domains.of[i] = numbers.try_emplace(label->second, domains.size).first->second;
    domains.size = static_cast<int32_t>(numbers.size());
  }
  return domains;
}

bool PodConditions::Meant(const PodTerm& term, const PodFace& face) const {
  const cluster::Labels* of_namespace = nullptr;
  const auto* namespaces = field_ == nullptr ? nullptr : field_->namespaces();
  if (term.by_namespace_labels && namespaces != nullptr) {
    const auto found = namespaces->find(face.ns);
    if (found != namespaces->end()) of_namespace = &found->second;
  }
  return Means(term, face.ns, face.labels, of_namespace);
}

bool PodConditions::MeantByAll(const std::vector<PodTerm>& terms, const PodFace& face) const {
  return std::all_of(terms.begin(), terms.end(),
                     [&](const PodTerm& term) { return Meant(term, face); });
}

std::vector<PodConditions::TermCount> PodConditions::CountsOf(const std::vector<PodTerm>& terms) {
  std::vector<TermCount> counts;
  for (const PodTerm& term : terms) {
    const Domains& domains = DomainsOf(term.topology_key);
    counts.push_back({&term, &domains, Counts(static_cast<size_t>(domains.size))});
  }
  return counts;
}

PodConditions::SpreadCount PodConditions::SpreadOf(const PodSpec& spec, const SpreadRule& rule) {
  const Domains& domains = DomainsOf(rule.topology_key);
  const auto size = static_cast<size_t>(domains.size);
  const uint32_t nodes = tx_.base().size();
  SpreadCount count{&rule, &domains, std::vector<bool>(nodes), Counts(size), Counts(size)};
  // Honored are the selector and the affinity of the pod, not where its volumes are.
  cluster::NodeConstraints asked = spec.constraints;
  asked.volume_places.clear();
  for (uint32_t i = 0; i < nodes; ++i) {
    const Node* node = tx_.node(NodeIndex{i});
    if (node == nullptr) continue;
    const auto& all = spec.rules.spread;
    const bool counts =
        std::all_of(
            all.begin(), all.end(),
            [&](const SpreadRule& one) { return node->labels.contains(one.topology_key); }) &&
        (!rule.heeds_affinity || MatchesNode(asked, node->name, node->labels)) &&
        (!rule.heeds_taints || ToleratesAll(spec.constraints.tolerations, node->taints));
    if (!counts) continue;
    count.counted[i] = true;
    ++count.nodes[static_cast<size_t>(domains.of[i])];
  }
  return count;
}

PodConditions::Kind& PodConditions::KindOf(const PodFace& face) {
  const auto [at, fresh] = kinds_.try_emplace({face.spec.get(), face.ns});
  Kind& kind = at->second;
  if (!fresh) return kind;
  const cluster::PodRules& rules = face.spec->rules;
  kind.ns = face.ns;
  kind.spec = face.spec.get();
  kind.affinity = CountsOf(rules.affinity);
  kind.anti_affinity = CountsOf(rules.anti_affinity);
  for (const SpreadRule& rule : rules.spread) kind.spread.push_back(SpreadOf(*face.spec, rule));
  EachPod([&](const PodFace& there, NodeIndex node) { CountIn(kind, there, node, 1); });
  return kind;
}

void PodConditions::CountIn(Kind& kind, const PodFace& face, NodeIndex node, int64_t sign) const {
  const auto count = [&](const Domains& domains, Counts& counts) {
    const int32_t domain = domains.of[node.value];
    if (domain >= 0) counts[static_cast<size_t>(domain)] += sign;
    return domain >= 0;
  };
  if (!kind.affinity.empty() && MeantByAll(kind.spec->rules.affinity, face)) {
    bool somewhere = false;
    for (TermCount& term : kind.affinity)
      somewhere = count(*term.domains, term.counts) || somewhere;
    kind.affine += somewhere ? sign : 0;
  }
  for (TermCount& term : kind.anti_affinity) {
    if (Meant(*term.term, face)) count(*term.domains, term.counts);
  }
  for (SpreadCount& spread : kind.spread) {
    if (spread.counted[node.value] && !face.deleting && face.ns == kind.ns &&
        spread.rule->pods.Matches(face.labels))
      spread.least = count(*spread.domains, spread.counts) ? -1 : spread.least;
  }
}

void PodConditions::CountGuards(const PodFace& face, NodeIndex node, int64_t sign) {
  for (const PodTerm& term : face.spec->rules.anti_affinity) {
    const auto guard = guards_.find(term);
    if (guard == guards_.end()) continue;
    const int32_t domain = guard->second.domains->of[node.value];
    if (domain >= 0) guard->second.counts[static_cast<size_t>(domain)] += sign;
  }
}

const PodFace* PodConditions::FaceOf(const PodUid& pod, NodeIndex node) const {
  if (const PodFace* face = tx_.FaceOf(pod)) return face;
  if (field_ == nullptr) return nullptr;
  for (const FacePtr& face : field_->on(node)) {
    if (face->uid == pod) return face.get();
  }
  return nullptr;
}

PodConditions::Faces PodConditions::PodsOn(NodeIndex node) const {
  if (const auto there = there_.find(node); there != there_.end()) return there->second;
  Faces faces;
  if (field_ == nullptr) return faces;
  for (const FacePtr& face : field_->on(node)) {
    if (!asking_.contains(face->uid)) faces.push_back(face.get());
  }
  return faces;
}

void PodConditions::Apply(const PodFace& face, NodeIndex node, int64_t sign) {
  Faces& there = there_.try_emplace(node, PodsOn(node)).first->second;
  const auto same = std::find_if(there.begin(), there.end(),
                                 [&](const PodFace* one) { return one->uid == face.uid; });
  // Where a member was before is not counted, so it does not go.
  if (sign < 0 && same == there.end()) return;
  if (sign > 0) {
    there.push_back(&face);
  } else {
    there.erase(same);
  }
  for (auto& [key, kind] : kinds_) CountIn(kind, face, node, sign);
  CountGuards(face, node, sign);
  volumes_.Apply(face, node, sign);
}

void PodConditions::Follow() {
  const std::vector<cluster::Delta>& deltas = tx_.deltas();
  while (!applied_.empty() && (applied_.size() > deltas.size() ||
                               applied_.back().serial != deltas[applied_.size() - 1].serial)) {
    const Applied last = applied_.back();
    applied_.pop_back();
    if (last.face != nullptr) Apply(*last.face, last.node, -last.sign);
  }
  while (applied_.size() < deltas.size()) {
    const cluster::Delta& delta = deltas[applied_.size()];
    const cluster::Placement& placement = delta.placement;
    const bool place = delta.kind == cluster::Delta::Kind::kPlace;
    const PodFace* face = FaceOf(placement.pod, placement.node);
    // A member leaves where it was before: that is not counted.
    if (!place && face != nullptr && asking_.contains(face->uid)) {
      const Faces there = PodsOn(placement.node);
      const bool counted = std::any_of(there.begin(), there.end(), [&](const PodFace* one) {
        return one->uid == placement.pod;
      });
      if (!counted) face = nullptr;
    }
    applied_.push_back({delta.serial, face, placement.node, place ? 1 : -1});
    if (face != nullptr) Apply(*face, placement.node, place ? 1 : -1);
  }
}

bool PodConditions::PortsFree(const PodFace& face, NodeIndex node) const {
  const auto& wanted = face.spec->rules.host_ports;
  if (wanted.empty()) return true;
  const Faces there = PodsOn(node);
  return std::none_of(there.begin(), there.end(), [&](const PodFace* one) {
    const auto& taken = one->spec->rules.host_ports;
    return std::any_of(taken.begin(), taken.end(), [&](const cluster::HostPort& port) {
      return std::any_of(wanted.begin(), wanted.end(),
                         [&](const cluster::HostPort& want) { return want.Conflicts(port); });
    });
  });
}

void PodConditions::SettleSpread(Kind& kind) {
  for (SpreadCount& spread : kind.spread) {
    if (spread.least >= 0) continue;
    int64_t domains = 0;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < spread.counts.size(); ++i) {
      if (spread.nodes[i] == 0) continue;
      ++domains;
      least = std::min(least, spread.counts[i]);
    }
    spread.least = domains == 0 || domains < spread.rule->min_domains ? 0 : least;
  }
}

PodConditions::Bar PodConditions::SpreadBar(const Kind& kind, const PodFace& face, NodeIndex node) {
  for (const SpreadCount& spread : kind.spread) {
    const int32_t domain = spread.domains->of[node.value];
    if (domain < 0) return Bar::kNoSpreadLabel;
    const int64_t itself = spread.rule->pods.Matches(face.labels) ? 1 : 0;
    const int64_t there = spread.counts[static_cast<size_t>(domain)];
    if (there + itself - spread.least > spread.rule->max_skew) return Bar::kSpread;
  }
  return Bar::kNone;
}

bool PodConditions::Together(const Kind& kind, const PodFace& face, NodeIndex node) const {
  bool all = true;
  for (const TermCount& term : kind.affinity) {
    const int32_t domain = term.domains->of[node.value];
    if (domain < 0) return false;
    all = all && term.counts[static_cast<size_t>(domain)] > 0;
  }
  // The first of those that are to be together.
  return all || (kind.affine == 0 && MeantByAll(kind.spec->rules.affinity, face));
}

bool PodConditions::Crowded(const Kind& kind, NodeIndex node) {
  return std::any_of(kind.anti_affinity.begin(), kind.anti_affinity.end(),
                     [&](const TermCount& term) {
                       const int32_t domain = term.domains->of[node.value];
                       return domain >= 0 && term.counts[static_cast<size_t>(domain)] > 0;
                     });
}

bool PodConditions::GuardedOff(const PodFace& face, NodeIndex node) {
  if (guards_.empty()) return false;
  const auto [at, fresh] = meant_by_.try_emplace(face.uid);
  if (fresh) {
    for (const auto& [term, guard] : guards_) {
      if (Meant(term, face)) at->second.push_back(&guard);
    }
  }
  return std::any_of(at->second.begin(), at->second.end(), [&](const Guard* guard) {
    const int32_t domain = guard->domains->of[node.value];
    return domain >= 0 && guard->counts[static_cast<size_t>(domain)] > 0;
  });
}

PodConditions::Bar PodConditions::BarOn(const Kind& kind, const PodFace& face, NodeIndex node) {
  if (!PortsFree(face, node)) return Bar::kPorts;
  if (!volumes_.Attach(face, node)) return Bar::kAttachLimit;
  if (!volumes_.Bind(face, node)) return Bar::kNoVolumeLeft;
  if (const Bar spread = SpreadBar(kind, face, node); spread != Bar::kNone) return spread;
  if (!kind.affinity.empty() && !Together(kind, face, node)) return Bar::kAffinity;
  if (Crowded(kind, node)) return Bar::kAntiAffinity;
  return GuardedOff(face, node) ? Bar::kOthersAntiAffinity : Bar::kNone;
}

PodConditions::Bar PodConditions::On(const Demand& demand, NodeIndex node) {
  Follow();
  Kind& kind = KindOf(*demand.face);
  SettleSpread(kind);
  return BarOn(kind, *demand.face, node);
}

std::vector<NodeIndex> PodConditions::ClosedTo(const Demand& demand) {
  Follow();
  Kind& kind = KindOf(*demand.face);
  SettleSpread(kind);
  std::vector<NodeIndex> closed;
  const uint32_t size = tx_.base().size();
  for (NodeIndex node{0}; node.value < size; ++node.value) {
    if (tx_.node(node) != nullptr && BarOn(kind, *demand.face, node) != Bar::kNone)
      closed.push_back(node);
  }
  std::vector<NodeIndex> both;
  std::set_union(closed.begin(), closed.end(), demand.excluded.begin(), demand.excluded.end(),
                 std::back_inserter(both));
  return both;
}

bool PodConditions::Alike(const Demand& a, const Demand& b) {
  if (a.face->ns != b.face->ns) return false;
  if (!SameDemand(a.face->volumes, b.face->volumes)) return false;
  if (a.face->labels == b.face->labels) return true;
  const auto same = [&](const PodTerm& term) {
    return Meant(term, *a.face) == Meant(term, *b.face);
  };
  const bool guards = std::all_of(guards_.begin(), guards_.end(),
                                  [&](const auto& guard) { return same(guard.first); });
  return guards && std::all_of(kinds_.begin(), kinds_.end(), [&](const auto& entry) {
           const cluster::PodRules& rules = entry.second.spec->rules;
           return std::all_of(rules.affinity.begin(), rules.affinity.end(), same) &&
                  std::all_of(rules.anti_affinity.begin(), rules.anti_affinity.end(), same) &&
                  std::all_of(rules.spread.begin(), rules.spread.end(),
                              [&](const SpreadRule& rule) {
                                return rule.pods.Matches(a.face->labels) ==
                                       rule.pods.Matches(b.face->labels);
                              });
         });
}

bool PodConditions::Hold(const std::vector<Demand>& demands,
                         const std::vector<cluster::Placement>& placements) {
  Follow();
  for (const Demand& demand : demands) {
    const auto placed =
        std::find_if(placements.begin(), placements.end(),
                     [&](const cluster::Placement& one) { return one.pod == demand.pod; });
    if (placed == placements.end()) return false;
    Kind& kind = KindOf(*demand.face);
    Apply(*demand.face, placed->node, -1);
    SettleSpread(kind);
    const Bar bar = BarOn(kind, *demand.face, placed->node);
    Apply(*demand.face, placed->node, 1);
    if (bar != Bar::kNone) return false;
  }
  return true;
}

}  // namespace muster::policy
