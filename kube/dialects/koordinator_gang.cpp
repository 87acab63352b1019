#include "kube/dialects/koordinator_gang.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cluster/records/owned_gang_name.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_writer.hpp"

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

void ReadWait(const JsonView& annotations, GangWords& words) {
  const std::string_view wait = annotations.Get(kKoordinatorWait).Text();
  if (wait.empty() || wait == "0" || wait == "0s") return;
  if (const std::optional<cluster::Duration> time = ParseGoDuration(wait))
    words.schedule_timeout = *time;
}

// What is set and says something else than `plain` has no effect, because of `why`.
struct Odd {
  const char* key;
  std::string_view plain;
  const char* why;
};

void AddOdd(const JsonView& annotations, const Odd& odd, std::vector<std::string>& told) {
  const std::string_view text = annotations.Get(odd.key).Text();
  if (!text.empty() && text != odd.plain) told.push_back(std::string(odd.key) + ": " + odd.why);
}

// The name by which the pod is in a gang of theirs; empty: it is not.
std::string_view OwnName(const JsonView& labels, const JsonView& annotations,
                         std::string_view gang) {
  const std::string_view label = labels.Get("pod-group.scheduling.sigs.k8s.io/name").Text();
  const std::string_view own = label.empty() ? annotations.Get(kKoordinatorGang).Text() : label;
  const bool by_object = !labels.Get("pod-group.scheduling.sigs.k8s.io").Text().empty();
  return by_object || own != gang ? std::string_view() : own;
}

// Of pods and PodGroups alike.
std::vector<std::string> OddModes(const JsonView& annotations) {
  std::vector<std::string> told;
  const bool loose = annotations.Get(kKoordinatorMode).Text() == "NonStrict";
  AddOdd(annotations,
         {kKoordinatorMode, "Strict",
          loose ? "NonStrict: Muster keeps nothing for a part of a gang, whatever its mode"
                : "expected Strict or NonStrict"},
         told);
  const bool alias = annotations.Get(kKoordinatorMatch).Text().empty();
  AddOdd(annotations,
         {alias ? kKoordinatorMatchAlias : kKoordinatorMatch, "once-satisfied",
          "a gang that has started is started, as once-satisfied says"},
         told);
  return told;
}

}  // namespace

void ReadKoordinatorGang(const JsonView& labels, const JsonView& annotations, std::string_view ns,
                         Pod& record, GangWords& words) {
  if (OwnName(labels, annotations, record.pod_group).empty()) return;
  words.together = ReadTogether(annotations, record, ns);
  ReadWait(annotations, words);
  if (!words.together.empty()) {
    record.role = record.pod_group;
    record.pod_group = cluster::NameOfTogether(words.together);
  }
}

std::vector<std::string> UnheededOfKoordinator(const JsonView& labels, const JsonView& annotations,
                                               std::string_view gang) {
  std::vector<std::string> told = OddModes(annotations);
  if (OwnName(labels, annotations, gang).empty()) {
    for (const char* key : {kKoordinatorGroups, kKoordinatorWait})
      AddOdd(annotations, {key, {}, "it counts where Koordinator's words name the gang"}, told);
    return told;
  }
  const std::string_view wait = annotations.Get(kKoordinatorWait).Text();
  if (!wait.empty() && wait != "0" && wait != "0s" && !ParseGoDuration(wait))
    told.push_back(std::string(kKoordinatorWait) + ": expected a duration such as 10m");
  return told;
}

std::vector<std::string> UnheededOfKoordinator(const JsonView& annotations) {
  std::vector<std::string> told = OddModes(annotations);
  AddOdd(annotations, {kKoordinatorWait, {}, "spec.scheduleTimeoutSeconds counts"}, told);
  return told;
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
