#include "engine/gangs/headcount.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace muster::engine {

using cluster::Headcount;

namespace {

// What a headcount says of roles that are asked for in order: there may be a thousand.
class InOrder {
 public:
  explicit InOrder(const Headcount& heads) : at_(heads.roles.begin()), end_(heads.roles.end()) {}
  int64_t CountOf(const std::string& role) {
    while (at_ != end_ && at_->first < role) ++at_;
    return at_ != end_ && at_->first == role ? at_->second : 0;
  }

 private:
  std::map<std::string, int64_t>::const_iterator at_;
  const std::map<std::string, int64_t>::const_iterator end_;
};

}  // namespace

Headcount Lower(const Headcount& a, const Headcount& b) {
  Headcount lower{std::min(a.members, b.members), {}};
  InOrder of_b(b);
  for (const auto& [role, count] : a.roles) {
    const int64_t both = std::min(count, of_b.CountOf(role));
    if (both > 0) lower.roles.emplace_hint(lower.roles.end(), role, both);
  }
  return lower;
}

Headcount Higher(Headcount a, const Headcount& b) {
  a.members = std::max(a.members, b.members);
  for (const auto& [role, count] : b.roles) a.roles[role] = std::max(a.roles[role], count);
  return a;
}

Headcount Plus(Headcount a, const Headcount& b) {
  a.members += b.members;
  for (const auto& [role, count] : b.roles) a.roles[role] += count;
  return a;
}

Headcount Minus(Headcount a, const Headcount& b) {
  a.members = std::max<int64_t>(0, a.members - b.members);
  InOrder of_b(b);
  for (auto role = a.roles.begin(); role != a.roles.end();) {
    role->second -= of_b.CountOf(role->first);
    role = role->second > 0 ? std::next(role) : a.roles.erase(role);
  }
  return a;
}

int64_t Lack(const Headcount& minimum, const Headcount& heads) {
  int64_t of_roles = 0;
  InOrder has(heads);
  for (const auto& [role, count] : minimum.roles) {
    of_roles += std::max<int64_t>(0, count - has.CountOf(role));
  }
  return std::max({int64_t{0}, minimum.members - heads.members, of_roles});
}

Headcount HeadcountOf(int64_t members, const std::unordered_map<std::string_view, int64_t>& roles) {
  std::vector<std::pair<std::string_view, int64_t>> ordered(roles.begin(), roles.end());
  std::sort(ordered.begin(), ordered.end());
  Headcount heads{members, {}};
  for (const auto& [role, count] : ordered)
    heads.roles.emplace_hint(heads.roles.end(), role, count);
  return heads;
}

}  // namespace muster::engine
