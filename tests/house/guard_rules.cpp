#include "tests/house/guard_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace muster::house {
namespace {

constexpr std::string_view kGuard = "manifests/admission/guard/guard.yaml";
constexpr std::string_view kGrouping = "config/grouping/";
constexpr std::string_view kGroup = "    group: ";
constexpr std::string_view kKeys = "kube/admission/muster_keys.cpp";
constexpr std::string_view kOfEvents = "muster.dev/muster";  // no key of an object
constexpr std::string_view kPrefix = "muster.dev/";
constexpr std::string_view kNameChars = "abcdefghijklmnopqrstuvwxyz0123456789.-";

constexpr std::array<std::string_view, 21> kNotForPeopleOnPods = {
    // Muster writes them, on pods and PodGroups.
    "muster.dev/bound-by", "muster.dev/bound-in", "muster.dev/epoch", "muster.dev/gang-record",
    "muster.dev/gpu-uuids", "muster.dev/gpus", "muster.dev/rank", "muster.dev/topology-path",
    "muster.dev/wake",
    // On nodes.
    "muster.dev/gpu-devices", "muster.dev/gpu-sharing", "muster.dev/gpu-topology",
    "muster.dev/topology-manager-policy",
    // On ProvisioningRequests.
    "muster.dev/ask", "muster.dev/asked-for", "muster.dev/attempt",
    // Labels, which the guard does not look at.
    "muster.dev/leader", "muster.dev/role", "muster.dev/schedule",
    // In the records of the simulation only.
    "muster.dev/defect",
    // Of Events, not of objects.
    "muster.dev/muster"};

using Places = std::map<std::string, Finding, std::less<>>;  // the first place of each name

// Names between two of these quotes.
void Collect(const SourceFile& file, char quote, Places& names) {
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string_view line = file.lines[i];
    for (std::size_t at = line.find(kPrefix); at != std::string_view::npos;
         at = line.find(kPrefix, at + 1)) {
      const std::size_t end = line.find_first_not_of(kNameChars, at + kPrefix.size());
      if (at == 0 || line[at - 1] != quote || end == at + kPrefix.size() ||
          end == std::string_view::npos || line[end] != quote)
        continue;
      std::string name(line.substr(at, end - at));
      names.try_emplace(name, Finding{file.path, i + 1, name});
    }
  }
}

// The word stands in the file, and not as a part of another.
bool Has(const SourceFile& file, const std::string& word) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() &&
         std::any_of(file.lines.begin(), file.lines.end(), [&](const std::string& line) {
           const std::size_t at = line.find(word);
           const std::size_t end = at + word.size();
           return at != std::string::npos && (at == 0 || !part(line[at - 1])) &&
                  (end == line.size() || !part(line[end]));
         });
}

// The word before "=" in this line or the one before: the constant of a name.
std::string ConstantIn(const SourceFile& file, std::size_t line) {
  for (const std::size_t at : {line, line - 1}) {
    if (at == 0 || at > file.lines.size()) continue;
    const std::string_view text = file.lines[at - 1];
    const std::size_t equals = text.find(" =");
    if (equals == std::string_view::npos) continue;
    const std::size_t space = text.rfind(' ', equals - 1);
    return std::string(text.substr(space + 1, equals - space - 1));
  }
  return {};
}

// The API groups of the grouping rules (lines "group: NAME") that the guard does not name.
void CheckGroups(const SourceTree& tree, std::vector<Finding>& findings) {
  const SourceFile* guard = FindFile(tree, kGuard);
  for (const SourceFile& file : tree.files) {
    const bool rules = file.path.starts_with(kGrouping) && file.path.ends_with(".yaml");
    if (guard == nullptr || !rules) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::size_t at = file.lines[i].find(kGroup);
      if (at == std::string::npos) continue;
      const std::string group = file.lines[i].substr(at + kGroup.size());
      if (group == "core" || Has(*guard, group)) continue;
      findings.push_back({file.path, i + 1, group + " is not in " + std::string(kGuard)});
    }
  }
}

bool NotForPeopleOnPods(std::string_view name) {
  return std::find(kNotForPeopleOnPods.begin(), kNotForPeopleOnPods.end(), name) !=
         kNotForPeopleOnPods.end();
}

}  // namespace

std::vector<Finding> CheckGuard(const SourceTree& tree) {
  Places known;
  Places allowed;
  for (const SourceFile& file : tree.files) {
    const std::string_view room = RoomOf(file.path);
    if (IsCode(file.path) && (room == "cluster" || room == "kube")) Collect(file, '"', known);
    if (file.path == kGuard) Collect(file, '\'', allowed);
  }
  std::vector<Finding> findings;
  for (const auto& [name, place] : known) {
    if (allowed.contains(name) || NotForPeopleOnPods(name)) continue;
    findings.push_back(place);
    findings.back().what = name + " is neither allowed in " + std::string(kGuard) +
                           " nor listed in guard_rules.cpp as one that people do not write on pods";
  }
  for (const auto& [name, place] : allowed) {
    if (known.contains(name) && !NotForPeopleOnPods(name)) continue;
    findings.push_back(place);
    findings.back().what = name + " is not for people to write on pods";
  }
  CheckGroups(tree, findings);
  return findings;
}

std::vector<Finding> CheckMusterKeys(const SourceTree& tree) {
  Places known;
  std::map<std::string, bool> listed;  // by name
  const SourceFile* list = FindFile(tree, kKeys);
  for (const SourceFile& file : tree.files) {
    const std::string_view room = RoomOf(file.path);
    if (!IsCode(file.path) || (room != "cluster" && room != "kube")) continue;
    Places names;
    Collect(file, '"', names);
    for (const auto& [name, place] : names) {
      const std::string constant = ConstantIn(file, place.line);
      listed[name] = listed[name] || (list != nullptr && Has(*list, constant));
      known.emplace(name, place);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [name, place] : known) {
    if (listed[name] || name == kOfEvents) continue;
    findings.push_back(place);
    findings.back().what = name + " is not in " + std::string(kKeys);
  }
  return findings;
}

}  // namespace muster::house
