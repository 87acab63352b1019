// What a gang's record says of an eviction survives being written and read.
#include "kube/dialects/gang_record.hpp"

#include <catch2/catch.hpp>

namespace muster::kube {
namespace {

TEST_CASE("a gang that was evicted for good is so in its record, whether or not another run began",
          "[kube][record]") {
  cluster::GangRecord record;
  record.evicted = true;
  CHECK(FormatGangRecord(record) == "evicted=true");
  REQUIRE(ParseGangRecord("evicted=true").ok());
  CHECK(*ParseGangRecord("evicted=true") == record);
  record.has_run = true;
  record.whole.members = 4;
  CHECK(FormatGangRecord(record) == "whole=4 evicted=true");
  REQUIRE(ParseGangRecord("whole=4 evicted=true").ok());
  CHECK(*ParseGangRecord("whole=4 evicted=true") == record);
  CHECK_FALSE(ParseGangRecord("whole=4 evicted=perhaps").ok());
}

}  // namespace
}  // namespace muster::kube
