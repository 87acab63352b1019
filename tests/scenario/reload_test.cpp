// A hot reload changes every option of the engine. For each field of the policy a story that goes
// another way when the field is changed, told three times: with the old value, with the new one,
// and with the old one that is replaced by the new one in the middle. What comes after the change
// must be the same as if the engine had been started with it.
//
// Fails when a field has no story here: those of the servers are in tests/extender.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "config/policies/policy_fields.hpp"
#include "config/policies/policy_file.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "tests/scenario/reload_queues.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;

// Servers, and where they listen.
bool OfServers(const std::string& field) {
  return field != "extender.httpTimeout" &&
         (field.rfind("extender.", 0) == 0 || field.rfind("metrics.", 0) == 0 ||
          field.rfind("operators.", 0) == 0);
}

// Of those who read the cluster: reload_grouping_test.cpp.
bool OfGrouping(const std::string& field) {
  return field.rfind("grouping", 0) == 0 || field == "gangs.byOwner" ||
         field == "gangs.nonIndexedJobs" || field == "gangs.unreadableOwners";
}

// Says whether a file is taken at all: tests/extender/reload_test.cpp.
bool OfReading(const std::string& field) { return field == "allowDefaultScheduler"; }

struct Story {
  const char* field;
  const char* text;  // of the policy; '@' stands for the value
  const char* old_value;
  const char* new_value;
  void (*before)(World&);
  void (*after)(World&);
};

void Nodes(World& world) {
  for (int i = 0; i < 10; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
}

void Warm(World& world) {
  Nodes(world);
  world.AddGang("warm", 1, 1, 1);
  world.ScheduleAll("warm");
}

// One node is full: a gang of low priority runs there.
void Full(World& world) {
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("low", 2, 4, 2);
  world.ScheduleAll("low");
}

void Partial(World& world) {
  Nodes(world);
  world.AddGang("g", 2, 1, 2);
  world.ScheduleAll("g");
  world.RemovePod("g-1");
  world.Settle();
}

// Whose best pair depends on its links.
void Cube(World& world) { world.Add(MakeNode("n0").Gpus(8, "Tesla-V100-SXM2-32GB", 32'768)); }

void Pair(World& world) {
  world.AddGang("g", 1, 2, 1);
  world.Settle();
}

void Gang(World& world) {
  world.AddGang("g", 2, 1, 2);
  world.Settle();
}

// For no node that there is.
void TooLarge(World& world) {
  world.AddGang("g", 2, 16, 2);
  world.Pass(Seconds(30));
}

void Runs(World& world) {
  Gang(world);
  world.ScheduleAll("g");
}

void HighPriority(World& world) {
  world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (const auto* evict = std::get_if<engine::EvictPod>(&action)) {
      return engine::Outcome{evict->id, engine::OutcomeKind::kDone, ""};  // and it stays
    }
    return std::nullopt;
  };
  world.Add(MakePod("high").Gpus(4).Priority(100).Gated());
  world.Settle();
  world.Pass(Seconds(60));
}

// A pod of its own starts and fails, after it ran for so long.
void Fails(World& world, const std::string& name, cluster::Duration ran = {},
           int32_t priority = 0) {
  world.Add(MakePod(name).Gpus(1).Owner(name).Priority(priority));
  world.Settle();
  world.ScheduleAll("");
  world.Change(name, [&](cluster::Pod& pod) {
    pod.phase = cluster::PodPhase::kFailed;
    pod.start_failure = std::make_shared<const cluster::StartFailure>(
        cluster::StartFailure{ran == cluster::Duration(), "Error", world.now(), ran});
  });
  world.Settle();
}

void OneFails(World& world) {
  Fails(world, "a");
  world.Pass(Seconds(60));
}

// Two nodes, each in a rack of its own by label "r", together by "s".
void TwoRacks(World& world) {
  world.Add(MakeNode("n0").Gpus(8).Label("r", "a").Label("s", "x"));
  world.Add(MakeNode("n1").Gpus(8).Label("r", "b").Label("s", "x"));
}

// A gang within one domain of that level.
void GangWithin(World& world, const std::string& level, int pods) {
  world.Add(MakePodGroup("g").MinMember(pods).Within(level).CreatedAt(world.now().milliseconds()));
  for (int i = 0; i < pods; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(8).InGroup("g").Gated());
  world.Settle();
}

// A gang has both nodes of one rack.
void RunsInRack(World& world) {
  TwoRacks(world);
  GangWithin(world, "rack", 2);
  world.ScheduleAll("g");
}

// It loses a member with its node, and another pod comes in its place.
void LosesNode(World& world) {
  world.RemoveNode(world.Pod("g-1").node_name);
  world.RemovePod("g-1");
  world.Add(MakePod("g-1").Uid("second").Gpus(8).InGroup("g").Gated());
  world.Pass(Seconds(100));
}

const Story kStories[] = {
    {"schedulerNames", "schedulerNames: @", "[muster]", "[muster, other]", Nodes,
     [](World& world) {
       world.Add(MakePod("p").Gpus(1).Scheduler("other"));
       world.Settle();
     }},
    {"namespaces.allow", "namespaces: {allow: @}", "[]", "[elsewhere]", Nodes, Gang},
    {"namespaces.deny", "namespaces: {deny: @}", "[]", "[default]", Nodes, Gang},
    {"placement.strategy", "placement: {strategy: @}", "binpack", "spread", Warm, Gang},
    {"placement.machineProfiles", "placement: {machineProfiles: @}", "none", "shipped", Cube, Pair},
    {"fabric.trees[].name", "fabric: {trees: [{name: @, levels: [{name: rack, labels: [r]}]}]}",
     "a", "b", TwoRacks, [](World& world) { GangWithin(world, "b/rack", 1); }},
    {"fabric.trees[].preset", "fabric: {trees: [{name: t, preset: @}]}", "aws", "gpuClique",
     TwoRacks, [](World& world) { GangWithin(world, "clique", 1); }},
    {"fabric.trees[].levels[].name",
     "fabric: {trees: [{name: t, levels: [{name: @, labels: [r]}]}]}", "row", "rack", TwoRacks,
     [](World& world) { GangWithin(world, "rack", 1); }},
    {"fabric.trees[].levels[].labels",
     "fabric: {trees: [{name: t, levels: [{name: rack, labels: @}]}]}", "[r]", "[s]", TwoRacks,
     [](World& world) { GangWithin(world, "rack", 2); }},
    {"fabric.trees[].levels[].unlabelled",
     "fabric: {trees: [{name: t, levels: [{name: nvl, labels: [c], unlabelled: @}]}]}", "outside",
     "alone", TwoRacks, [](World& world) { GangWithin(world, "nvl", 1); }},
    {"fabric.reserve[].level",
     "fabric: {trees: [{name: t, levels: [{name: row, labels: [s]}, {name: rack, labels: [r]}]}], "
     "reserve: [{level: @, nodes: 1}]}",
     "row", "rack", TwoRacks, [](World& world) { GangWithin(world, "row", 1); }},
    {"fabric.reserve[].nodes",
     "fabric: {trees: [{name: t, levels: [{name: row, labels: [s]}]}], "
     "reserve: [{level: row, nodes: @}]}",
     "1", "2", TwoRacks, [](World& world) { GangWithin(world, "row", 1); }},
    {"fabric.lostMember",
     "fabric: {trees: [{name: t, levels: [{name: rack, labels: [s]}]}], lostMember: @}",
     "partialGang", "wait", RunsInRack, LosesNode},
    {"queues[].name", "queues: [{name: @}]", "a", "b", OneNode, TwoGpusOfA},
    {"queues[].parent", "queues: [{name: a, parent: @}, {name: b}, {name: c, limit: {gpu: 1}}]",
     "b", "c", OneNode, TwoGpusOfA},
    {"queues[].namespaces.names", "queues: [{name: a, namespaces: {names: @}}]", "[default]",
     "[elsewhere]", OneNode, TwoGpusOfA},
    {"queues[].namespaces.selector.matchLabels.*",
     "queues: [{name: a, namespaces: {selector: {matchLabels: {team: @}}}}]", "red", "blue",
     [](World& world) {
       OneNode(world);
       cluster::Namespace ns;
       ns.uid = cluster::NamespaceUid("ns");
       ns.key.name = "default";
       ns.labels["team"] = "red";
       world.engine().Apply(ns, world.now());
     },
     TwoGpusOfA},
    {"queues[].guarantee.*", "queues: [{name: a, guarantee: {gpu: @}, lend: {gpu: 0}}, {name: b}]",
     "0", "4", OneNode, OneGpuOfB},
    {"queues[].guarantee.shapes[].wholeNodes",
     "queues: [{name: a, guarantee: {gpu: 8, shapes: [{wholeNodes: @}]}}, {name: b, guarantee: "
     "{gpu: 4}}]",
     "1", "2", TwoNodes, OneGpuOfB},
    {"queues[].guarantee.shapes[].model",
     "queues: [{name: a, guarantee: {gpu: 8, shapes: [{wholeNodes: 2, model: @}]}}, {name: b, "
     "guarantee: {gpu: 4}}]",
     "a100", "h100", TwoNodes, OneGpuOfB},
    {"queues[].lend.*", "queues: [{name: a, guarantee: {gpu: 4}, lend: {gpu: @}}, {name: b}]", "4",
     "0", OneNode, OneGpuOfB},
    {"queues[].limit.*", "queues: [{name: a, limit: {gpu: @}}]", "4", "1", OneNode, TwoGpusOfA},
    {"queues[].weight", "queues: [{name: a, weight: @}, {name: b}]", "1", "3", OneNode,
     ManyOfAAndB},
    {"queues[].resourceWeights.*", "queues: [{name: a, resourceWeights: {gpu: @}}, {name: b}]", "1",
     "3", OneNode, ManyOfAAndB},
    {"queues[].order", "queues: [{name: a, order: @}]", "fair", "strict-fifo", OneNode,
     [](World& world) {
       Asks(world, "first", "a", 1);
       world.Settle();
       Asks(world, "big", "a", 4);
       world.Settle();
       Asks(world, "small", "a", 1);
       world.Settle();
     }},
    {"queues[].usageHalfLife", "queues: [{name: root, usageHalfLife: @}, {name: a}, {name: b}]",
     "0s", "1h", OneNode, ManyAfterAUsedMore},
    {"queues[].fairBy", "queues: [{name: a, fairBy: @}]", "none", "namespace", OneNode,
     TwoNamespacesOfA},
    {"queues[].priorityCap", "queues: [{name: a, priorityCap: @}]", "1000", "10", OneNode,
     [](World& world) {
       Asks(world, "a", "a", 4, 50);
       Asks(world, "b", "a", 4, 100);
       world.Settle();
     }},
    {"queues[].state", "queues: [{name: a, state: @}]", "open", "hold", OneNode, TwoGpusOfA},
    {"queues[].reservations.depth", "queues: [{name: a, reservations: {depth: @}}]", "0", "1",
     LongRuns, BigAndSmall},
    {"queues[].reservations.minAge", "queues: [{name: a, reservations: {minAge: @}}]", "1h", "1m",
     LongRuns, BigAndSmall},
    {"queues[].reservations.reserveAfter", "queues: [{name: a, reservations: {reserveAfter: @}}]",
     "1h", "5m", UnknownRuns, BigAndSmall},
    {"queues[].reservations.reserveFor",
     "queues: [{name: a, reservations: {reserveAfter: 5m, reserveFor: @}}]", "1h", "1m",
     UnknownRuns, BigAndSmall},
    {"queues[].reservations.lendToEvictable",
     "queues: [{name: a, reservations: {lendToEvictable: @}}]", "false", "true", LongRuns,
     [](World& world) { BigThenSmall(world, 1, true); }},
    {"queues[].backfill.trust", "queues: [{name: a, backfill: {trust: @}}]", "none", "declared",
     LongRuns, BigAndSmall},
    {"queues[].backfill.withoutCheckpoint", "queues: [{name: a, backfill: {withoutCheckpoint: @}}]",
     "false", "true", LongRuns, [](World& world) { BigThenSmall(world, 1, false); }},
    {"queues[].backfill.maxPerUser", "queues: [{name: a, backfill: {maxPerUser: @}}]", "1", "2",
     HalfRuns, BigThenTwo},
    {"queues[].preemption.onEvicted",
     "queues: [{name: a, preemption: {onEvicted: @}}, {name: b, guarantee: {gpu: 4}}]", "requeue",
     "fail", GangOfABorrows, GangOfAIsEvicted},
    {"queues[].preemption.restartWindow",
     "queues: [{name: b, guarantee: {gpu: 4}, preemption: {restartWindow: @, minRuntime: {reclaim: "
     "1h}}}, {name: a}]",
     "0s", "10m", ABorrows, GangOfBDiesEarly},
    {"queues[].preemption.withinQueue", "queues: [{name: a, preemption: {withinQueue: @}}]",
     "never", "lower-priority", ABorrows, [](World& world) { Wants(world, "a", 1); }},
    {"queues[].preemption.reclaim",
     "queues: [{name: b, guarantee: {gpu: 4}, preemption: {reclaim: @}}, {name: a}]", "never",
     "guarantee", ABorrows, [](World& world) { Wants(world, "b", 0); }},
    {"queues[].preemption.delay",
     "queues: [{name: b, guarantee: {gpu: 4}, preemption: {delay: @}}, {name: a}]", "1h", "1s",
     ABorrows, [](World& world) { Wants(world, "b", 0); }},
    {"queues[].preemption.minRuntime.preempt",
     "queues: [{name: a, preemption: {minRuntime: {preempt: @}}}]", "1h", "1s", ABorrows,
     [](World& world) { Wants(world, "a", 1); }},
    {"queues[].preemption.minRuntime.reclaim",
     "queues: [{name: a, preemption: {minRuntime: {reclaim: @}}}, {name: b, guarantee: {gpu: 4}}]",
     "1h", "1s", ABorrows, [](World& world) { Wants(world, "b", 0); }},
    {"queues[].preemption.budgets.preempt",
     "queues: [{name: a, preemption: {budgets: {preempt: @}}}]", "keep", "prefer",
     ABorrowsWithABudget, [](World& world) { Wants(world, "a", 1, 2); }},
    {"queues[].preemption.budgets.guarantee",
     "queues: [{name: a, preemption: {budgets: {guarantee: @}}}, {name: b, guarantee: {gpu: 4}}]",
     "keep", "prefer", ABorrowsWithABudget, [](World& world) { Wants(world, "b", 0, 2); }},
    {"queues[].preemption.budgets.fairShare",
     "queues: [{name: a, preemption: {budgets: {fairShare: @}}}, {name: b, preemption: {reclaim: "
     "fair-share}}]",
     "keep", "prefer", ABorrowsWithABudget, [](World& world) { Wants(world, "b", 0, 2); }},
    {"queues[].preemption.maxEvictionsPerGangPerHour",
     "queues: [{name: a, preemption: {maxEvictionsPerGangPerHour: @}}, {name: b, guarantee: {gpu: "
     "4}}]",
     "0", "1", ABorrows, [](World& world) { Wants(world, "b", 0); }},
    {"queues[].preemption.maxEvictedRatio",
     "queues: [{name: b, guarantee: {gpu: 4}, preemption: {maxEvictedRatio: @}}, {name: a}]", "1",
     "2", ABorrows, [](World& world) { Wants(world, "b", 0, 2); }},
    {"gangs.maxMembers", "gangs: {maxMembers: @}", "2", "1", Nodes, Gang},
    {"gangs.strictOrder", "gangs: {strictOrder: @}", "false", "true", Warm,
     [](World& world) {
       world.AddGang("big", 10, 8, 10);
       Gang(world);
     }},
    {"gangs.preemption", "gangs: {preemption: @}", "never", "lowerPriority", Full, HighPriority},
    {"gangs.victimTimeout", "gangs: {preemption: lowerPriority, victimTimeout: @}", "10m", "5s",
     Full, HighPriority},
    {"gangs.reservationTimeout", "gangs: {reservationTimeout: @}", "2m", "10s", Nodes,
     [](World& world) {
       Gang(world);
       world.Pass(Seconds(11));
     }},
    {"gangs.maxReservationTimeout", "gangs: {maxReservationTimeout: @}", "10m", "10s", Nodes,
     [](World& world) {
       world.Add(MakePodGroup("g").TimeoutSeconds(300));
       world.Add(MakePod("g-0").Gpus(1).InGroup("g").Gated());
       world.Settle();
       world.Pass(Seconds(11));
     }},
    {"gangs.partialTimeout", "gangs: {partialTimeout: @}", "1m", "10s", Partial,
     [](World& world) { world.Pass(Seconds(30)); }},
    {"gangs.partialGang", "gangs: {partialGang: @}", "evict", "hold", Partial,
     [](World& world) { world.Pass(Seconds(90)); }},
    {"gangs.handover", "gangs: {handover: @}", "nominate", "pin", Nodes,
     [](World& world) {
       world.Add(MakePod("p").Gpus(1).Owner("job").Gated());
       world.Settle();
     }},
    {"gangs.backoff.first", "gangs: {reservationTimeout: 10s, backoff: {first: @}}", "1s", "30s",
     Nodes,
     [](World& world) {
       Gang(world);
       world.Pass(Seconds(20));
     }},
    {"gangs.backoff.max", "gangs: {reservationTimeout: 10s, backoff: {max: @}}", "5m", "2s", Nodes,
     [](World& world) {
       Gang(world);
       world.Filter("g-0");  // kube-scheduler is at work, and never binds it
       world.Pass(Seconds(30));
     }},
    {"gangs.retryInterval", "gangs: {retryInterval: @}", "1s", "20s", Nodes,
     [](World& world) {
       world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
         const auto* nominate = std::get_if<engine::Nominate>(&action);
         if (nominate == nullptr) return std::nullopt;
         return engine::Outcome{nominate->id, engine::OutcomeKind::kRetry, "busy"};
       };
       Gang(world);
       world.Pass(Seconds(10));
     }},
    {"badNodes.startWindow", "badNodes: {startWindow: @}", "10s", "1s", Nodes,
     [](World& world) {
       Fails(world, "a", Seconds(5));
       Fails(world, "b", Seconds(5), 1);
     }},
    {"badNodes.gangs", "badNodes: {gangs: @}", "2", "1", Nodes, OneFails},
    {"badNodes.pods", "badNodes: {pods: @}", "3", "1", Nodes, OneFails},
    {"badNodes.leaveOutFirst", "badNodes: {gangs: 1, leaveOutFirst: @}", "5m", "10s", Nodes,
     OneFails},
    {"badNodes.leaveOutMax", "badNodes: {gangs: 1, leaveOutFirst: 20s, leaveOutMax: @}", "1h",
     "20s", Nodes,
     [](World& world) {
       OneFails(world);
       Fails(world, "b");
       world.Pass(Seconds(30));
     }},
    {"badNodes.mostPercent", "badNodes: {gangs: 1, mostPercent: @}", "10", "0", Nodes, OneFails},
    {"autoscaling.scaleUp", "autoscaling: {scaleUp: @, after: 5s}", "none", "unschedulable", Nodes,
     TooLarge},
    {"autoscaling.after", "autoscaling: {scaleUp: unschedulable, after: @}", "1h", "5s", Nodes,
     TooLarge},
    {"autoscaling.keepNodes", "autoscaling: {scaleUp: unschedulable, keepNodes: @}", "none",
     "gangs", Nodes, Runs},
    {"autoscaling.provisioningClass",
     "autoscaling: {scaleUp: provisioningRequest, after: 5s, provisioningClass: @}",
     "first.example", "second.example", Nodes, TooLarge},
    {"extender.httpTimeout", "extender: {httpTimeout: @}", "1m", "10s", Nodes,
     [](World& world) {
       Gang(world);
       world.Filter("g-0");
       world.Bind("g-0");
       world.Pass(Seconds(20));
     }},
};

engine::Options OptionsOf(const Story& story, const std::string& value) {
  std::string text = story.text;
  text.replace(text.find('@'), 1, value);
  const auto policy =
      config::LoadPolicy("apiVersion: muster.dev/v1alpha1\nkind: Policy\n" + text + "\n", "p");
  REQUIRE((policy.ok() ? "" : policy.error().ToString()) == "");
  engine::Options options = policy->engine;
  config::UseProfiles(&options.placement);
  return options;
}

// All that is known and was done after the change, from both ends of the story.
std::string Tell(const Story& story, const std::string& first, const std::string& then) {
  World world(OptionsOf(story, first));
  story.before(world);
  if (then != first) world.engine().SetOptions(OptionsOf(story, then));
  world.Settle();
  world.log.clear();
  story.after(world);
  std::string told = world.engine().Dump();
  for (const engine::Action& action : world.log) {
    told += std::to_string(action.index());
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { one.pod.key.name; }) told += " " + one.pod.key.name;
          if constexpr (requires { one.message; }) told += " " + one.message;
        },
        action);
    told += "\n";
  }
  for (const auto& [ticket, answer] : world.bind_answers) {
    told += std::to_string(ticket) + ": " + answer + "\n";
  }
  return told;
}

// The first line that is not the same in both; empty: all are.
std::string Difference(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  std::string one;
  std::string other;
  while (true) {
    const bool more = static_cast<bool>(std::getline(left, one));
    if (static_cast<bool>(std::getline(right, other)) != more) return "one ends before the other";
    if (!more) return "";
    if (one != other) return one + "\n" + other;
  }
}

TEST_CASE("a reload changes every option of the engine", "[reload]") {
  for (const Story& story : kStories) {
    DYNAMIC_SECTION(story.field) {
      const std::string started = Tell(story, story.new_value, story.new_value);
      // Without this the story would prove nothing.
      CHECK(Difference(Tell(story, story.old_value, story.old_value), started) != "");
      CHECK(Difference(Tell(story, story.old_value, story.new_value), started) == "");
    }
  }
}

TEST_CASE("every field of the policy has a story", "[reload]") {
  std::set<std::string> told;
  for (const Story& story : kStories) {
    told.insert(story.field);
    // The story changes the field that it is named after: no field takes a map of nothing known.
    std::string text = story.text;
    text.replace(text.find('@'), 1, "{nothing: known}");
    const auto wrong =
        config::LoadPolicy("apiVersion: muster.dev/v1alpha1\nkind: Policy\n" + text + "\n", "p");
    REQUIRE_FALSE(wrong.ok());
    std::string field = story.field;  // of the first element of each list
    for (size_t at = 0; (at = field.find("[]", at)) != std::string::npos;)
      field.insert(at + 1, "0");
    // Of a map, of whatever name.
    if (field.back() == '*') {
      field.pop_back();
    } else {
      field += ": ";
    }
    CHECK_THAT(wrong.error().message, Catch::StartsWith(field));
  }
  const std::vector<std::string> fields = config::ListPolicyFields();
  for (const std::string& field : fields) {
    const bool section = std::any_of(fields.begin(), fields.end(), [&](const std::string& other) {
      return other.rfind(field + ".", 0) == 0 || other.rfind(field + "[]", 0) == 0;
    });
    if (section || OfServers(field) || OfGrouping(field) || OfReading(field)) continue;
    INFO(field << " has no story in tests/scenario/reload_test.cpp");
    CHECK(told.count(field) == 1);
  }
}

}  // namespace
}  // namespace muster::testing
