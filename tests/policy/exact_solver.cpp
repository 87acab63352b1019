#include "tests/policy/exact_solver.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace muster::testing {
namespace {

using ByRole = std::array<int8_t, kExactRoles>;
using ByLevel = std::array<int8_t, kExactLevels>;

// The domain of a node at a level, by name. Where it is in none: itself.
std::vector<std::string> DomainOf(const ExactCase& about, size_t node, size_t level) {
  const std::vector<std::string>& path = about.nodes[node].path;
  if (level >= path.size()) return {"", std::to_string(node)};
  const auto first = path.begin();
  return {first, first + static_cast<std::ptrdiff_t>(level) + 1};
}

bool InDomain(const ExactCase& about, size_t node, size_t level) {
  return level < about.nodes[node].path.size();
}

bool Keeps(const ExactCase& about, const ExactPlaces& places, const ExactSegment& segment) {
  const auto size = static_cast<size_t>(segment.size);
  return std::all_of(places.begin(), places.end(), [&](const std::vector<size_t>& pods) {
    if (pods.size() % size != 0) return false;
    for (size_t i = 0; i < pods.size(); ++i) {
      if (!InDomain(about, pods[i], segment.level)) return false;
      if (DomainOf(about, pods[i], segment.level) !=
          DomainOf(about, pods[i / size * size], segment.level))
        return false;
    }
    return true;
  });
}

bool Overfull(const ExactCase& about, const ExactPlaces& places) {
  std::vector<int> taken(about.nodes.size());
  for (size_t role = 0; role < places.size(); ++role) {
    for (const size_t node : places[role]) taken[node] += about.roles[role].gpus;
  }
  for (size_t node = 0; node < taken.size(); ++node) {
    if (taken[node] > about.nodes[node].free) return true;
  }
  return false;
}

void CountLevel(const ExactCase& about, const ExactPlaces& places, size_t level, ExactCost& cost) {
  std::map<std::vector<std::string>, int> pods;  // by domain
  for (const std::vector<size_t>& role : places) {
    for (size_t i = 0; i < role.size(); ++i) {
      ++pods[DomainOf(about, role[i], level)];
      if (i > 0 && DomainOf(about, role[i], level) != DomainOf(about, role[i - 1], level))
        ++cost.neighbours[level];
    }
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(pods.begin(), pods.end(), fewer);
  cost.domains[level] = static_cast<int>(pods.size());
  cost.imbalance[level] = most->second - least->second;
}

// Nodes that lie in the same domains of all levels: they differ only in what they have free.
struct Leaf {
  size_t depth = 0;                        // so many levels it is in
  std::array<int, kExactLevels> domain{};  // by level; of levels that it is not in its own
  std::vector<int> free = {};              // by node
  int capacity = 0;                        // Σ free
  struct Option {
    ByRole pods{};
    int8_t nodes = 0;  // so many are needed at least
  };
  std::vector<Option> options = {};  // those with most GPUs first, nothing at all last
};

std::vector<Leaf> LeavesOf(const ExactCase& about, const std::vector<size_t>& nodes) {
  std::map<std::vector<std::vector<std::string>>, Leaf> by_path;
  for (const size_t node : nodes) {
    std::vector<std::vector<std::string>> domains;
    for (size_t level = 0; level < about.levels; ++level)
      domains.push_back(DomainOf(about, node, level));
    Leaf& leaf = by_path[domains];
    leaf.depth = about.nodes[node].path.size();
    leaf.free.push_back(about.nodes[node].free);
    leaf.capacity += about.nodes[node].free;
  }
  std::vector<Leaf> leaves;
  leaves.reserve(by_path.size());
  const std::vector<std::vector<std::string>>* last = nullptr;
  for (auto& [path, leaf] : by_path) {
    for (size_t level = 0; level < about.levels; ++level) {
      const bool same = last != nullptr && (*last)[level] == path[level];
      leaf.domain[level] = last == nullptr ? 0 : leaves.back().domain[level] + (same ? 0 : 1);
    }
    last = &path;
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

// Of one domain and one choice of segments: the best cost that is below a bound.
class Search {
 public:
  Search(const ExactCase& about, const std::vector<ExactSegment>& segments,
         std::vector<Leaf> leaves)
      : about_(about), segments_(segments), leaves_(std::move(leaves)), seen_(leaves_.size() + 1) {
    for (size_t role = about.roles.size(); role-- > 0;) {
      strides_[role] = codes_;
      codes_ *= static_cast<size_t>(about.roles[role].pods) + 1;
    }
    for (Leaf& leaf : leaves_) ListOptions(leaf);
    FindReachable();
  }
  // `best`: without crossed and given_up, which are the same for all here.
  void Improve(std::optional<ExactCost>& best);

 private:
  // After the leaves so far; whatever is equal here can go on in the same ways.
  struct State {
    ByRole left{};                            // pods without a place
    std::array<ByRole, kExactLevels> open{};  // pods in the domain of the last leaf
    ByLevel least{};                          // pods of the domains before that; 0: none is used
    ByLevel most{};
    auto operator<=>(const State&) const = default;
  };
  // What was spent so far.
  struct Spent {
    ByLevel domains{};
    int nodes = 0;
    ByLevel by_role{};  // Σ over roles of the domains that each uses
    auto operator<=>(const Spent&) const = default;
  };

  size_t CodeOf(const ByRole& pods) const;
  int GpusOf(const ByRole& pods) const;
  static int Sum(const ByRole& pods) { return pods[0] + pods[1] + pods[2]; }
  void ListOptions(Leaf& leaf) const;
  bool MayHold(const Leaf& leaf, const ByRole& pods) const;
  void FindReachable();
  bool Close(size_t level, State& state) const;
  void Go(size_t at, State state, Spent spent);
  ExactCost Bound(size_t at, const State& state, const Spent& spent) const;
  int MoreDomains(size_t at, size_t level, const State& state, int gpus) const;
  int MoreNodes(size_t at, int gpus) const;

  const ExactCase& about_;
  const std::vector<ExactSegment>& segments_;
  std::vector<Leaf> leaves_;
  std::array<size_t, kExactRoles> strides_{};
  size_t codes_ = 1;                          // of what is left
  std::vector<std::vector<bool>> reachable_;  // by leaf, code: whether it and those after hold that
  std::vector<std::map<State, Spent>> seen_;  // by leaf
  std::optional<ExactCost> best_;
};

size_t Search::CodeOf(const ByRole& pods) const {
  size_t code = 0;
  for (size_t role = 0; role < about_.roles.size(); ++role)
    code += strides_[role] * static_cast<size_t>(pods[role]);
  return code;
}

int Search::GpusOf(const ByRole& pods) const {
  int gpus = 0;
  for (size_t role = 0; role < about_.roles.size(); ++role)
    gpus += about_.roles[role].gpus * pods[role];
  return gpus;
}

// Segments of levels at which nothing but this leaf is in the domain are checked by Close, too;
// here it is cheaper.
bool Search::MayHold(const Leaf& leaf, const ByRole& pods) const {
  return std::all_of(segments_.begin(), segments_.end(), [&](const ExactSegment& segment) {
    if (segment.level >= leaf.depth) return Sum(pods) == 0;
    if (segment.level + 1 < about_.levels) return true;
    return std::all_of(pods.begin(), pods.end(),
                       [&](int8_t count) { return count % segment.size == 0; });
  });
}

// Node by node: with how few nodes of the leaf each number of pods can be held.
void Search::ListOptions(Leaf& leaf) const {
  std::map<ByRole, int8_t> fewest = {{ByRole{}, int8_t{0}}};
  for (const int free : leaf.free) {
    const std::map<ByRole, int8_t> before = fewest;
    for (const auto& [pods, nodes] : before) {
      ByRole more{};
      // Counts up like a number with one digit for each role.
      for (size_t role = 0; role < about_.roles.size();) {
        ++more[role];
        if (pods[role] + more[role] > about_.roles[role].pods || GpusOf(more) > free) {
          more[role++] = 0;
          continue;
        }
        role = 0;
        ByRole sum = pods;
        for (size_t i = 0; i < kExactRoles; ++i) sum[i] = static_cast<int8_t>(sum[i] + more[i]);
        const auto with = static_cast<int8_t>(nodes + 1);
        int8_t& known = fewest.try_emplace(sum, with).first->second;
        known = std::min(known, with);
      }
    }
  }
  leaf.options.reserve(fewest.size());
  for (const auto& [pods, nodes] : fewest) {
    if (MayHold(leaf, pods)) leaf.options.push_back({pods, nodes});
  }
  std::stable_sort(leaf.options.begin(), leaf.options.end(),
                   [&](const Leaf::Option& a, const Leaf::Option& b) {
                     return GpusOf(a.pods) > GpusOf(b.pods);
                   });
}

void Search::FindReachable() {
  reachable_.assign(leaves_.size() + 1, std::vector<bool>(codes_));
  reachable_.back()[0] = true;
  std::vector<ByRole> counts(codes_);
  for (size_t code = 0; code < codes_; ++code) {
    for (size_t role = 0; role < about_.roles.size(); ++role) {
      const auto radix = static_cast<size_t>(about_.roles[role].pods) + 1;
      counts[code][role] = static_cast<int8_t>(code / strides_[role] % radix);
    }
  }
  for (size_t at = leaves_.size(); at-- > 0;) {
    for (size_t code = 0; code < codes_; ++code) {
      const ByRole& left = counts[code];
      reachable_[at][code] = std::any_of(
          leaves_[at].options.begin(), leaves_[at].options.end(), [&](const Leaf::Option& option) {
            for (size_t role = 0; role < kExactRoles; ++role) {
              if (option.pods[role] > left[role]) return false;
            }
            return static_cast<bool>(reachable_[at + 1][code - CodeOf(option.pods)]);
          });
    }
  }
}

// The last leaf's domain of that level is complete. False: not in whole segments.
bool Search::Close(size_t level, State& state) const {
  ByRole& pods = state.open[level];
  for (const ExactSegment& segment : segments_) {
    if (segment.level != level) continue;
    for (const int8_t count : pods) {
      if (count % segment.size != 0) return false;
    }
  }
  const auto sum = static_cast<int8_t>(Sum(pods));
  if (sum > 0) {
    state.least[level] = state.most[level] == 0 ? sum : std::min(state.least[level], sum);
    state.most[level] = std::max(state.most[level], sum);
  }
  pods = {};
  return true;
}

// How many domains must be begun at least for that many GPUs, in the leaves from `at` on.
int Search::MoreDomains(size_t at, size_t level, const State& state, int gpus) const {
  std::array<int, 16> rooms{};
  size_t count = 0;
  const bool begun = Sum(state.open[level]) > 0;
  for (size_t i = at; i < leaves_.size(); ++i) {
    const int domain = leaves_[i].domain[level];
    if (begun && at > 0 && domain == leaves_[at - 1].domain[level]) {
      gpus -= leaves_[i].capacity;
      continue;
    }
    if (count == 0 || i == at || domain != leaves_[i - 1].domain[level]) ++count;
    rooms[count - 1] += leaves_[i].capacity;
  }
  std::sort(rooms.begin(), rooms.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
  int more = 0;
  for (; gpus > 0 && more < static_cast<int>(count); ++more)
    gpus -= rooms[static_cast<size_t>(more)];
  return more;
}

int Search::MoreNodes(size_t at, int gpus) const {
  std::vector<int> rooms;
  for (size_t i = at; i < leaves_.size(); ++i)
    rooms.insert(rooms.end(), leaves_[i].free.begin(), leaves_[i].free.end());
  std::sort(rooms.rbegin(), rooms.rend());
  int more = 0;
  for (size_t i = 0; gpus > 0 && i < rooms.size(); ++i, ++more) gpus -= rooms[i];
  return more;
}

// No field is more than in any placement that begins so.
ExactCost Search::Bound(size_t at, const State& state, const Spent& spent) const {
  ExactCost bound;
  const int gpus = GpusOf(state.left);
  const auto roles = static_cast<int>(about_.roles.size());
  for (size_t level = 0; level < about_.levels; ++level) {
    bound.domains[level] = spent.domains[level] + MoreDomains(at, level, state, gpus);
    bound.imbalance[level] = state.most[level] - state.least[level];
    bound.neighbours[level] = std::max(spent.by_role[level] - roles, 0);
  }
  bound.nodes = spent.nodes + MoreNodes(at, gpus);
  return bound;
}

void Search::Go(size_t at, State state, Spent spent) {
  if (at > 0) {
    for (size_t level = 0; level < about_.levels; ++level) {
      const bool same =
          at < leaves_.size() && leaves_[at].domain[level] == leaves_[at - 1].domain[level];
      if (!same && !Close(level, state)) return;
    }
  }
  if (!reachable_[at][CodeOf(state.left)]) return;
  const ExactCost bound = Bound(at, state, spent);
  if (best_ && !(bound < *best_)) return;
  if (at == leaves_.size()) {
    best_ = bound;
    return;
  }
  const auto [known, first] = seen_[at].try_emplace(state, spent);
  if (!first) {
    if (!(spent < known->second)) return;
    known->second = spent;
  }
  for (const Leaf::Option& option : leaves_[at].options) {
    State next = state;
    Spent more = spent;
    bool fits = true;
    for (size_t role = 0; role < about_.roles.size(); ++role) {
      next.left[role] = static_cast<int8_t>(next.left[role] - option.pods[role]);
      fits = fits && next.left[role] >= 0;
    }
    if (!fits) continue;
    more.nodes += option.nodes;
    for (size_t level = 0; level < about_.levels; ++level) {
      ByRole& open = next.open[level];
      if (Sum(open) == 0 && Sum(option.pods) > 0) ++more.domains[level];
      for (size_t role = 0; role < about_.roles.size(); ++role) {
        if (open[role] == 0 && option.pods[role] > 0) ++more.by_role[level];
        open[role] = static_cast<int8_t>(open[role] + option.pods[role]);
      }
    }
    Go(at + 1, next, more);
  }
}

void Search::Improve(std::optional<ExactCost>& best) {
  State state;
  for (size_t role = 0; role < about_.roles.size(); ++role)
    state.left[role] = static_cast<int8_t>(about_.roles[role].pods);
  best_ = best;
  Go(0, state, {});
  best = best_;
}

// The nodes of each domain of that level; of all nodes together where it is none.
std::vector<std::vector<size_t>> DomainsAt(const ExactCase& about, std::optional<size_t> level) {
  std::map<std::vector<std::string>, std::vector<size_t>> domains;
  for (size_t node = 0; node < about.nodes.size(); ++node) {
    if (level && !InDomain(about, node, *level)) continue;
    domains[level ? DomainOf(about, node, *level) : std::vector<std::string>()].push_back(node);
  }
  std::vector<std::vector<size_t>> nodes;
  nodes.reserve(domains.size());
  for (auto& [name, list] : domains) nodes.push_back(std::move(list));
  return nodes;
}

bool AreWhole(const ExactCase& about, const std::vector<ExactSegment>& segments) {
  return std::all_of(segments.begin(), segments.end(), [&](const ExactSegment& segment) {
    return std::all_of(about.roles.begin(), about.roles.end(),
                       [&](const ExactRole& role) { return role.pods % segment.size == 0; });
  });
}

}  // namespace

std::optional<ExactCost> CostOf(const ExactCase& about, const ExactPlaces& places) {
  if (Overfull(about, places)) return std::nullopt;
  ExactCost cost;
  size_t within = 0;  // so many levels have one domain with all of them
  const size_t some = places.front().front();
  const auto all_in = [&](size_t level) {
    return std::all_of(places.begin(), places.end(), [&](const std::vector<size_t>& role) {
      return std::all_of(role.begin(), role.end(), [&](size_t node) {
        return InDomain(about, node, level) &&
               DomainOf(about, node, level) == DomainOf(about, some, level);
      });
    });
  };
  while (within < about.levels && all_in(within)) ++within;
  if (about.required && within <= *about.required) return std::nullopt;
  cost.crossed = static_cast<int>(about.levels - within);
  const auto kept = std::find_if(
      about.segments.begin(), about.segments.end(), [&](const std::vector<ExactSegment>& choice) {
        return std::all_of(choice.begin(), choice.end(), [&](const ExactSegment& segment) {
          return Keeps(about, places, segment);
        });
      });
  if (kept == about.segments.end()) return std::nullopt;
  cost.given_up = static_cast<int>(kept - about.segments.begin());
  std::set<size_t> nodes;
  for (const std::vector<size_t>& role : places) nodes.insert(role.begin(), role.end());
  cost.nodes = static_cast<int>(nodes.size());
  for (size_t level = 0; level < about.levels; ++level) CountLevel(about, places, level, cost);
  return cost;
}

// From the innermost level outwards; there the fewest segments given up first.
std::optional<ExactCost> Solve(const ExactCase& about) {
  for (int level = static_cast<int>(about.levels) - 1; level >= -1; --level) {
    if (about.required && level < static_cast<int>(*about.required)) break;
    const auto of = level < 0 ? std::nullopt : std::optional(static_cast<size_t>(level));
    for (size_t choice = 0; choice < about.segments.size(); ++choice) {
      if (!AreWhole(about, about.segments[choice])) continue;
      std::optional<ExactCost> best;
      for (const std::vector<size_t>& nodes : DomainsAt(about, of))
        Search(about, about.segments[choice], LeavesOf(about, nodes)).Improve(best);
      if (!best) continue;
      best->crossed = static_cast<int>(about.levels) - 1 - level;
      best->given_up = static_cast<int>(choice);
      return best;
    }
  }
  return std::nullopt;
}

std::string Text(const ExactCase& about) {
  std::ostringstream text;
  for (const ExactRole& role : about.roles) text << role.pods << "x" << role.gpus << " ";
  if (about.required) text << "required " << *about.required << " ";
  for (const std::vector<ExactSegment>& choice : about.segments) {
    text << "[";
    for (const ExactSegment& segment : choice) text << " " << segment.level << "=" << segment.size;
    text << " ] ";
  }
  text << "of " << about.levels << " levels;";
  for (size_t node = 0; node < about.nodes.size(); ++node) {
    text << " n" << node << " ";
    for (const std::string& label : about.nodes[node].path) text << label << "/";
    text << ":" << about.nodes[node].free;
  }
  return text.str();
}

std::string Text(const std::optional<ExactCost>& cost) {
  if (!cost) return "none";
  std::ostringstream text;
  const auto list = [&](const char* name, const ExactCost::ByLevel& numbers) {
    text << ", " << name;
    for (const int number : numbers) text << " " << number;
  };
  text << "crossed " << cost->crossed << ", given up " << cost->given_up;
  list("domains", cost->domains);
  list("imbalance", cost->imbalance);
  text << ", nodes " << cost->nodes;
  list("neighbours", cost->neighbours);
  return text.str();
}

}  // namespace muster::testing
