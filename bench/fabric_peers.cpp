// The rules of Kueue and of kube-scheduler, written after their public documents and as far as
// those go; what they leave open is said here.
//
// Kueue: KEP-2724 "Topology Aware Scheduling", sections "Computing the assignment" and "Balanced
// placement",
// https://github.com/kubernetes-sigs/kueue/tree/main/keps/2724-topology-aware-scheduling
//   Gangs have podset-preferred-topology: the level of nodes for BestFit, of NVLink domains for
//   BalancedPlacement, which needs a level below. Single pods have no annotation:
//   LeastFreeCapacity, on nodes. Left open: that below several domains their children are one pool;
//   and ties, by label values as https://github.com/kubernetes-sigs/kueue/pull/12052 says, which
//   here follow the fabric.
// kube-scheduler: https://kubernetes.io/docs/concepts/scheduling-eviction/scheduler-perf-tuning
//   (how many nodes are scored, where the search starts, zones in turn),
//   .../scheduling-eviction/kube-scheduler (equal scores: at random),
//   https://kubernetes.io/docs/concepts/configuration/resource-bin-packing (MostAllocated).
//   Pod by pod; other than there, a gang that does not fit as a whole holds nothing afterwards. All
//   pods ask for CPU and memory in proportion to GPUs, so free GPUs are the score; the other
//   default plugins see no difference between these nodes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "bench/fabric_rules.hpp"
#include "cluster/base/check.hpp"

namespace muster::bench {
namespace {

// A domain, and how many members find room there, or are to go there.
struct Share {
  int domain = 0;
  int count = 0;
};

int SumOf(const std::vector<Share>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0,
                         [](int sum, const Share& one) { return sum + one.count; });
}

bool MoreRoom(const Share& a, const Share& b) {
  return std::tuple(-a.count, a.domain) < std::tuple(-b.count, b.domain);
}

// The fullest that holds `count`; nothing: none does.
std::optional<Share> TightestFor(const std::vector<Share>& rooms, int count) {
  std::optional<Share> best;
  for (const Share& one : rooms) {
    if (one.count >= count && (!best || one.count < best->count)) best = one;
  }
  return best;
}

// BestFit: the domains with most room, one after the other; the last one is the tightest that holds
// the rest. Empty: there is too little room.
std::vector<Share> Greedy(std::vector<Share> rooms, int count) {
  if (SumOf(rooms) < count) return {};
  std::sort(rooms.begin(), rooms.end(), MoreRoom);
  std::vector<Share> chosen;
  chosen.reserve(rooms.size());
  for (auto next = rooms.begin(); count > 0; ++next) {
    if (const auto last = TightestFor({next, rooms.end()}, count)) {
      chosen.push_back({last->domain, count});
      return chosen;
    }
    chosen.push_back(*next);
    count -= next->count;
  }
  return chosen;
}

// Of items with these rooms the fewest that hold `count`, and of those the ones with least room in
// all. Empty: all are too few.
std::vector<Share> FewestAndTightest(const std::vector<Share>& rooms, int count) {
  const auto total = static_cast<size_t>(SumOf(rooms));
  const size_t items = rooms.size();
  // By number of items taken and their room: the last item of one way to do so; items: none.
  std::vector<std::vector<std::vector<size_t>>> ways(
      items + 1,
      std::vector<std::vector<size_t>>(items + 1, std::vector<size_t>(total + 1, items)));
  // ways[i]: with the first i items only. Nothing taken has no last item, but is a way.
  const auto is_way = [&](size_t first, size_t taken, size_t room) {
    return taken == 0 ? room == 0 : ways[first][taken][room] != items;
  };
  for (size_t i = 1; i <= items; ++i) {
    const auto room = static_cast<size_t>(rooms[i - 1].count);
    for (size_t taken = 1; taken <= i; ++taken) {
      for (size_t sum = 0; sum <= total; ++sum) {
        ways[i][taken][sum] = ways[i - 1][taken][sum];
        if (ways[i][taken][sum] == items && sum >= room && is_way(i - 1, taken - 1, sum - room))
          ways[i][taken][sum] = i - 1;
      }
    }
  }
  for (size_t taken = 1; taken <= items; ++taken) {
    for (auto sum = static_cast<size_t>(count); sum <= total; ++sum) {
      if (!is_way(items, taken, sum)) continue;
      std::vector<Share> chosen;
      chosen.reserve(taken);
      size_t first = items;
      for (size_t left = taken; left > 0; --left) {
        first = ways[first][left][sum];
        chosen.push_back(rooms[first]);
        sum -= static_cast<size_t>(rooms[first].count);
      }
      return chosen;
    }
  }
  return {};
}

class KueueRule final : public Rule {
 public:
  KueueRule(const Setting& setting, Kueue algorithm)
      : ledger_(setting.ledger), site_(ledger_.site()), algorithm_(algorithm) {}

  Places Place(const Job& job) override {
    std::vector<Share> nodes;
    if (job.members == 1) {
      if (const auto node = TightestFor(RoomsAt(Level::kNode, job.gpus), 1))
        nodes.push_back({node->domain, 1});
    } else if (algorithm_ == Kueue::kBestFit) {
      nodes = BestFit(job, Level::kNode);
    } else {
      nodes = Balanced(job);
      if (nodes.empty()) nodes = BestFit(job, Level::kNvlink);
    }
    // Ranks follow the domains.
    std::sort(nodes.begin(), nodes.end(),
              [](const Share& a, const Share& b) { return a.domain < b.domain; });
    Places places;
    places.reserve(static_cast<size_t>(job.members));
    for (const Share& node : nodes)
      places.insert(places.end(), static_cast<size_t>(node.count), node.domain);
    return places;
  }
  void Settle(const Job& /*job*/, int /*node*/) override {}
  void Leave(const Job& /*job*/) override {}

 private:
  std::vector<Share> RoomsAt(Level level, int gpus) const {
    std::vector<Share> rooms;
    const std::vector<int> room = ledger_.RoomAt(level, gpus);
    rooms.reserve(room.size());
    for (size_t i = 0; i < room.size(); ++i) {
      if (room[i] > 0) rooms.push_back({static_cast<int>(i), room[i]});
    }
    return rooms;
  }

  // Those of `rooms`, which are of `level` and in order, that lie within the domains of `outer`.
  std::vector<Share> Within(const std::vector<Share>& domains, Level outer,
                            const std::vector<Share>& rooms, Level level) const {
    const int size = site_.NodesIn(outer) / site_.NodesIn(level);
    const auto first_of = [&](int domain) {
      return std::lower_bound(rooms.begin(), rooms.end(), domain,
                              [](const Share& one, int id) { return one.domain < id; });
    };
    std::vector<Share> within;
    within.reserve(domains.size() * static_cast<size_t>(size));
    for (const Share& one : domains)
      within.insert(within.end(), first_of(one.domain * size), first_of((one.domain + 1) * size));
    return within;
  }

  // From the preferred level outwards, the first with a domain that holds all; then level by level
  // down to nodes.
  std::vector<Share> BestFit(const Job& job, Level preferred) const {
    std::vector<Share> chosen;
    auto level = static_cast<size_t>(preferred);
    for (;; --level) {
      const std::vector<Share> rooms = RoomsAt(kAllLevels[level], job.gpus);
      if (const auto domain = TightestFor(rooms, job.members)) {
        chosen.push_back({domain->domain, job.members});
      } else if (level == 0) {
        chosen = Greedy(rooms, job.members);
      }
      if (!chosen.empty() || level == 0) break;
    }
    for (; level + 1 < kLevels && !chosen.empty(); ++level) {
      const Level below = kAllLevels[level + 1];
      chosen =
          Greedy(Within(chosen, kAllLevels[level], RoomsAt(below, job.gpus), below), job.members);
    }
    return chosen;
  }

  // Step 1: the most that each of the nodes used can get at least, if as few as can be are used.
  static int ThresholdOf(std::vector<Share> nodes, int count) {
    std::sort(nodes.begin(), nodes.end(), MoreRoom);
    int sum = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      sum += nodes[i].count;
      if (sum >= count) return std::min(nodes[i].count, count / static_cast<int>(i + 1));
    }
    return 0;
  }

  // How evenly the room of a set of domains is spread over their nodes.
  double EntropyOf(const std::vector<Share>& domains, const std::vector<Share>& nodes) const {
    const std::vector<Share> within = Within(domains, Level::kNvlink, nodes, Level::kNode);
    const double total = SumOf(within);
    double entropy = 0;
    for (const Share& node : within) entropy -= node.count / total * std::log(node.count / total);
    return entropy;
  }

  // Step 5: the fewest NVLink domains of a rack, then the least room, then the highest entropy.
  std::vector<Share> DomainsFor(const std::vector<Share>& nodes, int count) const {
    std::vector<Share> domains;
    domains.reserve(nodes.size());
    for (const Share& node : nodes) {
      const int domain = site_.DomainOf(Level::kNvlink, node.domain);
      if (domains.empty() || domains.back().domain != domain) domains.push_back({domain, 0});
      domains.back().count += node.count;
    }
    MUSTER_CHECK(domains.size() < 16);
    std::vector<Share> best;
    std::tuple<size_t, int, double> best_key;
    for (uint32_t mask = 1; mask < 1U << domains.size(); ++mask) {
      std::vector<Share> set;
      set.reserve(domains.size());
      for (uint32_t left = mask; left != 0; left &= left - 1)
        set.push_back(domains[static_cast<size_t>(std::countr_zero(left))]);
      if (SumOf(set) < count || (!best.empty() && set.size() > best.size())) continue;
      const std::tuple<size_t, int, double> key(set.size(), SumOf(set), -EntropyOf(set, nodes));
      if (!best.empty() && best_key <= key) continue;
      best_key = key;
      best = std::move(set);
    }
    return best;
  }

  // Within one rack; empty: no rack holds all, or the nodes cannot each get the threshold (then
  // BestFit, as since https://github.com/kubernetes-sigs/kueue/pull/11136).
  std::vector<Share> Balanced(const Job& job) const {
    const std::vector<Share> all = RoomsAt(Level::kNode, job.gpus);
    int threshold = 0;
    std::vector<Share> domains;
    std::vector<Share> nodes;
    for (const Share& rack : RoomsAt(Level::kRack, job.gpus)) {  // 1 to 3
      if (rack.count < job.members) continue;
      std::vector<Share> here = Within({rack}, Level::kRack, all, Level::kNode);
      const int at_least = ThresholdOf(here, job.members);
      if (at_least < threshold) continue;
      std::erase_if(here, [&](const Share& node) { return node.count < at_least; });  // 4
      std::vector<Share> used = DomainsFor(here, job.members);                        // 5
      if (at_least == threshold && used.size() >= domains.size()) continue;
      threshold = at_least;
      domains = std::move(used);
      nodes = std::move(here);
    }
    if (domains.empty()) return {};
    std::vector<Share> chosen = FewestAndTightest(  // 6
        Within(domains, Level::kNvlink, nodes, Level::kNode), job.members);
    int left = job.members - threshold * static_cast<int>(chosen.size());
    if (left < 0) return {};
    for (Share& node : chosen) {  // 7
      const int more = std::min(left, node.count - threshold);
      node.count = threshold + more;
      left -= more;
    }
    return chosen;
  }

  const Ledger& ledger_;
  const Site& site_;
  const Kueue algorithm_;
};

class KubeScheduler final : public Rule {
 public:
  KubeScheduler(const Setting& setting, Scoring scoring)
      : ledger_(setting.ledger), scoring_(scoring), random_(setting.seed) {
    const Site& site = ledger_.site();
    std::vector<std::vector<int>> zones(static_cast<size_t>(site.DomainsAt(Level::kZone)));
    for (const int node : setting.by_name)
      zones[static_cast<size_t>(site.DomainOf(Level::kZone, node))].push_back(node);
    order_.reserve(setting.by_name.size());
    for (size_t i = 0; order_.size() < setting.by_name.size(); ++i) {
      for (const std::vector<int>& zone : zones) {
        if (i < zone.size()) order_.push_back(zone[i]);
      }
    }
    // 50 % of 100 nodes, 10 % of 5,000, at least 5 %.
    const auto nodes = static_cast<int>(order_.size());
    enough_ = std::max(100, nodes * std::max(5, 50 - nodes / 125) / 100);
  }

  Places Place(const Job& job) override {
    std::vector<int> free = ledger_.free();
    Places places;
    places.reserve(static_cast<size_t>(job.members));
    for (int i = 0; i < job.members; ++i) {
      const int node = Next(free, job.gpus);
      if (node < 0) return {};
      free[static_cast<size_t>(node)] -= job.gpus;
      places.push_back(node);
    }
    return places;
  }
  void Settle(const Job& /*job*/, int /*node*/) override {}
  void Leave(const Job& /*job*/) override {}

 private:
  // The best of as many feasible nodes as are enough; -1: there is none.
  int Next(const std::vector<int>& free, int gpus) {
    int found = 0;
    int best = -1;
    int best_score = 0;
    uint64_t alike = 0;
    size_t seen = 0;
    for (; seen < order_.size() && found < enough_; ++seen) {
      const int node = order_[(start_ + seen) % order_.size()];
      const int has = free[static_cast<size_t>(node)];
      if (has < gpus) continue;
      ++found;
      const int score = scoring_ == Scoring::kLeastAllocated ? has : kGpusPerNode - has;
      if (best >= 0 && score < best_score) continue;
      if (best < 0 || score > best_score) alike = 0;
      if (random_() % ++alike == 0) best = node;
      best_score = score;
    }
    start_ = (start_ + seen) % order_.size();
    return best;
  }

  const Ledger& ledger_;
  const Scoring scoring_;
  std::mt19937_64 random_;
  std::vector<int> order_;
  size_t start_ = 0;
  int enough_ = 0;
};

}  // namespace

std::unique_ptr<Rule> MakeKueue(const Setting& setting, Kueue algorithm) {
  return std::make_unique<KueueRule>(setting, algorithm);
}

std::unique_ptr<Rule> MakeKubeScheduler(const Setting& setting, Scoring scoring) {
  return std::make_unique<KubeScheduler>(setting, scoring);
}

}  // namespace muster::bench
