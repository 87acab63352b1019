#include "queues/resource.hpp"

#include <algorithm>
#include <vector>

namespace muster::queues {
namespace {

constexpr std::string_view kModelPrefix = "gpu/";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Runs of letters and digits, in lower case.
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char raw : text) {
    const char c = Lower(raw);
    const bool in_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (in_word) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool IsModel(std::string_view text) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), fine);
}

// 2500 → "2.5"
std::string Thousandths(int64_t amount) {
  std::string text = std::to_string(amount / 1000);
  if (const int64_t rest = amount % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

}  // namespace

std::string ToString(const Resource& resource) {
  switch (resource.kind) {
    case Resource::Kind::kGpu:
      return "gpu";
    case Resource::Kind::kGpuMemory:
      return "gpuMemory";
    case Resource::Kind::kCpu:
      return "cpu";
    case Resource::Kind::kMemory:
      return "memory";
    case Resource::Kind::kGpuModel:
      break;
  }
  return std::string(kModelPrefix) + resource.model;
}

std::optional<Resource> ParseResource(std::string_view text) {
  using Kind = Resource::Kind;
  for (const Kind kind : {Kind::kGpu, Kind::kGpuMemory, Kind::kCpu, Kind::kMemory}) {
    if (text == ToString({kind})) return Resource{kind};
  }
  if (text.substr(0, kModelPrefix.size()) != kModelPrefix) return std::nullopt;
  text.remove_prefix(kModelPrefix.size());
  if (!IsModel(text)) return std::nullopt;
  return Resource{Kind::kGpuModel, std::string(text)};
}

std::string ShowAmount(const Resource& resource, int64_t amount) {
  const bool memory =
      resource.kind == Resource::Kind::kMemory || resource.kind == Resource::Kind::kGpuMemory;
  if (!memory) return Thousandths(amount);
  return amount % 1024 == 0 ? std::to_string(amount / 1024) + "GiB"
                            : std::to_string(amount) + "MiB";
}

bool IsOfModel(std::string_view device, std::string_view model) {
  const std::vector<std::string> has = WordsOf(device);
  const std::vector<std::string> wants = WordsOf(model);
  return !wants.empty() &&
         std::search(has.begin(), has.end(), wants.begin(), wants.end()) != has.end();
}

}  // namespace muster::queues
