// What the API's pages say, without a service.
#include "extender/pages/api_json.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "engine/reasons/reason.hpp"

namespace muster::extender {

TEST_CASE("a reason whose code was renamed keeps its old code on the pages for one release",
          "[api]") {
  engine::GangView gang;
  gang.reason = engine::Because(engine::ReasonCode::kWatchStale);
  for (const std::string& page : {GangsJson({gang}, {}), GangJson(gang, {}, {})}) {
    CHECK_THAT(page, Catch::Contains("\"code\": \"WatchStale\""));
    CHECK_THAT(page, Catch::Contains("\"formerCode\": \"StalePicture\""));
  }
  gang.reason = engine::Because(engine::ReasonCode::kNotTried);
  CHECK_THAT(GangJson(gang, {}, {}), !Catch::Contains("formerCode"));
}

TEST_CASE("the pages have what a reason counts as data, with units in the names", "[api]") {
  policy::Shortage shortage;
  shortage.nodes = 15;
  shortage.with_room = 1;
  shortage.need_gpu_milli = 24'000;
  shortage.free_gpu_milli = 20'500;
  shortage.gpu_nodes = 6;
  shortage.all_gpu_milli = 68'000;
  shortage.fits = 2;
  shortage.fits_of = 3;
  using What = policy::Cause::What;
  shortage.causes = {{What::kTaint, "gpu=yes", 5},
                     {What::kMemory, "", 2, 65'536, 1'024, 2'048, "n3"},
                     {What::kGpus, "", 7, 8'000, 0, 6'000, "n7", 8'000}};
  engine::GangView gang;
  gang.reason = engine::FromShortage(shortage);
  for (std::string page : {GangsJson({gang}, {}), GangJson(gang, {}, {})}) {
    std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
    CHECK_THAT(
        page,
        Catch::Contains(
            R"("room":{"nodes":15,"nodesWithRoom":1,"gpusWanted":24,"gpusFree":20.5,)"
            R"("gpuNodes":6,"gpusInCluster":68,"membersThatFit":2,"membersCounted":3,"causes":[)"
            R"({"kind":"taint","nodes":5,"name":"gpu=yes"},)"
            R"({"kind":"memory","nodes":2,"mebibytesWanted":65536,"mebibytesFreeLeast":1024,)"
            R"("mebibytesFreeMost":2048,"bestNode":"n3"},)"
            R"({"kind":"gpus","nodes":7,"gpusWanted":8,"gpusFreeLeast":0,"gpusFreeMost":6,)"
            R"("gpusPerNode":8,"bestNode":"n7"}]}})"));
  }
  // Also where it can never fit.
  gang.reason = engine::NeverFits(gang.reason);
  CHECK_THAT(GangJson(gang, {}, {}), Catch::Contains("\"causes\""));
  gang.reason = engine::Because(engine::ReasonCode::kHold);
  CHECK_THAT(GangJson(gang, {}, {}), !Catch::Contains("\"room\""));
}

TEST_CASE("the page of a gang has what would be enough as data", "[api]") {
  using What = engine::LeastChange::What;
  engine::LeastChange free{What::kFree, "4 more GPUs"};
  free.gpu_milli = 4'000;
  free.nodes = {{"n1", 3}, {"n2", 1}};
  engine::LeastChange back{What::kNodes, "node n3 can be used again"};
  back.nodes = {{"n3"}};
  engine::LeastChange tolerate{What::kTolerate, "its pods tolerate"};
  tolerate.taints = {"gpu=yes"};
  engine::LeastChange ends{What::kEnds, "gang a/x ends"};
  ends.gangs = {"a/x"};
  ends.gpu_milli = 1'500;
  std::string page = GangJson({}, {}, {}, {}, {free, back, tolerate, ends});
  std::erase_if(page, [](char c) { return c == '\n'; });
  for (const char* part : {R"("gpus": 4,)", R"("name": "n1",)", R"("gpus": 3)", R"("name": "n3")",
                           R"("gpu=yes")", R"("a/x")", R"("gpus": 1.5,)"})
    CHECK_THAT(page, Catch::Contains(part));
}

TEST_CASE("the page of a gang has what is kept for its restart, and for how long", "[api]") {
  engine::GangView gang;
  CHECK_THAT(GangJson(gang, {}, {}), !Catch::Contains("keptForRestart"));
  gang.kept = {cluster::Time(91'500), 8, "n0, n1"};
  const std::string page = GangJson(gang, {}, cluster::Time(1'500));
  for (const char* part : {"\"keptForRestart\"", "\"forSeconds\": 90", "\"pods\": 8", "\"n0, n1\""})
    CHECK_THAT(page, Catch::Contains(part));
}

TEST_CASE("the page of a gang names links that leave domains, and the slowest and fastest ring",
          "[api]") {
  engine::GangView gang;
  for (const char* pod : {"w-0", "w-1", "w-2"}) {
    engine::MemberView member;
    member.pod.name = pod;
    gang.members.push_back(member);
  }
  engine::GangFabric fabric;
  CHECK_THAT(GangJson(gang, fabric, {}), !Catch::Contains("rings"));
  fabric.levels.push_back({"dc", "block", {}, 5});
  fabric.crossed.push_back({"dc", "block", "w-0", "w-1", "a", "b"});
  fabric.crossings = 5;
  fabric.rings = {{"w-0", "n0", 450'000}, {"w-1", "n1", 12'500}};
  std::string page = GangJson(gang, fabric, {});
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  CHECK_THAT(page, Catch::Contains("\"crossed\":[{\"tree\":\"dc\",\"level\":\"block\",\"from\":"
                                   "\"w-0\",\"to\":\"w-1\",\"fromDomain\":\"a\",\"toDomain\":"
                                   "\"b\"}],\"crossings\":5"));
  CHECK_THAT(page,
             Catch::Contains(
                 "\"rings\":{\"members\":2,\"slowest\":{\"pod\":\"w-1\",\"node\":"
                 "\"n1\",\"ringGigabytesPerSecond\":12.5},\"fastest\":{\"pod\":\"w-0\",\"node\":"
                 "\"n0\",\"ringGigabytesPerSecond\":450"));
  CHECK_THAT(page, Catch::Contains("\"gpus\":[],\"ringGigabytesPerSecond\":12.5"));
}

TEST_CASE("the page of a gang that waits has the domain that is the cheapest to free", "[api]") {
  engine::GangFabric fabric;
  fabric.offers = {"rack", 2, {{"a/r1", 1, "1 of 2 nodes with too few free GPUs"}}, 3};
  CHECK_THAT(GangJson({}, fabric, {}), !Catch::Contains("cheapestToFree"));
  fabric.cheapest = engine::DomainInUse{"a/r1", 1, true, {"x/g"}, 3, 12'500, {"x/p"}, 4};
  std::string page = GangJson({}, fabric, {});
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  CHECK_THAT(page,
             Catch::Contains("\"cheapestToFree\":{\"name\":\"a/r1\",\"missing\":1,\"blocked\":"
                             "true,\"gangs\":[\"x/g\"],\"gangsInAll\":3,\"gpus\":12.5,\"pods\":["
                             "\"x/p\"],\"podsInAll\":4}"));
}

TEST_CASE("the page of a gang has why it is in none of the other domains", "[api]") {
  engine::GangFabric fabric;
  fabric.offers = {"rack", 2, {{"a/r1", 1, "why-not"}}, 3};
  std::string page = GangJson({}, fabric, {});
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  const std::string offers =
      "\"level\":\"rack\",\"wanted\":2,\"domains\":3,\"offers\":[{\"name\":\"a/r1\",\"members\":1,"
      "\"why\":\"why-not\"}]";
  CHECK_THAT(page, Catch::Contains(offers) && !Catch::Contains("others"));
  std::swap(fabric.offers, fabric.others);
  fabric.levels.push_back({"dc", "rack", {}, 0});
  page = GangJson({}, fabric, {});
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  CHECK_THAT(page, Catch::Contains("\"others\":{" + offers + "}"));
}

TEST_CASE("the page of the fabric has each domain and what is wrong with labels", "[api]") {
  engine::FabricView fabric;
  fabric.domains.push_back({"dc", "rack", "a/a0", 1, 2, 1, 1, 8, 5, 3});
  fabric.findings.push_back("node x has no rack");
  const std::string page = FabricJson(fabric);
  for (const char* part :
       {"\"tree\": \"dc\"", "\"level\": \"rack\"", "\"name\": \"a/a0\"", "\"depth\": 1",
        "\"nodes\": 2", "\"freeNodes\": 1", "\"gpus\": 8", "\"keptNodes\": 1", "\"freeGpus\": 5",
        "\"slots\": 3", "node x has no rack"}) {
    CHECK_THAT(page, Catch::Contains(part));
  }
}

TEST_CASE("the page of a gang tells the planned GPUs and those that are predicted apart", "[api]") {
  engine::GangView gang;
  engine::MemberView member;
  member.gpus = {cluster::GpuIndex{1}, cluster::GpuIndex{3}};
  const auto page = [&] {
    gang.members = {member};
    return GangJson(gang, {}, {});
  };
  CHECK_THAT(page(), !Catch::Contains("kubelet"));
  using topology::PickOutcome;
  member.kubelet_pick = policy::KubeletPick{PickOutcome::kAgrees, member.gpus, 1};
  CHECK_THAT(page(), Catch::Contains("\"outcome\": \"agree\"") && !Catch::Contains("predicted") &&
                         !Catch::Contains("choices"));
  member.kubelet_pick = policy::KubeletPick{PickOutcome::kTied, member.gpus, 6};
  CHECK_THAT(page(), Catch::Contains("\"outcome\": \"tied\"") &&
                         Catch::Contains("\"choices\": 6") && !Catch::Contains("predicted"));
  member.kubelet_pick =
      policy::KubeletPick{PickOutcome::kDiffers, {cluster::GpuIndex{0}, cluster::GpuIndex{7}}, 1};
  const std::string differs = page();
  CHECK_THAT(differs, Catch::Contains("\"outcome\": \"differ\""));
  const size_t predicted = differs.find("\"predicted\"");
  REQUIRE(predicted != std::string::npos);
  CHECK(differs.find('7', predicted) < differs.find(']', predicted));
}

}  // namespace muster::extender
