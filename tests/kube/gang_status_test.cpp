#include "kube/write/gang_status.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/contract/gang_view.hpp"
#include "engine/reasons/reason.hpp"
#include "kube/json/json.hpp"
#include "kube/json/timestamp.hpp"
#include "kube/write/conditions.hpp"
#include "tests/kube/played_group.hpp"

namespace muster::kube {
namespace {

using cluster::Code;
using cluster::Time;
using engine::GangState;
using engine::PatchGang;
using engine::ReasonCode;

const Time kNow = *ParseTimestamp("2026-11-21T12:00:00.250Z");
const Time kLater = *ParseTimestamp("2026-11-21T12:05:00Z");

const ServedPodGroups kPlugins{PodGroupFlavour::kSchedulerPlugins, "scheduling.x-k8s.io",
                               "v1alpha1", true};
const ServedPodGroups kVolcano{PodGroupFlavour::kVolcano, "scheduling.volcano.sh", "v1beta1",
                               false};
const ServedPodGroups kKai{PodGroupFlavour::kKai, "scheduling.run.ai", "v2alpha2", true};
const ServedPodGroups kNative{PodGroupFlavour::kNative, "scheduling.k8s.io", "v1beta1", true};

PatchGang Gang(GangState state, ReasonCode reason = ReasonCode::kNone, int64_t bound = 0,
               int64_t succeeded = 0, int64_t failed = 0) {
  return {{"team", "train"},
          cluster::PodGroupUid("u-1"),
          ToString(state),
          ToString(reason),
          engine::Describe(engine::Because(reason, 40'000, 80'000)),
          bound,
          succeeded,
          failed};
}

// What is written to a group with this status; empty: nothing.
std::string Body(const PatchGang& gang, const ServedPodGroups& as, const std::string& status,
                 Time now = kNow) {
  const auto patch = PlanGangStatus(gang, as, PlayedGroup(status).Object(), now);
  REQUIRE(patch.ok());
  return patch->has_value() ? (**patch).body : "";
}

std::string Change(const std::string& status) {
  return R"({"metadata":{"resourceVersion":"1"},"status":)" + status + "}";
}

TEST_CASE("scheduler-plugins: phase, counts and the time of the start", "[kube][status]") {
  const PatchGang waiting = Gang(GangState::kQueued, ReasonCode::kNotTried);
  CHECK(Body(waiting, kPlugins, "{}") == Change(R"({"phase":"Pending"})"));
  CHECK(Body(waiting, kPlugins, R"({"phase":"Pending","running":0})") == "");
  CHECK(Body(waiting, kPlugins, R"({"phase":"Pending","scheduleStartTime":null})") == "");
  CHECK(Body(Gang(GangState::kReserved, ReasonCode::kNominating), kPlugins, "{}") ==
        Change(R"({"phase":"Scheduling","scheduleStartTime":"2026-11-21T12:00:00Z"})"));
  const std::string runs =
      R"({"type":"Scheduled","status":"True","observedGeneration":3,)"
      R"("lastTransitionTime":"2026-11-21T12:00:00Z","reason":"Scheduled","message":"all required members are bound"})";
  CHECK(Body(Gang(GangState::kRunning, ReasonCode::kNone, 4, 1), kPlugins,
             R"({"phase":"Scheduling","scheduleStartTime":"2026-11-21T11:00:00Z","failed":2})") ==
        Change(R"({"phase":"Running","running":4,"succeeded":1,"failed":0,"conditions":[)" + runs +
               "]}"));
  const auto patch = PlanGangStatus(waiting, kPlugins, PlayedGroup("{}").Object(), kNow);
  REQUIRE(patch.ok());
  CHECK((**patch).path ==
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups/train/status");
  CHECK((**patch).content_type == "application/merge-patch+json");
  CHECK(!(**patch).only_message);
}

TEST_CASE("the kind that Muster ships says in a condition why a gang waits", "[kube][status]") {
  PlayedGroup group("{}");
  PatchGang gang = Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus);
  gang.message = "not enough free GPUs: it wants 8 GPUs, 4 were free";
  REQUIRE(group.Say(gang, kPlugins, kNow));
  CHECK(group.Status("conditions") ==
        R"([{"type":"Scheduled","status":"False","observedGeneration":3,)"
        R"("lastTransitionTime":"2026-11-21T12:00:00Z","reason":"NotEnoughGpus",)"
        R"("message":"not enough free GPUs: it wants 8 GPUs, 4 were free"}])");
  // Other numbers can wait, another reason cannot.
  gang.message = "not enough free GPUs: it wants 8 GPUs, 5 were free";
  REQUIRE(group.Say(gang, kPlugins, kLater));
  CHECK(group.last_patch().only_message);
  gang.reason = "Fragmented";
  REQUIRE(group.Say(gang, kPlugins, kLater));
  CHECK_FALSE(group.last_patch().only_message);
  REQUIRE(group.Say(Gang(GangState::kRunning, ReasonCode::kNone, 4), kPlugins, kLater));
  CHECK_THAT(
      group.Status("conditions"),
      Catch::Contains(R"("status":"True","observedGeneration":3,)"
                      R"("lastTransitionTime":"2026-11-21T12:05:00Z","reason":"Scheduled")"));
}

TEST_CASE("phases of every state in every flavour", "[kube][status]") {
  struct Case {
    PatchGang gang;
    std::string plugins, volcano, kai;
  };
  const auto& c = GENERATE(values<Case>({
      {Gang(GangState::kForming, ReasonCode::kWaitingForMembers), "Pending", "Inqueue", "Pending"},
      {Gang(GangState::kQueued, ReasonCode::kNotTried), "Pending", "Inqueue", "Pending"},
      {Gang(GangState::kReserved, ReasonCode::kReleasing), "Scheduling", "Inqueue", "Pending"},
      {Gang(GangState::kBinding, ReasonCode::kBinding, 2), "Scheduling", "Inqueue", "Pending"},
      {Gang(GangState::kRunning, ReasonCode::kNone, 4), "Running", "Running", "Running"},
      {Gang(GangState::kRunning, ReasonCode::kNone, 4, 0, 1), "Running", "Running", "Running"},
      {Gang(GangState::kFinished, ReasonCode::kNone, 0, 4), "Finished", "Completed", "Succeeded"},
      {Gang(GangState::kFinished, ReasonCode::kNone, 0, 3, 1), "Failed", "Completed", "Failed"},
      {Gang(GangState::kBackoff, ReasonCode::kPlanBroken), "Pending", "Inqueue", "Pending"},
      {Gang(GangState::kBackoff, ReasonCode::kRepairing, 2), "Unknown", "Unknown", "Unknown"},
      {Gang(GangState::kDegraded, ReasonCode::kMembersLost, 3), "Unknown", "Unknown", "Unknown"},
      {Gang(GangState::kDegraded, ReasonCode::kMembersLost, 3, 0, 1), "Failed", "Unknown",
       "Unknown"},
      {Gang(GangState::kInvalid, ReasonCode::kInvalidPodGroup), "Pending", "Pending", "Pending"},
      {Gang(GangState::kForbidden, ReasonCode::kNamespaceForbidden), "Pending", "Pending",
       "Pending"},
      {Gang(GangState::kUnsatisfiable, ReasonCode::kNeverFits), "Pending", "Pending", "Pending"},
  }));
  INFO(c.gang.state << " " << c.gang.bound << " " << c.gang.failed);
  const auto phase = [&](const ServedPodGroups& as) {
    PlayedGroup group("{}");
    REQUIRE(group.Say(c.gang, as, kNow));
    return group.Status("phase");
  };
  CHECK(phase(kPlugins) == '"' + c.plugins + '"');
  CHECK(phase(kVolcano) == '"' + c.volcano + '"');
  CHECK(phase(kKai) == '"' + c.kai + '"');
}

TEST_CASE("Volcano: conditions with its own reasons", "[kube][status]") {
  PlayedGroup group(
      R"({"phase":"Pending","conditions":[{"type":"Theirs","status":"True","n":1.5}]})");
  REQUIRE(group.Say(Gang(GangState::kForming, ReasonCode::kWaitingForMembers), kVolcano, kNow));
  CHECK(group.last_patch().path ==
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups/train");
  CHECK(group.Status("phase") == R"("Inqueue")");
  CHECK(group.Status("conditions") ==
        R"([{"type":"Theirs","status":"True","n":1.5},)"
        R"({"type":"Unschedulable","status":"True","transitionID":"1",)"
        R"("lastTransitionTime":"2026-11-21T12:00:00Z","reason":"NotEnoughTasks",)"
        R"("message":"WaitingForMembers: not all members exist: 40000 of 80000 pods exist"}])");
  // Another reason of the same status keeps the time and the id of the transition.
  REQUIRE(group.Say(Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus), kVolcano, kLater));
  CHECK(
      group.Status("conditions")
          .find(
              R"("transitionID":"1","lastTransitionTime":"2026-11-21T12:00:00Z",)"
              R"("reason":"NotEnoughResources","message":"NotEnoughGpus: not enough free GPUs")") !=
      std::string::npos);
  REQUIRE(group.Say(Gang(GangState::kRunning, ReasonCode::kNone, 4), kVolcano, kLater));
  CHECK(group.Status("running") == "4");
  const std::string conditions = group.Status("conditions");
  CHECK(conditions.find(R"("type":"Unschedulable","status":"False","transitionID":"2",)"
                        R"("lastTransitionTime":"2026-11-21T12:05:00Z")") != std::string::npos);
  CHECK(conditions.find(R"("type":"Scheduled","status":"True","transitionID":"3",)"
                        R"("lastTransitionTime":"2026-11-21T12:05:00Z",)"
                        R"("reason":"tasks in gang are ready to be scheduled")") !=
        std::string::npos);
  // Members lost.
  REQUIRE(group.Say(Gang(GangState::kDegraded, ReasonCode::kMembersLost, 3), kVolcano, kLater));
  CHECK(group.Status("conditions").find(R"("reason":"PodDeleted")") != std::string::npos);
  CHECK(group.Status("conditions").find(R"("type":"Scheduled","status":"False")") !=
        std::string::npos);
  REQUIRE(
      group.Say(Gang(GangState::kDegraded, ReasonCode::kMembersLost, 3, 0, 1), kVolcano, kLater));
  CHECK(group.Status("conditions").find(R"("reason":"PodFailed")") != std::string::npos);
}

TEST_CASE("KAI: the condition of the node pool comes last", "[kube][status]") {
  PlayedGroup group(R"({"schedulingConditions":[
    {"type":"UnschedulableOnNodePool","nodePool":"blue","transitionID":"4","status":"True"},
    {"type":"UnschedulableOnNodePool","nodePool":"red","transitionID":"7","status":"True"}]})",
                    R"("labels":{"kai.scheduler/node-pool":"blue"},)");
  REQUIRE(group.Say(Gang(GangState::kQueued, ReasonCode::kFragmented), kKai, kNow));
  const std::string conditions = group.Status("schedulingConditions");
  CHECK(conditions.starts_with(R"([{"type":"UnschedulableOnNodePool","nodePool":"red")"));
  CHECK(conditions.find(R"("nodePool":"blue","status":"True","transitionID":"8")") !=
        std::string::npos);
  CHECK(conditions.find(R"("reasons":[{"reason":"Fragmented","message":"Fragmented: )") !=
        std::string::npos);
  // Pods are placed: KAI says nothing of the kind then.
  CHECK_FALSE(PlayedGroup("{}")
                  .Said(Gang(GangState::kBackoff, ReasonCode::kRepairing, 2), kKai, kNow)
                  .find("schedulingConditions") != std::string::npos);
  REQUIRE(group.Say(Gang(GangState::kRunning, ReasonCode::kNone, 4), kKai, kLater));
  CHECK(group.Status("schedulingConditions")
            .find(R"("nodePool":"blue","status":"False","transitionID":"9")") != std::string::npos);
  PlayedGroup plain("{}");
  REQUIRE(plain.Say(Gang(GangState::kUnsatisfiable, ReasonCode::kNeverFits), kKai, kNow));
  CHECK(plain.Status("schedulingConditions").find(R"("nodePool":"default")") != std::string::npos);
}

TEST_CASE("native: a gated gang says why it waits", "[kube][status]") {
  CHECK(Body(Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus), kNative,
             R"({"conditions":[{"type":"DisruptionTarget","status":"False"}]})") ==
        Change(R"({"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False",)"
               R"("observedGeneration":3,"lastTransitionTime":"2026-11-21T12:00:00Z",)"
               R"("reason":"Unschedulable","message":"muster: NotEnoughGpus: not enough free )"
               R"(GPUs"}]})"));
  ServedPodGroups alpha = kNative;
  alpha.version = "v1alpha2";
  CHECK(Body(Gang(GangState::kInvalid, ReasonCode::kInvalidMember), alpha, "{}")
            .find(R"("type":"PodGroupScheduled","status":"False","observedGeneration":3,)"
                  R"("lastTransitionTime":"2026-11-21T12:00:00Z","reason":"SchedulerError")") !=
        std::string::npos);
  const auto patch = PlanGangStatus(Gang(GangState::kQueued, ReasonCode::kFragmented), kNative,
                                    PlayedGroup("{}").Object(), kNow);
  REQUIRE(patch.ok());
  CHECK((**patch).content_type == "application/strategic-merge-patch+json");
}

TEST_CASE("native: what kube-scheduler says stands", "[kube][status]") {
  const std::string theirs =
      R"({"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False",
          "reason":"Unschedulable","message":"0/3 nodes are available"}]})";
  const std::string ours =
      R"({"conditions":[{"type":"PodGroupInitiallyScheduled","status":"False",
          "reason":"Unschedulable","message":"muster: NotTried: x"}]})";
  const std::string done =
      R"({"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True",
          "reason":"Scheduled","message":""}]})";
  const PatchGang waiting = Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus);
  const PatchGang running = Gang(GangState::kRunning, ReasonCode::kNone, 4);
  CHECK(Body(waiting, kNative, theirs) == "");
  CHECK(Body(waiting, kNative, ours) != "");
  CHECK(Body(waiting, kNative, done) == "");
  CHECK(Body(running, kNative, done) == "");
  // A kube-scheduler without group cycles never says True, and one with them says the same.
  CHECK(Body(running, kNative, theirs).find(R"("status":"True")") != std::string::npos);
  CHECK(Body(running, kNative, ours).find(R"("status":"True")") != std::string::npos);
  // While gates go and binds come, kube-scheduler sees the gang itself.
  for (const GangState state : {GangState::kReserved, GangState::kBinding}) {
    CHECK(Body(Gang(state, ReasonCode::kWaitingForBind), kNative, ours) == "");
  }
  CHECK(Body(Gang(GangState::kDegraded, ReasonCode::kMembersLost, 2), kNative, "{}") == "");
}

TEST_CASE("a change of nothing but numbers is recognized", "[kube][status]") {
  const ServedPodGroups as = GENERATE(kVolcano, kKai, kNative);
  PlayedGroup group("{}");
  PatchGang gang = Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus);
  REQUIRE(group.Say(gang, as, kNow));
  CHECK(!group.last_patch().only_message);
  gang.message = "not enough free GPUs: 41 of 80 are free";
  REQUIRE(group.Say(gang, as, kLater));
  CHECK(group.last_patch().only_message);
  // Another reason is more than that, even where the flavour has the same word for both.
  REQUIRE(group.Say(Gang(GangState::kQueued, ReasonCode::kFragmented), as, kLater));
  CHECK(!group.last_patch().only_message);
  CHECK(CodeOfMessage("muster: NotEnoughGpus: not enough: 4 of 8") == "muster: NotEnoughGpus: ");
  CHECK(CodeOfMessage("0/3 nodes are available: 3 x") == "");
  CHECK(CodeOfMessage("") == "");
}

TEST_CASE("objects that are not what they should be", "[kube][status]") {
  const PatchGang gang = Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus);
  const auto code = [&](const std::string& object) {
    return PlanGangStatus(gang, kVolcano, object, kNow).error().code;
  };
  PatchGang other = gang;
  other.uid = cluster::PodGroupUid("u-2");
  CHECK(PlanGangStatus(other, kVolcano, PlayedGroup("{}").Object(), kNow).error().code ==
        Code::kNotFound);
  other = gang;
  other.state = "Sleeping";
  CHECK(PlanGangStatus(other, kVolcano, PlayedGroup("{}").Object(), kNow).error().code ==
        Code::kInvalidArgument);
  CHECK(code("nonsense") == Code::kInvalidArgument);
  CHECK(code("{}") == Code::kInvalidArgument);
  // A status that makes no sense is fixed in the fields that are ours.
  CHECK(Body(Gang(GangState::kQueued, ReasonCode::kNotTried), kPlugins,
             R"({"phase":7,"running":"many"})") == Change(R"({"phase":"Pending"})"));
  CHECK(Body(gang, kVolcano, R"({"phase":"Inqueue","conditions":[1,{"type":2}]})")
            .find(R"({"conditions":[1,{"type":2},{"type":"Unschedulable")") != std::string::npos);
  // A long message is cut between characters.
  other = gang;
  other.message = std::string(1500, 'x');
  for (size_t i = 0; i < 1500; i += 2) other.message.replace(i, 2, "ü");
  CHECK(Body(other, kVolcano, "{}").size() < 1500);
  CHECK(Json::Parse(Body(other, kVolcano, "{}"), 4096, "patch").ok());
}

TEST_CASE("whatever happens to a gang, nothing is said twice and others' conditions stay",
          "[kube][status]") {
  const std::vector<ReasonCode> reasons = {
      ReasonCode::kNone,       ReasonCode::kNotTried,    ReasonCode::kNotEnoughGpus,
      ReasonCode::kFragmented, ReasonCode::kMembersLost, ReasonCode::kWaitingForMembers};
  const std::string foreign = R"({"type":"Theirs","status":"False","since":12345678901234567890})";
  std::mt19937 random(7);
  const auto pick = [&](size_t count) { return random() % count; };
  for (const ServedPodGroups& as : {kPlugins, kVolcano, kKai, kNative}) {
    for (int run = 0; run < 40; ++run) {
      PlayedGroup group(R"({"conditions":[)" + foreign + "]}");
      bool was_true = false;
      for (int step = 0; step < 30; ++step) {
        const PatchGang gang = Gang(static_cast<GangState>(pick(engine::kGangStates)),
                                    reasons[pick(reasons.size())], static_cast<int64_t>(pick(5)),
                                    static_cast<int64_t>(pick(3)), static_cast<int64_t>(pick(2)));
        const bool said = group.Say(gang, as, kNow + cluster::Seconds(step));
        INFO(ToString(as.flavour) << " " << gang.state << " " << gang.reason);
        CHECK(group.Said(gang, as, kLater) == "");
        CHECK(group.Status("conditions").find(foreign) != std::string::npos);
        if (as.flavour == PodGroupFlavour::kNative) {
          CHECK_FALSE((was_true && said));
          was_true = group.Status("conditions").find(R"("status":"True")") != std::string::npos;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::kube
