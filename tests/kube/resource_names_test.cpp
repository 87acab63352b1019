#include "kube/dialects/resource_names.hpp"

#include <catch2/catch.hpp>

namespace muster::kube {
namespace {

TEST_CASE("a resource that no node can have is reported, with what it was meant to be",
          "[kube][manifest]") {
  struct Case {
    std::string name;
    std::string want;  // of the message; empty: it is fine
  };
  const Case c = GENERATE(values<Case>({
      {"nvidia.com/gpu", ""},
      {"nvidia.com/gpumem-percentage", ""},
      {"nvidia.com/mig-1g.5gb", ""},
      {"nvidia.com/gpu.shared", ""},
      {"nvidia.com/vgpu", ""},
      {"nvidia.com/hostdev", ""},
      {"amd.com/gpu", ""},
      {"rdma/hca_shared", ""},
      {"kubernetes.io/x", ""},
      {"cpu", ""},
      {"hugepages-1Gi", ""},
      {"nvidia.com/gpus", "did you mean nvidia.com/gpu?"},
      {"nvidia.com/GPU", "did you mean nvidia.com/gpu?"},
      {"nvdia.com/gpu", "did you mean nvidia.com/gpu?"},
      {"nvidia.com/gpumemory", ""},
      {"nvidia.com/gpu-mem", "did you mean nvidia.com/gpumem?"},
      {"gpu", "did you mean nvidia.com/gpu?"},
      {"memmory", "did you mean memory?"},
      {"disk", "expected one with a domain"},
  }));
  CAPTURE(c.name);
  if (c.want.empty()) {
    CHECK(WrongResource(c.name).empty());
  } else {
    CHECK_THAT(WrongResource(c.name), Catch::Contains(c.want));
  }
}

TEST_CASE("devices and huge pages are not requested without a limit", "[kube][manifest]") {
  for (const char* own :
       {"cpu", "memory", "ephemeral-storage", "kubernetes.io/x", "a.kubernetes.io/x"})
    CHECK(MayOvercommit(own));
  for (const char* device : {"nvidia.com/gpu", "rdma/hca", "amd.com/gpu", "hugepages-2Mi"})
    CHECK_FALSE(MayOvercommit(device));
}

}  // namespace
}  // namespace muster::kube
