// Role: the demands of a gang that are alike, and the orders in which roles are placed (internal to
// policy/). Plain values of one PlaceGang call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/search/search.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::policy {

struct Role {
  Shape* shape = nullptr;
  std::vector<size_t> members;  // positions among the demands; those with most exclusions first
  int64_t size() const { return static_cast<int64_t>(members.size()); }
  const cluster::PodSpec& spec() const { return *shape->spec; }
};

// What is placed first finds most room, so it should be what is hardest to place. Which that is
// depends on what is scarce.
//   kMostGpus     per pod; then CPU, then memory
//   kFewestNodes  those that fit on the fewest nodes as things stand
//   kMostCpu      per pod; then memory, then GPUs
enum class RoleOrder { kMostGpus, kFewestNodes, kMostCpu };

std::vector<Role> RolesOf(const std::vector<Demand>& demands, ShapeMemory& memory);

// Ties end in the shape itself, so that the order of the demands does not matter.
void Sort(std::vector<Role>& roles, RoleOrder order, const Search& search);

}  // namespace muster::policy
