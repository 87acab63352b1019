// Random clusters and gangs for property tests: every kind of node, sharing, label and taint
// occurs, and amounts are small so that things are scarce.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/policy/world.hpp"

namespace muster::testing {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  // From `low` to `high`, both included.
  int Roll(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int n) { return Roll(1, n) == 1; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Roll(0, static_cast<int>(from.size()) - 1))];
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

// MUSTER_PROPERTY_STEPS / 1000 of `usual` (at least one), or `usual` where it is not set.
int Rounds(int usual);
// Another one in every run; print it.
uint64_t SeedOfRun();

cluster::Node RandomNode(Dice& dice, const std::string& name);
// Asks for CPU only, whole GPUs, or shares of one or several devices.
PodBuilder RandomPod(Dice& dice);
// One to three roles of up to `most` pods each, some with preferences and exclusions.
std::vector<policy::Demand> RandomGang(Dice& dice, World& world, int most);

}  // namespace muster::testing
