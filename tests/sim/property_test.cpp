// Random operations on a whole cluster, every invariant checked after each event.
//
//   MUSTER_PROPERTY_STEPS   operations in all (default 5,000)
//   MUSTER_PROPERTY_DUMP    set: with a finding, the engine's state as text
//   MUSTER_PROPERTY_SEED    to see a finding again (default: the test run's own seed)
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "property_world.hpp"

namespace muster::sim::testing {
namespace {

constexpr size_t kOperationsEach = 100;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Outcome {
  std::string finding;  // empty: all is well
  std::string story;
};

Outcome RunHere(uint64_t seed, const std::vector<Operation>& operations) {
  Outcome outcome;
  World world(seed);
  for (const Operation& operation : operations) {
    outcome.finding = world.Do(operation);
    if (!outcome.finding.empty()) break;
  }
  if (outcome.finding.empty()) outcome.finding = world.Finish();
  for (const std::string& line : world.story()) outcome.story += "  " + line + "\n";
  if (!outcome.finding.empty() && std::getenv("MUSTER_PROPERTY_DUMP") != nullptr)
    outcome.story += "the engine's state:\n" + world.Dump();
  return outcome;
}

// In a process of its own, so that a failed internal check is a finding like any other and can be
// shrunk.
Outcome RunApart(uint64_t seed, const std::vector<Operation>& operations) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {"no pipe", ""};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Outcome outcome = RunHere(seed, operations);
    const std::string text = outcome.finding + '\0' + outcome.story;
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(ends[1], text.data() + sent, text.size() - sent);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {"the process died", ""};
  const size_t end = text.find('\0');
  return {text.substr(0, end), text.substr(end + 1)};
}

// Leaves out what can be left out: halves first, then smaller pieces, down to single operations.
std::vector<Operation> Shrink(uint64_t seed, std::vector<Operation> operations) {
  for (size_t piece = operations.size() / 2; piece > 0; piece /= 2) {
    for (size_t at = 0; at < operations.size();) {
      std::vector<Operation> fewer = operations;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, fewer.size() - at)));
      if (RunApart(seed, fewer).finding.empty()) {
        at += piece;
      } else {
        operations = std::move(fewer);
      }
    }
  }
  return operations;
}

TEST_CASE("whatever happens, every invariant holds after every event", "[property]") {
  const uint64_t steps = FromEnvironment("MUSTER_PROPERTY_STEPS", 5'000);
  const uint64_t first = FromEnvironment("MUSTER_PROPERTY_SEED", Catch::rngSeed());
  std::cout << "property test: " << steps << " operations, MUSTER_PROPERTY_SEED=" << first
            << std::endl;
  for (uint64_t i = 0; i * kOperationsEach < steps; ++i) {
    const uint64_t seed = first + i;
    const std::vector<Operation> operations = RandomOperations(seed, kOperationsEach);
    const Outcome outcome = RunApart(seed, operations);
    if (outcome.finding.empty()) {
      CHECK(outcome.story.size() > operations.size());  // it did run
      continue;
    }
    const std::vector<Operation> few = Shrink(seed, operations);
    const Outcome least = RunApart(seed, few);
    FAIL("MUSTER_PROPERTY_SEED=" << seed << "\nfound: " << least.finding << "\nafter " << few.size()
                                 << " operations:\n"
                                 << least.story);
  }
}

}  // namespace
}  // namespace muster::sim::testing
