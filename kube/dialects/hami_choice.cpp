#include "kube/dialects/hami_choice.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/split.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::GpuWords;
using cluster::HamiMode;

namespace {

constexpr size_t kMostWords = 256;  // of one list

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Those between commas that are not empty; rising, each once.
std::vector<std::string> ReadList(const JsonView& annotations, const char* key) {
  const JsonView value = annotations.Get(key);
  std::vector<std::string> words;
  for (const std::string_view part : cluster::Split(value.Text(), ',')) {
    const std::string_view word = Trimmed(part);
    if (!word.empty() && words.size() <= kMostWords) words.emplace_back(word);
  }
  if (words.empty() && !Trimmed(value.Text()).empty())
    value.Problem("expected words between commas");
  if (words.size() > kMostWords)
    value.Problem("expected at most " + std::to_string(kMostWords) + " words");
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool Has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// HAMi looks whether the device's mode is anywhere in the text.
std::vector<HamiMode> ReadModes(const JsonView& annotations) {
  std::vector<HamiMode> modes;
  const JsonView said = annotations.Get(kHamiMode);
  if (!said.present()) return modes;
  for (const HamiMode mode : {HamiMode::kHamiCore, HamiMode::kMig, HamiMode::kMps}) {
    if (said.Text().find(cluster::ToString(mode)) != std::string_view::npos) modes.push_back(mode);
  }
  if (modes.empty()) said.Problem("expected hami-core, mig or mps");
  return modes;
}

// In the order in which they are written; the first counts.
GpuWords::Filling FillingIn(std::string_view text) {
  for (const std::string_view part : cluster::Split(text, ',')) {
    if (Trimmed(part) == "binpack") return GpuWords::Filling::kBinpack;
    if (Trimmed(part) == "spread") return GpuWords::Filling::kSpread;
  }
  return GpuWords::Filling::kUnsaid;
}

}  // namespace

cluster::GpuChoice ReadHamiChoice(const JsonView& annotations) {
  GpuWords words;
  words.types = ReadList(annotations, kHamiUseType);
  words.not_types = ReadList(annotations, kHamiNoUseType);
  words.uuids = ReadList(annotations, kHamiUseUuid);
  words.not_uuids = ReadList(annotations, kHamiNoUseUuid);
  words.modes = ReadModes(annotations);
  words.nodes = FillingIn(annotations.Get(kHamiNodePolicy).Text());
  words.devices = FillingIn(annotations.Get(kHamiGpuPolicy).Text());
  words.untouched = Has(ReadList(annotations, kHamiGpuPolicy), "mutex");
  return cluster::GpuChoice(std::move(words));
}

std::string UnheededOfHami(const JsonView& annotations) {
  std::string text;
  const auto add = [&](const char* key, std::string_view word) {
    text += (text.empty() ? "" : ", ") + std::string(key) +
            (word.empty() ? "" : " " + std::string(word.substr(0, 40)));
  };
  for (const auto& [key, known] :
       {std::pair<const char*, std::vector<std::string>>(kHamiNodePolicy, {"binpack", "spread"}),
        std::pair<const char*, std::vector<std::string>>(
            kHamiGpuPolicy, {"binpack", "spread", "mutex", "topology-aware"})}) {
    for (const std::string& word : ReadList(annotations, key))
      if (!Has(known, word)) add(key, word);
  }
  return text.empty() ? text : text + ": Muster does not place by these words of HAMi";
}

void AppendHamiChoice(JsonWriter& json, const GpuWords& words) {
  const auto list = [&](const char* key, const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& one : texts) text += (text.empty() ? "" : ",") + one;
    if (!text.empty()) json.Key(key).Text(text);
  };
  const auto filling = [](GpuWords::Filling how) {
    using Filling = GpuWords::Filling;
    return how == Filling::kUnsaid    ? std::vector<std::string>()
           : how == Filling::kBinpack ? std::vector<std::string>{"binpack"}
                                      : std::vector<std::string>{"spread"};
  };
  list(kHamiUseType, words.types);
  list(kHamiNoUseType, words.not_types);
  list(kHamiUseUuid, words.uuids);
  list(kHamiNoUseUuid, words.not_uuids);
  std::vector<std::string> modes;
  for (const HamiMode mode : words.modes) modes.emplace_back(cluster::ToString(mode));
  list(kHamiMode, modes);
  list(kHamiNodePolicy, filling(words.nodes));
  std::vector<std::string> devices = filling(words.devices);
  if (words.untouched) devices.emplace_back("mutex");
  list(kHamiGpuPolicy, devices);
}

}  // namespace muster::kube
