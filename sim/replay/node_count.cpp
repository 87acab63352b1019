// Nodes by their number (trace.hpp).
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "sim/replay/trace.hpp"
#include "sim/world/cluster.hpp"

namespace muster::sim {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr int64_t kMostNodes = 100'000;
constexpr int64_t kMostGpus = 128;

std::optional<int64_t> Whole(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// With as many digits as the last of `count` has.
std::string Numbered(std::string_view prefix, int64_t i, int64_t count) {
  const size_t digits = std::to_string(count - 1).size();
  const std::string number = std::to_string(i);
  return std::string(prefix) + "-" + std::string(digits - number.size(), '0') + number;
}

bool IsLabelKey(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return !text.empty() && text.back() != '/' && std::all_of(text.begin(), text.end(), good);
}

// Of "rack=10": each 10 nodes have one value of the label rack.
struct Grouped {
  std::string key;
  int64_t nodes = 0;
};

std::optional<Grouped> ReadGrouped(std::string_view item) {
  const size_t equals = std::min(item.find('='), item.size());
  const std::optional<int64_t> nodes = Whole(item.substr(std::min(equals + 1, item.size())));
  if (!nodes || *nodes < 1 || *nodes > kMostNodes || !IsLabelKey(item.substr(0, equals)))
    return std::nullopt;
  return Grouped{std::string(item.substr(0, equals)), *nodes};
}

void Label(std::vector<cluster::Node>& nodes, const Grouped& by) {
  const std::string_view prefix = std::string_view(by.key).substr(by.key.rfind('/') + 1);
  const auto size = static_cast<int64_t>(nodes.size());
  const int64_t groups = (size + by.nodes - 1) / by.nodes;
  for (int64_t i = 0; i < size; ++i)
    nodes[static_cast<size_t>(i)].labels[by.key] = Numbered(prefix, i / by.nodes, groups);
}

}  // namespace

Result<std::vector<cluster::Node>> ParseNodeCount(std::string_view text) {
  const std::string_view count = text.substr(0, text.find('@'));
  const size_t cross = std::min(count.find('x'), count.size());
  const std::optional<int64_t> size = Whole(count.substr(0, cross));
  const std::optional<int64_t> gpus = Whole(count.substr(std::min(cross + 1, count.size())));
  if (!size || *size < 1 || *size > kMostNodes || !gpus || *gpus < 0 || *gpus > kMostGpus) {
    return Error{Code::kInvalidArgument,
                 "expected NODESxGPUS such as 180x8 (1 to " + std::to_string(kMostNodes) +
                     " nodes, 0 to " + std::to_string(kMostGpus) + " GPUs each), found \"" +
                     std::string(count) + "\"",
                 ""};
  }
  std::vector<cluster::Node> nodes;
  for (int64_t i = 0; i < *size; ++i) {
    cluster::Node node = GpuNode(static_cast<int>(*gpus));
    node.name = Numbered("node", i, *size);
    nodes.push_back(std::move(node));
  }
  std::string_view rest = text.substr(count.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size());
    const std::optional<Grouped> by = ReadGrouped(item);
    if (!by) {
      return Error{Code::kInvalidArgument,
                   "expected LABEL=NODES such as rack=10, found \"" + std::string(item) +
                       "\" at character " + std::to_string(item.data() - text.data() + 1) +
                       " of \"" + std::string(text) + "\"",
                   ""};
    }
    Label(nodes, *by);
  }
  return nodes;
}

}  // namespace muster::sim
