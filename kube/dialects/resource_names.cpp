#include "kube/dialects/resource_names.hpp"

#include <algorithm>
#include <vector>

#include "cluster/base/nearest_word.hpp"
#include "kube/dialects/unplanned_devices.hpp"

namespace muster::kube {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kDefaultDomain = "kubernetes.io";
constexpr std::string_view kDefaultDomainPrefix = "kubernetes.io/";

std::string DidYouMean(const std::string& word) {
  return "unknown resource, did you mean " + word + "?";
}

std::string WrongOwn(std::string_view name) {
  const Words own = {"cpu", "memory", "ephemeral-storage", "storage", "pods"};
  if (name.starts_with(kHugePages) || std::find(own.begin(), own.end(), name) != own.end())
    return {};
  if (name == "gpu" || name == "gpus") return DidYouMean(kGpuResource);
  if (const auto near = cluster::NearestWord(name, own)) return DidYouMean(*near);
  return "unknown resource, expected one with a domain such as nvidia.com/gpu, or cpu, memory, "
         "ephemeral-storage or hugepages-SIZE";
}

}  // namespace

std::string WrongResource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return WrongOwn(name);
  const std::string_view domain = name.substr(0, slash);
  const Words planned = {kGpuResource, kGpuMemoryResource, kGpuMemoryPercentResource,
                         kGpuCoresResource};
  if (domain == kDefaultDomain || IsUnplannedDevice(name) ||
      std::find(planned.begin(), planned.end(), name) != planned.end())
    return {};
  // Domain and the rest by themselves: a long domain must not make the rest look alike.
  Words domains;
  Words rests;
  for (const std::string& one : planned) {
    domains.push_back(one.substr(0, one.find('/')));
    rests.push_back(one.substr(one.find('/') + 1));
  }
  const auto near_domain = cluster::NearestWord(domain, domains);
  const auto near_rest = cluster::NearestWord(name.substr(slash + 1), rests);
  if (!near_domain || !near_rest) return {};
  return DidYouMean(*near_domain + "/" + *near_rest);
}

bool IsHugePages(std::string_view resource) { return resource.starts_with(kHugePages); }

bool IsNamedResource(std::string_view resource) {
  if (resource == "ephemeral-storage" || IsHugePages(resource)) return true;
  if (resource.find('/') == std::string_view::npos) return false;
  return resource != kGpuResource && resource != kGpuMemoryResource &&
         resource != kGpuMemoryPercentResource && resource != kGpuCoresResource &&
         !IsUnplannedDevice(resource);
}

bool MayOvercommit(std::string_view resource) {
  if (resource.starts_with(kHugePages)) return false;
  return resource.find('/') == std::string_view::npos ||
         resource.find(kDefaultDomainPrefix) != std::string_view::npos;
}

}  // namespace muster::kube
