// Placements of policy/ against the exact optimum of small cases.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <numeric>
#include <sstream>

#include "tests/policy/exact_cases.hpp"
#include "tests/policy/exact_solver.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::policy {
namespace {

using testing::AnswerTo;
using testing::CostOf;
using testing::Dice;
using testing::ExactCase;
using testing::ExactCost;
using testing::ExactPlaces;
using testing::RandomTrial;
using testing::Solve;
using testing::Trial;
using testing::TrialAnswer;

// The best of all ways, one by one. In each of them ranks follow the fabric, which is best.
std::optional<ExactCost> TryAll(const ExactCase& about) {
  std::vector<size_t> order(about.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return about.nodes[a].path < about.nodes[b].path; });
  std::optional<ExactCost> best;
  ExactPlaces places(about.roles.size());
  const std::function<void(size_t, size_t)> choose = [&](size_t role, size_t from) {
    if (role == places.size()) {
      const std::optional<ExactCost> cost = CostOf(about, places);
      if (cost && (!best || *cost < *best)) best = cost;
      return;
    }
    if (places[role].size() == static_cast<size_t>(about.roles[role].pods))
      return choose(role + 1, 0);
    for (size_t i = from; i < order.size(); ++i) {
      places[role].push_back(order[i]);
      choose(role, i);
      places[role].pop_back();
    }
  };
  choose(0, 0);
  return best;
}

TEST_CASE("the exact solver finds what trying everything finds", "[policy][exact]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  int placed = 0;
  int refused = 0;
  for (int round = 0; round < testing::Rounds(600);) {
    const Trial trial = RandomTrial(dice);
    double ways = 1;
    for (const testing::ExactRole& role : trial.exact.roles) {
      for (int pod = 0; pod < role.pods; ++pod)
        ways *=
            static_cast<double>(trial.exact.nodes.size() + static_cast<size_t>(pod)) / (pod + 1);
    }
    if (ways > 1500) continue;
    ++round;
    INFO(Text(trial.exact));
    const std::optional<ExactCost> best = Solve(trial.exact);
    REQUIRE(Text(best) == Text(TryAll(trial.exact)));
    ++(best ? placed : refused);
  }
  CHECK(placed > 0);
  CHECK(refused > 0);
}

// How far placements are from the best ones. Each field is compared where those before it are
// equal.
struct Gaps {
  int cases = 0;
  int possible = 0;
  int refused = 0;  // of those
  // Of those that were placed: where the first difference is, worst field first.
  int crossed = 0;
  int given_up = 0;
  int domains = 0;
  int imbalance = 0;
  int nodes = 0;
  int neighbours = 0;
  int equal = 0;
  // Σ over those that cross as many levels and give up as many segments as the best ones.
  int64_t domains_used = 0;
  int64_t domains_best = 0;
  std::vector<std::string> told;  // each case with a gap

  int placed() const { return possible - refused; }
  void Add(const Trial& trial, const TrialAnswer& answer);
};

int Sum(const ExactCost::ByLevel& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0);
}

std::string Text(const Trial& trial, const TrialAnswer& answer,
                 const std::optional<ExactCost>& best, const std::optional<ExactCost>& cost) {
  std::string text = Text(trial.exact);
  if (!trial.terms.preferred.empty()) text += "; preferred " + trial.terms.preferred;
  for (const cluster::TopologySegment& segment : trial.terms.segments)
    text += (segment.required ? "; required " : "; preferred ") + segment.level + "=" +
            std::to_string(segment.size);
  text += "\n  best: " + Text(best) + "\n  here: " + Text(cost) + "\n ";
  for (const std::string& where : answer.where) text += " " + where;
  return text;
}

void Gaps::Add(const Trial& trial, const TrialAnswer& answer) {
  const std::optional<ExactCost> best = Solve(trial.exact);
  const std::optional<ExactCost> cost =
      answer.places ? CostOf(trial.exact, *answer.places) : std::nullopt;
  INFO(Text(trial, answer, best, cost));
  REQUIRE(answer.fault.empty());
  REQUIRE(answer.places.has_value() == cost.has_value());
  REQUIRE((!cost || (best && !(*cost < *best))));
  ++cases;
  if (!best) return;
  ++possible;
  int* gap = nullptr;
  if (!cost) {
    gap = &refused;
  } else if (cost->crossed != best->crossed) {
    gap = &crossed;
  } else if (cost->given_up != best->given_up) {
    gap = &given_up;
  } else {
    domains_used += Sum(cost->domains);
    domains_best += Sum(best->domains);
    if (cost->domains != best->domains) {
      gap = &domains;
    } else if (cost->imbalance != best->imbalance) {
      gap = &imbalance;
    } else if (cost->nodes != best->nodes) {
      gap = &nodes;
    } else {
      gap = cost->neighbours != best->neighbours ? &neighbours : &equal;
    }
  }
  ++*gap;
  if (gap != &equal) told.push_back(Text(trial, answer, best, cost));
}

Gaps Measure(uint64_t seed, int rounds) {
  Dice dice(seed);
  Gaps gaps;
  for (int round = 0; round < rounds; ++round) {
    const Trial trial = RandomTrial(dice);
    gaps.Add(trial, AnswerTo(trial));
  }
  return gaps;
}

std::string Text(const Gaps& gaps) {
  std::ostringstream text;
  text << gaps.cases << " cases, " << gaps.possible << " possible, " << gaps.refused
       << " of them refused\n";
  const auto line = [&](const char* what, int count) {
    text << "  " << what << ": " << count << " of " << gaps.placed() << "\n";
  };
  line("crosses more levels", gaps.crossed);
  line("then gives up more segments", gaps.given_up);
  line("then uses more domains", gaps.domains);
  line("then is less balanced", gaps.imbalance);
  line("then uses more nodes", gaps.nodes);
  line("then has more neighbours apart", gaps.neighbours);
  line("equal", gaps.equal);
  text << "  domains used: " << gaps.domains_used << ", best " << gaps.domains_best << "\n";
  return text.str();
}

TEST_CASE("placements are close to the exact optimum", "[policy][exact]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  const int most = testing::FewerIfSanitized(100'000, 1'000);  // a minute at most
  const Gaps gaps = Measure(seed, std::min(testing::Rounds(4000), most));
  INFO(Text(gaps));
  for (const std::string& one : gaps.told) {
    if (one.find("here: none") != std::string::npos) UNSCOPED_INFO(one);
  }
  CHECK(gaps.possible > 0);
  // One in 1,000 at most, which in a sample of this size may be three standard deviations more. (Of
  // 30,845 possible cases 24 were refused, all of them of several roles.)
  const double usual = gaps.possible / 1000.0;
  CHECK(gaps.refused <= usual + 3 * std::sqrt(usual));
  CHECK(gaps.crossed * 100 <= gaps.placed());
  CHECK(gaps.domains_used * 100 <= gaps.domains_best * 102);
}

TEST_CASE("placements do not depend on the order of nodes and pods", "[policy][exact]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  int placed = 0;
  for (int round = 0; round < testing::Rounds(1000); ++round) {
    const Trial trial = RandomTrial(dice);
    INFO("round " << round << ": " << Text(trial.exact));
    const TrialAnswer answer = AnswerTo(trial);
    REQUIRE(answer.where == AnswerTo(trial, &dice).where);
    placed += answer.places ? 1 : 0;
  }
  CHECK(placed > 0);
}

// What remains; to read. With MUSTER_GAPS=1 case by case.
TEST_CASE("gaps between placements and the best ones", "[.gaps]") {
  const uint64_t seed = testing::SeedOfRun();
  const Gaps gaps = Measure(seed, testing::Rounds(1000));
  std::cout << "seed " << seed << ": " << Text(gaps);
  if (std::getenv("MUSTER_GAPS") == nullptr) return;
  for (const std::string& one : gaps.told) std::cout << one << "\n";
}

}  // namespace
}  // namespace muster::policy
