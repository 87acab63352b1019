// ResourceSlices of NVIDIA's DRA driver, as a reader gets them: through the sieve.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {
namespace {

cluster::Result<Observed> ReadSpec(const std::string& spec) {
  const Resource resource = ResourceSliceResource("resource.k8s.io/v1");
  const auto object =
      KeptObject::Read(R"({"metadata":{"name":"n-gpu.nvidia.com-x","uid":"u"},"spec":{)" + spec +
                           R"(,"sharedCounters":[{"name":"c"}]}})",
                       resource.fields, resource.kind, {});
  REQUIRE(object.ok());
  return resource.decode(*object);
}

const std::string kHead =
    R"("driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"p","generation":3,)"
    R"("resourceSliceCount":2},)";

// One device with these attributes.
SliceGpu ReadDevice(const std::string& attributes) {
  const auto observed = ReadSpec(kHead + R"("devices":[{"name":"gpu-0","attributes":{)" +
                                 R"("type":{"string":"gpu"})" + attributes + "}}]");
  REQUIRE(observed.ok());
  CHECK(observed->warnings.empty());
  const auto& slice = std::get<ResourceSlice>(observed->news);
  REQUIRE(slice.gpus.size() == 1);
  return slice.gpus.front();
}

const std::string kAttributes =
    R"({"type":{"string":"gpu"},"uuid":{"string":"GPU-a"},"productName":{"string":"NVIDIA L40S"},)"
    R"("cudaComputeCapability":{"version":"8.9.0"},"resource.kubernetes.io/numaNode":{"int":1},)"
    R"("resource.kubernetes.io/pciBusID":{"string":"0001:17:02.5"},)"
    R"("resource.kubernetes.io/pcieRoot":{"string":"pci0001:16"}})";

TEST_CASE("a ResourceSlice shows the GPUs of a node in each version", "[kube][slices]") {
  const bool basic = GENERATE(false, true);  // v1beta1
  const std::string device =
      basic ? R"("basic":{"attributes":)" + kAttributes + R"(,"capacity":{"memory":{"value":"1"}}})"
            : R"("attributes":)" + kAttributes + R"(,"capacity":{"memory":{"value":"1"}})";
  const auto observed = ReadSpec(kHead + R"("devices":[{"name":"gpu-0",)" + device + "}]");
  REQUIRE(observed.ok());
  CHECK(observed->uid == "u");
  CHECK(observed->name == "n-gpu.nvidia.com-x");
  CHECK(observed->warnings.empty());
  const auto& slice = std::get<ResourceSlice>(observed->news);
  CHECK(slice.uid == "u");
  CHECK(slice.node == "n");
  CHECK(slice.pool == "p");
  CHECK(slice.generation == 3);
  CHECK(slice.slices == 2);
  CHECK(slice.whole);
  const std::vector<SliceGpu> want = {
      {"GPU-a", "pci0001:16", (0x1U << 16U) + (0x17U << 8U) + (2U << 3U) + 5U, 1}};
  CHECK(slice.gpus == want);
}

TEST_CASE("the versions of a ResourceSlice have paths of their own and are asked for by driver",
          "[kube][slices]") {
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    const Resource resource = ResourceSliceResource(std::string("resource.k8s.io/") + version);
    CHECK(resource.path == std::string("/apis/resource.k8s.io/") + version + "/resourceslices");
    CHECK(resource.selector == "fieldSelector=spec.driver%3Dgpu.nvidia.com");
    CHECK(std::get<ResourceSliceRemoved>(resource.removed("u")).uid == "u");
    CHECK(std::get<ResourceSliceRemoved>(resource.unserved("u")).uid == "u");
  }
}

TEST_CASE("attributes of a GPU count by their full names, by the driver's, and by older ones",
          "[kube][slices]") {
  CHECK(ReadDevice(R"(,"gpu.nvidia.com/uuid":{"string":"GPU-b"})").uuid == "GPU-b");
  for (const char* name : {"resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID",
                           "gpu.nvidia.com/pciBusID", "gpu.nvidia.com/pcieBusID"}) {
    CAPTURE(name);
    // NVML writes eight digits of the domain.
    CHECK(
        ReadDevice(std::string(",\"") + name + R"(":{"string":"00000000:0A:00.0"})").pci_address ==
        0xa00U);
  }
  const std::string numa = R"(,"resource.kubernetes.io/numaNode":)";
  // The first of a list is the device's own.
  CHECK(ReadDevice(numa + R"({"ints":[5,4,6]})").numa == 5);
  CHECK(ReadDevice(numa + R"({"int":-1})").numa == std::nullopt);
  CHECK(ReadDevice(numa + "{}").numa == std::nullopt);
  CHECK(ReadDevice("") == SliceGpu{});
  CHECK(ReadDevice(R"(,"uuid":{"version":"1.0.0"})") == SliceGpu{});
}

TEST_CASE("devices that are no whole GPUs count for nothing", "[kube][slices]") {
  const auto observed = ReadSpec(
      kHead + R"("devices":[{"name":"m","attributes":{"type":{"string":"mig"},)" +
      R"("uuid":{"string":"MIG-1"}}},{"name":"v","attributes":{"type":{"string":"vfio"}}},)" +
      R"({"name":"none"},{"name":"other","attributes":{"type":{"int":1}}},)" +
      R"({"name":"g","attributes":{"gpu.nvidia.com/type":{"string":"gpu"}}}])");
  REQUIRE(observed.ok());
  CHECK(std::get<ResourceSlice>(observed->news).gpus.size() == 1);
  // Slices of counters have no devices.
  CHECK(std::get<ResourceSlice>(ReadSpec(kHead + R"("devices":null)")->news).gpus.empty());
}

TEST_CASE("a ResourceSlice of another driver or of no single node says nothing", "[kube][slices]") {
  const std::string spec =
      GENERATE(as<std::string>(),  //
               R"("driver":"dra.net","nodeName":"n")",
               R"("driver":"compute-domain.nvidia.com","nodeName":"n")",
               R"("driver":"gpu.nvidia.com","allNodes":true)", R"("nodeName":"n")");
  const auto observed = ReadSpec(spec + R"(,"pool":{"name":"p"},"devices":[{"name":"g",)" +
                                 R"("attributes":)" + kAttributes + "}]");
  REQUIRE(observed.ok());
  CHECK(observed->uid == "u");
  const auto& slice = std::get<ResourceSlice>(observed->news);
  CHECK(slice.node.empty());
  CHECK(slice.gpus.empty());
}

TEST_CASE("a PCI address that cannot be read is ignored, with its place", "[kube][slices]") {
  const std::string address =
      GENERATE(as<std::string>(), "17:00.0", "0000:17:00", "0000:17:00.0x", "0000:17:00.8",
               "0000:117:00.0", "0000:17:20.0", "-1:17:00.0", "0000:17:00.", "gpu");
  CAPTURE(address);
  const auto observed =
      ReadSpec(kHead + R"("devices":[{"name":"g","attributes":{"type":{"string":"gpu"},)" +
               R"("pciBusID":{"string":")" + address + R"("}}}])");
  REQUIRE(observed.ok());
  const std::vector<std::string> want = {
      "the PCI address is ignored: ResourceSlice.spec.devices[0]: expected a PCI address like "
      "0000:17:00.0, found \"" +
      address + "\""};
  CHECK(observed->warnings == want);
  CHECK_FALSE(std::get<ResourceSlice>(observed->news).gpus.front().pci_address);
}

TEST_CASE("a ResourceSlice that is malformed is refused with its place", "[kube][slices]") {
  struct Case {
    std::string spec;
    std::string place;
  };
  const auto& c = GENERATE(values<Case>({
      {R"("driver":"gpu.nvidia.com","nodeName":"n")", "ResourceSlice.spec.pool.name"},
      {R"("driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"p","resourceSliceCount":0})",
       "ResourceSlice.spec.pool.resourceSliceCount"},
      {R"("driver":"gpu.nvidia.com","nodeName":7)", "ResourceSlice.spec.nodeName"},
      {kHead + R"("devices":{"a":1})", "ResourceSlice.spec.devices"},
      {kHead + R"("devices":[{"attributes":{"type":"gpu"}}])",
       "ResourceSlice.spec.devices[0].attributes.type"},
  }));
  CAPTURE(c.spec);
  const auto observed = ReadSpec(c.spec);
  REQUIRE_FALSE(observed.ok());
  CHECK_THAT(observed.error().ToString(), Catch::Contains(c.place));
}

TEST_CASE("a ResourceSlice with a part beyond the bounds is not whole", "[kube][slices]") {
  const auto observed =
      ReadSpec(kHead + R"("devices":[{"name":"g","attributes":{"type":{"string":"gpu"},)" +
               R"("uuid":{"string":")" + std::string(5000, 'x') + R"("}}}])");
  REQUIRE(observed.ok());
  CHECK_FALSE(std::get<ResourceSlice>(observed->news).whole);
  REQUIRE(observed->warnings.size() == 1);
  CHECK_THAT(observed->warnings.front(), Catch::Contains("spec.devices"));
}

}  // namespace
}  // namespace muster::kube
