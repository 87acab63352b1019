// The codec against goldens: exact bytes of every message.
#include "extender/wire/wire.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cluster/records/pod.hpp"
#include "extender/embedded/caller_wire.hpp"

namespace muster::extender {
namespace {

using cluster::PodUid;
using cluster::Result;

std::string Golden(const std::string& name) {
  const std::string path =
      std::string(MUSTER_SOURCE_DIR) + "/tests/extender/golden/" + name + ".json";
  std::ifstream file(path, std::ios::binary);
  if (!file) FAIL("cannot read " << path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::vector<std::string> kNames = {"gpu-1", "gpu-2", "gpu-3"};

void CheckPod(const cluster::Pod& pod) {
  CHECK(pod.defect.empty());
  CHECK(pod.uid.text() == "9f1c6c1e-0000-4000-8000-000000000001");
  CHECK(pod.key.ToString() == "ml/train-0");
  CHECK(pod.pod_group == "train");
  CHECK(pod.role == "worker");
  CHECK(pod.owner_uid == "11111111-2222-3333-4444-555555555555");
  CHECK(pod.resource_version == 8123);
  CHECK(pod.spec->priority == 100);
  CHECK(pod.spec->scheduler_name == "muster");
  CHECK(pod.spec->requests.cpu.value() == 90'000);
  CHECK(pod.spec->requests.memory.value() == 900 * 1024);
  CHECK(pod.spec->gpus.count == 8);
  CHECK(pod.spec->constraints.node_selector == cluster::Labels{{"pool", "gpu"}});
  CHECK(pod.spec->constraints.tolerations.size() == 1);
}

ExtenderArgs DecodeGolden(const std::string& body) {
  Result<ExtenderArgs> args = DecodeArgs(body);
  if (!args.ok()) FAIL(args.error().ToString());
  return std::move(*args);
}

TEST_CASE("Filter and Prioritize requests with names", "[extender][wire]") {
  const std::string body = Golden(GENERATE("args_names", "args_names.1_35"));
  const ExtenderArgs args = DecodeGolden(body);
  CheckPod(args.question.pod);
  CHECK(args.form == NodesForm::kNames);
  CHECK(args.question.nodes == kNames);
  CHECK(args.objects.empty());
}

TEST_CASE("Filter and Prioritize requests with objects", "[extender][wire]") {
  const std::string body = Golden(GENERATE("args_nodes", "args_nodes.1_35"));
  const ExtenderArgs args = DecodeGolden(body);
  CheckPod(args.question.pod);
  CHECK(args.form == NodesForm::kObjects);
  CHECK(args.question.nodes == kNames);
  REQUIRE(args.objects.size() == 3);
  for (const std::string_view object : args.objects) {
    CHECK(object.front() == '{');
    CHECK(object.back() == '}');
    CHECK(body.find(object) != std::string::npos);
  }
}

TEST_CASE("Filter replies are what Go would write", "[extender][wire]") {
  const std::string names_body = Golden("args_names");
  const ExtenderArgs names = DecodeGolden(names_body);
  engine::FilterAnswer answer;

  SECTION("the planned node passes") {
    answer = {"gpu-2", "muster: planned", false, ""};
    CHECK(EncodeFilterReply(names, answer) == Golden("filter_reply_names"));
  }
  SECTION("no node passes") {
    answer = {"", "muster: waits", false, ""};
    CHECK(EncodeFilterReply(names, answer) == Golden("filter_reply_none"));
  }
  SECTION("a planned node that was not asked about does not pass") {
    answer = {"gpu-4", "muster: waits", false, ""};
    CHECK(EncodeFilterReply(names, answer) == Golden("filter_reply_none"));
  }
  SECTION("kube-scheduler's own preemption might help") {
    answer = {"", "muster: waits", true, ""};
    CHECK(EncodeFilterReply(names, answer) == Golden("filter_reply_resolvable"));
  }
  SECTION("the call failed") {
    answer = {"gpu-2", "muster: waits", false, "muster: Pod.metadata.uid: is missing"};
    CHECK(EncodeFilterReply(names, answer) == Golden("filter_reply_error"));
    CHECK(EncodeFilterError(answer.error) == Golden("filter_reply_error"));
  }
  SECTION("objects go back as they came") {
    const std::string version = GENERATE("", ".1_35");
    const std::string nodes_body = Golden("args_nodes" + version);
    answer = {"gpu-2", "muster: planned", false, ""};
    CHECK(EncodeFilterReply(DecodeGolden(nodes_body), answer) ==
          Golden("filter_reply_nodes" + version));
  }
  SECTION("names that need escaping, and no name at all") {
    ExtenderArgs odd = names;
    odd.question.nodes = {"a\"b", "gpu-2", "c"};
    answer = {"", "x", false, ""};
    CHECK_THAT(EncodeFilterReply(odd, answer),
               Catch::Contains(R"({"a\"b":"x","gpu-2":"x","c":"x"})"));
    answer = {"a\"b", "x", false, ""};
    CHECK_THAT(EncodeFilterReply(odd, answer), Catch::Contains(R"("NodeNames":["a\"b"],)"));
    answer = {"gpu-2", "x", false, ""};
    odd.question.nodes = {"gpu-2"};
    CHECK_THAT(EncodeFilterReply(odd, answer),
               Catch::Contains(R"("FailedAndUnresolvableNodes":{},)"));
    odd.question.nodes = {};
    CHECK_THAT(EncodeFilterReply(odd, answer), Catch::Contains(R"("NodeNames":[],)"));
    CHECK_THAT(EncodeFilterReply(odd, answer),
               Catch::Contains(R"("FailedAndUnresolvableNodes":{},)"));
  }
  SECTION("a refusal without words has some all the same") {
    answer = {"gpu-9", "", false, ""};
    CHECK_THAT(EncodeFilterReply(names, answer),
               Catch::Contains(R"({"gpu-1":"muster: planned on another node",)"));
  }
}

TEST_CASE("Filter replies are read as kube-scheduler reads them", "[extender][wire]") {
  const auto read = [](const std::string& body, NodesForm form = NodesForm::kNames) {
    Result<sim::FilterReply> reply = DecodeFilterReply(body, form);
    if (!reply.ok()) FAIL(reply.error().ToString());
    return std::move(*reply);
  };
  sim::FilterReply reply = read(Golden("filter_reply_names"));
  CHECK(reply.passed == std::vector<std::string>{"gpu-2"});
  CHECK(reply.refused.empty());
  CHECK(reply.error.empty());
  reply = read(Golden("filter_reply_none"));
  CHECK(reply.passed.empty());
  CHECK(reply.refused == std::map<std::string, int64_t>{{"muster: waits", 3}});
  reply = read(Golden("filter_reply_nodes"), NodesForm::kObjects);
  CHECK(reply.passed == std::vector<std::string>{"gpu-2"});
  reply = read(Golden("filter_reply_nodes"));  // NodeNames is null: Nodes count
  CHECK(reply.passed == std::vector<std::string>{"gpu-2"});
  CHECK(read(Golden("filter_reply_error")).error == "muster: Pod.metadata.uid: is missing");
  CHECK(read("null").passed.empty());
  CHECK(read(R"({"failednodes":{"a":"x","b":"\u0079","c":"x"}})").refused ==
        std::map<std::string, int64_t>{{"x", 2}, {"y", 1}});
  CHECK(read(R"({"NodeNames":["a"],"Nodes":{"items":[{"metadata":{"name":"b"}}]}})",
             NodesForm::kObjects)
            .passed == std::vector<std::string>{"b"});
  CHECK_FALSE(DecodeFilterReply("", NodesForm::kNames).ok());
  CHECK_FALSE(DecodeFilterReply(R"({"FailedNodes":{"a":5}})", NodesForm::kNames).ok());
}

TEST_CASE("Prioritize replies", "[extender][wire]") {
  const std::string body = Golden("args_names");
  const ExtenderArgs args = DecodeGolden(body);
  CHECK(EncodePrioritizeReply(args, {"gpu-2"}) == Golden("prioritize_reply"));
  CHECK(EncodePrioritizeReply(args, {"gpu-9"}) == "[]");
  CHECK(EncodePrioritizeReply(args, {""}) == "[]");
  const Result<sim::PrioritizeReply> reply = DecodePrioritizeReply(Golden("prioritize_reply"));
  REQUIRE(reply.ok());
  REQUIRE(reply->scores.size() == 1);
  CHECK(reply->scores[0].node == "gpu-2");
  CHECK(reply->scores[0].score == 10);
  CHECK_FALSE(DecodePrioritizeReply(R"([{"Host":"a","Score":5.0}])").ok());
  CHECK_FALSE(DecodePrioritizeReply(R"([{"Host":"a","Score":1e1}])").ok());
}

TEST_CASE("Bind requests and replies", "[extender][wire]") {
  engine::BindCall call;
  call.pod = {"ml", "train-0"};
  call.uid = PodUid("9f1c6c1e-0000-4000-8000-000000000001");
  call.node = "gpu-2";
  CHECK(EncodeBindRequest(call) == Golden("bind_request"));
  const Result<engine::BindCall> decoded = DecodeBindRequest(Golden("bind_request"));
  REQUIRE(decoded.ok());
  CHECK(decoded->pod == call.pod);
  CHECK(decoded->uid == call.uid);
  CHECK(decoded->node == call.node);
  const std::string error = "muster: <not> planned & \"unknown\"";
  CHECK(EncodeBindReply("") == Golden("bind_reply_ok"));
  CHECK(EncodeBindReply(error) == Golden("bind_reply_error"));
  CHECK(BindErrorIn(Golden("bind_reply_ok")).empty());
  CHECK(BindErrorIn(Golden("bind_reply_error")) == error);
  CHECK_FALSE(BindErrorIn("nonsense").empty());
  CHECK_FALSE(BindErrorIn(R"({"Error":5})").empty());
}

TEST_CASE("Preempt requests and replies", "[extender][wire]") {
  const VictimsByNode want = {{"gpu-1", {{PodUid("victim-1"), PodUid("victim-2")}, 1}},
                              {"gpu-3", {{}, 0}}};
  const std::string version = GENERATE("", ".1_35");
  const Result<PreemptionArgs> uids =
      DecodePreemptionArgs(Golden("preempt_request_uids" + version));
  REQUIRE(uids.ok());
  CheckPod(uids->pod);
  CHECK(uids->form == NodesForm::kNames);
  CHECK(uids->nodes == want);
  const Result<PreemptionArgs> pods =
      DecodePreemptionArgs(Golden("preempt_request_pods" + version));
  REQUIRE(pods.ok());
  CheckPod(pods->pod);
  CHECK(pods->form == NodesForm::kObjects);
  CHECK(pods->nodes == want);

  const VictimsByNode reply = {{"gpu-1", want.at("gpu-1")}};
  CHECK(EncodePreemptionReply(reply) == Golden("preempt_reply"));
  CHECK(EncodePreemptionReply({}) == Golden("preempt_reply_empty"));
  const Result<VictimsByNode> back = DecodePreemptionReply(Golden("preempt_reply"));
  REQUIRE(back.ok());
  CHECK(*back == reply);
  const Result<PreemptionArgs> again = DecodePreemptionArgs(EncodePreemptionArgs(uids->pod, want));
  REQUIRE(again.ok());
  CHECK(again->nodes == want);
  CHECK(again->pod.uid == uids->pod.uid);
}

TEST_CASE("our own requests, as the embedded kube-scheduler sends them", "[extender][wire]") {
  cluster::PodSpec spec;
  spec.requests = {cluster::MilliCpu(2000), cluster::MiB(1024), 1};
  spec.gpus = {1, cluster::GpuMilli(460), {}};
  engine::NodesQuestion question;
  question.pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  question.pod.uid = PodUid("u1");
  question.pod.key = {"ns", "p"};
  question.pod.pod_group = "g";
  question.nodes = {"a", "b \"c\""};
  const std::string pod =
      R"({"metadata":{"name":"p","namespace":"ns","uid":"u1","creationTimestamp":null,)"
      R"("labels":{"scheduling.x-k8s.io/pod-group":"g"},"annotations":{"gpu-fraction":"0.46"}},)"
      R"("spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2000m",)"
      R"("memory":"1024Mi"}}}],"priority":0},"status":{"phase":"Pending"}})";
  const std::string names = EncodeArgs(question);
  CHECK(names == R"({"Pod":)" + pod + R"(,"Nodes":null,"NodeNames":["a","b \"c\""]})");
  CHECK(DecodeGolden(names).question.nodes == question.nodes);
  const std::string a = R"({"metadata":{"name":"a"}})";
  const std::string b = R"({ "metadata" : {"name":"b \"c\""} })";
  const std::string objects = EncodeArgs(question, {a, b});
  CHECK(objects == R"({"Pod":)" + pod + R"(,"Nodes":{"metadata":{},"items":[)" + a + "," + b +
                       R"(]},"NodeNames":null})");
  const ExtenderArgs back = DecodeGolden(objects);
  CHECK(back.question.nodes == question.nodes);
  CHECK(back.objects == std::vector<std::string_view>{a, b});
}

}  // namespace
}  // namespace muster::extender
