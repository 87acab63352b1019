#include "cluster/holdings/tombstones.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <deque>
#include <random>
#include <set>
#include <string>

namespace muster::cluster {
namespace {

std::string Uuid(uint64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%012llx",
                static_cast<unsigned>(number * 2654435761U),
                static_cast<unsigned long long>(number));
  return text;
}

TEST_CASE("the UIDs that were removed last are known, and no others", "[cluster][tombstones]") {
  constexpr size_t kLimit = 100;
  Tombstones dead(kLimit);
  std::deque<std::string> last;
  std::set<std::string> all;
  std::mt19937_64 random(7);
  for (int i = 0; i < 5'000; ++i) {
    // UUIDs, and texts that are none: some of them again.
    const uint64_t number = random() % 400;
    const std::string uid =
        random() % 2 == 0 ? Uuid(number) : "declared/team/train/" + std::to_string(number);
    all.insert(uid);
    dead.Add(uid);
    if (std::find(last.begin(), last.end(), uid) == last.end()) last.push_back(uid);
    if (last.size() > kLimit) last.pop_front();
    REQUIRE(dead.size() == last.size());
    if (i % 50 != 0) continue;
    const std::set<std::string> known(last.begin(), last.end());
    for (const std::string& one : all) CHECK(dead.Contains(one) == known.contains(one));
  }
}

TEST_CASE("UIDs that differ in little are told apart", "[cluster][tombstones]") {
  Tombstones dead(10);
  dead.Add("0000000a-0000-0000-0000-000000000000");
  CHECK(dead.Contains("0000000a-0000-0000-0000-000000000000"));
  CHECK_FALSE(dead.Contains("0000000b-0000-0000-0000-000000000000"));
  CHECK_FALSE(dead.Contains("0000000A-0000-0000-0000-000000000000"));
  CHECK_FALSE(dead.Contains("0000000a000000000000000000000000"));
  CHECK_FALSE(dead.Contains("0000000a-0000-0000-0000-00000000000"));
  CHECK_FALSE(dead.Contains(""));
  dead.Add("");
  CHECK(dead.Contains(""));
}

}  // namespace
}  // namespace muster::cluster
