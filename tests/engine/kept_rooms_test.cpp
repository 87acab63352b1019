#include "engine/standing/kept_rooms.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::engine {
namespace {

using cluster::GangId;
using cluster::Seconds;
using cluster::Time;

GangId KeptRoomsId(const std::string& name) { return {{"team", name}, false}; }

KeptRoom Room(const std::string& gang, const std::string& pod, uint32_t node) {
  KeptRoom room;
  room.gang = KeptRoomsId(gang);
  room.queue = "q";
  cluster::Placement placement;
  placement.pod = cluster::PodUid(pod);
  placement.node = cluster::NodeIndex{node};
  placement.gpus = {{cluster::GpuIndex{0}, cluster::kWholeGpu}};
  room.placements = {placement};
  room.hosts = {cluster::NodeUid("n" + std::to_string(node))};
  return room;
}

TEST_CASE("a room grows with each member that goes, under another number each time",
          "[engine][keptRooms]") {
  KeptRooms rooms;
  CHECK(rooms.none());
  CHECK(rooms.due() == Time::Never());
  rooms.Lose(Room("a", "a0", 0));
  const uint64_t first = rooms.Of(KeptRoomsId("a"))->number;
  CHECK(KeptRooms::Owns(first));
  CHECK(rooms.due() == Time(0));
  rooms.KeepUntil(KeptRoomsId("a"), Time(9000));
  CHECK(rooms.due() == Time(9000));
  rooms.Lose(Room("a", "a1", 3));
  CHECK(rooms.Of(KeptRoomsId("a"))->number != first);
  CHECK(rooms.Of(KeptRoomsId("a"))->nodes.Contains(cluster::NodeIndex{3}));
  CHECK(rooms.due() == Time(0));  // the time counts from the last one
  CHECK(rooms.pods() == 2);
  CHECK(rooms.Audit().empty());
}

TEST_CASE("a room is kept for less long, never for longer", "[engine][keptRooms]") {
  KeptRooms rooms;
  rooms.Lose(Room("a", "a0", 0));
  rooms.Shorten(KeptRoomsId("a"), Time(9000));
  CHECK(rooms.due() == Time(9000));
  rooms.Shorten(KeptRoomsId("a"), Time(5000));
  CHECK(rooms.due() == Time(5000));
  rooms.Shorten(KeptRoomsId("a"), Time(7000));
  CHECK(rooms.due() == Time(5000));
}

TEST_CASE("windows are counted by how they ended, other rooms are not", "[engine][keptRooms]") {
  KeptRooms rooms;
  rooms.Lose(Room("a", "a0", 0));
  rooms.Lose(Room("b", "b0", 1));
  rooms.Died(KeptRoomsId("a"));
  CHECK(rooms.End(KeptRoomsId("a"), WindowEnd::kPassed));
  CHECK_FALSE(rooms.End(KeptRoomsId("b"), WindowEnd::kStarted));
  CHECK_FALSE(rooms.End(KeptRoomsId("b"), WindowEnd::kStarted));
  CHECK(rooms.ended()[static_cast<size_t>(WindowEnd::kPassed)] == 1);
  CHECK(rooms.ended()[static_cast<size_t>(WindowEnd::kStarted)] == 0);
  CHECK(rooms.none());
}

TEST_CASE("what is kept free is counted by queue from when it is first looked at",
          "[engine][keptRooms]") {
  KeptRooms rooms;
  rooms.Lose(Room("a", "a0", 0));
  rooms.Lose(Room("a", "a1", 0));
  rooms.Count(Time(5000));
  CHECK(rooms.idle().empty());
  rooms.Count(Time(8000));
  CHECK(rooms.idle().at("q") == 2 * 3000);
}

}  // namespace
}  // namespace muster::engine
