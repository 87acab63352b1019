#include "cluster/records/owned_gang_name.hpp"

#include <catch2/catch.hpp>

namespace muster::cluster {
namespace {

TEST_CASE("a gang without a PodGroup is named by its owner", "[cluster][names]") {
  CHECK(OwnedGangName("job", "train", "", "1f8e0a2c") == "job:train~1f8e0a2c");
  CHECK(OwnedGangName("jobset", "train", "workers", "03b1c2d9") == "jobset:train:workers~03b1c2d9");
}

TEST_CASE("its owner's name means it, with and without kind and part", "[cluster][names]") {
  const std::string gang = OwnedGangName("jobset", "train", "workers", "03b1c2d9");
  for (const char* asked : {"train", "jobset:train", "jobset:train:workers"}) {
    INFO(asked);
    CHECK(IsGangOfOwner(gang, asked));
  }
  for (const char* asked : {"workers", "jobset", "train:workers", "trai", "", "job:train"}) {
    INFO(asked);
    CHECK_FALSE(IsGangOfOwner(gang, asked));
  }
  CHECK_FALSE(IsGangOfOwner("train", "train"));  // a PodGroup's
}

}  // namespace
}  // namespace muster::cluster
