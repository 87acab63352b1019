// A file of teams: the smallest table with lists of sections, sections by name and tables that hold
// themselves. No part of a policy; tests and the fuzzer read and write it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/elements.hpp"
#include "config/fields/field_file.hpp"

namespace muster::config::testing {

struct Team {
  std::string lead;  // must be given
  int64_t limit = 8;
  std::map<std::string, int64_t> gpus;  // by model
  std::vector<Team> children;
};
struct Teams {
  std::map<std::string, Team> queues;
  std::vector<std::vector<int64_t>> grid;
};

inline bool IsWord(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-/") == text.npos;
}
inline constexpr TextRule kWord{"a word", IsWord};

inline void VisitTeam(Team* team, FieldVisitor* visitor) {
  visitor->Text({"lead", "Who leads it."}, kWord, &team->lead);
  visitor->Whole({"limit", "GPUs at most."}, {0, 1000}, &team->limit);
  const auto count = [](const FieldInfo& info, int64_t* value, FieldVisitor* inside) {
    inside->Whole(info, {1, 100}, value);
  };
  NamedElements models(&team->gpus, count);
  visitor->Section({"gpus", "By model."}, [&] {
    int64_t any = 1;
    visitor->Whole({"any", ""}, {1, 100}, &any);
    visitor->Named(kWord, &models);
  });
  SectionList(visitor, {"children", "Teams of this team."}, &team->children, VisitTeam);
}

inline void VisitTeams(Teams* teams, FieldVisitor* visitor) {
  SectionMap(visitor, {"queues", "Teams by name."}, kWord, &teams->queues, VisitTeam);
  const auto cell = [](const FieldInfo& info, int64_t* value, FieldVisitor* inside) {
    inside->Whole(info, {0, 9}, value);
  };
  const auto row = [cell](const FieldInfo& info, std::vector<int64_t>* cells,
                          FieldVisitor* inside) {
    ListElements items(cells, cell);
    inside->List(info, &items);
  };
  ListElements rows(&teams->grid, row);
  visitor->List({"grid", ""}, &rows);
}

inline FieldTable TableOf(Teams* teams) {
  return [teams](FieldVisitor* visitor) { VisitTeams(teams, visitor); };
}

}  // namespace muster::config::testing
