#include "sim/replay/known_durations.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "sim/api_server/random.hpp"

namespace muster::sim {

using cluster::Duration;

namespace {

constexpr std::array<Known, 4> kAll = {Known::kUnknown, Known::kExact, Known::kRough,
                                       Known::kLearnt};

// FNV-1a: the same on every machine.
uint64_t SeedOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

Duration Roughly(Duration exact, std::string_view name) {
  const int64_t per_mille = Random(SeedOf(name)).Between(500, 1500);
  return Duration(exact.value() / 1000 * per_mille + exact.value() % 1000 * per_mille / 1000);
}

// job-17 of queue vision with 16 GPUs → vision-16gpu-17, or of user eve → eve-16gpu-17.
void NameByOwner(TraceJob& job) {
  const std::string owner = !job.user.empty() ? job.user : job.queue.empty() ? "team" : job.queue;
  cluster::GpuMilli gpus;
  for (const PodRecord& pod : job.pods) gpus += pod.pod.spec->gpus.total();
  const std::string name = owner + "-" + std::to_string(gpus.value() / cluster::kWholeGpu.value()) +
                           "gpu" + job.name.substr(std::min(job.name.find('-'), job.name.size()));
  for (PodRecord& pod : job.pods) pod.pod.key.name.replace(0, job.name.size(), name);
  job.name = name;
}

}  // namespace

std::optional<Known> ParseKnown(std::string_view text) {
  for (const Known known : kAll) {
    if (text == ToString(known)) return known;
  }
  return std::nullopt;
}

const char* ToString(Known known) {
  switch (known) {
    case Known::kUnknown:
      return "unknown";
    case Known::kExact:
      return "exact";
    case Known::kRough:
      return "rough";
    case Known::kLearnt:
      return "learnt";
  }
  return "";
}

void TellDurations(Known known, std::vector<TraceJob>& jobs) {
  for (TraceJob& job : jobs) {
    if (!job.runs_for) continue;
    if (known == Known::kExact) job.expected = job.runs_for;
    if (known == Known::kRough) job.expected = Roughly(*job.runs_for, job.name);
    if (known == Known::kLearnt) NameByOwner(job);
  }
}

}  // namespace muster::sim
