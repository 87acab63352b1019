#include "kube/dialects/preemptibility.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "cluster/records/pod_group.hpp"

namespace muster::kube {

namespace {

constexpr const char* kKai = "kai.scheduler/preemptibility";
constexpr const char* kVolcano = "volcano.sh/preemptable";
constexpr const char* kKoordinator = "quota.scheduling.koordinator.sh/preemptible";
constexpr const char* kKoordinatorNever = "scheduling.koordinator.sh/disable-preemptible";

// As Go's strconv.ParseBool reads it: Volcano does.
std::optional<bool> ParseGoBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<bool> ReadOwn(const JsonView& said) {
  const std::string_view text = said.Text();
  if (text == "true") return true;
  if (text == "false") return false;
  if (said.present()) {
    said.Problem("expected \"true\" or \"false\", got \"" + std::string(text.substr(0, 40)) + "\"");
  }
  return std::nullopt;
}

}  // namespace

std::optional<bool> ReadPreemptibility(const JsonView& said) {
  const std::string_view text = said.Text();
  if (text == "preemptible") return true;
  if (text == "non-preemptible" || text == "semi-preemptible") return false;
  return std::nullopt;
}

std::optional<bool> ReadPreemptible(const JsonView& labels, const JsonView& annotations) {
  for (const JsonView* texts : {&annotations, &labels}) {
    if (const auto said = ReadOwn(texts->Get(cluster::kPreemptible))) return said;
  }
  for (const JsonView* texts : {&labels, &annotations}) {
    if (const auto said = ReadPreemptibility(texts->Get(kKai))) return said;
  }
  for (const JsonView* texts : {&annotations, &labels}) {
    if (const auto said = ParseGoBool(texts->Get(kVolcano).Text())) return said;
  }
  if (labels.Get(kKoordinator).Text() == "false") return false;
  if (labels.Get(kKoordinatorNever).Text() == "true") return false;
  return std::nullopt;
}

}  // namespace muster::kube
