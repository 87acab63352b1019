#include "topology/fabric/fabric_options.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

namespace muster::topology {

using cluster::TopologySegment;
using cluster::TopologyTerms;

namespace {

FabricLevel Level(std::string name, std::vector<std::string> labels,
                  Unlabelled unlabelled = Unlabelled::kOutside) {
  return {std::move(name), std::move(labels), unlabelled};
}

// https://kubernetes.io/docs/reference/labels-annotations-taints
std::vector<FabricLevel> Kubernetes() {
  return {Level("region", {"topology.kubernetes.io/region"}),
          Level("zone", {"topology.kubernetes.io/zone"}),
          Level("host", {"kubernetes.io/hostname"})};
}

// NVIDIA Topograph: 1.x counts tiers from the leaf upwards, ≤ 0.5 names them, 0.1 named them
// otherwise. It leaves the accelerator out where nvidia.com/gpu.clique is there. Names of levels
// are not tier-N: that would be the N-th one from the inside.
std::vector<FabricLevel> Topograph() {
  const std::string named = "network.topology.nvidia.com/";
  const std::string tier = "fabric.topograph.run/tier-";
  return {
      Level("core-5", {tier + "5"}),
      Level("core-4", {tier + "4"}),
      Level("core-3", {tier + "3"}),
      Level("core", {tier + "2", named + "core", named + "datacenter"}),
      Level("spine", {tier + "1", named + "spine"}),
      Level("leaf", {tier + "0", named + "leaf", named + "block"}),
      Level("accelerator",
            {"accelerator.topograph.run/domain", named + "accelerator", "nvidia.com/gpu.clique"},
            Unlabelled::kAlone)};
}

std::vector<Generation> TopographGenerations() {
  return {{{0}, {0}, {0}, {0}, {0}, {0}, {0, 2}},  // 1.x
          {{}, {}, {}, {1}, {1}, {1}, {1, 2}},     // ≤ 0.5
          {{}, {}, {}, {2}, {1}, {2}, {1, 2}}};    // 0.1
}

// All labels of all levels.
Generation OnlyGeneration(const std::vector<FabricLevel>& levels) {
  Generation all;
  for (const FabricLevel& level : levels) {
    all.emplace_back(level.labels.size());
    std::iota(all.back().begin(), all.back().end(), size_t{0});
  }
  return all;
}

// The node's own name is no value.
const std::string* ValueFor(const cluster::Node& node, const FabricLevel& level,
                            const std::vector<size_t>& places) {
  for (const size_t place : places) {
    const auto found = node.labels.find(level.labels[place]);
    if (found != node.labels.end() && !found->second.empty() && found->second != node.name)
      return &found->second;
  }
  return nullptr;
}

// EC2 instance topology: layer 1 is the outermost; layer 4 is there for some instance types only.
std::vector<FabricLevel> Aws() {
  const std::string layer = "topology.k8s.aws/network-node-layer-";
  return {Level("zone", {"topology.k8s.aws/zone-id", "topology.kubernetes.io/zone"}),
          Level("layer-1", {layer + "1"}), Level("layer-2", {layer + "2"}),
          Level("layer-3", {layer + "3"}), Level("layer-4", {layer + "4"})};
}

std::vector<FabricLevel> Gcp() {
  const std::string gce = "cloud.google.com/gce-topology-";
  return {Level("block", {gce + "block"}), Level("subblock", {gce + "subblock"}),
          Level("host", {gce + "host"})};
}

std::vector<FabricLevel> GpuClique() {
  return {Level("clique", {"nvidia.com/gpu.clique"}, Unlabelled::kAlone)};
}

bool IsSaidOf(const FabricTree& tree, const FabricLevel& level, std::string_view name) {
  return name == level.name || name == tree.name + "/" + level.name ||
         std::find(level.labels.begin(), level.labels.end(), name) != level.labels.end();
}

// N of tier-N; 0: it is none.
size_t TierOf(std::string_view name) {
  constexpr std::string_view kTier = "tier-";
  if (!name.starts_with(kTier)) return 0;
  name.remove_prefix(kTier.size());
  size_t tier = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tier);
  return error == std::errc() && end == name.data() + name.size() ? tier : 0;
}

std::string LevelNames(const FabricOptions& fabric) {
  std::vector<std::string> names;
  for (const FabricTree& tree : fabric.trees) {
    for (const FabricLevel& level : LevelsOf(tree)) {
      if (std::find(names.begin(), names.end(), level.name) == names.end())
        names.push_back(level.name);
    }
  }
  if (names.empty()) return "the policy names no fabric";
  std::string text = "expected one of ";
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text;
}

std::string Annotation(const char* name) { return "annotation " + std::string(name); }

// It is between gangs, so it needs a name for them.
std::string DefectOfSpread(const TopologyTerms& terms) {
  if (terms.spread.empty() || !terms.spread_group.empty()) return {};
  return Annotation(cluster::kTopologySpreadAnnotation) + ": the gang is in no spread group; add " +
         Annotation(cluster::kSpreadGroupAnnotation) +
         " with one name on all gangs that are to be spread";
}

// Where a person finds what was said.
std::string PlaceOf(const TopologyTerms& terms, const char* annotation) {
  return terms.said_by.empty() ? Annotation(annotation) : terms.said_by;
}

struct Annotations {
  const char* required;
  const char* preferred;
};

std::string NoLevel(const FabricOptions& fabric, const std::string& at, const std::string& level) {
  return at + ": no level \"" + level + "\" in the policy's fabric; " + LevelNames(fabric);
}

// Each level must be known, and one tree must have them all.
std::string DefectOfLevels(const FabricOptions& fabric, const TopologyTerms& terms,
                           const Annotations& said) {
  std::string defect;
  std::string levels;
  const auto check = [&](const std::string& at, const std::string& level) {
    if (level.empty()) return;
    levels += (levels.empty() ? "\"" : ", \"") + level + "\"";
    if (defect.empty() && FindLevels(fabric, level).empty()) defect = NoLevel(fabric, at, level);
  };
  check(PlaceOf(terms, said.preferred), terms.preferred);
  check(PlaceOf(terms, said.required), terms.required);
  for (const TopologySegment& segment : terms.segments) {
    check(PlaceOf(terms, segment.required ? cluster::kSegmentsRequiredAnnotation
                                          : cluster::kSegmentsPreferredAnnotation),
          segment.level);
  }
  const std::string spread = Annotation(cluster::kTopologySpreadAnnotation);
  check(spread, terms.spread);
  if (!defect.empty() || levels.empty() || !SpansOf(fabric, terms).empty()) return defect;
  return (terms.spread.empty() ? PlaceOf(terms, said.preferred) : spread) +
         ": no tree of the policy's fabric has all of " + levels;
}

// Those of a role, the largest first, must each hold the next one.
std::string DefectOfSubgroups(const TopologyTerms& terms) {
  const std::string at = PlaceOf(terms, cluster::kRolesRequiredAnnotation);
  std::map<std::string_view, const cluster::TopologySubgroup*> innermost;
  for (const cluster::TopologySubgroup& subgroup : terms.subgroups) {
    const std::vector<std::string>& roles = subgroup.roles;
    const cluster::TopologySubgroup* checked = nullptr;
    for (const std::string& role : roles) {
      const auto* const around = std::exchange(innermost[role], &subgroup);
      if (around == nullptr || around == checked) continue;
      checked = around;
      if (std::includes(around->roles.begin(), around->roles.end(), roles.begin(), roles.end()))
        continue;
      std::string defect = at;
      defect.append(": role \"").append(role).append("\" is in subgroups ").append(around->name);
      defect.append(" and ").append(subgroup.name);
      return defect.append("; one of the two must have all roles of the other");
    }
  }
  return {};
}

std::optional<size_t> In(const std::vector<LevelRef>& levels, size_t tree) {
  for (const LevelRef& one : levels) {
    if (one.tree == tree) return one.level;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FabricLevel> LevelsOf(const FabricTree& tree) {
  switch (tree.preset) {
    case FabricPreset::kNone:
      return tree.levels;
    case FabricPreset::kKubernetes:
      return Kubernetes();
    case FabricPreset::kTopograph:
      return Topograph();
    case FabricPreset::kAws:
      return Aws();
    case FabricPreset::kGcp:
      return Gcp();
    case FabricPreset::kGpuClique:
      return GpuClique();
  }
  return {};
}

std::vector<Generation> GenerationsOf(const FabricTree& tree) {
  if (tree.preset == FabricPreset::kTopograph) return TopographGenerations();
  const std::vector<FabricLevel> levels = LevelsOf(tree);
  const size_t count = levels.empty() ? 0 : levels.front().labels.size();
  const bool alike = std::all_of(levels.begin(), levels.end(), [count](const FabricLevel& level) {
    return level.labels.size() == count;
  });
  if (count < 2 || !alike) return {OnlyGeneration(levels)};
  std::vector<Generation> generations;
  for (size_t place = 0; place < count; ++place)
    generations.emplace_back(levels.size(), std::vector<size_t>{place});
  return generations;
}

std::string PathOf(const FabricOptions& fabric, const cluster::Node& node) {
  for (const FabricTree& tree : fabric.trees) {
    const std::vector<FabricLevel> levels = LevelsOf(tree);
    std::string path;
    size_t most = 0;
    for (const Generation& generation : GenerationsOf(tree)) {
      std::string by_these;
      size_t has = 0;
      for (size_t level = 0; level < levels.size(); ++level) {
        const std::string* value = ValueFor(node, levels[level], generation[level]);
        if (value == nullptr) continue;
        by_these.append(*value).append("/");
        ++has;
      }
      if (has <= most) continue;
      most = has;
      path = std::move(by_these);
    }
    if (!path.empty()) return path + node.name;
  }
  return {};
}

std::vector<LevelRef> FindLevels(const FabricOptions& fabric, std::string_view name) {
  std::vector<LevelRef> found;
  const size_t tier = TierOf(name);
  for (size_t tree = 0; tree < fabric.trees.size(); ++tree) {
    const std::vector<FabricLevel> levels = LevelsOf(fabric.trees[tree]);
    const auto level = std::find_if(levels.begin(), levels.end(), [&](const FabricLevel& one) {
      return IsSaidOf(fabric.trees[tree], one, name);
    });
    if (level != levels.end()) {
      found.push_back({tree, static_cast<size_t>(level - levels.begin())});
    } else if (tier >= 1 && tier <= levels.size()) {
      found.push_back({tree, levels.size() - tier});
    }
  }
  return found;
}

std::vector<LevelSpan> SpansOf(const FabricOptions& fabric, const cluster::TopologyTerms& terms) {
  const std::vector<LevelRef> required = FindLevels(fabric, terms.required);
  const std::vector<LevelRef> preferred = FindLevels(fabric, terms.preferred);
  const std::vector<LevelRef> spread = FindLevels(fabric, terms.spread);
  std::vector<LevelSpan> spans;
  for (size_t tree = 0; tree < fabric.trees.size(); ++tree) {
    const std::optional<size_t> most = In(required, tree);
    const std::optional<size_t> best = In(preferred, tree);
    const std::optional<size_t> over = In(spread, tree);
    if (!terms.required.empty() && !most) continue;
    if (!terms.preferred.empty() && !best) continue;
    if (!terms.spread.empty() && !over) continue;
    const bool has_segments = std::all_of(
        terms.segments.begin(), terms.segments.end(), [&](const TopologySegment& segment) {
          return In(FindLevels(fabric, segment.level), tree).has_value();
        });
    if (!has_segments) continue;
    const size_t outermost = most.value_or(0);
    const size_t innermost = std::max(best.value_or(outermost), over.value_or(outermost));
    spans.push_back({tree, std::max(innermost, outermost), outermost});
  }
  return spans;
}

std::vector<Multiples> MultiplesOf(const FabricOptions& fabric, const TopologyTerms& terms,
                                   size_t tree) {
  std::vector<TopologySegment> segments = terms.segments;
  std::vector<Multiples> all;
  while (true) {
    Multiples& multiples = all.emplace_back(LevelsOf(fabric.trees[tree]).size(), 1);
    for (const TopologySegment& segment : segments) {
      const std::optional<size_t> level = In(FindLevels(fabric, segment.level), tree);
      for (size_t i = 0; level && i <= *level; ++i)
        multiples[i] = std::max(multiples[i], segment.size);
    }
    const auto last = std::find_if(segments.rbegin(), segments.rend(),
                                   [](const TopologySegment& one) { return !one.required; });
    if (last == segments.rend()) return all;
    segments.erase(std::next(last).base());
  }
}

TopologyTerms Heeded(const FabricOptions& fabric, const TopologyTerms& terms) {
  if (terms.said_by.empty()) return terms;
  TopologyTerms heeded = terms;
  if (fabric.trees.empty()) {
    heeded.required.clear();
    heeded.preferred.clear();
    heeded.segments.clear();
    heeded.subgroups.clear();
    heeded.said_by.clear();
    return heeded;
  }
  const auto unknown = [&](const std::string& level) { return FindLevels(fabric, level).empty(); };
  const auto nobody_must = [&](const TopologySegment& segment) {
    return !segment.required && unknown(segment.level);
  };
  if (unknown(terms.preferred)) heeded.preferred.clear();
  for (cluster::TopologySubgroup& subgroup : heeded.subgroups) {
    if (unknown(subgroup.preferred)) subgroup.preferred.clear();
    std::erase_if(subgroup.segments, nobody_must);
  }
  std::erase_if(heeded.subgroups, [](const cluster::TopologySubgroup& one) {
    return one.required.empty() && one.preferred.empty() && one.segments.empty();
  });
  std::erase_if(heeded.segments, nobody_must);
  return heeded;
}

std::vector<std::string> NotHeeded(const FabricOptions& fabric, const TopologyTerms& terms) {
  std::vector<std::string> told;
  const auto look = [&](const std::string& level, bool required) {
    // An unknown one that is required is a defect, unless there are no levels at all.
    if (level.empty() || (required && !fabric.trees.empty())) return;
    if (!FindLevels(fabric, level).empty()) return;
    std::string text =
        NoLevel(fabric, terms.said_by, level) + "; it counts where fabric.trees has ";
    text += TierOf(level) > 0 ? "so many levels" : "a level with that name or label";
    if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(std::move(text));
  };
  const auto look_at = [&](const auto& where) {
    look(where.required, true);
    look(where.preferred, false);
    for (const TopologySegment& segment : where.segments) look(segment.level, segment.required);
  };
  if (terms.said_by.empty()) return told;
  look_at(terms);
  for (const cluster::TopologySubgroup& subgroup : terms.subgroups) look_at(subgroup);
  return told;
}

TopologyTerms TermsOf(const cluster::TopologySubgroup& subgroup, const std::string& said_by) {
  TopologyTerms terms{subgroup.required, subgroup.preferred, subgroup.segments};
  terms.said_by = said_by;
  return terms;
}

std::string DefectOf(const FabricOptions& fabric, const TopologyTerms& said) {
  const TopologyTerms terms = Heeded(fabric, said);
  std::string defect = DefectOfSpread(terms);
  if (defect.empty())
    defect = DefectOfLevels(
        fabric, terms,
        {cluster::kTopologyRequiredAnnotation, cluster::kTopologyPreferredAnnotation});
  for (const cluster::TopologySubgroup& subgroup : terms.subgroups) {
    if (defect.empty())
      defect =
          DefectOfLevels(fabric, TermsOf(subgroup, terms.said_by),
                         {cluster::kRolesRequiredAnnotation, cluster::kRolesPreferredAnnotation});
  }
  return defect.empty() ? DefectOfSubgroups(terms) : defect;
}

}  // namespace muster::topology
