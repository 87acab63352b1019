// How long does a node's choice of GPUs take? Nanoseconds for an answer, beside those of one pass
// over the matrix and of trying every set; milliseconds for building the tables and for the first
// answer of a machine that is free.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/check.hpp"
#include "topology/links/gpu_chooser.hpp"

namespace muster::bench {
namespace {

using topology::GpuChooser;
using topology::GpuMask;
using topology::GpuMatrix;

constexpr double kGoalNanoseconds = 1000;

// Boards of four with fast links, and slower ones between them.
GpuMatrix Boards(size_t gpus) {
  GpuMatrix matrix;
  matrix.gpus = gpus;
  for (size_t a = 0; a < gpus; ++a) {
    matrix.socket.push_back(static_cast<uint8_t>(a / 8));
    for (size_t b = 0; b < gpus; ++b) {
      const bool board = a / 4 == b / 4;
      const bool twin = a % 4 == b % 4;
      matrix.bandwidth.push_back(a == b ? 0U : board ? 50'000U : twin ? 25'000U : 6'000U);
    }
  }
  return matrix;
}

struct Question {
  GpuMask free = 0;
  size_t count = 0;
};

std::vector<Question> Questions(const GpuChooser& chooser) {
  std::mt19937_64 random(7);
  std::vector<Question> questions(4096);
  for (Question& question : questions) {
    question = {random() & chooser.all(), 1 + random() % 8};
  }
  return questions;
}

template <typename Answer>
double Nanoseconds(const std::vector<Question>& questions, int64_t rounds, Answer answer) {
  uint64_t sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < rounds; ++i) {
    sum += answer(questions[static_cast<size_t>(i) % questions.size()]);
  }
  const auto passed = std::chrono::steady_clock::now() - start;
  MUSTER_CHECK(sum != 1);  // the answers are used
  return std::chrono::duration<double, std::nano>(passed).count() / static_cast<double>(rounds);
}

// As much as any rule that reads the matrix costs at least.
uint64_t PassOver(const GpuMatrix& matrix) {
  uint64_t sum = 0;
  for (const auto bandwidth : matrix.bandwidth) sum += bandwidth;
  return sum;
}

bool Bench(size_t gpus, bool smoke) {
  const auto start = std::chrono::steady_clock::now();
  const GpuChooser chooser(Boards(gpus));
  const double built =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const auto asked = std::chrono::steady_clock::now();
  MUSTER_CHECK(chooser.Choose(chooser.all(), 1) != 0);
  const double first =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - asked).count();
  const std::vector<Question> questions = Questions(chooser);
  for (const Question& question : questions) chooser.Choose(question.free, question.count);
  const int64_t rounds = smoke ? 10'000 : 10'000'000;
  const double answer = Nanoseconds(
      questions, rounds, [&](const Question& q) { return chooser.Choose(q.free, q.count); });
  const double pass = Nanoseconds(questions, rounds / 10,
                                  [&](const Question&) { return PassOver(chooser.matrix()); });
  const double search = Nanoseconds(questions, smoke ? 10 : 1000, [&](const Question& q) {
    const GpuMask best = chooser.Choose(q.free, q.count);
    return chooser.ChooseIf(q.free, q.count, [best](GpuMask set) { return set != best; });
  });
  std::printf("%4zu %12.2f %12.3f %12.1f %12.1f %14.0f\n", gpus, built, first, answer, pass,
              search);
  return answer < kGoalNanoseconds;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  std::printf("Choosing GPUs of a node\n\n%4s %12s %12s %12s %12s %14s\n", "GPUs", "tables ms",
              "first ms", "answer ns", "matrix ns", "every set ns");
  bool met = true;
  for (const size_t gpus : {size_t{2}, size_t{4}, size_t{8}, size_t{16}})
    met = muster::bench::Bench(gpus, smoke) && met;
  std::printf(
      "\n\"first\": the first answer for all GPUs free; \"answer\": those that were found before\n"
      "\"matrix\": one pass over the matrix; \"every set\": as Choose, but the best set is "
      "refused\n"
      "goal: an answer in less than %.0f ns: %s\n",
      muster::bench::kGoalNanoseconds, met ? "met" : "MISSED");
  return 0;
}
