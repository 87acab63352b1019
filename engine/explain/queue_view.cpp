#include "engine/explain/queue_view.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/standing/queue_hold.hpp"
#include "queues/entitlement.hpp"
#include "queues/loans.hpp"

namespace muster::engine {

using queues::Candidate;
using queues::QueueIndex;
using queues::Vector;

namespace {

std::string ShowStanding(const queues::Standing& standing) {
  return standing.within ? "within its guarantee" : Show(standing.b);
}

queues::Tournament Enter(const QueueFacts& facts) {
  queues::Tournament tournament(*facts.ledger);
  const queues::Tree& tree = facts.ledger->tree();
  for (const auto& [name, line] : facts.lines) {
    const auto index = tree.Find(name);
    if (line.first && index && tree.at(*index).leaf())
      tournament.SetHead(*index, &*line.first, tree.Dense(line.first_asks));
  }
  return tournament;
}

// What is asked for, and how many ask, by QueueIndex.
struct Pending {
  std::vector<Vector> asks;
  std::vector<int64_t> gangs;
};

Pending PendingOf(const QueueFacts& facts) {
  const queues::Tree& tree = facts.ledger->tree();
  Pending pending{std::vector<Vector>(tree.size(), Vector(tree.resources().size())),
                  std::vector<int64_t>(tree.size())};
  for (const auto& [name, line] : facts.lines) {
    const auto index = tree.Find(name);
    if (!index) continue;
    const Vector asks = tree.Dense(line.asks);
    for (const QueueIndex queue : tree.PathOf(*index)) {
      pending.gangs[queue.value] += line.gangs;
      for (size_t r = 0; r < asks.size(); ++r) pending.asks[queue.value][r] += asks[r];
    }
  }
  return pending;
}

QueueView ViewOf(const QueueFacts& facts, const Pending& pending, QueueIndex index) {
  const queues::Tree& tree = facts.ledger->tree();
  const queues::Queue& queue = tree.at(index);
  QueueView view;
  if (queue.name.empty()) return view;  // a namespace's that has gone
  view.name = queue.name;
  view.by_namespace = queue.by_namespace;
  view.of_namespace = queue.of_namespace;
  if (index != queues::kRootIndex) view.parent = tree.at(queue.parent).name;
  view.leaf = queue.leaf();
  view.weight = queue.weight;
  if (queue.priority_cap != INT64_MAX) view.priority_cap = queue.priority_cap;
  view.order = queue.order;
  QueueHold hold = HoldOf(tree, facts.orders, index);
  view.state = hold.state;
  view.held_by = std::move(hold.why);
  view.paused_until = hold.until;
  if (const auto shapes = facts.shapes.find(queue.name); shapes != facts.shapes.end())
    view.shapes = shapes->second;
  view.pending = pending.gangs[index.value];
  return view;
}

void AddBookedIdle(const QueueFacts& facts, std::vector<QueueView>& views) {
  const queues::Tree& tree = facts.ledger->tree();
  for (const auto& [name, idle] : facts.booked_idle) {
    const auto index = tree.Find(name);
    if (!index) continue;
    for (const QueueIndex queue : tree.PathOf(*index)) views[queue.value].booked_idle += idle;
  }
}

void AddAmounts(const QueueFacts& facts, const Pending& pending, size_t resource,
                std::vector<QueueView>& views) {
  const queues::Ledger& ledger = *facts.ledger;
  const queues::Tree& tree = ledger.tree();
  std::vector<int64_t> demand(tree.size());
  for (uint32_t i = 0; i < tree.size(); ++i)
    demand[i] = ledger.used(QueueIndex{i})[resource] + pending.asks[i][resource];
  const auto given = Entitle(tree, resource, ledger.capacity()[resource], demand);
  std::vector<QueueAmounts> all(tree.size());
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const queues::Queue& queue = tree.at(QueueIndex{i});
    QueueAmounts& amounts = all[i];
    amounts.resource = tree.resources()[resource];
    amounts.guarantee = queue.guarantee[resource];
    amounts.limit = queue.limit[resource];
    amounts.used = ledger.used(QueueIndex{i})[resource];
    amounts.pending = pending.asks[i][resource];
    amounts.share = given[i].share.floor();
    amounts.scaled = given[i].scaled;
    amounts.kept = std::max<int64_t>(0, queue.unlent[resource] - amounts.used);
  }
  for (const queues::Loan& loan : LoansOf(ledger, resource)) {
    all[loan.borrower.value].borrowed_from[tree.at(loan.lender).name] = loan.amount;
    all[loan.lender.value].lent_to[tree.at(loan.borrower).name] = loan.amount;
  }
  for (uint32_t i = 0; i < tree.size(); ++i) {
    QueueAmounts& amounts = all[i];
    const Vector& average = ledger.average(QueueIndex{i});
    if (!average.empty() && average[resource] > 0) amounts.average = average[resource];
    const bool said = amounts.average || amounts.guarantee > 0 || amounts.limit != INT64_MAX ||
                      amounts.used > 0 || amounts.pending > 0;
    if (said) views[i].amounts.push_back(std::move(amounts));
  }
}

void AddNext(const QueueFacts& facts, std::vector<QueueView>& views) {
  const queues::Tournament tournament = Enter(facts);
  for (uint32_t i = 0; i < facts.ledger->tree().size(); ++i) {
    for (const Candidate& one : tournament.Candidates(QueueIndex{i})) {
      QueueView& view = views[one.child.value];
      view.next = one.gang->id.key.ToString();
      view.within = one.standing.within;
      view.b = Show(one.standing.b);
    }
  }
  if (const auto first = tournament.Winner()) views[0].next = views[first->value].next;
}

// Each before those below it.
std::vector<QueueView> InOrder(const queues::Tree& tree, std::vector<QueueView> views) {
  std::vector<QueueView> ordered;
  std::vector<QueueIndex> next = {queues::kRootIndex};
  while (!next.empty()) {
    const QueueIndex one = next.back();
    next.pop_back();
    const std::vector<QueueIndex>& children = tree.at(one).children;
    next.insert(next.end(), children.rbegin(), children.rend());
    const bool orphan = one == tree.orphan() && one != queues::kRootIndex;
    if (!orphan || !views[one.value].amounts.empty())
      ordered.push_back(std::move(views[one.value]));
  }
  return ordered;
}

void AddNodes(const ClaimState& state, const ShapeBook& shapes, size_t claim, ShapeView& view) {
  for (const cluster::NodeIndex index : shapes.promised(claim)) {
    const cluster::Node* node = state.cluster.node(index);
    if (node == nullptr) continue;
    view.nodes.push_back(node->name);
    ++(shapes.KindOf(claim, index) == 2 ? view.lent : view.whole);
    view.gpu_milli += static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value();
  }
}

// By queue; as of the last Advance.
std::map<std::string, std::vector<ShapeView>> ViewShapes(const ClaimState& state) {
  std::map<std::string, std::vector<ShapeView>> views;
  if (!state.shapes.any()) return views;
  const ShapeBook& shapes = state.shapes;
  const std::vector<ShapeBook::Claim>& claims = shapes.claims();
  const queues::Tree& tree = state.queue_book.tree();
  for (uint32_t i = 0; i < tree.size(); ++i) {
    for (const queues::Shape& shape : tree.at(queues::QueueIndex{i}).shapes) {
      ShapeView view{shape, {}, 0, 0, 0};
      for (size_t claim = 0; claim < claims.size(); ++claim) {
        const std::vector<queues::QueueIndex> path = tree.PathOf(claims[claim].queue);
        const bool below = std::find(path.begin(), path.end(), queues::QueueIndex{i}) != path.end();
        if (!below || claims[claim].shape.model != shape.model) continue;
        AddNodes(state, shapes, claim, view);
      }
      std::sort(view.nodes.begin(), view.nodes.end());
      views[tree.at(queues::QueueIndex{i}).name].push_back(std::move(view));
    }
  }
  return views;
}

}  // namespace

QueueFacts LookAtQueues(ClaimState& state) {
  QueueFacts facts;
  state.queue_book.Follow(state.cluster);
  facts.ledger = state.queue_book.ledger();
  facts.orders = state.orders.standing();
  facts.shapes = ViewShapes(state);
  facts.booked_idle = state.bookings.idle();
  for (const auto& [queue, idle] : state.kept_rooms.idle()) facts.booked_idle[queue] += idle;
  for (const auto& [name, waiting] : state.queue.LookAtQueues()) {
    QueueFacts::Line& line = facts.lines[name];
    line = {static_cast<int64_t>(waiting.gangs), waiting.asks, {}, {}};
    if (waiting.first == nullptr) continue;
    line.first = *waiting.first->queue->order;
    line.first_asks = waiting.first->queue->asks;
  }
  return facts;
}

std::vector<QueueView> ViewQueues(const QueueFacts& facts) {
  if (!facts.ledger) return {};
  const queues::Tree& tree = facts.ledger->tree();
  const Pending pending = PendingOf(facts);
  std::vector<QueueView> views;
  for (uint32_t i = 0; i < tree.size(); ++i) views.push_back(ViewOf(facts, pending, QueueIndex{i}));
  AddBookedIdle(facts, views);
  for (size_t r = 0; r < tree.resources().size(); ++r) AddAmounts(facts, pending, r, views);
  AddNext(facts, views);
  return InOrder(tree, std::move(views));
}

TurnView ViewTurn(const QueueFacts& facts, const std::string& queue, int64_t position, int64_t of) {
  TurnView view;
  view.queue = queue;
  view.position = position;
  view.of = of;
  if (!facts.ledger) return view;
  const queues::Tree& tree = facts.ledger->tree();
  const auto index = tree.Find(queue);
  if (!index) return view;
  const queues::Tournament tournament = Enter(facts);
  std::vector<QueueIndex> path = tree.PathOf(*index);
  for (size_t i = 1; i < path.size(); ++i) {
    const std::vector<Candidate> candidates = tournament.Candidates(path[i]);
    const auto own = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& one) { return one.child == path[i - 1]; });
    if (own == candidates.begin() || own == candidates.end()) continue;
    const Candidate& first = candidates.front();
    view.at = tree.at(path[i]).name;
    view.ahead = tree.at(first.child).name;
    view.ahead_gang = first.gang->id.key.ToString();
    view.ahead_b = ShowStanding(first.standing);
    view.own = tree.at(own->child).name;
    view.own_b = ShowStanding(own->standing);
    return view;
  }
  return view;
}

}  // namespace muster::engine
