#include "engine/rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace muster::engine {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front of `text` without leading zeros; they are taken off.
std::string_view TakeNumber(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

}  // namespace

int CompareNatural(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view one = TakeNumber(a);
      const std::string_view other = TakeNumber(b);
      if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
      if (const int order = one.compare(other); order != 0) return order;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front() ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty() ? -1 : 1;
  return whole_a.compare(whole_b);  // "01" and "1" are different names
}

std::vector<uint32_t> RanksOf(const std::vector<const Member*>& members) {
  std::vector<uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int names = CompareNatural(members[a]->key.name, members[b]->key.name);
    return names != 0 ? names < 0 : members[a]->uid < members[b]->uid;
  });
  std::vector<uint32_t> ranks(members.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

}  // namespace muster::engine
