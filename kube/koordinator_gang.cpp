#include "kube/koordinator_gang.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cluster/owned_gang_name.hpp"
#include "kube/json.hpp"
#include "kube/json_writer.hpp"
#include "kube/run_times.hpp"

namespace muster::kube {

using cluster::GangWords;
using cluster::Pod;

namespace {

constexpr size_t kMostGangs = 64;
constexpr size_t kMostBytes = size_t{1} << 16;

// The gangs, each "NAMESPACE/GANG"; nothing where it is no such list.
std::optional<std::vector<std::string>> ReadGroups(const JsonView& groups) {
  const auto json = Json::Parse(groups.Text(), kMostBytes, "");
  std::vector<std::string> names;
  if (!json.ok()) return std::nullopt;
  JsonProblems problems;
  const JsonView list(json->root(), "", problems);
  list.Items([&](const JsonView& item) { names.emplace_back(item.Text()); });
  const bool good = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const size_t slash = name.find('/');
    return slash != std::string::npos && slash > 0 && slash + 1 < name.size();
  });
  if (!problems.none() || !good || names.size() > kMostGangs) return std::nullopt;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Names of gangs in the pod's namespace, rising; empty: its own alone. `ns`: see
// ReadKoordinatorGang.
std::vector<std::string> ReadTogether(const JsonView& annotations, const Pod& record,
                                      std::string_view ns) {
  const JsonView groups = annotations.Get(kKoordinatorGroups);
  if (groups.Text().empty()) return {};
  const std::optional<std::vector<std::string>> listed = ReadGroups(groups);
  if (!listed) {
    groups.Problem("expected a JSON list of at most " + std::to_string(kMostGangs) +
                   " \"NAMESPACE/GANG\"");
    return {};
  }
  std::vector<std::string> names;
  for (const std::string& one : *listed) {
    const size_t slash = one.find('/');
    if (ns.empty()) ns = std::string_view(one).substr(0, slash);
    if (one.substr(0, slash) != ns) {
      groups.Problem("expected gangs of namespace " + std::string(ns) + ", found \"" +
                     one.substr(0, 100) +
                     "\": gangs of several namespaces are not planned together");
      return {};
    }
    names.push_back(one.substr(slash + 1));
  }
  std::sort(names.begin(), names.end());
  if (names.empty() || names == std::vector{record.pod_group}) return {};
  if (!std::binary_search(names.begin(), names.end(), record.pod_group)) {
    groups.Problem("expected the pod's own gang " + record.pod_group + " among them");
    return {};
  }
  return names;
}

void AddWords(const std::string& words, std::string& text) {
  text += (text.empty() ? "" : "; ") + words;
}

void ReadMode(const JsonView& annotations, GangWords& words) {
  const std::string_view mode = annotations.Get(kKoordinatorMode).Text();
  if (mode == "NonStrict") {
    AddWords(std::string(kKoordinatorMode) +
                 " NonStrict: Muster keeps nothing for a part of a gang, whatever its mode",
             words.unheeded);
  } else if (!mode.empty() && mode != "Strict") {
    AddWords(std::string(kKoordinatorMode) + ": expected Strict or NonStrict", words.unheeded);
  }
  const std::string_view match = annotations.Get(kKoordinatorMatch).Text();
  if (!match.empty() && match != "once-satisfied")
    AddWords(std::string(kKoordinatorMatch) +
                 ": a gang that has started is started, as once-satisfied says",
             words.unheeded);
}

void ReadWait(const JsonView& annotations, GangWords& words) {
  const std::string_view wait = annotations.Get(kKoordinatorWait).Text();
  if (wait.empty() || wait == "0" || wait == "0s") return;
  const std::optional<cluster::Duration> time = ParseGoDuration(wait);
  if (time) {
    words.schedule_timeout = *time;
  } else {
    AddWords(std::string(kKoordinatorWait) + ": expected a duration such as 10m", words.unheeded);
  }
}

}  // namespace

void ReadKoordinatorGang(const JsonView& labels, const JsonView& annotations, std::string_view ns,
                         Pod& record, GangWords& words) {
  const std::string_view label = labels.Get("pod-group.scheduling.sigs.k8s.io/name").Text();
  const std::string_view own = label.empty() ? annotations.Get(kKoordinatorGang).Text() : label;
  const bool by_object = !labels.Get("pod-group.scheduling.sigs.k8s.io").Text().empty();
  if (by_object || record.pod_group.empty() || own != record.pod_group) return;
  words.together = ReadTogether(annotations, record, ns);
  ReadWait(annotations, words);
  ReadMode(annotations, words);
  if (!words.together.empty()) {
    record.role = record.pod_group;
    record.pod_group = cluster::NameOfTogether(words.together);
  }
}

void RefuseKoordinatorGroups(const JsonView& annotations, std::string_view own) {
  const JsonView groups = annotations.Get(kKoordinatorGroups);
  if (groups.Text().empty()) return;
  const std::optional<std::vector<std::string>> listed = ReadGroups(groups);
  if (listed && (listed->empty() || *listed == std::vector<std::string>{std::string(own)})) return;
  groups.Problem("gangs with PodGroups of their own are not planned together: name them by " +
                 std::string(kKoordinatorGang) + " on their pods, or make one PodGroup of them");
}

void AppendKoordinatorGang(JsonWriter& json, const Pod& pod) {
  const GangWords& words = *pod.gang_words;
  const bool waits = words.schedule_timeout > cluster::Duration(0);
  if (!words.together.empty()) {
    std::string groups;
    for (const std::string& name : words.together)
      groups += (groups.empty() ? "[\"" : ",\"") + pod.key.ns + "/" + name + "\"";
    json.Key(kKoordinatorGang).Text(pod.role).Key(kKoordinatorGroups).Text(groups + "]");
  } else if (waits) {
    json.Key(kKoordinatorGang).Text(pod.pod_group);
  }
  if (waits) json.Key(kKoordinatorWait).Text(FormatGoDuration(words.schedule_timeout));
}

}  // namespace muster::kube
