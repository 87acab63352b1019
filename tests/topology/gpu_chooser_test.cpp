// Which GPUs are chosen: by hand on a DGX-1V, and against brute force on random matrices.
#include "topology/links/gpu_chooser.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

#include "tests/topology/data_files.hpp"
#include "tests/topology/machines.hpp"

namespace muster::topology::testing {
namespace {

// The best ring over `places`, by trying every order.
MegabytesPerSecond BruteRing(const GpuMatrix& matrix, std::vector<size_t> places) {
  if (places.size() < 2) return 0;
  MegabytesPerSecond best = 0;
  do {
    MegabytesPerSecond least = matrix.At(places.back(), places.front());
    for (size_t i = 1; i < places.size(); ++i) {
      least = std::min(least, matrix.At(places[i - 1], places[i]));
    }
    best = std::max(best, least);
  } while (std::next_permutation(places.begin() + 1, places.end()));
  return best;
}

using Worth = std::tuple<MegabytesPerSecond, uint64_t>;

Worth BruteWorth(const GpuMatrix& matrix, GpuMask set) {
  const std::vector<size_t> places = PlacesOf(set);
  uint64_t total = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t j = 0; j < i; ++j) total += matrix.At(places[i], places[j]);
  }
  return {BruteRing(matrix, places), total};
}

// What is left, as the header says it: worth of the best 8, 4 and 2, then of all, then sockets.
using Rest = std::pair<std::array<Worth, 4>, std::vector<int>>;

class Brute {
 public:
  explicit Brute(const GpuMatrix& matrix) : matrix_(matrix) {
    for (GpuMask set = 0; set < GpuMask{1} << matrix.gpus; ++set) {
      worths_.push_back(BruteWorth(matrix, set));
    }
  }

  GpuMask Choose(GpuMask free, size_t count) const {
    GpuMask best = 0;
    for (GpuMask set = 1; set <= free; ++set) {
      if ((set & ~free) != 0 || PlacesOf(set).size() != count) continue;
      if (best == 0 || Better(free, set, best)) best = set;
    }
    return best;
  }

 private:
  bool Better(GpuMask free, GpuMask a, GpuMask b) const {
    if (worths_[a] != worths_[b]) return worths_[a] > worths_[b];
    const Rest rest_a = RestOf(free ^ a);
    const Rest rest_b = RestOf(free ^ b);
    if (rest_a != rest_b) return rest_a > rest_b;
    return PlacesOf(a) < PlacesOf(b);
  }

  Rest RestOf(GpuMask free) const {
    Rest rest;
    const std::array<size_t, 3> sizes = {8, 4, 2};
    for (size_t i = 0; i < sizes.size(); ++i) {
      for (GpuMask set = free; set != 0; set = (set - 1) & free) {
        if (PlacesOf(set).size() == sizes[i]) rest.first[i] = std::max(rest.first[i], worths_[set]);
      }
    }
    rest.first[3] = worths_[free];
    std::vector<int> sockets(16, 0);
    for (const size_t gpu : PlacesOf(free)) ++sockets[matrix_.socket[gpu]];
    std::sort(sockets.rbegin(), sockets.rend());
    rest.second = sockets;
    return rest;
  }

  const GpuMatrix& matrix_;
  std::vector<Worth> worths_;
};

GpuMatrix RandomMatrix(std::mt19937_64& random, size_t gpus) {
  const std::vector<MegabytesPerSecond> widths = {6000, 9000, 12000, 25000, 50000};
  GpuMatrix matrix;
  matrix.gpus = gpus;
  matrix.bandwidth.assign(gpus * gpus, 0);
  for (size_t a = 0; a < gpus; ++a) {
    matrix.socket.push_back(static_cast<uint8_t>(random() % 3));
    for (size_t b = 0; b < a; ++b) {
      const auto width = widths[random() % widths.size()];
      matrix.bandwidth[a * gpus + b] = matrix.bandwidth[b * gpus + a] = width;
    }
  }
  return matrix;
}

}  // namespace

TEST_CASE("DGX-1V by hand", "[topology][choose]") {
  const GpuChooser chooser(BuildGraph(Parsed(kDgx1v), {}).matrix);
  CHECK(chooser.RingOf(MaskOf({0, 3})) == 50'000);
  CHECK(chooser.RingOf(MaskOf({0, 1})) == 25'000);
  CHECK(chooser.RingOf(MaskOf({0, 5})) == 6'000);
  // 0-1-3 closes over NV1; 0-3-4 has no link between 3 and 4.
  CHECK(chooser.RingOf(MaskOf({0, 1, 3})) == 25'000);
  CHECK(chooser.RingOf(MaskOf({0, 3, 4})) == 6'000);
  // Each board is a ring of NV2 and NV1; the whole machine is one of NV2: 0-3-2-1-5-6-7-4-0.
  CHECK(chooser.RingOf(MaskOf({0, 1, 2, 3})) == 25'000);
  CHECK(chooser.RingOf(0xFF) == 50'000);
  CHECK(chooser.TotalOf(0xFF) == 8 * 50'000 + 8 * 25'000 + 12 * 6'000);

  CHECK(chooser.Choose(0xFF, 8) == 0xFF);
  CHECK(chooser.Choose(0xFF, 9) == 0);
  CHECK(chooser.Choose(0xFF, 0) == 0);
  CHECK(chooser.Choose(MaskOf({0, 5, 7}), 2) == MaskOf({5, 7}));
  // A board, and a board left.
  CHECK(chooser.Choose(0xFF, 4) == MaskOf({0, 1, 2, 3}));
  CHECK(chooser.Choose(MaskOf({2, 4, 5, 6, 7}), 4) == MaskOf({4, 5, 6, 7}));
  // The odd GPU is taken first: 4 to 7 stay whole.
  CHECK(chooser.Choose(MaskOf({2, 4, 5, 6, 7}), 1) == MaskOf({2}));
  // All four pairs of NV2 along the ring are equally good as long as the rest has its four.
  const GpuMask pair = chooser.Choose(0xFF, 2);
  CHECK(chooser.RingOf(pair) == 50'000);
  CHECK(chooser.RingOf(chooser.Choose(0xFF ^ pair, 4)) == 25'000);
}

TEST_CASE("a single GPU is the odd one, whatever is left", "[topology][choose]") {
  for (const size_t gpus : {3U, 4U, 5U, 6U, 7U, 8U, 11U, 16U, 20U}) {
    for (size_t odd = 0; odd < gpus; odd += 1 + gpus / 10) {
      // Links between all, but for one GPU off the fabric. Sockets take turns.
      GpuMatrix matrix;
      matrix.gpus = gpus;
      for (size_t a = 0; a < gpus; ++a) {
        matrix.socket.push_back(static_cast<uint8_t>(a % 2));
        for (size_t b = 0; b < gpus; ++b) {
          matrix.bandwidth.push_back(a == b ? 0U : a == odd || b == odd ? 6'000U : 100'000U);
        }
      }
      const GpuChooser chooser(matrix);
      INFO(gpus << " GPUs, the odd one is " << odd);
      CHECK(chooser.Choose(chooser.all(), 1) == MaskOf({odd}));
    }
  }
}

TEST_CASE("every set and mask of machines of up to eight GPUs is as brute force has it",
          "[topology][choose]") {
  const auto check = [](const GpuMatrix& matrix) {
    const GpuChooser chooser(matrix);
    const Brute brute(matrix);
    size_t wrong = 0;
    for (GpuMask free = 0; free <= chooser.all(); ++free) {
      for (size_t count = 1; count <= matrix.gpus; ++count) {
        wrong += chooser.Choose(free, count) != brute.Choose(free, count) ? 1U : 0U;
      }
    }
    CHECK(wrong == 0);
  };
  SECTION("DGX-1V") { check(BuildGraph(Parsed(kDgx1v), {}).matrix); }
  SECTION("random ones") {
    std::mt19937_64 random(12);
    for (int round = 0; round < 12; ++round) check(RandomMatrix(random, 3 + random() % 5));
  }
}

TEST_CASE("sixteen GPUs are exact", "[topology][choose]") {
  std::mt19937_64 random(3);
  const GpuMatrix matrix = RandomMatrix(random, 16);
  const GpuChooser chooser(matrix);
  for (int round = 0; round < 40; ++round) {
    const GpuMask free = random() & 0xFFFF;
    const size_t count = 2 + random() % 3;
    const GpuMask best = chooser.Choose(free, count);
    Worth most;
    for (GpuMask set = free; set != 0; set = (set - 1) & free) {
      if (PlacesOf(set).size() == count) most = std::max(most, BruteWorth(matrix, set));
    }
    CHECK(Worth(chooser.RingOf(best), chooser.TotalOf(best)) == most);
  }
}

TEST_CASE("threads that ask at once get the same answers", "[topology][choose]") {
  std::mt19937_64 random(5);
  const GpuMatrix matrix = RandomMatrix(random, 10);
  const GpuChooser chooser(matrix);
  std::array<std::vector<GpuMask>, 4> answers;
  std::vector<std::thread> threads;
  for (std::vector<GpuMask>& mine : answers) {
    threads.emplace_back([&] {
      for (GpuMask free = 0; free <= chooser.all(); ++free) mine.push_back(chooser.Choose(free, 3));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<GpuMask>& one : answers) CHECK(one == answers.front());
}

TEST_CASE("more than sixteen GPUs get a set whose ring is what is said", "[topology][choose]") {
  // Five boards of four GPUs.
  GpuMatrix matrix;
  matrix.gpus = 20;
  matrix.bandwidth.assign(400, 6000);
  for (size_t a = 0; a < 20; ++a) {
    matrix.socket.push_back(static_cast<uint8_t>(a / 10));
    for (size_t b = 0; b < 20; ++b) {
      if (a / 4 == b / 4) matrix.bandwidth[a * 20 + b] = a == b ? 0 : 100'000;
    }
  }
  const GpuChooser chooser(matrix);
  CHECK_FALSE(chooser.exact());
  CHECK(chooser.Choose(chooser.all() ^ 1, 4) == 0xF0);
  CHECK(chooser.RingOf(0xF0) == 100'000);
  CHECK(chooser.RingOf(0xF8) == 6'000);
  CHECK(PlacesOf(chooser.Choose(chooser.all(), 11)).size() == 11);
  CHECK(chooser.Choose(chooser.all(), 20) == chooser.all());
  CHECK(chooser.Choose(0xF, 5) == 0);
}

TEST_CASE("sets may be confined, refused and preferred", "[topology][choose]") {
  const GpuChooser chooser(BuildGraph(Parsed(kDgx1v), {}).matrix);
  CHECK(chooser.ChooseWithin(0xFF, 2, 0xF0) == MaskOf({4, 7}));
  CHECK(chooser.ChooseWithin(0xFF, 5, 0xF0) == 0);
  CHECK(chooser.ChooseIf(0xFF, 2, [](GpuMask set) { return (set & 1) == 0; }) != 0);
  CHECK(chooser.ChooseIf(0xFF, 2, [](GpuMask) { return false; }) == 0);
  CHECK(chooser.ChooseBy(0xFF, 2, [](GpuMask set) {
    return static_cast<uint32_t>(set == MaskOf({5, 6}) ? 1 : 0);
  }) == MaskOf({5, 6}));
  // A better ring comes before any preference.
  CHECK(chooser.ChooseBy(0xFF, 2, [](GpuMask set) {
    return static_cast<uint32_t>(set == MaskOf({0, 1}) ? 1 : 0);
  }) != MaskOf({0, 1}));
}

}  // namespace muster::topology::testing
