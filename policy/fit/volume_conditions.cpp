#include "policy/fit/volume_conditions.hpp"

#include <algorithm>
#include <limits>

namespace muster::policy {

using cluster::AttachedVolume;
using cluster::FreeVolume;
using cluster::FreeVolumes;
using cluster::Node;
using cluster::NodeIndex;
using cluster::NodeSelectorTerm;
using cluster::PodFace;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::VolumeDemand;

void VolumeConditions::AskFor(const PodFace& face) {
  if (face.volumes == nullptr) return;
  choosing_ = choosing_ || !face.volumes->choices.empty();
  for (const AttachedVolume& one : face.volumes->attached) DriverOf(one.driver);
}

VolumeConditions::Driver& VolumeConditions::DriverOf(const std::string& name) {
  const auto [at, fresh] = drivers_.try_emplace(name);
  if (!fresh) return at->second;
  std::vector<int64_t>& left = at->second.left;
  left.assign(tx_.base().size(), std::numeric_limits<int64_t>::max() / 2);
  for (uint32_t i = 0; i < left.size(); ++i) {
    const Node* node = tx_.node(NodeIndex{i});
    if (node == nullptr) continue;
    for (const cluster::AttachLimit& limit : node->attach_limits) {
      if (limit.driver == name) left[i] = limit.count;
    }
  }
  return at->second;
}

const std::vector<VolumeConditions::Wanted>& VolumeConditions::WantedOf(
    const VolumeDemand& demand) {
  const auto [at, fresh] = wanted_.try_emplace(&demand);
  if (!fresh) return at->second;
  std::map<std::string, Wanted> wanted;
  for (const AttachedVolume& one : demand.attached) {
    const auto driver = drivers_.find(one.driver);
    if (driver == drivers_.end()) continue;  // nobody asks about it
    Wanted& of = wanted[one.driver];
    of.driver = &driver->second;
    if (one.shared_as.empty()) {
      ++of.own;
    } else {
      of.shared.push_back(&one.shared_as);
    }
  }
  for (auto& [name, of] : wanted) at->second.push_back(std::move(of));
  return at->second;
}

void VolumeConditions::Apply(const PodFace& face, NodeIndex node, int64_t sign) {
  if (face.volumes == nullptr) return;
  for (const Wanted& wanted : WantedOf(*face.volumes)) {
    int64_t& left = wanted.driver->left[node.value];
    left -= sign * wanted.own;
    for (const std::string* volume : wanted.shared) {
      int64_t& users = wanted.driver->users[{node.value, *volume}];
      users += sign;
      if (users == (sign > 0 ? 1 : 0)) left -= sign;
    }
  }
  if (!choosing_ || face.volumes->choices.empty()) return;
  if (sign > 0) took_[face.uid] = Choose(*face.volumes, node);
  const auto took = took_.find(face.uid);
  if (took == took_.end()) return;
  for (size_t i = 0; i < took->second.size(); ++i) {
    const uint32_t number = took->second[i];
    if (number == kNoVolume) continue;
    taken_[number] += sign;
    const std::string& claim = face.volumes->choices[i].shared_as;
    if (claim.empty()) continue;
    Claimed& claimed = claimed_[claim];
    claimed.volume = number;
    claimed.users += sign;
  }
  if (sign < 0) took_.erase(took);
}

bool VolumeConditions::Attach(const PodFace& face, NodeIndex node) {
  if (face.volumes == nullptr) return true;
  const std::vector<Wanted>& all = WantedOf(*face.volumes);
  return std::all_of(all.begin(), all.end(), [&](const Wanted& wanted) {
    const int64_t left = wanted.driver->left[node.value];
    if (wanted.own + std::ssize(wanted.shared) <= left) return true;
    const auto there = [&](const std::string* volume) {
      const auto users = wanted.driver->users.find({node.value, *volume});
      return users != wanted.driver->users.end() && users->second > 0;
    };
    const int64_t more = wanted.own + std::ssize(wanted.shared) -
                         std::count_if(wanted.shared.begin(), wanted.shared.end(), there);
    return more == 0 || more <= left;
  });
}

bool VolumeConditions::Bind(const PodFace& face, NodeIndex node) {
  if (face.volumes == nullptr || face.volumes->choices.empty()) return true;
  const Numbers chosen = Choose(*face.volumes, node);
  return std::find(chosen.begin(), chosen.end(), kNoVolume) == chosen.end();
}

VolumeConditions::Numbers VolumeConditions::Choose(const VolumeDemand& demand, NodeIndex node) {
  Numbers chosen;
  for (const cluster::VolumeChoice& choice : demand.choices) {
    const Numbers& reached = ReachOf(*choice.volumes)[node.value];
    const auto claimed = claimed_.find(choice.shared_as);
    const bool has = claimed != claimed_.end() && claimed->second.users > 0;
    const auto volume = std::find_if(reached.begin(), reached.end(), [&](uint32_t number) {
      if (has) return number == claimed->second.volume;
      return taken_[number] == 0 && std::find(chosen.begin(), chosen.end(), number) == chosen.end();
    });
    chosen.push_back(volume == reached.end() ? kNoVolume : *volume);
  }
  return chosen;
}

const VolumeConditions::NodesByValue& VolumeConditions::ByValue(const std::string& label) {
  const auto [at, fresh] = by_value_.try_emplace(label);
  if (!fresh) return at->second;
  for (NodeIndex node{0}; node.value < tx_.base().size(); ++node.value) {
    const Node* record = tx_.node(node);
    if (record == nullptr) continue;
    const auto found = record->labels.find(label);
    if (found != record->labels.end()) at->second[found->second].push_back(node.value);
  }
  return at->second;
}

// A local volume names its node by a label: not every volume is compared with every node.
VolumeConditions::Numbers VolumeConditions::NodesNear(const FreeVolume& volume) {
  Numbers near;
  const auto lists = [](const SelectorRequirement& one) { return one.op == SelectorOperator::kIn; };
  const bool everywhere =
      std::any_of(volume.places->begin(), volume.places->end(), [&](const NodeSelectorTerm& term) {
        return std::none_of(term.match_expressions.begin(), term.match_expressions.end(), lists);
      });
  if (everywhere || volume.places->empty()) {
    for (uint32_t i = 0; i < tx_.base().size(); ++i) near.push_back(i);
    return near;
  }
  for (const NodeSelectorTerm& term : *volume.places) {
    const auto in =
        std::find_if(term.match_expressions.begin(), term.match_expressions.end(), lists);
    const NodesByValue& nodes = ByValue(in->key);
    for (const std::string& value : in->values) {
      const auto found = nodes.find(value);
      if (found != nodes.end()) near.insert(near.end(), found->second.begin(), found->second.end());
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  return near;
}

const VolumeConditions::Reach& VolumeConditions::ReachOf(const FreeVolumes& list) {
  const auto [at, fresh] = reach_.try_emplace(&list);
  if (!fresh) return at->second;
  at->second.resize(tx_.base().size());
  for (const FreeVolume& volume : list.volumes) {
    const auto number = static_cast<uint32_t>(numbers_.size());
    const uint32_t own = numbers_.try_emplace(volume.name, number).first->second;
    taken_.resize(numbers_.size());
    for (const uint32_t i : NodesNear(volume)) {
      const Node* node = tx_.node(NodeIndex{i});
      if (node == nullptr) continue;
      if (volume.places->empty() || MatchesAny(*volume.places, node->name, node->labels))
        at->second[i].push_back(own);
    }
  }
  return at->second;
}

}  // namespace muster::policy
