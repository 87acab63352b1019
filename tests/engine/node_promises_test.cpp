// Which nodes are kept for whom.
#include "engine/standing/node_promises.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

namespace muster::engine {
namespace {

using cluster::NodeIndex;

// By claim the nodes that it could have, and how well they suit it.
using Could = std::vector<std::map<uint32_t, int>>;

NodePromises::Suits SuitsBy(const Could& could) {
  return [&could](size_t claim, NodeIndex node) -> std::optional<NodeSuits> {
    const auto at = could[claim].find(node.value);
    if (at == could[claim].end()) return std::nullopt;
    return NodeSuits{at->second, 0, ""};
  };
}

std::string Of(const NodePromises& promises, size_t claim) {
  std::string text;
  for (const NodeIndex node : promises.of(claim))
    text += (text.empty() ? "" : " ") + std::to_string(node.value);
  return text;
}

TEST_CASE("a claim gets the nodes that suit it best, and as many as it wants",
          "[engine][queues][R14]") {
  const Could could = {{{0, 2}, {1, 0}, {2, 1}, {3, 1}}};
  NodePromises promises;
  promises.Reset(1);
  promises.Fill(0, 2, 4, SuitsBy(could));
  CHECK(Of(promises, 0) == "1 2");
  promises.Fill(0, 2, 4, SuitsBy(could));
  CHECK(Of(promises, 0) == "1 2");
  promises.Fill(0, 9, 4, SuitsBy(could));
  CHECK(Of(promises, 0) == "0 1 2 3");
  promises.Drop(NodeIndex{2});
  CHECK(Of(promises, 0) == "0 1 3");
  CHECK_FALSE(promises.ClaimOn(NodeIndex{2}));
}

TEST_CASE("a node is exchanged where another claim can have only that one",
          "[engine][queues][R14]") {
  // The second can have only what the first took, and the first what the third took.
  const Could could = {{{0, 0}, {1, 1}}, {{0, 0}}, {{1, 0}, {2, 1}}};
  NodePromises promises;
  promises.Reset(3);
  promises.Fill(0, 1, 3, SuitsBy(could));
  promises.Fill(2, 1, 3, SuitsBy(could));
  REQUIRE(Of(promises, 0) == "0");
  REQUIRE(Of(promises, 2) == "1");
  promises.Fill(1, 1, 3, SuitsBy(could));
  CHECK(Of(promises, 0) == "1");
  CHECK(Of(promises, 1) == "0");
  CHECK(Of(promises, 2) == "2");
}

TEST_CASE("nobody gives a node away for which there is no other", "[engine][queues][R14]") {
  const Could could = {{{0, 0}}, {{0, 0}}};
  NodePromises promises;
  promises.Reset(2);
  promises.Fill(0, 1, 1, SuitsBy(could));
  promises.Fill(1, 1, 1, SuitsBy(could));
  CHECK(Of(promises, 0) == "0");
  CHECK(Of(promises, 1).empty());
}

}  // namespace
}  // namespace muster::engine
