// The exact solver: of all ways to place a small gang the best one, by branch and bound. It knows
// nothing of policy/: a case is nodes with their domains and free GPUs, and a gang of roles. For
// tests of policy/ only. Pure functions of plain values.
//
// What is best is said field by field, the first that differs decides:
//
// 1. how many levels are crossed: those below the innermost level at which all of the gang is in
//    one domain;
// 2. how many layers of preferred segments are given up, the innermost first;
// 3. how many domains are used, by level, the outermost first;
// 4. imbalance by level: most less fewest pods among the domains that are used;
// 5. how many nodes are used;
// 6. by level, how many neighbours in rank of one role are in different domains.
//
// A node that is in no domain of a level is one of its own in 3 to 6, but in none for 1 and for
// segments.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::testing {

inline constexpr size_t kExactLevels = 4;
inline constexpr size_t kExactRoles = 3;

struct ExactNode {
  // Its domains' labels, the outermost first; shorter than the levels: it is in none from there on.
  std::vector<std::string> path;
  int free = 0;  // whole GPUs that are healthy and not taken
};

struct ExactRole {
  int gpus = 1;  // of each pod
  int pods = 1;
};

// Of each role, in the order of rank, every `size` pods are in one domain of the level.
struct ExactSegment {
  size_t level = 0;
  int size = 1;
};

struct ExactCase {
  size_t levels = 1;
  std::vector<ExactNode> nodes;
  std::vector<ExactRole> roles;
  std::optional<size_t> required = {};  // all are in one domain of this level
  // The first that can be kept counts; the last one must be. Never empty.
  std::vector<std::vector<ExactSegment>> segments = {{}};
};

struct ExactCost {
  using ByLevel = std::array<int, kExactLevels>;
  int crossed = 0;
  int given_up = 0;
  ByLevel domains = {};
  ByLevel imbalance = {};
  int nodes = 0;
  ByLevel neighbours = {};
  auto operator<=>(const ExactCost&) const = default;
};

// By role the node of each pod, in the order of rank.
using ExactPlaces = std::vector<std::vector<size_t>>;

// By the definitions above. Nothing: it may not be placed so.
std::optional<ExactCost> CostOf(const ExactCase& about, const ExactPlaces& places);

// Nothing: it cannot be placed.
std::optional<ExactCost> Solve(const ExactCase& about);

// For people.
std::string Text(const ExactCase& about);
std::string Text(const std::optional<ExactCost>& cost);

}  // namespace muster::testing
