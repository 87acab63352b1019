#include "engine/gangs/rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
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
  std::vector<std::pair<int32_t, int32_t>> taken;
  for (const uint32_t i : series) {
    const Member& member = *members[i];
    if (member.pod->index == cluster::Pod::kNoIndex) return false;
    if (!member.pod->terminal() && !member.leaving()) taken.push_back(IndexOf(member));
  }
  std::sort(taken.begin(), taken.end());
  return std::adjacent_find(taken.begin(), taken.end()) == taken.end();
}

// `order` is by name. In each numbered series the lowest index gets the first of its places.
void OrderByIndex(const std::vector<const Member*>& members, std::vector<uint32_t>& order) {
  const bool any = std::any_of(members.begin(), members.end(), [](const Member* member) {
    return member->pod->index != cluster::Pod::kNoIndex;
  });
  if (!any) return;
  std::map<Series, std::vector<size_t>> places;  // in `order`, rising
  auto last = places.end();  // names that follow each other are of one series as a rule
  for (size_t place = 0; place < order.size(); ++place) {
    const Series series = SeriesOf(*members[order[place]]);
    if (last == places.end() || last->first != series) last = places.try_emplace(series).first;
    last->second.push_back(place);
  }
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

std::string NaturalKey(std::string_view name) {
  std::string key;
  key.reserve(2 * name.size() + 8);
  for (std::string_view rest = name; !rest.empty();) {
    key += rest.front();
    if (!IsDigit(rest.front())) {
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view number = TakeNumber(rest);
    key.back() = '0';  // whatever is no digit is before all of them or after all
    key += static_cast<char>(number.size() >> 8U);
    key += static_cast<char>(number.size() & 0xFFU);
    key += number;
  }
  key += '\0';
  key += name;  // "01" and "1" are different names
  return key;
}

std::vector<uint32_t> RanksOf(const std::vector<const Member*>& members) {
  std::vector<std::pair<std::string, uint32_t>> named;
  named.reserve(members.size());
  for (const Member* member : members)
    named.emplace_back(NaturalKey(member->key.name), static_cast<uint32_t>(named.size()));
  std::sort(named.begin(), named.end(), [&](const auto& a, const auto& b) {
    const int names = a.first.compare(b.first);
    return names != 0 ? names < 0 : members[a.second]->uid < members[b.second]->uid;
  });
  std::vector<uint32_t> order;
  order.reserve(named.size());
  for (const auto& [key, at] : named) order.push_back(at);
  OrderByIndex(members, order);
  std::vector<uint32_t> ranks(members.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

Ranks RanksOfLive(const Gang& gang) {
  std::vector<const Member*> live;
  live.reserve(gang.members.size());
  for (const auto& [uid, member] : gang.members) {
    if (!member.pod->terminal() && !member.leaving() && !member.malformed())
      live.push_back(&member);
  }
  const std::vector<uint32_t> ranks = RanksOf(live);
  Ranks of_live;
  of_live.reserve(live.size());
  for (size_t i = 0; i < live.size(); ++i) of_live.emplace(live[i], ranks[i]);
  return of_live;
}

}  // namespace muster::engine
