// What is kept up step by step is what is worked out from scratch; and R1 is where R2 leads to.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <random>

#include "queues/entitlement.hpp"
#include "queues/tournament.hpp"
#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kCpu;
using testing::kGpu;
using testing::kH100;
using testing::MakeQueue;
using testing::QueueAt;

int64_t Steps() {
  const char* given = std::getenv("MUSTER_PROPERTY_STEPS");
  return given == nullptr ? 5'000 : std::atoll(given);
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Below(int64_t most) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most));
  }

 private:
  std::mt19937_64 engine_;
};

// Guarantees of parents are the sums of their children's.
std::vector<QueueSpec> SomeQueues(Random& random) {
  const int64_t count = 2 + random.Below(14);
  std::vector<QueueSpec> queues;
  std::vector<int64_t> parents;
  for (int64_t i = 0; i < count; ++i) {
    parents.push_back(random.Below(i + 1) - 1);
    QueueSpec queue;
    queue.name = "q" + std::to_string(i);
    if (parents.back() >= 0) queue.parent = "q" + std::to_string(parents.back());
    queue.weight = random.Below(4);
    if (random.Below(3) == 0) queue.order = Order::kFifo;
    if (random.Below(2) == 0) queue.resource_weights[kH100] = random.Below(3);
    queues.push_back(queue);
  }
  for (int64_t i = count; i-- > 0;) {
    QueueSpec& queue = queues[static_cast<size_t>(i)];
    const bool inner = std::find(parents.begin(), parents.end(), i) != parents.end();
    if (!inner && random.Below(3) == 0) queue.fair_by = FairBy::kNamespace;
    for (const Resource& resource : {kGpu, kCpu}) {
      const Amount more(random.Below(3) == 0 ? random.Below(20) : 0);
      queue.guarantee.Set(resource, queue.guarantee.of(resource) + more);
      const Amount all = queue.guarantee.of(resource);
      if (random.Below(3) == 0) queue.lend.Set(resource, Limit(random.Below(all.value() + 1)));
      if (random.Below(4) == 0) queue.limit.Set(resource, Limit(all.value() + random.Below(30)));
      if (parents[static_cast<size_t>(i)] < 0) continue;
      Amounts& above = queues[static_cast<size_t>(parents[static_cast<size_t>(i)])].guarantee;
      above.Set(resource, above.of(resource) + all);
    }
  }
  return queues;
}

Vector Some(Random& random, const Tree& tree, int64_t most) {
  Vector some(tree.resources().size());
  for (int64_t& one : some) one = random.Below(2) == 0 ? random.Below(most) : 0;
  return some;
}

// The rules as they are written, over everything, with fractions crosswise.
class FromScratch {
 public:
  FromScratch(const Tree& tree, Vector capacity, std::vector<Vector> used,
              std::vector<const OrderKey*> heads, std::vector<Vector> asks)
      : tree_(tree),
        capacity_(std::move(capacity)),
        used_(std::move(used)),
        heads_(std::move(heads)),
        asks_(std::move(asks)) {
    for (size_t i = used_.size(); i-- > 1;) {
      const size_t parent = QueueAt(tree_, i).parent.value;
      for (size_t r = 0; r < capacity_.size(); ++r) used_[parent][r] += used_[i][r];
    }
  }

  const Vector& used(size_t queue) const { return used_[queue]; }
  int64_t Claim(size_t queue, size_t r) const {
    const Queue& known = QueueAt(tree_, queue);
    int64_t claim = known.leaf() ? used_[queue][r] : 0;
    for (const QueueIndex child : known.children) claim += Claim(child.value, r);
    return std::max(claim, known.unlent[r]);
  }
  // SIZE_MAX: nobody waits below.
  size_t Winner(size_t queue) const {
    const Queue& known = QueueAt(tree_, queue);
    if (known.leaf()) return heads_[queue] == nullptr ? SIZE_MAX : queue;
    size_t best = SIZE_MAX;
    size_t best_child = 0;
    for (const QueueIndex child : known.children) {
      const size_t one = Winner(child.value);
      if (one == SIZE_MAX) continue;
      const Order order = known.by_namespace ? Order::kFair : known.order;
      if (best == SIZE_MAX || GoesFirst(order, child.value, one, best_child, best)) {
        best = one;
        best_child = child.value;
      }
    }
    return best;
  }

 private:
  bool Within(size_t child, size_t leaf) const {
    bool any = false;
    for (size_t r = 0; r < capacity_.size(); ++r) {
      if (asks_[leaf][r] == 0 || !tree_.guaranteed(r)) continue;
      if (used_[child][r] + asks_[leaf][r] > QueueAt(tree_, child).guarantee[r]) return false;
      any = true;
    }
    return any;
  }
  // Every b is over the same product of the capacities.
  Uint128 Over(size_t child, size_t leaf) const {
    const Queue& queue = QueueAt(tree_, child);
    Uint128 b = 0;
    for (size_t r = 0; r < capacity_.size(); ++r) {
      const int64_t over =
          std::max<int64_t>(0, used_[child][r] + asks_[leaf][r] - queue.guarantee[r]);
      Uint128 one =
          Uint128(static_cast<uint64_t>(queue.resource_weights[r])) * static_cast<uint64_t>(over);
      for (size_t other = 0; other < capacity_.size(); ++other)
        one *= static_cast<uint64_t>(other == r ? 1 : capacity_[other]);
      b = std::max(b, one);
    }
    return b;
  }
  bool GoesFirst(Order order, size_t child, size_t leaf, size_t than_child, size_t than) const {
    if (Within(child, leaf) != Within(than_child, than)) return Within(child, leaf);
    if (order == Order::kFair) {
      const int64_t weight = QueueAt(tree_, child).weight;
      const int64_t other = QueueAt(tree_, than_child).weight;
      if ((weight == 0) != (other == 0)) return other == 0;
      const Uint128 b = Over(child, leaf) * static_cast<uint64_t>(std::max<int64_t>(other, 1));
      const Uint128 than_b =
          Over(than_child, than) * static_cast<uint64_t>(std::max<int64_t>(weight, 1));
      if (b != than_b) return b < than_b;
    }
    return *heads_[leaf] < *heads_[than];
  }

  const Tree& tree_;
  Vector capacity_;
  std::vector<Vector> used_;
  std::vector<const OrderKey*> heads_;
  std::vector<Vector> asks_;
};

// One of the namespaces of some queue that is fair by namespace; a position without that.
std::pair<QueueIndex, std::string> SomeNamespace(Random& random, const Tree& tree) {
  const QueueIndex queue{static_cast<uint32_t>(random.Below(static_cast<int64_t>(tree.size())))};
  return {queue, "ns" + std::to_string(random.Below(4))};
}

std::vector<size_t> LeavesOf(const Tree& tree) {
  std::vector<size_t> leaves;
  for (size_t i = 1; i < tree.size(); ++i) {
    if (QueueAt(tree, i).leaf() && !QueueAt(tree, i).name.empty()) leaves.push_back(i);
  }
  return leaves;
}

TEST_CASE("incremental equals recomputed: usage, claims and which queue is next",
          "[queues][property]") {
  Random random(13);
  for (int64_t left = Steps(); left > 0;) {
    Ledger ledger(std::make_shared<const Tree>(SomeQueues(random)));
    const Tree& before = ledger.tree();  // as the policy has it
    Tournament tournament(ledger);
    const size_t resources = before.resources().size();
    Vector capacity(resources, 1);
    for (int64_t& one : capacity) one += random.Below(60);
    ledger.SetCapacity(capacity);
    std::vector<Vector> used(before.size(), Vector(resources));
    std::vector<Vector> asks(before.size(), Vector(resources));
    std::vector<const OrderKey*> heads(before.size(), nullptr);
    std::deque<OrderKey> gangs;
    for (int step = 0; step < 60 && left > 0; ++step, --left) {
      if (const auto [queue, ns] = SomeNamespace(random, ledger.tree());
          ledger.tree().at(queue).by_namespace) {
        if (const auto known = ledger.tree().FindNamespace(queue, ns)) {
          tournament.SetHead(*known, nullptr, {});
          ledger.Set(*known, Vector(resources));
          tournament.Judge(*known);
          heads[known->value] = nullptr;
          used[known->value] = Vector(resources);
          ledger.Follow(ledger.tree().WithoutNamespace(*known));
        } else {
          ledger.Follow(ledger.tree().WithNamespace(queue, ns));
        }
        tournament.Follow();
        used.resize(ledger.tree().size(), Vector(resources));
        asks.resize(ledger.tree().size(), Vector(resources));
        heads.resize(ledger.tree().size(), nullptr);
      }
      const Tree& tree = ledger.tree();
      const std::vector<size_t> leaves = LeavesOf(tree);
      const size_t leaf = leaves[static_cast<size_t>(random.Below(std::ssize(leaves)))];
      const QueueIndex index{static_cast<uint32_t>(leaf)};
      switch (random.Below(4)) {
        case 0:
          used[leaf] = Some(random, tree, 40);
          ledger.Set(index, used[leaf]);
          tournament.Judge(index);
          break;
        case 1:
          heads[leaf] = nullptr;
          tournament.SetHead(index, nullptr, {});
          break;
        default:
          gangs.push_back({random.Below(2),
                           false,
                           true,
                           random.Below(3),
                           {{"default", std::to_string(gangs.size())}, false}});
          heads[leaf] = &gangs.back();
          asks[leaf] = Some(random, tree, 20);
          tournament.SetHead(index, heads[leaf], asks[leaf]);
      }
      const FromScratch truth(tree, capacity, used, heads, asks);
      for (size_t i = 0; i < tree.size(); ++i) {
        const QueueIndex queue{static_cast<uint32_t>(i)};
        REQUIRE(ledger.used(queue) == truth.used(i));
        for (size_t r = 0; r < resources; ++r) REQUIRE(ledger.claim(queue)[r] == truth.Claim(i, r));
      }
      const auto winner = tournament.Winner();
      REQUIRE((winner ? winner->value : SIZE_MAX) == truth.Winner(0));
    }
  }
}

// Gangs of one thousandth of a GPU each, until the cluster is full. Where it has less than is
// guaranteed R2 goes by age within the guarantees, and R1 scales them.
TEST_CASE("R1 is where R2 leads to, for one resource", "[queues][property][R1][R2]") {
  Random random(7);
  int64_t compared = 0;
  for (int64_t left = Steps() / 100; left > 0; --left) {
    std::vector<QueueSpec> queues = SomeQueues(random);
    for (QueueSpec& queue : queues) {
      queue.order = Order::kFair;
      queue.fair_by = FairBy::kNone;
      queue.lend = {};
      queue.weight += 1;
    }
    const auto tree = std::make_shared<const Tree>(queues);
    const int64_t capacity = 50 + random.Below(100);
    Ledger ledger(tree);
    ledger.SetCapacity(Vector(tree->resources().size(), capacity));
    Tournament tournament(ledger);
    Vector one(tree->resources().size());
    one[0] = 1;
    std::vector<int64_t> demand(tree->size());
    std::vector<OrderKey> gangs(tree->size());
    std::vector<int64_t> waits(tree->size());
    for (size_t i = 1; i < tree->size(); ++i) {
      if (!QueueAt(*tree, i).leaf() || QueueIndex{static_cast<uint32_t>(i)} == tree->orphan())
        continue;
      waits[i] = demand[i] = random.Below(80);
      gangs[i].id.key.name = QueueAt(*tree, i).name;
      if (waits[i] > 0) tournament.SetHead(QueueIndex{static_cast<uint32_t>(i)}, &gangs[i], one);
    }
    std::vector<int64_t> used(tree->size());
    for (int64_t free = capacity; free > 0;) {
      const auto winner = tournament.Winner();
      if (!winner) break;
      const size_t leaf = winner->value;
      if (waits[leaf] == 0 || ledger.Exceeds(*winner, one)) {
        tournament.SetHead(*winner, nullptr, {});
        continue;
      }
      --waits[leaf];
      --free;
      Vector now(tree->resources().size());
      now[0] = ++used[leaf];
      ledger.Set(*winner, now);
      tournament.Judge(*winner);
    }
    const auto given = Entitle(*tree, 0, capacity, demand);
    if (std::any_of(given.begin(), given.end(), [](const Entitlement& its) { return its.scaled; }))
      continue;
    ++compared;
    for (size_t i = 0; i < tree->size(); ++i) {
      const QueueIndex queue{static_cast<uint32_t>(i)};
      const int64_t share = given[i].share.floor();
      INFO(QueueAt(*tree, i).name << " of " << tree->size());
      CHECK(ledger.used(queue)[0] >= share - static_cast<int64_t>(tree->size()));
      CHECK(ledger.used(queue)[0] <= share + static_cast<int64_t>(tree->size()));
    }
  }
  CHECK(compared > 0);
}

}  // namespace
}  // namespace muster::queues
