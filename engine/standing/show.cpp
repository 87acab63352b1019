#include "engine/standing/show.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace muster::engine {

using cluster::Time;

std::string ShowTime(Time time) {
  const auto since = std::chrono::milliseconds(time.milliseconds());
  const auto day = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::seconds>(since - day)};
  char text[64];
  const int length = std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text, static_cast<size_t>(std::max(length, 0))};
}

std::string NamesOf(const cluster::ClusterState& cluster, const cluster::NodeSet& nodes) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string> names;
  for (const cluster::NodeIndex index : nodes.Nodes()) {
    if (const cluster::Node* node = cluster.node(index)) names.push_back(node->name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNames)
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

}  // namespace muster::engine
