// FabricReport: tells in the log what is wrong with the nodes' labels of the fabric, each finding
// once when it comes and once when it is gone, and which nodes moved to other domains.
// Thread-compatible: one thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/contract/fabric_view.hpp"
#include "extender/telemetry/log.hpp"

namespace muster::extender {

class FabricReport {
 public:
  // At most so many nodes that moved since the last time are told one by one.
  static constexpr std::size_t kMostMoves = 50;

  explicit FabricReport(const Logger& log) : log_(log) {}
  void Follow(const engine::FabricView& view);
  // The trees are others from now on: no node has moved.
  void ForgetPlaces() { places_.clear(); }

 private:
  void FollowFindings(const std::vector<std::string>& findings);
  void FollowPlaces(const engine::FabricView& view);
  void TellMove(const engine::FabricView& view, const engine::NodePlace& now,
                const std::string& before);

  const Logger& log_;
  std::set<std::string> told_;
  std::map<std::pair<std::string, std::string>, std::string> places_;  // by tree and node
};

}  // namespace muster::extender
