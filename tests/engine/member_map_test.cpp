#include "engine/gangs/member_map.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace muster::engine {
namespace {

using cluster::PodUid;

std::string Uids(const MemberMap& members) {
  std::string text;
  for (const auto& [uid, member] : members) text += uid.text() + " ";
  return text;
}

TEST_CASE("members are in the order of their UIDs, whatever came first", "[engine][members]") {
  MemberMap members;
  for (const char* uid : {"c", "a", "d", "b"}) members[PodUid(uid)].uid = PodUid(uid);
  CHECK(Uids(members) == "a b c d ");
  Member& c = members.at(PodUid("c"));
  members.erase(PodUid("b"));
  members.erase(PodUid("x"));
  members[PodUid("aa")];
  CHECK(Uids(members) == "a aa c d ");
  // It is where it was, and is not made again.
  CHECK(&members[PodUid("c")] == &c);
  CHECK(&members.find(PodUid("c"))->second == &c);
  CHECK(c.uid == PodUid("c"));
  CHECK(members.size() == 4);
  const MemberMap& read = members;
  CHECK(&read.at(PodUid("c")) == &c);
  CHECK(read.find(PodUid("b")) == read.end());
  CHECK_FALSE(read.contains(PodUid("b")));
  CHECK(std::none_of(read.begin(), read.end(), [](const auto& one) { return one.first.empty(); }));
}

TEST_CASE("no members are found among none", "[engine][members]") {
  MemberMap members;
  CHECK(members.empty());
  CHECK(members.find(PodUid("a")) == members.end());
  members.erase(PodUid("a"));
  members[PodUid("a")];
  members.erase(PodUid("a"));
  CHECK(members.begin() == members.end());
}

}  // namespace
}  // namespace muster::engine
