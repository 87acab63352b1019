#include "cluster/holdings/allocation.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace muster::cluster {
namespace {

Gpu Device(GpuSharing sharing, int32_t replicas = 1, int64_t memory = 80'000) {
  Gpu gpu;
  gpu.sharing = sharing;
  gpu.replicas = replicas;
  gpu.memory = MiB(memory);
  return gpu;
}

GpuRequest Part(int64_t milli, int64_t memory = 0) { return {1, GpuMilli(milli), MiB(memory)}; }
DeviceAmount Of(int64_t compute, int64_t memory) { return {GpuMilli(compute), GpuMilli(memory)}; }
GpuRequest Parts(int64_t compute, int64_t memory, int64_t mib = 0) {
  return {1, Of(compute, memory), MiB(mib)};
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() - 1;

TEST_CASE("what a request takes of one device", "[cluster][gpu]") {
  struct Case {
    const char* name;
    Gpu gpu;
    GpuRequest request;
    DeviceAmount want;
  };
  const Case c = GENERATE(values<Case>({
      {"whole of an exclusive device", Device(GpuSharing::Exclusive()), Part(1000), Of(1000, 1000)},
      {"whole of a fractional device", Device(GpuSharing::Fractional()), Part(1000),
       Of(1000, 1000)},
      {"a MIG partition is a device", Device(GpuSharing::Mig()), Part(1000), Of(1000, 1000)},
      {"one turn of a time-sliced device", Device(GpuSharing::TimeSliced(), 4), Part(1000),
       Of(250, 250)},
      {"turns do not round up", Device(GpuSharing::TimeSliced(), 3), Part(1000), Of(333, 333)},
      {"one MPS client", Device(GpuSharing::Mps(), 10), Part(1000), Of(100, 100)},
      {"replicas not reported", Device(GpuSharing::Mps(), 0), Part(1000), Of(1000, 1000)},
      {"more replicas than thousandths", Device(GpuSharing::Mps(), 5000), Part(1000), Of(1, 1)},
      {"replicas of an exclusive device", Device(GpuSharing::Exclusive(), 4), Part(1000),
       Of(1000, 1000)},
      {"a share of an exclusive device", Device(GpuSharing::Exclusive()), Part(500), Of(0, 0)},
      {"a share of a time-sliced device", Device(GpuSharing::TimeSliced(), 2), Part(500), Of(0, 0)},
      {"a share of a MIG partition", Device(GpuSharing::Mig()), Part(500), Of(0, 0)},
      {"a share", Device(GpuSharing::Fractional()), Part(460), Of(460, 460)},
      {"memory asks for less", Device(GpuSharing::Fractional()), Part(460, 8000), Of(460, 460)},
      {"memory asks for more", Device(GpuSharing::Fractional()), Part(460, 40'000), Of(460, 500)},
      {"memory rounds up", Device(GpuSharing::Fractional()), Part(1, 40'001), Of(1, 501)},
      {"memory alone", Device(GpuSharing::Fractional()), Part(0, 20'000), Of(0, 250)},
      {"all of the memory", Device(GpuSharing::Fractional()), Part(10, 80'000), Of(1000, 1000)},
      {"more memory than there is", Device(GpuSharing::Fractional()), Part(10, 80'001), Of(0, 0)},
      {"far more memory than there is", Device(GpuSharing::Fractional()), Part(10, kHuge),
       Of(0, 0)},
      {"half of a huge memory, never too little", Device(GpuSharing::Fractional(), 1, kHuge),
       Part(1, kHuge / 2), Of(1, 501)},
      {"memory of an unknown device", Device(GpuSharing::Fractional(), 1, 0), Part(10, 1),
       Of(0, 0)},
      {"a share of an unknown device", Device(GpuSharing::Fractional(), 1, 0), Part(10),
       Of(10, 10)},
      {"compute and memory apart", Device(GpuSharing::Fractional()), Parts(100, 800), Of(100, 800)},
      {"memory in MiB", Device(GpuSharing::Fractional()), Parts(800, 0, 8000), Of(800, 100)},
      {"the greater word on memory", Device(GpuSharing::Fractional()), Parts(800, 300, 8000),
       Of(800, 300)},
      {"no compute that is not said", Device(GpuSharing::Fractional()), Parts(0, 500), Of(0, 500)},
      {"a bit of the memory that is not said", Device(GpuSharing::Fractional()), Parts(500, 0),
       Of(500, 1)},
      {"all of the compute is all", Device(GpuSharing::Fractional()), Parts(1000, 100),
       Of(1000, 1000)},
      {"all of the memory is all", Device(GpuSharing::Exclusive()), Parts(100, 1000),
       Of(1000, 1000)},
      {"nothing", Device(GpuSharing::Fractional()), Part(0), Of(0, 0)},
      {"less than nothing", Device(GpuSharing::Fractional()), Part(-5), Of(0, 0)},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(ShareOn(c.gpu, c.request) == c.want); }
}

}  // namespace
}  // namespace muster::cluster
