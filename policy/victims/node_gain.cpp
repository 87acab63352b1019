#include "policy/victims/node_gain.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policy/victims/put_back.hpp"

namespace muster::policy {

using cluster::GpuShare;
using cluster::NodeIndex;

namespace {

bool Among(const std::vector<Choice>& choices, const Choice& choice) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const Choice& one) { return one.held == choice.held; });
}

}  // namespace

void NodeGain::Add(const Choice& choice) {
  leave.push_back(choice);
  for (const GpuShare& share : choice.held->gpus) gpu_milli += share.taken.most().value();
  exchanged += choice.own == SIZE_MAX ? 1 : 0;
  cheapest = std::min(cheapest, choice.own);
}

int64_t NodeGain::DearerBy(const NodeGain& other) const {
  return cluster::SaturatingMultiply(gpu_milli, other.pods) -
         cluster::SaturatingMultiply(other.gpu_milli, pods);
}

bool NodeGain::operator<(const NodeGain& other) const {
  if (first != other.first) return first;
  const int64_t dearer = DearerBy(other);
  return std::tuple(dearer, exchanged, cheapest, node) <
         std::tuple(int64_t{0}, other.exchanged, other.cheapest, other.node);
}

NodeGain NodeGains::On(NodeIndex node, std::vector<Choice> choices, Counts may_go) {
  std::erase_if(choices, [&](const Choice& choice) { return may_go[choice.pool] == 0; });
  NodeGain now{node};
  NodeGain best{node};
  if (choices.empty()) return best;
  const size_t before = tx_.checkpoint();
  const int64_t free = Room(node);
  const bool alike = ServeAlike(node, choices);
  std::vector<Order> orders =
      alike ? std::vector<Order>{std::move(choices)} : OrdersOf(node, choices);
  while (free + now.pods < most_) {
    const int64_t room = free + now.pods;
    const NodeGain step =
        alike ? Step(node, orders.front(), &may_go, room) : BestStep(node, orders, may_go, room);
    if (step.pods == 0) break;
    for (const Choice& choice : step.leave) {
      now.Add(choice);
      --may_go[choice.pool];
    }
    now.pods += step.pods;
    for (Order& order : orders)
      std::erase_if(order, [&](const Choice& choice) { return Among(step.leave, choice); });
    if (best.pods == 0 || now.DearerBy(best) <= 0) best = now;
  }
  tx_.RollbackTo(before);
  return best;
}

// Whichever of them leave, as many make as much room.
bool NodeGains::ServeAlike(NodeIndex node, const Order& choices) const {
  const cluster::GpuRequest& asks = demand_.spec->gpus;
  if (asks.none()) return true;
  if (!asks.whole() || asks.choice.words() != nullptr) return false;
  const std::vector<cluster::Gpu>& gpus = tx_.node(node)->gpus;
  if (!std::all_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu.usable(); }))
    return false;
  const size_t each = choices.front().held->gpus.size();
  for (const Choice& choice : choices) {
    if (choice.held->gpus.size() != each || cluster::WholeGpusOf(*choice.held).size() != each)
      return false;
  }
  return asks.count < 2 || placer_.NumaNodesOf(tx_.base().nodes(), node).empty();
}

std::vector<NodeGains::Order> NodeGains::OrdersOf(NodeIndex node, const Order& choices) const {
  std::map<cluster::GpuIndex, int64_t> on;  // each device, of the choices
  for (const Choice& choice : choices) {
    for (const GpuShare& share : choice.held->gpus) ++on[share.index];
  }
  const auto beside = [&](const Choice& choice) {
    int64_t most = 0;
    for (const GpuShare& share : choice.held->gpus) most = std::max(most, on.at(share.index));
    return most;
  };
  std::vector<Order> orders{choices};
  Order sparse = choices;
  std::stable_sort(sparse.begin(), sparse.end(),
                   [&](const Choice& a, const Choice& b) { return beside(a) < beside(b); });
  if (std::any_of(on.begin(), on.end(), [](const auto& entry) { return entry.second > 1; }))
    orders.push_back(sparse);
  if (demand_.spec->gpus.count < 2) return orders;
  const std::vector<cluster::Gpu>& gpus = tx_.node(node)->gpus;
  for (const std::vector<size_t>& devices : placer_.NumaNodesOf(tx_.base().nodes(), node)) {
    Order order = sparse;
    std::stable_partition(order.begin(), order.end(), [&](const Choice& choice) {
      const std::vector<GpuShare>& held = choice.held->gpus;
      return std::any_of(held.begin(), held.end(), [&](const GpuShare& share) {
        return std::any_of(devices.begin(), devices.end(),
                           [&](size_t at) { return gpus[at].index == share.index; });
      });
    });
    orders.push_back(std::move(order));
  }
  return orders;
}

// They leave in that order, and are gone in the transaction, until there is room for one more;
// `may_go` null: any number of each pool. No pods: there is none.
NodeGain NodeGains::Step(NodeIndex node, const Order& order, const Counts* may_go, int64_t room) {
  NodeGain step{node};
  Counts gone;
  for (const Choice& choice : order) {
    if (may_go != nullptr && gone[choice.pool]++ >= may_go->at(choice.pool)) continue;
    tx_.Evict(*choice.held);
    step.Add(choice);
    step.pods = Room(node) - room;
    if (step.pods > 0) return step;
  }
  step.pods = 0;
  return step;
}

// The same, the best over all orders, and without those who can stay.
NodeGain NodeGains::BestStep(NodeIndex node, const std::vector<Order>& orders, const Counts& may_go,
                             int64_t room) {
  NodeGain best{node};
  for (const Order& order : orders) {
    const size_t before = tx_.checkpoint();
    NodeGain step = Step(node, order, nullptr, room);
    const bool none = step.pods == 0;
    if (!none) step = Spare(step, room + step.pods);
    tx_.RollbackTo(before);
    if (none) break;  // not even without all of them
    Counts gone;
    const bool may = std::all_of(step.leave.begin(), step.leave.end(), [&](const Choice& choice) {
      return ++gone[choice.pool] <= may_go.at(choice.pool);
    });
    if (may && (best.pods == 0 || step < best)) best = std::move(step);
  }
  for (const Choice& choice : best.leave) tx_.Evict(*choice.held);
  return best;
}

// Without those who can stay beside so much room, the last ones first; they are back in the
// transaction.
NodeGain NodeGains::Spare(const NodeGain& step, int64_t wanted) {
  std::vector<bool> stays(step.leave.size(), false);
  for (size_t i = step.leave.size() - 1; i-- > 0;) {
    const size_t before = tx_.checkpoint();
    if (!PutBack(tx_, *step.leave[i].held)) continue;
    stays[i] = Room(step.node) >= wanted;
    if (!stays[i]) tx_.RollbackTo(before);
  }
  NodeGain rest{step.node};
  rest.pods = step.pods;
  for (size_t i = 0; i < stays.size(); ++i)
    if (!stays[i]) rest.Add(step.leave[i]);
  return rest;
}

}  // namespace muster::policy
