#include "config/policies/fabric_fields.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "config/dns_names.hpp"
#include "config/fields/elements.hpp"

namespace muster::config {

using topology::FabricLevel;
using topology::FabricOptions;
using topology::FabricPreset;
using topology::FabricTree;

namespace {

constexpr TextRule kName{"a name of lower-case letters, digits and '-'", IsDnsLabel};
constexpr TextRule kLabelKey{"a node label's key such as example.com/rack", IsLabelKey};

void VisitLevel(FabricLevel* level, FieldVisitor* visitor) {
  visitor->Text({"name", "What PodGroups call it: muster.dev/topology-required: NAME."}, kName,
                &level->name);
  visitor->TextList(
      {"labels",
       "Keys of node labels that can say it, the newest first. One of them counts:\n"
       "the one that most nodes have. If all levels of the tree list as many, the\n"
       "first ones belong together, the second ones, and so on, and those count that\n"
       "most nodes have. Domains are the sets of nodes with equal values of this\n"
       "label and of those of all levels above."},
      kLabelKey, &level->labels);
  Enumeration(visitor,
              {"unlabelled",
               "What a node without that label is. outside: in no domain of this level, nor of\n"
               "those below. alone: a domain of its own, for levels that are NVLink domains."},
              {"outside", "alone"}, &level->unlabelled);
}

void VisitTree(FabricTree* tree, FieldVisitor* visitor) {
  visitor->Text({"name", "Of the tree, for messages and for levels named TREE/LEVEL."}, kName,
                &tree->name);
  Enumeration(visitor,
              {"preset",
               "Levels by usual labels, instead of levels:\n"
               "kubernetes (region, zone, host), topograph (core-5 to core-3, core, spine, leaf,\n"
               "accelerator; labels of 1.x or of 0.x), aws (zone, layer-1 to layer-4, layer-1 the "
               "outermost), gcp\n"
               "(block, subblock, host), gpuClique (clique, by nvidia.com/gpu.clique)."},
              {"none", "kubernetes", "topograph", "aws", "gcp", "gpuClique"}, &tree->preset);
  SectionList(visitor, {"levels", "The outermost first."}, &tree->levels, VisitLevel);
}

// A level as gangs name it: LEVEL, TREE/LEVEL or a label's key.
bool IsLevelName(std::string_view text) {
  const std::size_t slash = text.find('/');
  return IsLabelKey(text) ||
         (slash != std::string_view::npos && IsDnsLabel(text.substr(0, slash)) &&
          IsDnsLabel(text.substr(slash + 1)));
}

constexpr TextRule kLevelName{"a level such as rack, TREE/rack or one of its label keys",
                              IsLevelName};

void VisitReserve(topology::FabricReserve* reserve, FieldVisitor* visitor) {
  visitor->Text({"level", "LEVEL, or TREE/LEVEL where several trees have it."}, kLevelName,
                &reserve->level);
  visitor->Whole({"nodes", "How many nodes of each domain of the level."}, {1, 100'000},
                 &reserve->nodes);
}

std::string At(std::string path, const char* list, std::size_t i) {
  return std::move(path) + "." + list + "[" + std::to_string(i) + "]";
}

void FindInTree(const FabricTree& tree, const std::string& path,
                std::vector<Contradiction>* found) {
  const bool preset = tree.preset != FabricPreset::kNone;
  if (preset == !tree.levels.empty()) {
    found->push_back(
        {path + (preset ? ".levels" : ".name"),
         preset ? "expected no levels beside a preset, found " + std::to_string(tree.levels.size())
                : "expected levels or a preset in tree \"" + tree.name + "\", found neither"});
  }
  std::map<std::string, std::string> names;
  std::map<std::string, std::string> keys;
  for (std::size_t i = 0; i < tree.levels.size(); ++i) {
    const FabricLevel& level = tree.levels[i];
    const std::string at = At(path, "levels", i);
    const auto [name, new_name] = names.emplace(level.name, at);
    if (!new_name) {
      found->push_back(
          {at + ".name", "expected a name that no other level of the tree has, found \"" +
                             level.name + "\" of " + name->second + " again"});
    }
    if (level.labels.empty())
      found->push_back(
          {at + ".name", "expected labels in level \"" + level.name + "\", found none"});
    for (const std::string& label : level.labels) {
      const auto [key, new_key] = keys.emplace(label, at);
      if (!new_key) {
        found->push_back(
            {at + ".labels", "expected labels that no other level of the tree has, found \"" +
                                 label + "\" of " + key->second + " again"});
      }
    }
  }
}

// A label key is a name of its level, too: it must not be another level's, nor TREE/LEVEL of one. A
// level that is called by it anyway is none the more ambiguous.
void FindNamedLike(const FabricOptions& fabric, const std::string& label, const std::string& at,
                   std::vector<Contradiction>* found) {
  for (const FabricTree& tree : fabric.trees) {
    for (const FabricLevel& level : LevelsOf(tree)) {
      if (label != level.name && label != tree.name + "/" + level.name) continue;
      const bool has = std::count(level.labels.begin(), level.labels.end(), label) > 0;
      if (has) continue;
      found->push_back({at, "expected labels that are no name of another level, found \"" + label +
                                "\", which is level \"" + level.name + "\" of tree \"" + tree.name +
                                "\""});
    }
  }
}

void FindInReserve(const FabricOptions& fabric, std::vector<Contradiction>* found) {
  std::map<topology::LevelRef, std::string> known;
  for (std::size_t i = 0; i < fabric.reserve.size(); ++i) {
    const std::string& level = fabric.reserve[i].level;
    const std::string at = At("fabric", "reserve", i);
    const std::vector<topology::LevelRef> levels = FindLevels(fabric, level);
    const auto is = "found \"" + level + "\"";
    if (levels.empty()) {
      found->push_back({at + ".level", "expected a level of fabric.trees, " + is});
    } else if (levels.size() > 1) {
      found->push_back({at + ".level", "expected a level of one tree, " + is + ", which is in \"" +
                                           fabric.trees[levels[0].tree].name + "\" and \"" +
                                           fabric.trees[levels[1].tree].name +
                                           "\": write TREE/LEVEL"});
    } else {
      const auto [before, is_new] = known.emplace(levels.front(), at);
      if (!is_new) {
        found->push_back({at + ".level", "expected a level that no other entry has, " + is +
                                             " of " + before->second + " again"});
      }
    }
  }
}

}  // namespace

void VisitFabric(FabricOptions* fabric, engine::LostMember* lost_member, FieldVisitor* visitor) {
  visitor->Section(
      {"fabric", "Where in the network nodes are. Gangs can require or prefer a level by name."},
      [&] {
        SectionList(
            visitor,
            {"trees", "Each with its own levels, by labels of its own. A node may be in several."},
            &fabric->trees, VisitTree);
        SectionList(
            visitor,
            {"reserve",
             "Free nodes that are kept for lost members: no others are placed there. Of each\n"
             "domain of the level the last ones by name that are free as a whole."},
            &fabric->reserve, VisitReserve);
        Enumeration(
            visitor,
            {"lostMember",
             "What becomes of a gang whose lost members find no room in the domain that they have\n"
             "to come back to (required level, segment). partialGang: it waits for\n"
             "gangs.partialTimeout, then gangs.partialGang decides. wait: it waits as long as it\n"
             "takes. moveSegment: the other members of the segment are evicted, if another domain\n"
             "has room for the segment now; else as wait. moveGang: the segment if that helps,\n"
             "else the whole gang, if there is room for it now; else as wait."},
            {"partialGang", "wait", "moveSegment", "moveGang"}, lost_member);
      });
}

void FindFabricContradictions(const FabricOptions& fabric, std::vector<Contradiction>* found) {
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < fabric.trees.size(); ++i) {
    const FabricTree& tree = fabric.trees[i];
    const std::string at = At("fabric", "trees", i);
    const auto [name, is_new] = names.emplace(tree.name, at);
    if (!is_new) {
      found->push_back({at + ".name", "expected a name that no other tree has, found \"" +
                                          tree.name + "\" of " + name->second + " again"});
    }
    FindInTree(tree, at, found);
    for (std::size_t j = 0; j < tree.levels.size(); ++j) {
      const std::string& its = tree.levels[j].name;
      for (const std::string& label : tree.levels[j].labels) {
        if (label != its && label != tree.name + "/" + its)
          FindNamedLike(fabric, label, At(at, "levels", j) + ".labels", found);
      }
    }
  }
  FindInReserve(fabric, found);
}

}  // namespace muster::config
