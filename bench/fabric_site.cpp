#include "bench/fabric_site.hpp"

#include <algorithm>
#include <limits>

#include "cluster/base/check.hpp"

namespace muster::bench {
namespace {

// GB/s of one GPU in one direction, when all GPUs use the links of the level at once:
//   node    450   NVLink 4: 900 GB/s for both directions,
//   https://www.nvidia.com/en-us/data-center/h100 NVLink  225   NVLink Switch: 57.6 TB/s between
//   256 GPUs,
//                 https://www.nvidia.com/en-us/data-center/technologies/hopper-architecture
//   rack    50    one port of 400 Gb/s for each GPU: "The Llama 3 Herd of Models", 3.3.1,
//                 https://arxiv.org/abs/2407.21783
//   block   25    ASSUMED: two to one above the leaf switches
//   zone    50/7  seven to one between pods, same paper
//   else    1.8   ASSUMED: four to one on top of that
constexpr std::array<double, kLevels> kWithin = {50.0 / 7, 25, 50, 225, 450};
constexpr double kBetweenZones = 1.8;

}  // namespace

const char* ToString(Level level) {
  switch (level) {
    case Level::kZone:
      return "zone";
    case Level::kBlock:
      return "block";
    case Level::kRack:
      return "rack";
    case Level::kNvlink:
      return "NVLink domain";
    case Level::kNode:
      return "node";
  }
  return "";
}

Site::Site(const std::array<int, kLevels>& counts) {
  int nodes = 1;
  for (const int count : counts) nodes *= count;
  int domains = 1;
  for (size_t i = 0; i < kLevels; ++i) {
    domains *= counts[i];
    domains_[i] = domains;
    nodes_in_[i] = nodes / domains;
  }
}

double Site::BandwidthBetween(int a, int b) const {
  for (size_t i = kLevels; i-- > 0;) {
    if (DomainOf(kAllLevels[i], a) == DomainOf(kAllLevels[i], b)) return kWithin[i];
  }
  return kBetweenZones;
}

double Site::RingOf(const Places& places) const {
  double slowest = std::numeric_limits<double>::max();
  for (size_t i = 0; i < places.size(); ++i)
    slowest = std::min(slowest, BandwidthBetween(places[i], places[(i + 1) % places.size()]));
  return slowest;
}

bool Site::IsInside(Level level, const Places& places) const {
  return std::all_of(places.begin(), places.end(), [&](int node) {
    return DomainOf(level, node) == DomainOf(level, places.front());
  });
}

Ledger::Ledger(const Site& site)
    : site_(&site), free_(static_cast<size_t>(site.nodes()), kGpusPerNode) {}

void Ledger::Take(const Places& places, int gpus) {
  for (const int node : places) {
    int& free = free_[static_cast<size_t>(node)];
    MUSTER_CHECK(free >= gpus);
    free -= gpus;
    held_ += gpus;
  }
}

void Ledger::Give(const Places& places, int gpus) {
  for (const int node : places) {
    free_[static_cast<size_t>(node)] += gpus;
    held_ -= gpus;
  }
}

std::vector<int> Ledger::RoomAt(Level level, int gpus) const {
  std::vector<int> room(static_cast<size_t>(site_->DomainsAt(level)), 0);
  for (int node = 0; node < site_->nodes(); ++node)
    room[static_cast<size_t>(site_->DomainOf(level, node))] += FreeOn(node) / gpus;
  return room;
}

bool Ledger::Holds(Level level, const Job& job) const {
  const std::vector<int> room = RoomAt(level, job.gpus);
  return std::any_of(room.begin(), room.end(), [&](int one) { return one >= job.members; });
}

}  // namespace muster::bench
