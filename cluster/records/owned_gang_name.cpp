#include "cluster/records/owned_gang_name.hpp"

#include <array>
#include <cstdint>

namespace muster::cluster {
namespace {

constexpr size_t kMostTogether = 120;  // characters

}  // namespace

// FNV-1a, its halves folded.
std::string GangDigest(std::initializer_list<std::string_view> texts) {
  uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](unsigned char c) { hash = (hash ^ c) * 1099511628211ULL; };
  for (const std::string_view text : texts) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0xFF);
  }
  const auto folded = static_cast<uint32_t>(hash ^ (hash >> 32U));
  std::array<char, 8> digits{};
  for (size_t i = 0; i < digits.size(); ++i) {
    digits[i] = "0123456789abcdef"[(folded >> (28U - 4U * i)) & 0xFU];
  }
  return {digits.data(), digits.size()};
}

std::string NameOfTogether(const std::vector<std::string>& names) {
  std::string name;
  for (const std::string& one : names) name += (name.empty() ? "" : "+") + one;
  if (name.size() <= kMostTogether) return name;
  return names.front() + "+" + std::to_string(names.size() - 1) + "~" + GangDigest({name});
}

bool IsTogetherWith(std::string_view gang, std::string_view asked) {
  if (gang.find('+') == std::string_view::npos) return false;
  while (!gang.empty()) {
    const std::string_view one = gang.substr(0, gang.find('+'));
    if (one == asked) return true;
    gang.remove_prefix(one.size() == gang.size() ? one.size() : one.size() + 1);
  }
  return false;
}

std::string OwnedGangName(std::string_view kind, std::string_view owner, std::string_view part,
                          std::string_view digest) {
  std::string name;
  name.append(kind).append(":").append(owner);
  if (!part.empty()) name.append(":").append(part);
  return name.append("~").append(digest);
}

bool IsGangOfOwner(std::string_view gang, std::string_view asked) {
  const size_t kind = gang.find(':');
  const size_t digest = gang.rfind('~');
  if (kind == std::string_view::npos || digest == std::string_view::npos) return false;
  const std::string_view whole = gang.substr(0, digest);  // jobset:train:workers
  const size_t part = whole.find(':', kind + 1);
  const std::string_view owner = whole.substr(0, part);  // jobset:train
  return asked == whole || asked == owner || asked == owner.substr(kind + 1);
}

}  // namespace muster::cluster
