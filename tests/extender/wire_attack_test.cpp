// What nobody but an attacker, or a broken caller, sends: an error each, never a crash.
#include <catch2/catch.hpp>
#include <string>

#include "extender/embedded/caller_wire.hpp"
#include "extender/wire/wire.hpp"

namespace muster::extender {
namespace {

const std::string kPod = R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{}})";

std::string Args(const std::string& rest) { return R"({"Pod":)" + kPod + "," + rest + "}"; }

std::string ErrorOf(const std::string& body) {
  const cluster::Result<ExtenderArgs> args = DecodeArgs(body);
  return args.ok() ? "" : args.error().ToString();
}

std::string Repeat(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("keys are read in any case, unknown ones passed over", "[extender][wire]") {
  CHECK(ErrorOf(R"({"pod":)" + kPod + R"(,"NODENAMES":["a"],"nodes":null,"Other":[{"x":1}]})")
            .empty());
  CHECK(ErrorOf(" { \"Pod\" : " + kPod + " ,\n\"NodeNames\"\t: [ \"a\" , \"b\" ] } \r\n").empty());
  CHECK(ErrorOf(Args(R"("NodeNames":[])")).empty());
  CHECK(ErrorOf(Args(R"("Nodes":{"items":null})")).empty());
}

TEST_CASE("names with escapes or beyond ASCII are read, malformed ones refused",
          "[extender][wire]") {
  const cluster::Result<ExtenderArgs> args =
      DecodeArgs(Args(R"("NodeNames":["a\u0062","\"","grün","","\ud83d\ude80"])"));
  REQUIRE(args.ok());
  CHECK(args->question.nodes == std::vector<std::string>{"ab", "\"", "grün", "", "🚀"});
  CHECK_THAT(ErrorOf(Args("\"NodeNames\":[\"\xFF\"]")), Catch::Contains("not valid JSON"));
  CHECK_THAT(ErrorOf(Args("\"NodeNames\":[\"a\nb\"]")), Catch::Contains("not valid JSON"));
  CHECK_THAT(ErrorOf(Args(R"("NodeNames":["\ud800"])")), Catch::Contains("not valid JSON"));
}

TEST_CASE("requests that cannot be answered are refused", "[extender][wire]") {
  struct Case {
    std::string body;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {"", "expected an object"},
      {"null", "expected an object"},
      {"[]", "expected an object"},
      {"{}", "Pod: is missing"},
      {R"({"Pod":null,"NodeNames":[]})", "Pod: is missing"},
      {R"({"Pod":[],"NodeNames":[]})", "Pod: expected an object, found a list"},
      {R"({"Pod":{"metadata":{"name":"p","namespace":"n"}},"NodeNames":[]})",
       "Pod.metadata.uid: is missing"},
      {Args(R"("Nodes":null)"), "expected NodeNames or Nodes, found neither"},
      {Args(R"("NodeNames":["a"],"Nodes":{"items":[]})"),
       "expected NodeNames or Nodes, found both"},
      {Args(R"("NodeNames":"a")"), "expected a list"},
      {Args(R"("NodeNames":[1])"), "expected a text"},
      {Args(R"("NodeNames":[null])"), "expected a text"},
      {Args(R"("NodeNames":["a",])"), "expected a text"},
      {Args(R"("NodeNames":["a" "b"])"), "expected a comma or the end of the list"},
      {Args(R"("NodeNames":["a"]})"), "expected nothing after the JSON value"},
      {Args(R"("NodeNames":["a"] x)"), "expected a comma or the end of the object"},
      {Args(R"("NodeNames":["a")"), "expected a comma or the end of the list"},
      {Args(R"("NodeNames":["a)"), "not valid JSON"},
      {Args(R"("NodeNames":[],"nodenames":[])"), "nodenames: is given twice"},
      {Args(R"("NodeNames":[],"x":1,"X":2)"), "x: is given twice"},
      {Args(R"("NodeNames":[],"x":{"a":1,"a":2})"), "x.a: is given twice"},
      {Args(R"("NodeNames":[],"x":1e400)"), "not valid JSON"},
      {Args(R"("NodeNames":[],"x":18446744073709551616)"), "an integer beyond 64 bits"},
      {Args(R"("NodeNames":[],"x":tru)"), "not valid JSON"},
      {Args(R"("Nodes":[])"), "expected an object"},
      {Args(R"("Nodes":{"items":[{}]})"), "Nodes.items[0].metadata.name: is missing"},
      {Args(R"("Nodes":{"items":[null]})"), "Nodes.items[0].metadata.name: is missing"},
      {Args(R"("Nodes":{"items":[{"metadata":{"name":"a","name":"b"}}]})"),
       "Nodes.items[0].metadata.name: is given twice"},
      {Args(R"("Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":5}]})"),
       "Nodes.items[1].metadata: expected an object"},
      {Args(R"("Nodes":{"items":[],"Items":[]})"), "items: is given twice"},
      {R"({"Pod":{"metadata":{"name":"p","name":"q","namespace":"n","uid":"u"}},"NodeNames":[]})",
       "Pod.metadata.name: is given twice"},
  }));
  CAPTURE(c.body);
  CHECK_THAT(ErrorOf(c.body), Catch::Contains(c.want));
}

TEST_CASE("of a fat pod a Filter call holds what a thin one has", "[extender][wire]") {
  const auto args = [](const std::string& spec) {
    return R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{)" + spec +
           R"("schedulerName":"muster"}},"NodeNames":["a","b"]})";
  };
  const cluster::Result<ExtenderArgs> fat = DecodeArgs(
      args(R"("containers":[{"env":[{"name":"E","value":")" + Repeat("\u003c", 1'400'000) +
           R"("}],"resources":{"requests":{"cpu":"2"}}}],)"));
  REQUIRE(fat.ok());
  CHECK(fat->question.pod.defect.empty());
  CHECK(fat->question.pod.spec->requests.cpu == cluster::MilliCpu(2000));
  CHECK(fat->question.nodes == std::vector<std::string>{"a", "b"});
  const cluster::Result<ExtenderArgs> picky = DecodeArgs(
      args(R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)" +
           Repeat("\"\",", 750'000) + R"(""]}]}]}}},)"));
  REQUIRE(picky.ok());
  CHECK(picky->question.pod.defect ==
        "Pod.spec.affinity: is larger than 262144 bytes, it is not read");
  CHECK(picky->question.pod.spec->constraints == cluster::NodeConstraints{});
  CHECK(picky->question.pod.spec->scheduler_name == "muster");
}

TEST_CASE("depth of a million levels is refused wherever it is", "[extender][wire]") {
  const std::string deep = Repeat("[", 1'000'000);
  const std::string deep_objects = Repeat(R"({"a":)", 1'000'000);
  for (const std::string& attack : {deep, deep_objects}) {
    CHECK_FALSE(ErrorOf(attack).empty());
    CHECK_THAT(ErrorOf(R"({"Pod":)" + attack), Catch::Contains("nested deeper than 16384"));
    CHECK_THAT(ErrorOf(Args(R"("Other":)" + attack)), Catch::Contains("nested deeper than 64"));
    CHECK_FALSE(ErrorOf(Args(R"("NodeNames":)" + attack)).empty());
    CHECK_FALSE(ErrorOf(Args(R"("Nodes":{"items":)" + attack)).empty());
    CHECK_FALSE(DecodeBindRequest(attack).ok());
    CHECK_FALSE(DecodePreemptionArgs(attack).ok());
    CHECK_FALSE(DecodePrioritizeReply(attack).ok());
    CHECK_FALSE(DecodeFilterReply(attack, NodesForm::kNames).ok());
  }
}

TEST_CASE("a body cut off anywhere is refused", "[extender][wire]") {
  const std::string names = Args(R"("Nodes":null,"NodeNames":["a","b\n"])");
  const std::string objects =
      Args(R"("Nodes":{"items":[{"metadata":{"name":"a"}}]},"NodeNames":null)");
  REQUIRE(ErrorOf(names).empty());
  REQUIRE(ErrorOf(objects).empty());
  for (const std::string& body : {names, objects}) {
    for (size_t length = 0; length < body.size(); ++length) {
      CAPTURE(length);
      CHECK_FALSE(ErrorOf(body.substr(0, length)).empty());
    }
  }
}

TEST_CASE("a Bind request that does not say all is refused", "[extender][wire]") {
  const auto error = [](const std::string& body) {
    const cluster::Result<engine::BindCall> call = DecodeBindRequest(body);
    return call.ok() ? "" : call.error().ToString();
  };
  CHECK(error(R"({"podname":"p","podnamespace":"n","poduid":"u","node":"x"})").empty());
  CHECK(error(R"({"PodNamespace":"n","PodUID":"u","Node":"x"})") ==
        "ExtenderBindingArgs.PodName: is missing");
  CHECK(error(R"({"PodName":"p","PodNamespace":"n","PodUID":"","Node":"x"})") ==
        "ExtenderBindingArgs.PodUID: is missing");
  CHECK(error(R"({"PodName":"p","PodNamespace":"n","PodUID":"u","Node":5})") ==
        "ExtenderBindingArgs.Node: expected a text, found a number");
  CHECK(error(R"({"PodName":"p","PodNamespace":"n","PodUID":"u","Node":"x","node":"y"})") ==
        "ExtenderBindingArgs.Node: is given twice");
  CHECK(error("null") == "ExtenderBindingArgs: is missing");
}

TEST_CASE("a Preempt request that makes no sense is refused", "[extender][wire]") {
  const auto error = [](const std::string& rest) {
    const cluster::Result<PreemptionArgs> args = DecodePreemptionArgs(Args(rest));
    return args.ok() ? "" : args.error().ToString();
  };
  CHECK(error(R"("NodeNameToMetaVictims":{})").empty());
  CHECK(error(R"("NodeNameToMetaVictims":{"a":{"Pods":null}})").empty());
  CHECK_THAT(error(R"("NodeNameToMetaVictims":{},"NodeNameToVictims":{})"),
             Catch::Contains("found both"));
  CHECK_THAT(error(R"("NodeNameToMetaVictims":{"a":{"Pods":[{"UID":""}]}})"),
             Catch::Contains("NodeNameToMetaVictims.a.Pods[0].UID: is missing"));
  CHECK_THAT(error(R"("NodeNameToVictims":{"a":{"Pods":[{"UID":"u"}]}})"),
             Catch::Contains("NodeNameToVictims.a.Pods[0].metadata.uid: is missing"));
  CHECK_THAT(error(R"("NodeNameToMetaVictims":{"a":{"NumPDBViolations":-1}})"),
             Catch::Contains("NumPDBViolations: expected a whole number from 0"));
  CHECK_FALSE(DecodePreemptionArgs("{}").ok());
  CHECK_FALSE(DecodePreemptionReply("[]").ok());
}

}  // namespace
}  // namespace muster::extender
