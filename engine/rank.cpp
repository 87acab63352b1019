#include "engine/rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

// Among these the controllers' numbers say who is who.
struct Series {
  std::string_view role;
  std::string_view owner;  // empty in a JobSet
  bool in_job_set = false;
  auto operator<=>(const Series&) const = default;
};

Series SeriesOf(const Member& member) {
  const cluster::Pod& pod = *member.pod;
  const bool in_job_set = pod.job_index != cluster::Pod::kNoIndex;
  return {pod.role, in_job_set ? std::string_view() : pod.owner_uid, in_job_set};
}

std::pair<int32_t, int32_t> IndexOf(const Member& member) {
  return {member.pod->job_index, member.pod->index};
}

// A pod and its replacement have the same index.
bool Numbered(const std::vector<const Member*>& members, const std::vector<uint32_t>& series) {
  std::set<std::pair<int32_t, int32_t>> taken;
  return std::all_of(series.begin(), series.end(), [&](uint32_t i) {
    const Member& member = *members[i];
    if (member.pod->index == cluster::Pod::kNoIndex) return false;
    return member.pod->terminal() || member.leaving() || taken.insert(IndexOf(member)).second;
  });
}

// `order` is by name. In each numbered series the lowest index gets the first of its places.
void OrderByIndex(const std::vector<const Member*>& members, std::vector<uint32_t>& order) {
  const bool any = std::any_of(members.begin(), members.end(), [](const Member* member) {
    return member->pod->index != cluster::Pod::kNoIndex;
  });
  if (!any) return;
  std::map<Series, std::vector<size_t>> places;  // in `order`, rising
  for (size_t place = 0; place < order.size(); ++place)
    places[SeriesOf(*members[order[place]])].push_back(place);
  for (const auto& [series, its] : places) {
    std::vector<uint32_t> pods;
    for (const size_t place : its) pods.push_back(order[place]);
    if (!Numbered(members, pods)) continue;
    std::stable_sort(pods.begin(), pods.end(), [&](uint32_t a, uint32_t b) {
      return IndexOf(*members[a]) < IndexOf(*members[b]);
    });
    for (size_t i = 0; i < its.size(); ++i) order[its[i]] = pods[i];
  }
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
  OrderByIndex(members, order);
  std::vector<uint32_t> ranks(members.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

std::map<cluster::PodUid, uint32_t> RanksOfLive(const Gang& gang) {
  std::vector<const Member*> live;
  for (const auto& [uid, member] : gang.members) {
    if (!member.pod->terminal() && !member.leaving() && !member.malformed())
      live.push_back(&member);
  }
  const std::vector<uint32_t> ranks = RanksOf(live);
  std::map<cluster::PodUid, uint32_t> by_pod;
  for (size_t i = 0; i < live.size(); ++i) by_pod.emplace(live[i]->uid, ranks[i]);
  return by_pod;
}

}  // namespace muster::engine
