#include "queues/resource.hpp"

#include <catch2/catch.hpp>
#include <type_traits>

namespace muster::queues {
namespace {

TEST_CASE("what is not said is nothing of an amount and everything of a limit", "[queues]") {
  const Resource gpu{Resource::Kind::kGpu};
  CHECK(Amounts().of(gpu) == Amount(0));
  CHECK(Limits().of(gpu).unlimited());
  CHECK(Within(Amount(INT64_MAX), Limits().of(gpu)));
  CHECK_FALSE(Within(Amount(5), Limit(4)));
  CHECK(Within(Amount(4), Limit(4)));
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Amounts, Limits>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Amount, Limit>);
}

TEST_CASE("resources have names, and names are resources", "[queues]") {
  for (const char* name : {"gpu", "gpuMemory", "cpu", "memory", "gpu/h100", "gpu/h100-80gb"}) {
    INFO(name);
    REQUIRE(ParseResource(name));
    CHECK(ToString(*ParseResource(name)) == name);
  }
  for (const char* name : {"", "GPU", "gpus", "gpu/", "gpu/H100", "gpu/-a", "gpu/a/b", "pods"}) {
    INFO(name);
    CHECK_FALSE(ParseResource(name));
  }
}

TEST_CASE("amounts are shown with their unit", "[queues]") {
  CHECK(ShowAmount({Resource::Kind::kGpu}, 2'500) == "2.5");
  CHECK(ShowAmount({Resource::Kind::kCpu}, 1'005) == "1.005");
  CHECK(ShowAmount({Resource::Kind::kGpuModel, "h100"}, 64'000) == "64");
  CHECK(ShowAmount({Resource::Kind::kMemory}, 2'048) == "2GiB");
  CHECK(ShowAmount({Resource::Kind::kGpuMemory}, 1'000) == "1000MiB");
}

TEST_CASE("a device is of a model by whole words of its name", "[queues]") {
  CHECK(IsOfModel("NVIDIA-H100-80GB-HBM3", "h100"));
  CHECK(IsOfModel("NVIDIA-H100-80GB-HBM3", "h100-80gb"));
  CHECK(IsOfModel("Tesla-T4", "t4"));
  CHECK_FALSE(IsOfModel("NVIDIA-H100-80GB-HBM3", "h10"));
  CHECK_FALSE(IsOfModel("NVIDIA-H100-80GB-HBM3", "80gb-h100"));
  CHECK_FALSE(IsOfModel("NVIDIA-GH200-480GB", "h200"));
  CHECK_FALSE(IsOfModel("", "h100"));
}

}  // namespace
}  // namespace muster::queues
