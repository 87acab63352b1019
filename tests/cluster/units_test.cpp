#include "cluster/base/units.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>

#include "cluster/amounts/resources.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"

namespace muster::cluster {
namespace {

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept Assignable = requires(A a, B b) {
  a = b;
};

TEST_CASE("amounts of different kinds cannot be mixed", "[cluster][units]") {
  STATIC_REQUIRE(Addable<GpuMilli, GpuMilli>);
  STATIC_REQUIRE_FALSE(Addable<GpuMilli, MiB>);
  STATIC_REQUIRE_FALSE(Addable<MilliCpu, MiB>);
  STATIC_REQUIRE_FALSE(Addable<MilliCpu, int64_t>);
  STATIC_REQUIRE_FALSE(Addable<Time, Time>);
  STATIC_REQUIRE(Addable<Time, Duration>);
  STATIC_REQUIRE_FALSE(Addable<Time, MiB>);
  STATIC_REQUIRE_FALSE(Comparable<GpuMilli, MilliCpu>);
  STATIC_REQUIRE_FALSE(Comparable<Duration, Time>);
  STATIC_REQUIRE_FALSE(Assignable<GpuMilli&, MilliCpu>);
  STATIC_REQUIRE_FALSE(Assignable<GpuMilli&, int>);
}

TEST_CASE("ids of different kinds cannot be mixed", "[cluster][units]") {
  STATIC_REQUIRE(Comparable<PodUid, PodUid>);
  STATIC_REQUIRE_FALSE(Comparable<PodUid, NodeUid>);
  STATIC_REQUIRE_FALSE(Assignable<PodUid&, NodeUid>);
  STATIC_REQUIRE_FALSE(Assignable<PodUid&, std::string>);
  STATIC_REQUIRE_FALSE(Assignable<NodeIndex&, GpuIndex>);
  STATIC_REQUIRE_FALSE(Comparable<NodeIndex, GpuIndex>);
}

TEST_CASE("amounts saturate instead of wrapping", "[cluster][units]") {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK((MiB(most - 1) + MiB(5)).value() == most);
  CHECK((MiB(least + 1) - MiB(5)).value() == least);
  CHECK((MiB(most / 2) * 3).value() == most);
  CHECK((MiB(most / 2) * -3).value() == least);
  CHECK(SaturatingMultiply(least, -1) == most);
  CHECK(SaturatingAdd(most, least) == -1);
}

TEST_CASE("an unlimited amount survives arithmetic", "[cluster][units]") {
  CHECK((MilliCpu::Unlimited() - MilliCpu(7)).unlimited());
  CHECK((MilliCpu::Unlimited() + MilliCpu(-7)).unlimited());
  CHECK((MilliCpu(7) + MilliCpu::Unlimited()).unlimited());
  CHECK((MilliCpu::Unlimited() * 3).unlimited());
  CHECK((MilliCpu(3) - MilliCpu(7)).value() == -4);
}

TEST_CASE("time that never comes stays so", "[cluster][units]") {
  CHECK(Time::Never() + Seconds(5) == Time::Never());
  CHECK(Time(10) + Duration::Unlimited() == Time::Never());
  CHECK(Time(1500) - Time(500) == Seconds(1));
  CHECK(Seconds(std::numeric_limits<int64_t>::max()).unlimited());
}

TEST_CASE("resources fit kind by kind, and what is not asked for always fits", "[cluster][units]") {
  const Resources have{MilliCpu(1000), MiB(10), 1};
  CHECK(have.Fits({MilliCpu(1000), MiB(10), 1}));
  CHECK_FALSE(have.Fits({MilliCpu(1001), MiB(10), 1}));
  CHECK_FALSE(have.Fits({MilliCpu(1000), MiB(11), 1}));
  CHECK_FALSE(have.Fits({MilliCpu(1000), MiB(10), 2}));
  const Resources short_of_cpu{MilliCpu(-5), MiB(10), 1};
  CHECK(short_of_cpu.Fits({MilliCpu(0), MiB(10), 1}));
  CHECK_FALSE(short_of_cpu.Fits({MilliCpu(1), MiB(10), 1}));
}

TEST_CASE("ids hash and order by their text", "[cluster][units]") {
  std::unordered_map<PodUid, int> by_uid{{PodUid("a"), 1}, {PodUid("b"), 2}};
  CHECK(by_uid.at(PodUid("b")) == 2);
  CHECK(PodUid("a") < PodUid("b"));
  CHECK(ObjectKey{"a", "z"} < ObjectKey{"b", "a"});
  CHECK(ObjectKey{"ns", "name"}.ToString() == "ns/name");
  CHECK_FALSE(NodeIndex{}.valid());
}

TEST_CASE("an error gains its place from the inside out", "[cluster][result]") {
  const Error error{Code::kInvalidArgument, "expected a number", "cpu"};
  CHECK(error.At("requests").ToString() == "requests.cpu: expected a number");
  CHECK(error.At("[0]").At("containers").place == "containers[0].cpu");
  const Result<int> bad = error;
  CHECK_FALSE(bad.ok());
  CHECK(Result<int>(5).value() == 5);
  CHECK(std::string(ToString(Code::kConflict)) == "Conflict");
}

}  // namespace
}  // namespace muster::cluster
