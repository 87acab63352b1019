#include "kube/api/fair_line.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::kube {
namespace {

using Line = FairLine<std::string, int>;

// "ns/key" of all that can be taken at `now`; they stay taken.
std::vector<std::string> TakeAll(Line& line, int now, int most) {
  std::vector<std::string> taken;
  while (const auto turn = line.Take(now, most)) taken.push_back(turn->ns + "/" + turn->key);
  return taken;
}
using Texts = std::vector<std::string>;

TEST_CASE("namespaces take turns, however much each has", "[kube][fair]") {
  Line line;
  for (int i = 0; i < 4; ++i) line.Put("large", std::to_string(i), 1);
  line.Put("small", "b", 3);
  line.Put("small", "a", 3);
  line.Put("third", "x", 2);
  CHECK(TakeAll(line, 3, 9) ==
        Texts{"large/0", "small/a", "third/x", "large/1", "small/b", "large/2", "large/3"});
  CHECK(line.waiting() == 0);
  CHECK(line.taken() == 7);
}

TEST_CASE("a namespace that has taken as many as it may is passed over", "[kube][fair]") {
  Line line;
  for (int i = 0; i < 4; ++i) line.Put("hangs", std::to_string(i), 1);
  CHECK(TakeAll(line, 1, 2) == Texts{"hangs/0", "hangs/1"});
  line.Put("other", "x", 1);
  CHECK(TakeAll(line, 1, 2) == Texts{"other/x"});
  line.Done("hangs");
  CHECK(TakeAll(line, 1, 2) == Texts{"hangs/2"});
  CHECK(TakeAll(line, 1, 3) == Texts{"hangs/3"});
}

TEST_CASE("who comes back does not overtake those who waited", "[kube][fair]") {
  Line line;
  line.Put("b", "1", 1);
  line.Put("b", "2", 1);
  line.Put("a", "1", 1);
  REQUIRE(line.Take(1, 9)->ns == "b");
  REQUIRE(line.Take(1, 9)->ns == "a");
  line.Done("a");
  line.Put("a", "2", 1);  // new, as far as the line knows
  CHECK(line.Take(1, 9)->ns == "b");
}

TEST_CASE("nothing is taken before it is due, or after it was removed", "[kube][fair]") {
  Line line;
  CHECK(line.NextAfter(0) == std::nullopt);
  line.Put("ns", "a", 5);
  line.Put("ns", "b", 7);
  line.Put("ns", "b", 7);
  line.Put("ns-2", "c", 6);
  CHECK(line.waiting() == 3);
  CHECK(TakeAll(line, 4, 9).empty());
  CHECK(line.NextAfter(4) == 5);
  CHECK(line.NextAfter(5) == 6);
  CHECK(line.NextAfter(7) == std::nullopt);
  line.Remove("ns", "a", 5);
  line.Remove("ns", "a", 5);
  line.Remove("nowhere", "a", 5);
  CHECK(TakeAll(line, 9, 9) == Texts{"ns/b", "ns-2/c"});
  line.Put("ns", "d", 1);
  line.Clear();
  CHECK(line.waiting() == 0);
  CHECK(line.taken() == 2);  // they are under way
  CHECK(TakeAll(line, 9, 9).empty());
  line.Done("ns");
  line.Done("ns-2");
  CHECK(line.taken() == 0);
}

}  // namespace
}  // namespace muster::kube
