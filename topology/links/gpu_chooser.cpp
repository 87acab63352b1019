#include "topology/links/gpu_chooser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "cluster/base/check.hpp"

namespace muster::topology {
namespace {

size_t Count(GpuMask mask) { return static_cast<size_t>(std::popcount(mask)); }
size_t Lowest(GpuMask mask) { return static_cast<size_t>(std::countr_zero(mask)); }
GpuMask Bit(size_t place) { return GpuMask{1} << place; }

// Larger when the first place in which two masks of a size differ is in this one.
uint64_t LowPlacesFirst(GpuMask mask) {
  uint64_t reversed = 0;
  for (size_t i = 0; i < GpuChooser::kMostExact; ++i) {
    if ((mask & Bit(i)) != 0) reversed |= uint64_t{1} << (GpuChooser::kMostExact - 1 - i);
  }
  return reversed;
}

// Numbers from 0 in the order of `less`, equal items alike.
template <typename Less>
std::vector<uint32_t> RankBy(size_t size, Less less) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), less);
  std::vector<uint32_t> ranks(size, 0);
  for (size_t i = 1; i < size; ++i) {
    ranks[order[i]] = ranks[order[i - 1]] + (less(order[i - 1], order[i]) ? 1U : 0U);
  }
  return ranks;
}

}  // namespace

std::vector<size_t> PlacesOf(GpuMask mask) {
  std::vector<size_t> places;
  for (; mask != 0; mask &= mask - 1) places.push_back(Lowest(mask));
  return places;
}

bool HasLowerPlaces(GpuMask a, GpuMask b) {
  const GpuMask differ = a ^ b;
  return (a & differ & (~differ + 1)) != 0;
}

GpuChooser::GpuChooser(GpuMatrix matrix) : matrix_(std::move(matrix)) {
  MUSTER_CHECK(matrix_.gpus <= kMostGpus);
  MUSTER_CHECK(matrix_.bandwidth.size() == matrix_.gpus * matrix_.gpus);
  MUSTER_CHECK(matrix_.socket.size() == matrix_.gpus);
  levels_ = matrix_.bandwidth;
  levels_.push_back(0);
  std::sort(levels_.begin(), levels_.end(), std::greater<>());
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  if (!exact()) return;
  BuildRings();
  RankSets();
  RankRests();
  answer_ = std::vector<std::atomic<uint16_t>>((size_t{1} << matrix_.gpus) * (matrix_.gpus + 1));
}

GpuMask GpuChooser::all() const { return matrix_.gpus == 64 ? ~GpuMask{0} : Bit(matrix_.gpus) - 1; }

// For each level, Held and Karp's paths: paths[set] are the places where a path can end that begins
// at the set's lowest place, passes all of it and has no link below the level.
void GpuChooser::BuildRings() {
  const size_t sets = size_t{1} << matrix_.gpus;
  ring_.assign(sets, static_cast<uint8_t>(levels_.size() - 1));
  std::vector<uint16_t> paths(sets);
  for (size_t level = levels_.size() - 1; level-- > 0;) {
    std::vector<GpuMask> near(matrix_.gpus, 0);
    for (size_t a = 0; a < matrix_.gpus; ++a) {
      for (size_t b = 0; b < matrix_.gpus; ++b) {
        if (a != b && matrix_.At(a, b) >= levels_[level]) near[a] |= Bit(b);
      }
    }
    for (GpuMask set = 1; set < sets; ++set) {
      const size_t first = Lowest(set);
      GpuMask ends = set == Bit(first) ? set : 0;
      for (GpuMask rest = set & (set - 1); rest != 0; rest &= rest - 1) {
        const size_t last = Lowest(rest);
        if ((paths[set ^ Bit(last)] & near[last]) != 0) ends |= Bit(last);
      }
      paths[set] = static_cast<uint16_t>(ends);
      if (Count(set) > 1 && (ends & near[first]) != 0) ring_[set] = static_cast<uint8_t>(level);
    }
  }
}

void GpuChooser::RankSets() {
  const size_t sets = size_t{1} << matrix_.gpus;
  std::vector<uint64_t> totals(sets, 0);
  for (GpuMask set = 1; set < sets; ++set) {
    const size_t first = Lowest(set);
    const GpuMask others = set & (set - 1);
    totals[set] = totals[others];
    for (GpuMask rest = others; rest != 0; rest &= rest - 1)
      totals[set] += matrix_.At(first, Lowest(rest));
  }
  const std::vector<uint32_t> ranks = RankBy(sets, [&](size_t a, size_t b) {
    return std::tuple(ring_[b], totals[a]) < std::tuple(ring_[a], totals[b]);
  });
  worth_.resize(sets);
  size_.resize(sets);
  for (GpuMask set = 0; set < sets; ++set) {
    worth_[set] = uint64_t{ranks[set]} << 40U | LowPlacesFirst(set);
    size_[set] = static_cast<uint8_t>(Count(set));
  }
}

void GpuChooser::RankRests() {
  const size_t sets = size_t{1} << matrix_.gpus;
  constexpr std::array<size_t, 3> kSizes = {8, 4, 2};
  // The best set of each size within a set: 1 + its rank, 0 when there is none.
  std::array<std::vector<uint32_t>, kSizes.size()> best;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    best[i].assign(sets, 0);
    for (GpuMask set = 1; set < sets; ++set) {
      if (size_[set] == kSizes[i]) best[i][set] = 1 + static_cast<uint32_t>(worth_[set] >> 40U);
      if (size_[set] <= kSizes[i]) continue;
      for (GpuMask rest = set; rest != 0; rest &= rest - 1) {
        best[i][set] = std::max(best[i][set], best[i][set ^ (rest & -rest)]);
      }
    }
  }
  // GPUs by socket, the most first: a digit each.
  std::vector<uint64_t> sockets(sets, 0);
  for (GpuMask set = 1; set < sets; ++set) {
    std::array<uint8_t, kMostExact> counts{};
    for (GpuMask rest = set; rest != 0; rest &= rest - 1) {
      ++counts[matrix_.socket[Lowest(rest)] % kMostExact];
    }
    std::sort(counts.begin(), counts.end(), std::greater<>());
    // Sixteen GPUs on one socket leave no other digit.
    for (const uint8_t count : counts) {
      sockets[set] = sockets[set] * kMostExact + std::min<uint64_t>(count, kMostExact - 1);
    }
  }
  const auto all = [&](size_t set) { return worth_[set] >> 40U; };
  rest_ = RankBy(sets, [&](size_t a, size_t b) {
    return std::tuple(best[0][a], best[1][a], best[2][a], all(a), sockets[a]) <
           std::tuple(best[0][b], best[1][b], best[2][b], all(b), sockets[b]);
  });
}

// Whatever thread does it, and however often, it writes the same.
void GpuChooser::FindAnswers(GpuMask free) const {
  std::array<uint64_t, kMostExact + 1> best{};
  std::array<uint16_t, kMostExact + 1> answers{};
  for (GpuMask set = free; set != 0; set = (set - 1) & free) {
    const uint64_t key = Key(free, set);
    const size_t count = size_[set];
    if (key <= best[count]) continue;  // no key is 0: a set has a lowest place
    best[count] = key;
    answers[count] = static_cast<uint16_t>(set);
  }
  for (size_t count = 1; count <= matrix_.gpus; ++count)
    answer_[AnswerAt(free, count)].store(answers[count], std::memory_order_relaxed);
}

GpuMask GpuChooser::Choose(GpuMask free, size_t count) const {
  free &= all();
  if (count == 0 || count > Count(free)) return 0;
  if (!exact()) return ChooseWithin(free, count, free);
  // There is one for every such count, so 0 is: not found yet.
  std::atomic<uint16_t>& answer = answer_[AnswerAt(free, count)];
  if (const uint16_t known = answer.load(std::memory_order_relaxed); known != 0) return known;
  FindAnswers(free);
  return answer.load(std::memory_order_relaxed);
}

GpuMask GpuChooser::ChooseWithin(GpuMask free, size_t count, GpuMask within) const {
  free &= all();
  within &= free;
  if (count == 0 || count > Count(within)) return 0;
  if (within == free && exact()) return Choose(free, count);
  if (!exact() && count == 1) return OddOne(free, within);
  if (!exact()) {
    GpuMask set = 0;
    for (const size_t place : GrowRing(within, count).places) set |= Bit(place);
    return set;
  }
  return ChooseIf(free, count, [within](GpuMask set) { return (set & ~within) == 0; });
}

GpuMask GpuChooser::ChooseIf(GpuMask free, size_t count,
                             const std::function<bool(GpuMask)>& may) const {
  free &= all();
  const GpuMask first = Choose(free, count);
  if (first == 0 || may(first)) return first;
  if (!exact()) return 0;
  GpuMask best = 0;
  for (GpuMask set = free; set != 0; set = (set - 1) & free) {
    if (Count(set) != count || (best != 0 && Key(free, set) <= Key(free, best))) continue;
    if (may(set)) best = set;
  }
  return best;
}

GpuMask GpuChooser::ChooseBy(GpuMask free, size_t count,
                             const std::function<uint32_t(GpuMask)>& merit) const {
  free &= all();
  GpuMask best = Choose(free, count);
  if (best == 0 || !exact()) return best;
  // The answer without merit has the best ring; only sets with the same ring can be better.
  const uint8_t ring = ring_[best];
  uint32_t best_merit = merit(best);
  for (GpuMask set = free; set != 0; set = (set - 1) & free) {
    if (Count(set) != count || ring_[set] != ring) continue;
    const uint32_t found = merit(set);
    if (found < best_merit || (found == best_merit && Key(free, set) <= Key(free, best))) continue;
    best = set;
    best_merit = found;
  }
  return best;
}

MegabytesPerSecond GpuChooser::RingOf(GpuMask set) const {
  set &= all();
  if (Count(set) < 2) return 0;
  return exact() ? levels_[ring_[set]] : GrowRing(set, Count(set)).bandwidth;
}

uint64_t GpuChooser::TotalOf(GpuMask set) const {
  uint64_t total = 0;
  for (GpuMask rest = set & all(); rest != 0; rest &= rest - 1) {
    for (GpuMask others = rest & (rest - 1); others != 0; others &= others - 1) {
      total += matrix_.At(Lowest(rest), Lowest(others));
    }
  }
  return total;
}

uint32_t GpuChooser::UsefulnessOf(GpuMask free) const { return exact() ? rest_[free & all()] : 0; }

GpuMask GpuChooser::OddOne(GpuMask free, GpuMask within) const {
  GpuMask odd = 0;
  uint64_t least = UINT64_MAX;
  for (const size_t place : PlacesOf(within)) {
    uint64_t total = 0;
    for (const size_t other : PlacesOf(free & ~Bit(place))) total += matrix_.At(place, other);
    if (total >= least) continue;
    least = total;
    odd = Bit(place);
  }
  return odd;
}

// Adds to a ring of one place until it has `count` places, with no link below its bandwidth.
bool GpuChooser::GrowFrom(size_t start, GpuMask free, size_t count, Ring* ring) const {
  const auto fits = [&](size_t a, size_t b) { return matrix_.At(a, b) >= ring->bandwidth; };
  std::vector<size_t>& places = ring->places;
  places = {start};
  std::vector<uint64_t> sums(matrix_.gpus, 0);
  free &= ~Bit(start);
  for (size_t added = start; places.size() < count;) {
    size_t best = matrix_.gpus;
    size_t before = 0;
    for (const size_t place : PlacesOf(free)) {
      sums[place] += matrix_.At(added, place);
      if (best < matrix_.gpus && sums[place] <= sums[best]) continue;
      for (size_t i = 0; i < places.size(); ++i) {
        if (!fits(places[i], place) || !fits(place, places[(i + 1) % places.size()])) continue;
        best = place;
        before = i + 1;
        break;
      }
    }
    if (best == matrix_.gpus) return false;
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(before), best);
    free &= ~Bit(best);
    added = best;
  }
  return true;
}

GpuChooser::Ring GpuChooser::GrowRing(GpuMask free, size_t count) const {
  Ring best;
  if (count == 0) return best;
  for (const MegabytesPerSecond level : levels_) {
    uint64_t best_total = 0;
    for (const size_t start : PlacesOf(free)) {
      Ring ring{{}, level};
      if (!GrowFrom(start, free, count, &ring)) continue;
      GpuMask set = 0;
      for (const size_t place : ring.places) set |= Bit(place);
      const uint64_t total = TotalOf(set);
      if (!best.places.empty() && total <= best_total) continue;
      best_total = total;
      best = std::move(ring);
    }
    if (!best.places.empty()) break;
  }
  return best;
}

}  // namespace muster::topology
