#include "sim/schedulers/node_chooser.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace muster::sim {

using cluster::Pod;
using NodeInfo = SchedulerCache::NodeInfo;

namespace {

// Below this many nodes all are scored, and never fewer are (kube-scheduler's
// minFeasibleNodesToFind).
constexpr size_t kFewNodes = 100;
// An extender's score counts 10 times: its range is 0 to 10, that of the built-in scores 0 to 100.
constexpr int64_t kExtenderScale = 10;

engine::NodesQuestion Ask(const Pod& pod, const std::vector<const NodeInfo*>& nodes) {
  engine::NodesQuestion question;
  question.pod = pod;
  question.nodes.reserve(nodes.size());
  for (const NodeInfo* node : nodes) question.nodes.push_back(node->record->node.name);
  return question;
}

// The first name of an answer that was not in the question; empty when there is none.
std::string NotAsked(const std::vector<const NodeInfo*>& nodes,
                     const std::vector<std::string>& passed) {
  // Answers keep the question's order as a rule, so each search starts where the last one ended.
  size_t at = 0;
  for (const std::string& name : passed) {
    size_t steps = 0;
    while (steps < nodes.size() && nodes[at]->record->node.name != name) {
      at = (at + 1) % nodes.size();
      ++steps;
    }
    if (steps == nodes.size()) return name;
  }
  return "";
}

}  // namespace

Choice NodeChooser::Choose(const Pod& pod) {
  if (const std::string why = cache_.volumes().Refuses(pod); !why.empty())
    return {Choice::Kind::kNone, "", false,
            "0/" + std::to_string(cache_.nodes().size()) + " nodes are available: " + why + "."};
  if (const NodeInfo* node = TryNominated(pod)) {
    return {Choice::Kind::kNode, node->record->node.name, false, ""};
  }
  std::map<std::string, int64_t> turned_down;
  Nodes nodes = Feasible(pod, turned_down);
  FilterReply reply;
  if (extender_ != nullptr && !nodes.empty()) {
    const size_t asked = nodes.size();
    reply = AskFilter(pod, nodes);
    if (!reply.error.empty()) return {Choice::Kind::kError, "", true, reply.error};
    nodes.clear();
    for (const std::string& name : reply.passed) {
      const NodeInfo* node = cache_.Find(name);
      if (node == nullptr || node->record == nullptr) {
        return {Choice::Kind::kError, "", true, "extender filtered to unknown node " + name};
      }
      nodes.push_back(node);
    }
    if (nodes.empty()) return {Choice::Kind::kNone, "", asked > 0, Explain(turned_down, reply)};
  }
  if (nodes.empty()) return {Choice::Kind::kNone, "", false, Explain(turned_down, reply)};
  return {Choice::Kind::kNode, Best(pod, nodes)->record->node.name, false, ""};
}

const NodeInfo* NodeChooser::TryNominated(const Pod& pod) {
  if (pod.nominated_node.empty()) return nullptr;
  const NodeInfo* node = cache_.Find(pod.nominated_node);
  if (node == nullptr || !Obstacle(pod, *node).empty()) return nullptr;
  if (extender_ == nullptr) return node;
  ++stats_.single_node_filters;
  const FilterReply reply = AskFilter(pod, {node});
  // An error here is only logged: the full list follows.
  const bool passed = reply.error.empty() && reply.passed.size() == 1 &&
                      reply.passed.front() == node->record->node.name;
  return passed ? node : nullptr;
}

std::string NodeChooser::Obstacle(const Pod& pod, const NodeInfo& node) const {
  const Fit fit = cache_.Check(pod, node);
  if (fit != Fit::kFits) return ToString(fit);
  for (const OtherCheck& check : others_) {
    const bool here = check.node.empty() || check.node == node.record->node.name;
    if (here && pod.key.name.starts_with(check.pods)) return check.words;
  }
  return {};
}

NodeChooser::Nodes NodeChooser::Feasible(const Pod& pod,
                                         std::map<std::string, int64_t>& turned_down) {
  const std::vector<const NodeInfo*>& all = cache_.nodes();
  Nodes feasible;
  if (all.empty()) return feasible;
  const size_t enough = Enough();
  size_t looked_at = 0;
  next_start_ %= all.size();
  while (looked_at < all.size() && feasible.size() < enough) {
    const NodeInfo* node = all[(next_start_ + looked_at) % all.size()];
    ++looked_at;
    const std::string obstacle = Obstacle(pod, *node);
    if (obstacle.empty()) {
      feasible.push_back(node);
    } else {
      ++turned_down[obstacle];
    }
  }
  next_start_ = (next_start_ + looked_at) % all.size();
  return feasible;
}

size_t NodeChooser::Enough() const {
  const size_t count = cache_.nodes().size();
  int64_t percent = options_.percentage_of_nodes_to_score;
  if (count < kFewNodes || percent >= 100) return count;
  if (percent <= 0) percent = std::max<int64_t>(5, 50 - static_cast<int64_t>(count) / 125);
  return std::max(kFewNodes, count * static_cast<size_t>(percent) / 100);
}

FilterReply NodeChooser::AskFilter(const Pod& pod, const Nodes& nodes) {
  ++stats_.filter_calls;
  stats_.filter_names += static_cast<int64_t>(nodes.size());
  FilterReply reply = extender_->Filter(Ask(pod, nodes));
  const std::string stranger = reply.error.empty() ? NotAsked(nodes, reply.passed) : std::string();
  if (!stranger.empty()) {
    reply.error = "extender answered a node that it was not asked about: " + stranger;
  }
  if (!reply.error.empty()) ++stats_.filter_errors;
  return reply;
}

const NodeInfo* NodeChooser::Best(const Pod& pod, const Nodes& nodes) {
  if (nodes.size() == 1) return nodes.front();
  std::unordered_map<std::string, int64_t> extra;
  if (extender_ != nullptr) {
    ++stats_.prioritize_calls;
    const PrioritizeReply reply = extender_->Prioritize(Ask(pod, nodes));
    if (reply.error.empty()) {
      for (const NodeScore& one : reply.scores) {
        extra[one.node] += one.score * options_.extender_weight * kExtenderScale;
      }
    }
  }
  Nodes best;
  int64_t best_score = 0;
  for (const NodeInfo* node : nodes) {
    int64_t score = BuiltInScore(pod, *node);
    if (const auto found = extra.find(node->record->node.name); found != extra.end()) {
      score += found->second;
    }
    if (best.empty() || score > best_score) {
      best.clear();
      best_score = score;
    }
    if (score == best_score) best.push_back(node);
  }
  if (options_.tie_break == TieBreak::kRandom) return best[random_.Below(best.size())];
  return *std::min_element(best.begin(), best.end(), [](const NodeInfo* a, const NodeInfo* b) {
    return a->record->node.name < b->record->node.name;
  });
}

// NodeResourcesFit: the mean over CPU, memory and (when the pod asks for them) GPUs of what is
// free, or taken, in percent of what there is, the pod included.
int64_t NodeChooser::BuiltInScore(const Pod& pod, const NodeInfo& node) const {
  Amounts used = node.requested;
  const Amounts request = cache_.Request(*pod.spec);
  used += request;
  int64_t sum = 0;
  int64_t kinds = 0;
  const auto add = [&](int64_t taken, int64_t offered) {
    ++kinds;
    if (offered <= 0 || taken > offered) return;
    const int64_t counted = options_.scoring == Scoring::kLeastAllocated ? offered - taken : taken;
    sum += counted * 100 / offered;
  };
  const cluster::Resources& offer = node.allocatable.resources;
  add(used.resources.cpu.value(), offer.cpu.value());
  add(used.resources.memory.value(), offer.memory.value());
  if (request.gpus > 0) add(used.gpus, node.allocatable.gpus);
  return sum / kinds;
}

std::string NodeChooser::Explain(std::map<std::string, int64_t> turned_down,
                                 const FilterReply& reply) const {
  std::map<std::string, int64_t> reasons = std::move(turned_down);
  for (const auto& [reason, nodes] : reply.refused) reasons[reason] += nodes;
  std::string text = "0/" + std::to_string(cache_.nodes().size()) + " nodes are available";
  const char* separator = ": ";
  for (const auto& [reason, nodes] : reasons) {
    text += separator + std::to_string(nodes) + " " + reason;
    separator = ", ";
  }
  return text + ".";
}

}  // namespace muster::sim
