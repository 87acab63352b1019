// The order of pods by their controllers' numbers, else by those in their names.
#include "engine/gangs/rank.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

using testing::MakePod;

TEST_CASE("numbers in names of pods order as numbers", "[engine][rank]") {
  const std::vector<std::string> ordered = {
      "train-0",    "train-1",       "train-02",      "train-2",        "train-9-abcde",
      "train-9-zz", "train-10-abcd", "train-a-0-9-x", "train-a-0-10-x", "train-a-1-0-x"};
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (size_t j = 0; j < ordered.size(); ++j) {
      INFO(ordered[i] << " and " << ordered[j]);
      const int order = NaturalKey(ordered[i]).compare(NaturalKey(ordered[j]));
      CHECK((order < 0) == (i < j));
      CHECK((order == 0) == (i == j));
    }
  }
}

TEST_CASE("numbers of any length are compared", "[engine][rank]") {
  const std::string large(30, '9');
  CHECK(NaturalKey("p" + large) < NaturalKey("p1" + std::string(30, '0')));
  CHECK(NaturalKey("p" + std::string(300, '9')) < NaturalKey("p1" + std::string(300, '0')));
  CHECK(NaturalKey("p") < NaturalKey("p0"));
  CHECK(NaturalKey("p-") < NaturalKey("p0"));
  CHECK(NaturalKey("p0") < NaturalKey("pa"));
  CHECK(NaturalKey("") == NaturalKey(""));
}

// Who is the first, the second, …: the names of these pods in the order of their ranks.
std::string Ranked(const std::vector<cluster::Pod>& pods) {
  std::vector<Member> members(pods.size());
  std::vector<const Member*> pointers;
  for (size_t i = 0; i < pods.size(); ++i) {
    members[i].uid = pods[i].uid;
    members[i].key = pods[i].key;
    members[i].pod = &pods[i];
    pointers.push_back(&members[i]);
  }
  const std::vector<uint32_t> ranks = RanksOf(pointers);
  std::vector<std::string> names(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) names[ranks[i]] = pods[i].key.name;
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST_CASE("the completion index orders pods whose names say nothing", "[engine][rank]") {
  CHECK(Ranked({MakePod("zeta").Index(0), MakePod("beta").Index(10), MakePod("eta").Index(2),
                MakePod("alpha").Index(1)}) == "zeta alpha eta beta");
  // The index counts, whatever the name says.
  CHECK(Ranked({MakePod("t-0").Index(1), MakePod("t-1").Index(0)}) == "t-1 t-0");
}

TEST_CASE("the index counts within a role and an owner", "[engine][rank]") {
  CHECK(Ranked({MakePod("lead-x").Role("lead").Index(0), MakePod("work-b").Role("work").Index(0),
                MakePod("work-a").Role("work").Index(1)}) == "lead-x work-b work-a");
  CHECK(Ranked({MakePod("a-y").Owner("1").Index(0), MakePod("a-x").Owner("1").Index(1),
                MakePod("b-y").Owner("2").Index(0), MakePod("b-x").Owner("2").Index(1)}) ==
        "a-y a-x b-y b-x");
}

TEST_CASE("names order where an index is missing or given twice", "[engine][rank]") {
  CHECK(Ranked({MakePod("t-0").Index(1), MakePod("t-1").Index(0), MakePod("t-2")}) ==
        "t-0 t-1 t-2");
  // The replica index of a TFJob begins anew in each type of its replicas.
  CHECK(Ranked({MakePod("t-ps-0").Index(0), MakePod("t-ps-1").Index(1),
                MakePod("t-worker-0").Index(0), MakePod("t-worker-1").Index(1)}) ==
        "t-ps-0 t-ps-1 t-worker-0 t-worker-1");
}

TEST_CASE("in a JobSet the Job's index comes before that in the Job", "[engine][rank]") {
  CHECK(Ranked({MakePod("d").Owner("j1").Index(1, 1), MakePod("c").Owner("j1").Index(0, 1),
                MakePod("b").Owner("j0").Index(0, 0), MakePod("a").Owner("j0").Index(1, 0)}) ==
        "b a c d");
}

TEST_CASE("a replacement is beside the pod whose index it has", "[engine][rank]") {
  CHECK(Ranked({MakePod("a").Index(2), MakePod("b").Index(1), MakePod("c").Index(0),
                MakePod("z").Index(1).Deleting()}) == "c b z a");
  CHECK(Ranked({MakePod("a").Index(1), MakePod("b").Index(0),
                MakePod("y").Index(0).Phase(cluster::PodPhase::kFailed)}) == "b y a");
}

}  // namespace
}  // namespace muster::engine
