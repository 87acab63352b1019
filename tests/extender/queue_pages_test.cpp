// What /v1/queues, /metrics and a gang's page say of queues, without a service.
#include "extender/pages/queue_pages.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "extender/pages/api_json.hpp"

namespace muster::extender {
namespace {

using engine::QueueView;
using queues::Resource;

std::string Packed(std::string page) {
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  return page;
}

QueueView Research() {
  QueueView queue;
  queue.name = "research";
  queue.parent = "company";
  queue.weight = 2;
  queue.priority_cap = 1000;
  queue.order = queues::Order::kStrictFifo;
  queue.state = queues::QueueState::kDrain;
  queue.pending = 3;
  queue.next = "team-a/train";
  queue.within = true;
  queue.b = "0.375";
  engine::QueueAmounts gpus;
  gpus.resource = {Resource::Kind::kGpu};
  gpus.guarantee = 4'000;
  gpus.limit = 8'000;
  gpus.used = 5'500;
  gpus.pending = 2'000;
  gpus.share = 7'333;
  gpus.scaled = true;
  gpus.borrowed_from = {{"root", 1'000}, {"ops", 500}};
  queue.amounts.push_back(gpus);
  engine::QueueAmounts memory;
  memory.resource = {Resource::Kind::kGpuMemory};
  memory.guarantee = 1'024;
  memory.used = 24;
  memory.kept = 500;
  memory.lent_to = {{"ops", 24}, {"sales", 8}};
  queue.amounts.push_back(memory);
  return queue;
}

TEST_CASE("the page of the queues has GPUs and MiB, and leaves out what is not limited", "[api]") {
  CHECK(Packed(QueuesJson({})) == R"({"queues":[]})");
  CHECK(Packed(QueuesJson({Research()})) ==
        R"({"queues":[{"name":"research","parent":"company","leaf":true,"weight":2,)"
        R"("order":"strict-fifo","state":"drain","priorityCap":1000,"pending":3,)"
        R"("next":"team-a/train","within":true,"b":"0.375","amounts":[)"
        R"({"resource":"gpu","unit":"GPUs","guarantee":4,"limit":8,"used":5.5,"pending":2,)"
        R"("share":7.333,)"
        R"("scaled":true,"borrowed":1.5,"idle":0,"kept":0,"borrowedFrom":[)"
        R"({"queue":"ops","amount":0.5},{"queue":"root","amount":1}]},)"
        R"({"resource":"gpuMemory","unit":"MiB","guarantee":1024,"used":24,"pending":0,"share":0,)"
        R"("borrowed":0,"idle":1000,"kept":500,"lentTo":[{"queue":"ops","amount":24},)"
        R"({"queue":"sales","amount":8}]}]}]})");
  // Nobody waits in it, and it is below none.
  QueueView idle;
  idle.name = "_root";
  idle.leaf = false;
  CHECK(Packed(QueuesJson({idle})) ==
        R"({"queues":[{"name":"_root","leaf":false,"weight":1,"order":"fair","state":"open",)"
        R"("pending":0,"amounts":[]}]})");
}

TEST_CASE("metrics of queues are in GPUs and bytes, and none are there without queues", "[api]") {
  CHECK(QueueMetrics({}).empty());
  QueueView research = Research();
  research.amounts.front().average = 2'500;
  const std::string page = QueueMetrics({research});
  for (const char* line :
       {"muster_queue_guarantee{queue=\"research\",resource=\"gpu\"} 4\n",
        "muster_queue_limit{queue=\"research\",resource=\"gpu\"} 8\n",
        "muster_queue_used{queue=\"research\",resource=\"gpu\"} 5.5\n",
        "muster_queue_average_used{queue=\"research\",resource=\"gpu\"} 2.5\n",
        "muster_queue_asked{queue=\"research\",resource=\"gpu\"} 2\n",
        "muster_queue_used{queue=\"research\",resource=\"gpuMemory\"} 25165824\n",
        "muster_queue_lent{queue=\"research\",resource=\"gpuMemory\"} 33554432\n",
        "muster_queue_pending_gangs{queue=\"research\"} 3\n"}) {
    CHECK_THAT(page, Catch::Contains(line));
  }
  // Without a limit there is no series of it, nor of an average that is nothing.
  CHECK_THAT(page,
             !Catch::Contains("muster_queue_average_used{queue=\"research\",resource=\"gpuM"));
  CHECK_THAT(page, !Catch::Contains("muster_queue_limit{queue=\"research\",resource=\"gpuMemory"));
}

TEST_CASE("whole nodes that a queue is guaranteed are on the page and in the metrics", "[api]") {
  QueueView queue = Research();
  queue.amounts.clear();
  queue.shapes = {{{3, "h100"}, {"n0", "n4"}, 1, 1, 16'000}, {{1, ""}, {}, 0, 0, 0}};
  CHECK_THAT(Packed(QueuesJson({queue})),
             Catch::Contains(R"("amounts":[],"shapes":[{"wholeNodes":3,"model":"h100",)"
                             R"("nodes":["n0","n4"],"gpus":16,"whole":1,"lent":1,"missing":1},)"
                             R"({"wholeNodes":1,"nodes":[],"gpus":0,"whole":0,"lent":0,)"
                             R"("missing":1}]}]})"));
  const std::string metrics = QueueMetrics({queue});
  CHECK_THAT(metrics,
             Catch::Contains("muster_queue_whole_nodes{model=\"h100\",queue=\"research\"} 3\n"));
  CHECK_THAT(metrics,
             Catch::Contains("muster_queue_shape_missing{model=\"h100\",queue=\"research\"} 1\n"));
  CHECK_THAT(QueueMetrics({Research()}), !Catch::Contains("muster_queue_shape_missing{"));
  CHECK_THAT(Packed(QueuesJson({Research()})), !Catch::Contains("shapes"));
}

TEST_CASE("so many queues have metrics of their own, all others are added up", "[api]") {
  std::vector<QueueView> queues;
  for (std::size_t i = 0; i < kMostQueueLabels + 3; ++i) {
    queues.push_back(Research());
    queues.back().name = "q" + std::to_string(i);
  }
  const std::string page = QueueMetrics(queues);
  CHECK_THAT(page, Catch::Contains("muster_queue_pending_gangs{queue=\"q199\"} 3\n"));
  CHECK_THAT(page, !Catch::Contains("queue=\"q200\""));
  CHECK_THAT(page, Catch::Contains("muster_queue_pending_gangs{queue=\"other\"} 9\n"));
  CHECK_THAT(page, Catch::Contains("muster_queue_used{queue=\"other\",resource=\"gpu\"} 16.5\n"));
}

TEST_CASE("queues of namespaces are on the page, and have no metrics of their own", "[api]") {
  std::vector<QueueView> queues = {Research(), Research()};
  queues[0].leaf = false;
  queues[0].by_namespace = true;
  queues[1].name = "research/lab";
  queues[1].parent = "research";
  queues[1].of_namespace = "lab";
  queues[1].amounts[0].average = 1'500;
  const std::string page = Packed(QueuesJson(queues));
  CHECK_THAT(page, Catch::Contains(R"("leaf":false,"fairBy":"namespace")"));
  CHECK_THAT(page, Catch::Contains(R"("name":"research/lab","parent":"research","leaf":true,)"
                                   R"("namespace":"lab")"));
  CHECK_THAT(page, Catch::Contains(R"("averageUsed":1.5,)"));
  const std::string metrics = QueueMetrics(queues);
  CHECK_THAT(metrics, Catch::Contains("muster_queue_pending_gangs{queue=\"research\"} 3\n"));
  CHECK_THAT(metrics, !Catch::Contains("lab"));
}

TEST_CASE("the page of a gang has its queue, and who goes first if somebody does", "[api]") {
  engine::GangView gang;
  CHECK_THAT(GangJson(gang, {}, {}), !Catch::Contains("\"queue\"") && !Catch::Contains("turn"));
  const std::string page =
      Packed(GangJson(gang, {}, {}, {}, {{engine::LeastChange::What::kEnds, "ends"}}));
  CHECK_THAT(page, Catch::Contains(R"("wouldStartIf":[{"what":"ends","text":"ends"}])"));
  gang.queue = "research";
  engine::TurnView turn;
  turn.queue = "research";
  turn.position = 2;
  turn.of = 5;
  const std::string first = Packed(GangJson(gang, {}, {}, turn));
  CHECK_THAT(first,
             Catch::Contains(R"("queue":"research","priority")") &&
                 Catch::Contains(R"("turn":{"queue":"research","position":2,"of":5},"members")"));
  turn.at = "company";
  turn.ahead = "prod";
  turn.ahead_gang = "prod/serve";
  turn.ahead_b = "within its guarantee";
  turn.own = "research";
  turn.own_b = "0.500";
  CHECK_THAT(Packed(GangJson(gang, {}, {}, turn)),
             Catch::Contains(R"("of":5,"at":"company","ahead":"prod","aheadGang":"prod/serve",)"
                             R"("aheadB":"withinitsguarantee","own":"research","ownB":"0.500"})"));
}

}  // namespace
}  // namespace muster::extender
