#include "kube/decode/node_devices.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::kube {
namespace {

using cluster::Gpu;
using cluster::GpuSharing;
using cluster::Labels;

const Labels kNone;

std::vector<Gpu> Read(const Labels& labels, const Labels& annotations, int64_t advertised,
                      std::vector<std::string>& warnings) {
  return ReadNodeDevices({labels, annotations, advertised}, warnings);
}

// Where no warning is expected.
std::vector<Gpu> ReadCleanly(const Labels& labels, const Labels& annotations, int64_t advertised) {
  std::vector<std::string> warnings;
  std::vector<Gpu> gpus = Read(labels, annotations, advertised, warnings);
  CHECK(warnings.empty());
  return gpus;
}

TEST_CASE("labels of feature discovery describe the devices", "[kube][node]") {
  struct Case {
    std::string name;
    Labels labels;
    int64_t advertised;
    size_t devices;
    GpuSharing sharing;
    int32_t replicas;
    std::string model;
  };
  const Case c = GENERATE(values<Case>({
      {"no labels", {}, 8, 8, GpuSharing::Exclusive(), 1, ""},
      {"whole",
       {{"nvidia.com/gpu.product", "A100"},
        {"nvidia.com/gpu.replicas", "1"},
        {"nvidia.com/gpu.sharing-strategy", "none"}},
       8,
       8,
       GpuSharing::Exclusive(),
       1,
       "A100"},
      {"time-slicing",
       {{"nvidia.com/gpu.product", "A100-SHARED"},
        {"nvidia.com/gpu.replicas", "4"},
        {"nvidia.com/gpu.sharing-strategy", "time-slicing"}},
       8,
       2,
       GpuSharing::TimeSliced(),
       4,
       "A100"},
      {"time-slicing before the label for it",
       {{"nvidia.com/gpu.replicas", "4"}},
       8,
       2,
       GpuSharing::TimeSliced(),
       4,
       ""},
      {"MPS",
       {{"nvidia.com/gpu.replicas", "10"}, {"nvidia.com/gpu.sharing-strategy", "mps"}},
       10,
       1,
       GpuSharing::Mps(),
       10,
       ""},
      {"MIG, one strategy",
       {{"nvidia.com/mig.strategy", "single"}, {"nvidia.com/gpu.product", "A100-MIG-1g.5gb"}},
       7,
       7,
       GpuSharing::Mig(),
       1,
       "A100-MIG-1g.5gb"},
      {"operator's label",
       {{"muster.dev/gpu-sharing", "fractional"}},
       2,
       2,
       GpuSharing::Fractional(),
       1,
       ""},
  }));
  CAPTURE(c.name);
  const std::vector<Gpu> gpus = ReadCleanly(c.labels, kNone, c.advertised);
  REQUIRE(gpus.size() == c.devices);
  for (size_t i = 0; i < gpus.size(); ++i) {
    CHECK(gpus[i].index.value == i);
    CHECK(gpus[i].sharing == c.sharing);
    CHECK(gpus[i].replicas == c.replicas);
    CHECK(gpus[i].model == c.model);
    CHECK(gpus[i].healthy);
  }
  CHECK(AdvertisedGpus(gpus) == c.advertised);
}

TEST_CASE("the operator's annotation takes precedence over the label", "[kube][node]") {
  const std::vector<Gpu> gpus = ReadCleanly({{"muster.dev/gpu-sharing", "exclusive"}},
                                            {{"muster.dev/gpu-sharing", "fractional"}}, 1);
  CHECK(gpus.at(0).sharing == GpuSharing::Fractional());
}

TEST_CASE("HAMi's list in JSON", "[kube][node]") {
  const std::string list = R"([
    {"id":"GPU-b","index":1,"count":10,"devmem":46068,"devcore":100,"type":"NVIDIA-L40S","numa":1,
     "mode":"hami-core","health":true},
    {"id":"GPU-a","count":10,"devmem":46068,"type":"NVIDIA-L40S","health":true},
    {"id":"GPU-c","index":2,"devmem":81920,"type":"NVIDIA-H100","mode":"mig"}])";
  const std::vector<Gpu> gpus = ReadCleanly({{"nvidia.com/gpu.product", "L40S"}},
                                            {{"hami.io/node-nvidia-register", list}}, 30);
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].uuid == "GPU-a");  // a missing index is 0
  CHECK(gpus[0].index.value == 0);
  CHECK(gpus[0].memory.value() == 46068);
  CHECK(gpus[0].model == "NVIDIA-L40S");  // devices differ: each has its own name
  CHECK(gpus[0].healthy);
  CHECK(gpus[0].sharing == GpuSharing::Fractional());
  CHECK(gpus[1].uuid == "GPU-b");
  CHECK_FALSE(gpus[2].healthy);  // a missing health is false
  CHECK(gpus[2].sharing == GpuSharing::Mig());
}

TEST_CASE("HAMi's list in the colon form", "[kube][node]") {
  SECTION("with index and mode") {
    const std::vector<Gpu> gpus =
        ReadCleanly({{"nvidia.com/gpu.product", "Tesla-V100"}},
                    {{"hami.io/node-nvidia-register",
                      "GPU-b,10,32768,100,NVIDIA-Tesla V100,1,true,1,hami-core:"
                      "GPU-a,10,32768,100,NVIDIA-Tesla V100,0,false,0,hami-core:"}},
                    20);
    REQUIRE(gpus.size() == 2);
    CHECK(gpus[0].uuid == "GPU-a");
    CHECK_FALSE(gpus[0].healthy);
    CHECK(gpus[1].uuid == "GPU-b");
    CHECK(gpus[1].memory.value() == 32768);
    CHECK(gpus[1].model == "Tesla-V100");  // all alike: the product's name as the labels have it
    CHECK(gpus[1].sharing == GpuSharing::Fractional());
  }
  SECTION("older, in order") {
    const std::vector<Gpu> gpus =
        ReadCleanly(kNone,
                    {{"hami.io/node-nvidia-register",
                      "GPU-a,10,100,100,T4,0,true:GPU-b,10,100,100,T4,0,true:"}},
                    20);
    REQUIRE(gpus.size() == 2);
    CHECK(gpus[1].uuid == "GPU-b");
    CHECK(gpus[1].index.value == 1);
  }
}

TEST_CASE("HAMi devices that the plugin does not offer are not usable", "[kube][node]") {
  const std::vector<Gpu> gpus =
      ReadCleanly(kNone, {{"hami.io/node-nvidia-register", R"([{"id":"a","health":true}])"}}, 0);
  REQUIRE(gpus.size() == 1);
  CHECK_FALSE(gpus[0].healthy);
}

TEST_CASE("Muster's own list takes precedence over all else", "[kube][node]") {
  const std::vector<Gpu> gpus = ReadCleanly(
      {{"nvidia.com/gpu.product", "A100"}},
      {{"hami.io/node-nvidia-register", R"([{"id":"a","health":true}])"},
       {"muster.dev/gpu-devices",
        R"([{"index":3},{"index":1,"uuid":"x","model":"T4","memory":15360,"healthy":false,
             "sharing":"time-slicing","replicas":4}])"}},
      5);
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0] == Gpu{cluster::GpuIndex{1}, "x", "T4", cluster::MiB(15360),
                       GpuSharing::TimeSliced(), 4, false});
  CHECK(gpus[1].index.value == 3);
  CHECK(gpus[1] == Gpu{cluster::GpuIndex{3}, "", "", {}, GpuSharing::Exclusive(), 1});
}

TEST_CASE("partitions know their device, which is given out only as these", "[kube][node]") {
  const std::vector<Gpu> gpus =
      ReadCleanly(kNone,
                  {{"muster.dev/gpu-devices",
                    R"([{"index":0,"memory":81920,"healthy":false},{"index":1,"memory":81920},
            {"index":10,"memory":40960,"sharing":"mig","parent":0},
            {"index":11,"memory":40960,"sharing":"mig","parent":1},
            {"index":12,"memory":40960,"sharing":"mig","parent":1,"healthy":false},
            {"index":20,"parent":7}])"}},
                  0);
  struct Want {
    uint16_t index;
    uint16_t parent;
    bool healthy;
  };
  const std::vector<Want> want = {{10, 0, false}, {11, 1, true}, {12, 1, false}, {20, 7, true}};
  REQUIRE(gpus.size() == want.size());
  for (size_t i = 0; i < gpus.size(); ++i) {
    CHECK(gpus[i].index.value == want[i].index);
    CHECK(gpus[i].parent.value == want[i].parent);
    CHECK(gpus[i].healthy == want[i].healthy);
  }
}

TEST_CASE("devices that HAMi's users cordon are given to no new pod", "[kube][node]") {
  const std::string hami =
      R"([{"id":"a","health":true},{"id":"b","index":1,"health":true},{"id":"c","index":2}])";
  std::vector<Gpu> gpus = ReadCleanly(
      kNone, {{"hami.io/node-nvidia-register", hami}, {"hami.io/device-cordon", " b, c,"}}, 30);
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].usable());
  CHECK((gpus[1].cordoned && gpus[1].healthy && !gpus[1].usable()));
  CHECK((gpus[2].cordoned && !gpus[2].healthy));
  // By UUID, wherever it comes from; a partition is cordoned with its device.
  gpus = ReadCleanly(kNone,
                     {{"muster.dev/gpu-devices",
                       R"([{"index":0,"uuid":"a"},{"index":1,"uuid":"b","cordoned":true},
                           {"index":2,"uuid":"c"},{"index":3,"parent":0,"sharing":"mig"}])"},
                      {"hami.io/device-cordon", "a"}},
                     0);
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].cordoned);
  CHECK_FALSE(gpus[1].cordoned);
  CHECK((gpus[2].cordoned && gpus[2].partition()));
}

TEST_CASE("a cordoned device that the node does not have is reported", "[kube][node]") {
  std::vector<std::string> warnings;
  const Labels annotations = {{"hami.io/device-cordon", "GPU-b,GPU-a"}};
  CHECK(ReadNodeDevices({kNone, annotations, 2}, warnings).size() == 2);
  CHECK(warnings == std::vector<std::string>{
                        "annotation hami.io/device-cordon names devices that the node does not "
                        "have, \"GPU-a\" for example"});
}

TEST_CASE("a source that is malformed is left out with a warning", "[kube][node]") {
  struct Case {
    Labels labels;
    Labels annotations;
    size_t devices;
    std::string warning;
  };
  const std::string hami = "hami.io/node-nvidia-register";
  const std::string own = "muster.dev/gpu-devices";
  const Case c = GENERATE_COPY(values<Case>({
      {{}, {{hami, "nonsense"}}, 8, "annotation ignored: "},
      {{}, {{hami, "GPU-a,10,x,100,T4,0,true:"}}, 8, "devmem: expected a whole number"},
      {{}, {{hami, "GPU-a,10,-5,100,T4,0,true:"}}, 8, "devmem: expected a whole number"},
      {{}, {{hami, ",10,5,100,T4,0,true:"}}, 8, "expected a UUID first"},
      {{}, {{hami, "GPU-a,10,5,100,T4,0,maybe:"}}, 8, "health of true or false"},
      {{}, {{hami, "a,1,5,1,T4,0,true,70000,m:"}}, 8, "index: expected a whole number"},
      {{}, {{hami, "a,1,5,1,T4,0,true,1,m:b,1,5,1,T4,0,true,1,m:"}}, 8, "index 1 is given twice"},
      {{}, {{hami, R"([{"id":"a"},{"id":"b"}])"}}, 8, "index 0 is given twice"},
      {{}, {{hami, R"([{"index":1}])"}}, 8, "json[0].id: is missing"},
      {{}, {{hami, R"([{"id":"a","index":-1}])"}}, 8, "json[0].index: expected a whole number"},
      {{}, {{hami, "[[[["}}, 8, "not valid JSON"},
      {{}, {{own, "{}"}}, 8, "expected a list, found an object"},
      {{}, {{own, R"([{"uuid":"a"}])"}}, 8, "index: is missing"},
      {{}, {{own, R"([{"index":0,"sharing":"free"}])"}}, 8, "sharing: expected exclusive"},
      {{}, {{own, R"([{"index":0,"replicas":0}])"}}, 8, "replicas: expected a whole number"},
      {{}, {{own, R"([{"index":0,"parent":-1}])"}}, 8, "parent: expected a whole number"},
      {{}, {{own, R"([{"index":0,"parent":0}])"}}, 8, "device 0 is a partition of device 0, which"},
      {{},
       {{own, R"([{"index":0},{"index":1,"parent":0},{"index":2,"parent":1}])"}},
       8,
       "device 2 is a partition of device 1, which is a partition itself"},
      {{{"nvidia.com/gpu.memory", "big"}}, {}, 8, "nvidia.com/gpu.memory ignored"},
      {{{"nvidia.com/gpu.replicas", "0"}}, {}, 8, "nvidia.com/gpu.replicas ignored"},
      {{{"nvidia.com/gpu.replicas", "3"}}, {}, 2, "no multiple of label nvidia.com/gpu.replicas"},
      {{{"muster.dev/gpu-sharing", "mig"}}, {}, 8, "expected fractional or exclusive"},
  }));
  CAPTURE(c.warning);
  std::vector<std::string> warnings;
  CHECK(Read(c.labels, c.annotations, 8, warnings).size() == c.devices);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains(c.warning));
}

TEST_CASE("a node cannot claim more devices than any machine has", "[kube][node]") {
  std::vector<std::string> warnings;
  CHECK(Read(kNone, kNone, int64_t{1} << 60, warnings).size() == kMaxGpusPerNode);
  CHECK(warnings.size() == 1);
}

}  // namespace
}  // namespace muster::kube
