#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/json/json.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {
namespace {

using cluster::Result;
using cluster::SelectorOperator;

template <typename Decode>
auto Decoded(const std::string& text, const Decode& decode) {
  const Result<Json> json = Json::Parse(text, 1 << 20, "object");
  REQUIRE(json.ok());
  return decode(json->root());
}

const auto kNamespace = [](const JsonNode& json) { return DecodeNamespace(json); };
const auto kPriority = [](const JsonNode& json) { return DecodePriorityClass(json); };
const auto kBudget = [](const JsonNode& json) { return DecodeDisruptionBudget(json); };

TEST_CASE("a namespace has labels, and may be on its way out", "[kube][decode]") {
  const auto ns = Decoded(R"({"metadata":{"name":"team","uid":"u","resourceVersion":"7",
      "labels":{"queue":"red"},"deletionTimestamp":"2026-01-02T03:04:05Z"}})",
                          kNamespace);
  REQUIRE(ns.ok());
  CHECK(ns->key.name == "team");
  CHECK(ns->key.ns.empty());
  CHECK(ns->uid == cluster::NamespaceUid("u"));
  CHECK(ns->labels.at("queue") == "red");
  CHECK(ns->deleting);
  CHECK(ns->resource_version == 7);
  CHECK_FALSE(Decoded(R"({"metadata":{"name":"team","uid":"u"}})", kNamespace)->deleting);
}

TEST_CASE("a PriorityClass has a value and says whether its pods preempt", "[kube][decode]") {
  const auto high = Decoded(
      R"({"metadata":{"name":"high","uid":"u"},"value":-5,"preemptionPolicy":"Never","globalDefault":true})",
      kPriority);
  REQUIRE(high.ok());
  CHECK(high->value == -5);
  CHECK_FALSE(high->preempts);
  CHECK(high->global_default);
  CHECK(Decoded(R"({"metadata":{"name":"low","uid":"v"},"value":1})", kPriority)->preempts);
}

TEST_CASE("a PodDisruptionBudget without a selector means nobody, with an empty one everybody",
          "[kube][decode]") {
  const std::string meta = R"("metadata":{"name":"b","namespace":"team","uid":"u"})";
  const auto some = Decoded("{" + meta + R"(,"spec":{"selector":{"matchLabels":{"app":"db"},
      "matchExpressions":[{"key":"tier","operator":"NotIn","values":["test"]}]}},
      "status":{"disruptionsAllowed":2}})",
                            kBudget);
  REQUIRE(some.ok());
  CHECK(some->key == cluster::ObjectKey{"team", "b"});
  CHECK(some->disruptions_allowed == 2);
  REQUIRE(some->selector);
  CHECK(*some->selector ==
        std::vector<cluster::SelectorRequirement>{{"tier", SelectorOperator::kNotIn, {"test"}},
                                                  {"app", SelectorOperator::kIn, {"db"}}});
  CHECK_FALSE(Decoded("{" + meta + R"(,"spec":{}})", kBudget)->selector);
  CHECK(Decoded("{" + meta + R"(,"spec":{"selector":{}}})", kBudget)->selector->empty());
}

TEST_CASE("what is malformed in them is named with its place", "[kube][decode]") {
  const auto nameless = Decoded(R"({"metadata":{"uid":"u"}})", kNamespace);
  REQUIRE_FALSE(nameless.ok());
  CHECK_THAT(nameless.error().ToString(), Catch::Contains("Namespace.metadata.name"));
  const auto large =
      Decoded(R"({"metadata":{"name":"x","uid":"u"},"value":3000000000})", kPriority);
  REQUIRE_FALSE(large.ok());
  CHECK_THAT(large.error().ToString(), Catch::Contains("PriorityClass.value"));
  const auto odd = Decoded(
      R"({"metadata":{"name":"x","namespace":"t","uid":"u"},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}})",
      kBudget);
  REQUIRE_FALSE(odd.ok());
  CHECK_THAT(odd.error().ToString(), Catch::Contains("matchExpressions[0].operator"));
}

TEST_CASE("each resource makes facts of its objects, and of their end", "[kube][resource]") {
  struct Case {
    Resource resource;
    std::string object;
    std::string name;
  };
  const std::vector<Case> cases = {
      {NamespaceResource(), R"({"metadata":{"name":"n","uid":"u"}})", "n"},
      {PriorityClassResource(), R"({"metadata":{"name":"p","uid":"u"},"value":1})", "p"},
      {DisruptionBudgetResource(),
       R"({"metadata":{"name":"b","namespace":"t","uid":"u"},"spec":{}})", "t/b"},
  };
  for (const Case& c : cases) {
    const Result<KeptObject> object =
        KeptObject::Read(c.object, c.resource.fields, c.resource.kind, {});
    REQUIRE(object.ok());
    const Result<Observed> observed = c.resource.decode(*object);
    REQUIRE(observed.ok());
    CHECK(observed->uid == "u");
    CHECK(observed->name == c.name);
    // A variant holds the record, then its removal.
    const auto& fact = std::get<engine::Fact>(observed->news);
    CHECK(std::get<engine::Fact>(c.resource.removed("u")).index() == fact.index() + 1);
  }
}

TEST_CASE("a Job ignores evictions where the first rule that matches one says so",
          "[kube][decode]") {
  struct Case {
    std::string spec;
    bool ignores;
  };
  const std::string disruption = R"({"action":"Ignore","onPodConditions":)"
                                 R"([{"type":"DisruptionTarget","status":"True"}]})";
  const auto codes = [](const std::string& action, const std::string& in,
                        const std::string& values) {
    return R"({"action":")" + action + R"(","onExitCodes":{"operator":")" + in + R"(","values":[)" +
           values + "]}}";
  };
  const auto rules = [](const std::string& list) {
    return R"({"podFailurePolicy":{"rules":[)" + list + "]}}";
  };
  const Case c = GENERATE_COPY(values<Case>({
      {"{}", false},
      {R"({"backoffLimit":9,"podReplacementPolicy":"Failed"})", false},
      {rules(""), false},
      {rules(disruption), true},
      {rules(R"({"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]})"), true},
      {rules(R"({"action":"Count","onPodConditions":[{"type":"DisruptionTarget"}]},)" + disruption),
       false},
      {rules(R"({"action":"Ignore","onPodConditions":[{"type":"ConfigIssue"}]})"), false},
      {rules(R"({"action":"Ignore","onPodConditions":)"
             R"([{"type":"DisruptionTarget","status":"False"}]})"),
       false},
      {rules(codes("FailJob", "In", "42") + "," + disruption), true},
      {rules(codes("FailJob", "In", "1,143") + "," + disruption), false},
      {rules(codes("FailJob", "NotIn", "42") + "," + disruption), false},
      {rules(codes("FailJob", "NotIn", "137,143") + "," + disruption), true},
      {rules(disruption + "," + codes("FailJob", "NotIn", "42")), true},
      {rules(codes("Ignore", "In", "137,143")), true},
  }));
  CAPTURE(c.spec);
  const auto job = Decoded(R"({"metadata":{"name":"j","namespace":"team","uid":"u",
      "resourceVersion":"7"},"spec":)" +
                               c.spec + "}",
                           [](const JsonNode& json) { return DecodeBatchJob(json); });
  REQUIRE(job.ok());
  CHECK(job->job.key == cluster::ObjectKey{"team", "j"});
  CHECK(job->job.uid == cluster::JobUid("u"));
  CHECK(job->job.resource_version == 7);
  CHECK(job->job.ignores_evictions == c.ignores);
  CHECK_FALSE(job->ended);
}

TEST_CASE("a Job waits for the end of a pod that goes where only failed ones are replaced",
          "[kube][decode]") {
  const auto waits = [](const std::string& spec) {
    const auto object = KeptObject::Read(
        R"({"metadata":{"name":"j","namespace":"team","uid":"u"},"spec":)" + spec + "}",
        BatchJobFields(), "Job", {});
    REQUIRE(object.ok());
    const Result<Observed> observed = BatchJobResource().decode(*object);
    return std::get<cluster::BatchJob>(std::get<engine::Fact>(observed->news)).waits_for_the_end;
  };
  CHECK(waits(R"({"podReplacementPolicy":"Failed"})"));
  CHECK_FALSE(waits(R"({"podReplacementPolicy":"TerminatingOrFailed"})"));
  CHECK_FALSE(waits("{}"));
  CHECK(waits(R"({"podFailurePolicy":{"rules":[]}})"));  // of an API server without that field
}

TEST_CASE("a Job that has ended is as good as gone", "[kube][decode]") {
  const auto observe = [](const std::string& condition, const std::string& status) {
    const auto object =
        KeptObject::Read(R"({"metadata":{"name":"j","namespace":"team","uid":"u"},"spec":{},
        "status":{"conditions":[{"type":")" +
                             condition + R"(","status":")" + status + R"("}]}})",
                         BatchJobFields(), "Job", {});
    REQUIRE(object.ok());
    const Result<Observed> observed = BatchJobResource().decode(*object);
    REQUIRE(observed.ok());
    return std::get<engine::Fact>(observed->news);
  };
  CHECK(std::holds_alternative<engine::BatchJobRemoved>(observe("Complete", "True")));
  CHECK(std::holds_alternative<engine::BatchJobRemoved>(observe("Failed", "True")));
  CHECK(std::holds_alternative<cluster::BatchJob>(observe("Failed", "False")));
  CHECK(std::holds_alternative<cluster::BatchJob>(observe("Suspended", "True")));
  const auto nameless = Decoded(R"({"metadata":{"name":"j","namespace":"team"}})",
                                [](const JsonNode& json) { return DecodeBatchJob(json); });
  CHECK_FALSE(nameless.ok());
}

const auto kQuota = [](const JsonNode& json) { return DecodeResourceQuota(json); };

TEST_CASE("a ResourceQuota tells what pods are charged to it", "[kube][decode]") {
  using Kind = cluster::QuotaLine::Kind;
  const auto quota = Decoded(R"({"metadata":{"name":"q","namespace":"team","uid":"u"},
      "spec":{"hard":{"pods":"99"}},
      "status":{"hard":{"count/pods":"4","requests.nvidia.com/gpu":"8","cpu":"1500m",
                        "requests.memory":"1Gi","limits.cpu":"3","services":"2","pods":"9"},
                "used":{"count/pods":"1","requests.nvidia.com/gpu":"8","cpu":"1","requests.memory":"1025Ki",
                        "limits.cpu":"1","services":"1"}}})",
                             kQuota);
  REQUIRE(quota.ok());
  CHECK(quota->key.ToString() == "team/q");
  CHECK(quota->lines ==
        std::vector<cluster::QuotaLine>{{Kind::kPods, "count/pods", 4, 1},
                                        {Kind::kGpus, "requests.nvidia.com/gpu", 8'000, 8'000},
                                        {Kind::kCpu, "cpu", 1'500, 1'000},
                                        {Kind::kMemory, "requests.memory", 1'024, 2}});
}

TEST_CASE("a ResourceQuota of pods that Muster cannot tell says nothing", "[kube][decode]") {
  const auto with = [](const std::string& spec) {
    return Decoded(R"({"metadata":{"name":"q","namespace":"team","uid":"u"},"spec":{)" + spec +
                       R"(},"status":{"hard":{"pods":"4"},"used":{"pods":"1"}}})",
                   kQuota);
  };
  for (
      const char* scope :
      {R"("scopes":["Terminating"])", R"("scopes":["BestEffort"])", R"("scopes":["PriorityClass"])",
       R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]})"}) {
    INFO(scope);
    REQUIRE(with(scope).ok());
    CHECK(with(scope)->lines.empty());
  }
  CHECK(with(R"("scopes":["NotBestEffort"])")->lines.size() == 1);
  const auto classes = with(
      R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"NotIn","values":["low"]}]})");
  CHECK(classes->lines.size() == 1);
  CHECK(classes->priority_classes == std::vector<cluster::SelectorRequirement>{
                                         {"PriorityClass", SelectorOperator::kNotIn, {"low"}}});
}

}  // namespace
}  // namespace muster::kube
