// Site: where the nodes of a simulated cluster are in its fabric, and how fast they are connected.
// Ledger: how many GPUs of each node are free, in the benchmark's own books. Plain values for one
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::bench {

// A job: a gang of pods of the same size, or a single pod. Jobs that nobody places are forgotten.
struct Job {
  int id = 0;
  int members = 1;
  int gpus = 1;    // whole ones, of each member
  int leaves = 0;  // before this step
};

// The node of each member, in the order of rank; empty: not placed.
using Places = std::vector<int>;

// From the outermost to the innermost; each lies within the one before.
enum class Level : size_t { kZone, kBlock, kRack, kNvlink, kNode };
constexpr size_t kLevels = 5;
constexpr std::array<Level, kLevels> kAllLevels = {Level::kZone, Level::kBlock, Level::kRack,
                                                   Level::kNvlink, Level::kNode};
const char* ToString(Level level);

constexpr int kGpusPerNode = 8;

class Site {
 public:
  // How many zones; how many blocks in a zone; …; how many nodes in an NVLink domain.
  explicit Site(const std::array<int, kLevels>& counts);

  int nodes() const { return DomainsAt(Level::kNode); }
  int gpus() const { return nodes() * kGpusPerNode; }
  int DomainsAt(Level level) const { return domains_[static_cast<size_t>(level)]; }
  int NodesIn(Level level) const { return nodes_in_[static_cast<size_t>(level)]; }
  // Nodes are numbered along the fabric: a domain is a range of them.
  int DomainOf(Level level, int node) const { return node / NodesIn(level); }
  // GB/s that one GPU has to another one, in one direction.
  double BandwidthBetween(int a, int b) const;
  // Of the slowest link of a ring over the members in the order of rank.
  double RingOf(const Places& places) const;
  bool IsInside(Level level, const Places& places) const;

 private:
  std::array<int, kLevels> domains_{};
  std::array<int, kLevels> nodes_in_{};
};

class Ledger {
 public:
  explicit Ledger(const Site& site);

  const Site& site() const { return *site_; }
  int FreeOn(int node) const { return free_[static_cast<size_t>(node)]; }
  const std::vector<int>& free() const { return free_; }  // by node
  int held() const { return held_; }
  // What is taken must be free (MUSTER_CHECK).
  void Take(const Places& places, int gpus);
  void Give(const Places& places, int gpus);
  // By domain: how many members of so many GPUs each find room.
  std::vector<int> RoomAt(Level level, int gpus) const;
  // Some domain of the level has room for all of it.
  bool Holds(Level level, const Job& job) const;

 private:
  const Site* site_;
  std::vector<int> free_;
  int held_ = 0;
};

}  // namespace muster::bench
