#include "cluster/amounts/gpu_choice.hpp"

#include <algorithm>
#include <utility>

namespace muster::cluster {
namespace {

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool HasWithin(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return Upper(a) == Upper(b); }) != text.end();
}

bool HasAnyWithin(std::string_view text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return HasWithin(text, part); });
}

template <typename T, typename U>
bool Has(const std::vector<T>& list, const U& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void Add(const char* word, const std::vector<std::string>& values, std::string& text) {
  if (values.empty()) return;
  text += (text.empty() ? "" : "; ") + std::string(word);
  for (const std::string& value : values) text += (&value == values.data() ? " " : ", ") + value;
}

}  // namespace

const char* ToString(HamiMode mode) {
  switch (mode) {
    case HamiMode::kNone:
      return "";
    case HamiMode::kHamiCore:
      return "hami-core";
    case HamiMode::kMig:
      return "mig";
    case HamiMode::kMps:
      return "mps";
  }
  return "";
}

GpuChoice::GpuChoice(GpuWords words) {
  if (words != GpuWords{}) words_ = std::make_shared<const GpuWords>(std::move(words));
}

bool GpuChoice::Among(std::string_view model, std::string_view uuid, HamiMode mode) const {
  const GpuWords& words = *words_;
  if (!words.types.empty() && !HasAnyWithin(model, words.types)) return false;
  if (HasAnyWithin(model, words.not_types)) return false;
  if (!words.uuids.empty() && !Has(words.uuids, uuid)) return false;
  if (Has(words.not_uuids, uuid)) return false;
  return words.modes.empty() || mode == HamiMode::kNone || Has(words.modes, mode);
}

bool GpuChoice::limits() const {
  return words_ != nullptr &&
         !(words_->types.empty() && words_->not_types.empty() && words_->uuids.empty() &&
           words_->not_uuids.empty() && words_->modes.empty());
}

std::string GpuChoice::LimitsText() const {
  std::string text;
  if (words_ == nullptr) return text;
  Add("use-gputype", words_->types, text);
  Add("nouse-gputype", words_->not_types, text);
  Add("use-gpuuuid", words_->uuids, text);
  Add("nouse-gpuuuid", words_->not_uuids, text);
  std::vector<std::string> modes;
  for (const HamiMode mode : words_->modes) modes.emplace_back(ToString(mode));
  Add("vgpu-mode", modes, text);
  return text;
}

std::string GpuChoice::ToText() const {
  std::string text = LimitsText();
  if (words_ == nullptr) return text;
  const auto filling = [](GpuWords::Filling how) {
    std::vector<std::string> words;
    if (how == GpuWords::Filling::kBinpack) words.emplace_back("binpack");
    if (how == GpuWords::Filling::kSpread) words.emplace_back("spread");
    return words;
  };
  Add("node-scheduler-policy", filling(words_->nodes), text);
  std::vector<std::string> devices = filling(words_->devices);
  if (words_->untouched) devices.emplace_back("mutex");
  Add("gpu-scheduler-policy", devices, text);
  return text;
}

std::strong_ordering GpuChoice::operator<=>(const GpuChoice& other) const {
  if (words_ == other.words_) return std::strong_ordering::equal;
  if (words_ == nullptr) return std::strong_ordering::less;
  if (other.words_ == nullptr) return std::strong_ordering::greater;
  return *words_ <=> *other.words_;
}

}  // namespace muster::cluster
