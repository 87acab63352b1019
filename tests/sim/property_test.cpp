// Random operations on a whole cluster, every invariant checked after each event.
//
//   MUSTER_PROPERTY_STEPS   operations in all (default 5,000)
//   MUSTER_PROPERTY_DUMP    set: with a finding, the engine's state as text
//   MUSTER_PROPERTY_SEED    to see a finding again (default: the test run's own seed)
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
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

void Write(int file, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(file, text.data() + sent, text.size() - sent);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

// Writes the story as it goes, a zero byte, and the finding.
void Run(uint64_t seed, const std::vector<Operation>& operations, int file) {
  World world(seed, [file](const std::string& line) { Write(file, "  " + line + "\n"); });
  std::string finding;
  for (const Operation& operation : operations) {
    finding = world.Do(operation);
    if (!finding.empty()) break;
  }
  if (finding.empty()) finding = world.Finish();
  if (!finding.empty() && std::getenv("MUSTER_PROPERTY_DUMP") != nullptr) {
    Write(file, "the engine's state:\n" + world.Dump());
  }
  Write(file, '\0' + finding);
}

// In a process of its own, so that a failed internal check, and what it says, is a finding like any
// other and can be shrunk; so is a loop without end.
Outcome RunApart(uint64_t seed, const std::vector<Operation>& operations) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {"no pipe", ""};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    for (const int fatal : {SIGABRT, SIGSEGV, SIGFPE, SIGTERM}) signal(fatal, SIG_DFL);
    alarm(300);
    Run(seed, operations, ends[1]);
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
  const size_t end = text.find('\0');
  if (end == std::string::npos) {
    const int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return {"the process died of signal " + std::to_string(signal_number), text};
  }
  return {text.substr(end + 1), text.substr(0, end)};
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
