#include "kube/decode/pod_holds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/quantity.hpp"

namespace muster::kube {

using cluster::MiB;
using cluster::MilliCpu;
using cluster::Resources;
using cluster::Result;
using cluster::Round;

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

// Of what can be resized. Absent is not the same as zero.
struct HeldAmounts {
  std::optional<int64_t> cpu_milli;
  std::optional<int64_t> memory_bytes;
};

using JoinAmounts = int64_t (*)(int64_t, int64_t);
int64_t AddAmounts(int64_t a, int64_t b) { return cluster::SaturatingAdd(a, b); }
int64_t MostOf(int64_t a, int64_t b) { return std::max(a, b); }

std::optional<int64_t> Together(std::optional<int64_t> a, std::optional<int64_t> b,
                                JoinAmounts combine) {
  if (!a || !b) return a ? a : b;
  return combine(*a, *b);
}
HeldAmounts Together(const HeldAmounts& a, const HeldAmounts& b, JoinAmounts combine) {
  return {Together(a.cpu_milli, b.cpu_milli, combine),
          Together(a.memory_bytes, b.memory_bytes, combine)};
}

std::optional<int64_t> CpuOf(const JsonView& quantity) {
  if (!quantity.present()) return std::nullopt;
  const Result<MilliCpu> cpu = cluster::ParseCpu(quantity.QuantityText(), Round::kUp);
  return cpu.ok() ? std::optional(cpu->value()) : std::nullopt;
}

std::optional<int64_t> BytesOf(const JsonView& quantity) {
  if (!quantity.present()) return std::nullopt;
  const std::string text = quantity.QuantityText();
  const Result<int64_t> bytes = cluster::ParseCount(text);
  if (bytes.ok()) return *bytes;
  const Result<MiB> mib = cluster::ParseMemory(text, Round::kUp);
  if (!mib.ok()) return std::nullopt;
  return cluster::SaturatingMultiply(mib->value(), kMebibyte);
}

HeldAmounts ReadAmounts(const JsonView& list) {
  return {CpuOf(list.Get("cpu")), BytesOf(list.Get("memory"))};
}

// A request that is missing is its limit.
HeldAmounts ReadRequests(const JsonView& resources) {
  const HeldAmounts requests = ReadAmounts(resources.Get("requests"));
  const HeldAmounts limits = ReadAmounts(resources.Get("limits"));
  return {requests.cpu_milli ? requests.cpu_milli : limits.cpu_milli,
          requests.memory_bytes ? requests.memory_bytes : limits.memory_bytes};
}

// What a status says, of a container or of the pod. Nothing: it says nothing.
struct SaidOfHeld {
  std::string container;
  std::optional<HeldAmounts> allocated;
  std::optional<HeldAmounts> in_force;
};

SaidOfHeld ReadSaidOfHeld(const JsonView& status) {
  SaidOfHeld said;
  said.container = status.Get("name").Text();
  const JsonView allocated = status.Get("allocatedResources");
  if (allocated.present()) said.allocated = ReadAmounts(allocated);
  const JsonView resources = status.Get("resources");
  const JsonView requests = resources.Get("requests");
  if (requests.present()) said.in_force = ReadAmounts(requests);
  return said;
}

class HeldReader {
 public:
  HeldReader(const JsonView& spec, const JsonView& status)
      : spec_(spec), of_pod_(ReadSaidOfHeld(status)), infeasible_(Infeasible(status)) {
    for (const char* kind : {"containerStatuses", "initContainerStatuses"}) {
      const JsonView statuses = status.Get(kind);
      statuses.Items([&](const JsonView& one) { of_containers_.push_back(ReadSaidOfHeld(one)); });
    }
  }

  // Nothing that could differ from what the spec says.
  bool silent() const {
    const auto says = [](const SaidOfHeld& one) { return one.allocated || one.in_force; };
    return !says(of_pod_) && std::none_of(of_containers_.begin(), of_containers_.end(), says);
  }

  HeldAmounts Read() const {
    const bool by_pod = of_pod_.allocated && of_pod_.in_force;
    const HeldAmounts allocated = by_pod ? *of_pod_.allocated : SumOver(Source::kAllocated);
    const HeldAmounts in_force = by_pod ? *of_pod_.in_force : SumOver(Source::kInForce);
    const HeldAmounts by_spec = SumOver(Source::kSpec);
    HeldAmounts held = Together(allocated, in_force, MostOf);
    if (!infeasible_) held = Together(held, by_spec, MostOf);
    const JsonView overhead = spec_.Get("overhead");
    return Together(ApplyPodLevel(held, by_spec), ReadAmounts(overhead), AddAmounts);
  }

 private:
  enum class Source { kSpec, kAllocated, kInForce };

  static bool Infeasible(const JsonView& status) {
    bool seen = false;
    bool infeasible = false;
    const JsonView conditions = status.Get("conditions");
    conditions.Items([&](const JsonView& condition) {
      if (seen || condition.Get("type").Text() != "PodResizePending") return;
      seen = true;
      infeasible = condition.Get("reason").Text() == "Infeasible";
    });
    return infeasible;
  }

  HeldAmounts Of(const JsonView& container, Source source) const {
    const JsonView resources = container.Get("resources");
    if (source == Source::kSpec) return ReadRequests(resources);
    const JsonView name = container.Get("name");
    const auto said =
        std::find_if(of_containers_.begin(), of_containers_.end(),
                     [&](const SaidOfHeld& one) { return one.container == name.Text(); });
    if (said != of_containers_.end()) {
      if (source == Source::kInForce && said->in_force) return *said->in_force;
      if (said->allocated) return *said->allocated;
    }
    return infeasible_ ? HeldAmounts{} : ReadRequests(resources);
  }

  HeldAmounts SumOver(Source source) const {
    HeldAmounts running;
    const JsonView containers = spec_.Get("containers");
    containers.Items(
        [&](const JsonView& one) { running = Together(running, Of(one, source), AddAmounts); });
    HeldAmounts sidecars;
    HeldAmounts starting;
    const JsonView init_containers = spec_.Get("initContainers");
    init_containers.Items([&](const JsonView& one) {
      const HeldAmounts own = Of(one, source);
      const bool stays = one.Get("restartPolicy").Text() == "Always";
      const HeldAmounts beside = Together(sidecars, own, AddAmounts);
      if (stays) running = Together(running, own, AddAmounts);
      if (stays) sidecars = beside;
      starting = Together(starting, beside, MostOf);
    });
    return Together(running, starting, MostOf);
  }

  // Pod-level resources replace the sum where the spec has some.
  HeldAmounts ApplyPodLevel(const HeldAmounts& sum, const HeldAmounts& by_spec) const {
    const JsonView resources = spec_.Get("resources");
    const JsonView requests = resources.Get("requests");
    const JsonView limits = resources.Get("limits");
    HeldAmounts asked = ReadAmounts(requests);
    const HeldAmounts most = ReadAmounts(limits);
    if (!asked.cpu_milli && !by_spec.cpu_milli) asked.cpu_milli = most.cpu_milli;
    if (!asked.memory_bytes && !by_spec.memory_bytes) asked.memory_bytes = most.memory_bytes;
    if (!asked.cpu_milli && !asked.memory_bytes) return sum;
    HeldAmounts level = of_pod_.in_force && infeasible_ ? HeldAmounts{} : asked;
    if (of_pod_.in_force) {
      level = Together(level, *of_pod_.in_force, MostOf);
      level = Together(level, of_pod_.allocated.value_or(HeldAmounts{}), MostOf);
    }
    return {level.cpu_milli ? level.cpu_milli : sum.cpu_milli,
            level.memory_bytes ? level.memory_bytes : sum.memory_bytes};
  }

  const JsonView& spec_;
  const SaidOfHeld of_pod_;
  const bool infeasible_;
  std::vector<SaidOfHeld> of_containers_;
};

}  // namespace

std::shared_ptr<const Resources> ReadResized(const JsonView& spec, const JsonView& status,
                                             const Resources& requests) {
  if (!spec.present() || !status.present()) return nullptr;
  JsonProblems ignored;
  const JsonView asks(spec.node(), "spec", ignored);
  const JsonView says(status.node(), "status", ignored);
  const HeldReader reader(asks, says);
  if (reader.silent()) return nullptr;
  const HeldAmounts held = reader.Read();
  Resources resized = requests;
  resized.cpu = MilliCpu(held.cpu_milli.value_or(0));
  const int64_t bytes = held.memory_bytes.value_or(0);
  resized.memory = MiB(bytes / kMebibyte + (bytes % kMebibyte == 0 ? 0 : 1));
  if (resized == requests) return nullptr;
  return std::make_shared<const Resources>(resized);
}

}  // namespace muster::kube
