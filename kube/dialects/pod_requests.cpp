#include "kube/dialects/pod_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/quantity.hpp"
#include "cluster/records/pod.hpp"
#include "kube/dialects/hami_choice.hpp"
#include "kube/dialects/resource_names.hpp"
#include "kube/dialects/unplanned_devices.hpp"

namespace muster::kube {

using cluster::ContainerGpus;
using cluster::ContainerKind;
using cluster::DeviceAmount;
using cluster::GpuMilli;
using cluster::GpuRequest;
using cluster::MiB;
using cluster::MilliCpu;
using cluster::Result;
using cluster::Round;
using cluster::SaturatingAdd;

namespace {

constexpr int64_t kBytesPerMiB = int64_t{1} << 20;

// Amounts are summed exactly (memory in bytes) and rounded once at the end, as kube-scheduler does.
// Absent is not the same as zero: an absent pod-level request is filled in from elsewhere.
struct Amounts {
  std::optional<int64_t> cpu_milli;
  std::optional<int64_t> memory_bytes;
  int64_t gpus = 0;
  std::map<std::string, int64_t, std::less<>> named;
};

using Combine = int64_t (*)(int64_t, int64_t);
int64_t Sum(int64_t a, int64_t b) { return SaturatingAdd(a, b); }
int64_t Greater(int64_t a, int64_t b) { return std::max(a, b); }

std::optional<int64_t> Join(std::optional<int64_t> a, std::optional<int64_t> b, Combine combine) {
  if (!a || !b) return a ? a : b;
  return combine(*a, *b);
}

std::map<std::string, int64_t, std::less<>> Join(
    std::map<std::string, int64_t, std::less<>> a,
    const std::map<std::string, int64_t, std::less<>>& b, Combine combine) {
  for (const auto& [name, amount] : b) {
    const auto [at, added] = a.try_emplace(name, amount);
    if (!added) at->second = combine(at->second, amount);
  }
  return a;
}

Amounts Join(const Amounts& a, const Amounts& b, Combine combine) {
  return {Join(a.cpu_milli, b.cpu_milli, combine), Join(a.memory_bytes, b.memory_bytes, combine),
          combine(a.gpus, b.gpus), Join(a.named, b.named, combine)};
}

// What HAMi's resources say about each device, of each kind the greatest over all containers; and
// what each container asks for, init containers first.
struct DeviceShare {
  bool given = false;
  int64_t memory_mib = 0;
  DeviceAmount share;
  std::vector<ContainerGpus> containers;
};

using Parse = Result<int64_t> (*)(std::string_view);

Result<int64_t> ParseCpuMilli(std::string_view text) {
  const Result<MilliCpu> cpu = cluster::ParseCpu(text, Round::kUp);
  if (!cpu.ok()) return cpu.error();
  return cpu->value();
}

Result<int64_t> ParsePercent(std::string_view text) {
  Result<int64_t> percent = cluster::ParseCount(text);
  if (percent.ok() && *percent > 100) {
    return cluster::Error{cluster::Code::kInvalidArgument, "expected a percentage from 0 to 100",
                          ""};
  }
  return percent;
}

std::optional<int64_t> ReadQuantity(const JsonView& list, const char* resource, Parse parse) {
  const JsonView quantity = list.Get(resource);
  if (!quantity.present()) return std::nullopt;
  const Result<int64_t> amount = parse(quantity.QuantityText());
  if (amount.ok()) return *amount;
  quantity.Problem(amount.error());
  return std::nullopt;
}

// Whether a request may be less than its limit: not for extended resources.
enum class Overcommit { kAllowed, kForbidden };

std::optional<int64_t> ReadRequest(const JsonView& resources, const char* resource, Parse parse,
                                   Overcommit overcommit) {
  const JsonView requests = resources.Get("requests");
  const JsonView limits = resources.Get("limits");
  const std::optional<int64_t> request = ReadQuantity(requests, resource, parse);
  const std::optional<int64_t> limit = ReadQuantity(limits, resource, parse);
  if (request && limit && *request > *limit) {
    requests.Get(resource).Problem("is more than the limit");
  } else if (request && limit && *request < *limit && overcommit == Overcommit::kForbidden) {
    requests.Get(resource).Problem("must be the same as the limit");
  }
  return request ? request : limit;
}

// What the container asks for of resources that have but their names.
void ReadNamed(const JsonView& resources, Amounts& amounts) {
  for (const char* kind : {"requests", "limits"}) {
    const JsonView list = resources.Get(kind);
    list.Members([&](std::string_view resource, const JsonView& quantity) {
      if (!IsNamedResource(resource) || amounts.named.contains(resource)) return;
      const std::string name(resource);
      const bool may_differ = MayOvercommit(resource);
      const std::optional<int64_t> amount =
          ReadRequest(resources, name.c_str(), ParseAmount,
                      may_differ ? Overcommit::kAllowed : Overcommit::kForbidden);
      if (quantity.present() && amount) amounts.named.emplace(name, *amount);
    });
  }
}

int32_t Narrow(int64_t value) {
  return static_cast<int32_t>(std::min<int64_t>(value, std::numeric_limits<int32_t>::max()));
}

Amounts ReadContainer(const JsonView& container, DeviceShare& share) {
  const JsonView resources = container.Get("resources");
  Amounts amounts;
  share.containers.emplace_back();
  if (!resources.present()) return amounts;
  amounts.cpu_milli = ReadRequest(resources, "cpu", ParseCpuMilli, Overcommit::kAllowed);
  amounts.memory_bytes = ReadRequest(resources, "memory", ParseAmount, Overcommit::kAllowed);
  ReadNamed(resources, amounts);
  const auto extended = [&](const char* name, Parse parse) {
    return ReadRequest(resources, name, parse, Overcommit::kForbidden);
  };
  const std::optional<int64_t> gpus = extended(kGpuResource, cluster::ParseCount);
  const std::optional<int64_t> memory = extended(kGpuMemoryResource, cluster::ParseCount);
  const std::optional<int64_t> percent = extended(kGpuMemoryPercentResource, ParsePercent);
  const std::optional<int64_t> cores = extended(kGpuCoresResource, ParsePercent);
  amounts.gpus = gpus.value_or(0);
  ContainerGpus& asks = share.containers.back();
  asks.count = Narrow(amounts.gpus);
  if (!memory && !percent && !cores) return amounts;
  if (!gpus) amounts.gpus = 1;
  share.given = true;
  share.memory_mib = std::max(share.memory_mib, memory.value_or(0));
  // HAMi takes 0 as not given, and memory that is not given as all of it.
  int64_t memory_percent = percent.value_or(0);
  if (memory_percent == 0 && memory.value_or(0) == 0) memory_percent = 100;
  if (amounts.gpus > 0) {
    asks.cores = static_cast<int8_t>(cores.value_or(0));
    asks.memory_percent = static_cast<int8_t>(memory_percent);
    asks.memory_mib = Narrow(memory.value_or(0));
  }
  share.share =
      share.share.AtLeast({GpuMilli(cores.value_or(0) * 10), GpuMilli(memory_percent * 10)});
  return amounts;
}

// The first resource of which the container asks for such devices.
void ReadUnplanned(const JsonView& container, std::string& unplanned) {
  const JsonView resources = container.Get("resources");
  for (const char* kind : {"limits", "requests"}) {
    if (!unplanned.empty()) return;
    const JsonView list = resources.Get(kind);
    list.Members([&](std::string_view resource, const JsonView& quantity) {
      if (!unplanned.empty() || !IsUnplannedDevice(resource)) return;
      const Result<int64_t> count = cluster::ParseCount(quantity.QuantityText());
      if (!count.ok() || *count > 0) unplanned = resource;
    });
  }
}

// What the pod asks for beside `gpus`, which are planned.
std::string ReadUnplanned(const JsonView& spec, const GpuRequest& gpus) {
  std::string unplanned;
  for (const char* kind : {"containers", "initContainers"}) {
    const JsonView containers = spec.Get(kind);
    containers.Items([&](const JsonView& container) { ReadUnplanned(container, unplanned); });
  }
  const JsonView claims = spec.Get("resourceClaims");
  claims.Items([&](const JsonView&) {
    if (unplanned.empty() && gpus.none()) unplanned = cluster::kResourceClaims;
  });
  return unplanned;
}

Amounts SumOfContainers(const JsonView& spec, DeviceShare& share) {
  Amounts running;
  const JsonView containers = spec.Get("containers");
  containers.Items([&](const JsonView& container) {
    running = Join(running, ReadContainer(container, share), Sum);
  });
  Amounts sidecars;  // restartable init containers started so far
  Amounts starting;  // the most that any moment of initialisation needs
  const size_t mains = share.containers.size();
  const JsonView init_containers = spec.Get("initContainers");
  init_containers.Items([&](const JsonView& container) {
    const Amounts own = ReadContainer(container, share);
    const bool stays = container.Get("restartPolicy").Text() == "Always";
    share.containers.back().kind = stays ? ContainerKind::kSidecar : ContainerKind::kInit;
    if (stays) {
      running = Join(running, own, Sum);
      sidecars = Join(sidecars, own, Sum);
      starting = Join(starting, sidecars, Greater);
    } else {
      starting = Join(starting, Join(sidecars, own, Sum), Greater);
    }
  });
  // Init containers first.
  const auto first_main = share.containers.begin();
  std::rotate(first_main, first_main + static_cast<std::ptrdiff_t>(mains), share.containers.end());
  return Join(running, starting, Greater);
}

// As PodSpec::gpu_containers has them.
std::vector<ContainerGpus> ContainersThatCount(std::vector<ContainerGpus> containers,
                                               const GpuRequest& gpus) {
  const bool none = std::all_of(containers.begin(), containers.end(),
                                [](const ContainerGpus& one) { return one.planned() == 0; });
  const bool plain = containers.size() == 1 && !containers.front().says_share();
  if (gpus.none() || none || plain) return {};
  return containers;
}

// Pod-level resources: a request, else what the containers come to, else the limit.
void ApplyPodLevel(const JsonView& spec, Amounts& amounts) {
  const JsonView resources = spec.Get("resources");
  if (!resources.present()) return;
  const JsonView requests = resources.Get("requests");
  const JsonView limits = resources.Get("limits");
  const auto apply = [&](const char* name, Parse parse, std::optional<int64_t>& amount) {
    const std::optional<int64_t> request = ReadQuantity(requests, name, parse);
    const std::optional<int64_t> limit = ReadQuantity(limits, name, parse);
    if (request && limit && *request > *limit) requests.Get(name).Problem("is more than the limit");
    if (request || !amount) amount = request ? request : limit;
  };
  apply("cpu", ParseCpuMilli, amounts.cpu_milli);
  apply("memory", ParseAmount, amounts.memory_bytes);
  for (const JsonView* list : {&limits, &requests}) {
    list->Members([&](std::string_view resource, const JsonView& /*quantity*/) {
      if (!IsHugePages(resource)) return;
      const std::string name(resource);
      const auto found = amounts.named.find(name);
      std::optional<int64_t> amount;
      if (found != amounts.named.end()) amount = found->second;
      apply(name.c_str(), ParseAmount, amount);
      if (amount) amounts.named[name] = *amount;
    });
  }
}

Amounts ReadOverhead(const JsonView& spec) {
  const JsonView overhead = spec.Get("overhead");
  Amounts amounts;
  amounts.cpu_milli = ReadQuantity(overhead, "cpu", ParseCpuMilli);
  amounts.memory_bytes = ReadQuantity(overhead, "memory", ParseAmount);
  amounts.gpus = ReadQuantity(overhead, kGpuResource, cluster::ParseCount).value_or(0);
  overhead.Members([&](std::string_view resource, const JsonView& /*quantity*/) {
    if (!IsNamedResource(resource)) return;
    const std::string name(resource);
    amounts.named[name] = ReadQuantity(overhead, name.c_str(), ParseAmount).value_or(0);
  });
  return amounts;
}

// KAI's annotations: the whole GPU request of a pod that has them.
GpuRequest ReadAnnotatedShare(const JsonView& annotations) {
  GpuRequest request{1, GpuMilli(0), MiB(0)};
  const JsonView fraction = annotations.Get(kGpuFractionAnnotation);
  const JsonView memory = annotations.Get(kGpuMemoryAnnotation);
  const JsonView devices = annotations.Get(kGpuFractionDevicesAnnotation);
  if (fraction.present() && memory.present()) {
    memory.Problem(std::string("contradicts ") + kGpuFractionAnnotation + ": expected one of them");
  } else if (fraction.present()) {
    const Result<GpuMilli> share = cluster::ParseGpuShare(fraction.Text());
    if (!share.ok()) {
      fraction.Problem(share.error());
    } else if (*share <= GpuMilli(0) || *share >= cluster::kWholeGpu) {
      fraction.Problem("expected more than 0 and less than 1; whole GPUs are asked for as " +
                       std::string(kGpuResource));
    } else {
      request.each = *share;
    }
  } else {
    const Result<int64_t> mib = cluster::ParseCount(memory.Text());
    if (!mib.ok() || *mib < 1) {
      memory.Problem("expected a whole number of MiB, at least 1");
    } else {
      request.memory_each = MiB(*mib);
    }
  }
  if (devices.present()) {
    const Result<int64_t> count = cluster::ParseCount(devices.Text());
    if (!count.ok() || *count < 1 || *count > std::numeric_limits<int32_t>::max()) {
      devices.Problem("expected a whole number, at least 1");
    } else {
      request.count = static_cast<int32_t>(*count);
    }
  }
  if (request.each.none() && request.memory_each == MiB(0)) return {};  // malformed
  return request;
}

GpuRequest ReadGpuRequest(const JsonView& spec, const JsonView& annotations, int64_t gpus,
                          const DeviceShare& share) {
  const JsonView fraction = annotations.Get(kGpuFractionAnnotation);
  const JsonView memory = annotations.Get(kGpuMemoryAnnotation);
  if (fraction.present() || memory.present()) {
    const JsonView& given = fraction.present() ? fraction : memory;
    if (share.given) given.Problem("contradicts nvidia.com/gpumem… or gpucores of a container");
    if (gpus > 0) given.Problem("contradicts nvidia.com/gpu of a container");
    return ReadAnnotatedShare(annotations);
  }
  const JsonView devices = annotations.Get(kGpuFractionDevicesAnnotation);
  if (devices.present()) devices.Problem("expected gpu-fraction or gpu-memory beside it");
  if (gpus == 0) return {};
  GpuRequest request;
  if (gpus > std::numeric_limits<int32_t>::max()) {
    spec.Problem("asks for more GPUs than can be counted");
    return request;
  }
  request.count = static_cast<int32_t>(gpus);
  if (share.given) {
    request.each = share.share;
    request.memory_each = MiB(share.memory_mib);
    if (request.whole()) request.each = DeviceAmount::All();
  }
  return request;
}

bool WantsChannel(const JsonView& annotations) {
  const JsonView said = annotations.Get(kComputeDomainAnnotation);
  const std::string_view text = said.Text();
  if (!text.empty() && text != "true" && text != "false") said.Problem("expected true or false");
  return text == "true";
}

int64_t MebibytesUp(int64_t bytes) {
  return bytes / kBytesPerMiB + (bytes % kBytesPerMiB == 0 ? 0 : 1);
}

}  // namespace

Result<int64_t> ParseAmount(std::string_view text) {
  Result<int64_t> bytes = cluster::ParseCount(text);
  if (bytes.ok()) return bytes;
  const Result<MiB> mib = cluster::ParseMemory(text, Round::kUp);  // parts of a byte, or over 2^63
  if (!mib.ok()) return mib.error();
  return cluster::SaturatingMultiply(mib->value(), kBytesPerMiB);
}

PodRequests ReadPodRequests(const JsonView& spec, const JsonView& annotations) {
  DeviceShare share;
  Amounts amounts = SumOfContainers(spec, share);
  ApplyPodLevel(spec, amounts);
  amounts = Join(amounts, ReadOverhead(spec), Sum);
  PodRequests requests;
  requests.resources.cpu = MilliCpu(amounts.cpu_milli.value_or(0));
  requests.resources.memory = MiB(MebibytesUp(amounts.memory_bytes.value_or(0)));
  requests.resources.pods = 1;
  requests.resources.channels = WantsChannel(annotations) ? 1 : 0;
  std::vector<cluster::NamedAmount> named;
  for (const auto& [name, amount] : amounts.named) named.push_back({name, amount});
  requests.resources.named = cluster::NamedAmounts(std::move(named));
  requests.gpus = ReadGpuRequest(spec, annotations, amounts.gpus, share);
  if (!requests.gpus.none()) requests.gpus.choice = ReadHamiChoice(annotations);
  requests.gpu_containers = ContainersThatCount(std::move(share.containers), requests.gpus);
  requests.unplanned_devices = ReadUnplanned(spec, requests.gpus);
  return requests;
}

void RequireLimits(const JsonView& spec) {
  for (const char* kind : {"containers", "initContainers"}) {
    const JsonView containers = spec.Get(kind);
    containers.Items([](const JsonView& container) {
      const JsonView resources = container.Get("resources");
      const JsonView requests = resources.Get("requests");
      const JsonView limits = resources.Get("limits");
      requests.Members([&](std::string_view resource, const JsonView& quantity) {
        if (!quantity.present() || MayOvercommit(resource)) return;
        if (!limits.Get(resource).present()) quantity.Problem(kNeedsLimit);
      });
    });
  }
}

}  // namespace muster::kube
