// Racks: nodes in blocks and racks, and a Placer that knows them. For tests of policy/ only.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/domains/fabric_wish.hpp"
#include "policy/placing/placement.hpp"
#include "tests/policy/world.hpp"
#include "tests/support/builders.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::testing {

// Racks of nodes of four GPUs each. Node "a0x" is one of rack "a0" of block "a".
struct Racks : World {
  policy::Placer placer{policy::Options{policy::Strategy::kBinpack, BlocksAndRacks()}};

  Racks(int blocks, int racks, int nodes) {
    for (int b = 0; b < blocks; ++b) {
      for (int r = 0; r < racks; ++r) {
        for (int n = 0; n < nodes; ++n) {
          const std::string block(1, static_cast<char>('a' + b));
          const std::string rack = block + std::to_string(r);
          Add(MakeNode(rack + static_cast<char>('x' + n))
                  .Gpus(4)
                  .Label("block", block)
                  .Label("rack", rack));
        }
      }
    }
  }
  // `beside`: the nodes of members, each with the spec of the first demand, that have theirs.
  policy::PlaceAnswer Put(const std::vector<policy::Demand>& demands,
                          cluster::TopologyTerms terms = {},
                          const std::vector<std::string>& beside = {}) {
    policy::GangTerms gang;
    if (!terms.none()) gang.wish = std::make_shared<const policy::FabricWish>(std::move(terms));
    for (const std::string& node : beside) {
      gang.beside.push_back(Index(node));
      gang.placed.push_back({Index(node), demands.front().spec});
    }
    std::sort(gang.beside.begin(), gang.beside.end());
    gang.beside.erase(std::unique(gang.beside.begin(), gang.beside.end()), gang.beside.end());
    cluster::Transaction tx(state.TakeSnapshot());
    policy::PlaceAnswer answer =
        placer.PlaceGang(tx, demands, policy::NodeFilter::kSchedulable, gang);
    if (answer.placed) REQUIRE(state.Reserve(answer.placements).ok());
    return answer;
  }
  // Demands with ranks as they come.
  std::vector<policy::Demand> Ranked(int count, int gpus) {
    std::vector<policy::Demand> demands = Ask(count, MakePod("p").Gpus(gpus));
    for (size_t i = 0; i < demands.size(); ++i) demands[i].rank = static_cast<uint32_t>(i);
    return demands;
  }
  // The nodes of the demands, in their order; with `letters` of their names.
  std::string In(const policy::PlaceAnswer& answer, size_t letters) {
    if (!answer.placed) return "nowhere";
    std::string text;
    for (const cluster::Placement& one : answer.placements) {
      const std::string name = state.node(one.node)->name;
      text += (text.empty() ? "" : " ") + name.substr(0, letters);
    }
    return text;
  }
};

}  // namespace muster::testing
