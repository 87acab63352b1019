#include "config/policies/policy_file.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "config/fields/amounts.hpp"
#include "config/file.hpp"
#include "config/policies/fabric_fields.hpp"
#include "config/policies/grouping_fields.hpp"
#include "config/policies/policy_fields.hpp"
#include "config/policies/queue_fields.hpp"
#include "tests/config/field_randomizer.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::config {
namespace {

using cluster::Duration;
using cluster::Seconds;

constexpr const char* kPolicyFileHead = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";

TEST_CASE("config/policy.yaml shows every field with its default", "[config][policy]") {
  const auto text = ReadFile(MUSTER_SOURCE_DIR "/config/policy.yaml", kMaxPolicyBytes);
  REQUIRE(text.ok());
  CHECK(*text == WritePolicy(Policy{}, PolicyText::kCommented));
  const auto policy = LoadPolicy(*text, "policy.yaml");
  REQUIRE(policy.ok());
  CHECK(*policy == Policy{});
  CHECK(policy->engine.bind_hold_timeout == engine::Options{}.bind_hold_timeout);
}

TEST_CASE("a policy without fields has the defaults", "[config][policy]") {
  const std::string text = GENERATE_COPY(
      std::string(kPolicyFileHead), std::string("# note\n---\n") + kPolicyFileHead + "---\n",
      std::string(kPolicyFileHead) + "gangs:\nextender:\n  tls:\n  limits: ~\nplacement: {}\n",
      std::string("\xEF\xBB\xBF") +
          "{\"apiVersion\": \"muster.dev/v1alpha1\",\n\t\"kind\": \"Policy\"}",
      std::string("kind: Policy\r\napiVersion: muster.dev/v1alpha1\r\ngangs:"));
  const auto policy = LoadPolicy(text, "p");
  REQUIRE(policy.ok());
  CHECK(*policy == Policy{});
}

TEST_CASE("a field that does nothing any more is taken, with a note, and not written",
          "[config][policy]") {
  const std::string value = GENERATE("4096", "many", "[1]", "");
  const auto policy = LoadPolicy(
      std::string(kPolicyFileHead) + "extender:\n  limits:\n    threads: " + value + "\n", "p");
  REQUIRE(policy.ok());
  CHECK(*policy == Policy{});
  REQUIRE(policy->notes.size() == 1);
  CHECK_THAT(policy->notes[0], Catch::StartsWith("p:5:") &&
                                   Catch::Contains(": extender.limits.threads: has no effect any "
                                                   "more, leave it out: a held Bind call"));
  CHECK_THAT(WritePolicy(*policy, PolicyText::kCommented), !Catch::Contains("threads"));
}

TEST_CASE("every field of a policy is read", "[config][policy]") {
  const auto read = LoadPolicy(std::string(kPolicyFileHead) + R"(
schedulerNames: [muster, default-scheduler]
allowDefaultScheduler: true
namespaces: {allow: [team-a, team-b], deny: [kube-system]}
placement: {strategy: spread}
gangs:
  maxMembers: 77
  strictOrder: true
  preemption: lowerPriority
  victimTimeout: 20m
  reservationTimeout: 1h30m
  partialTimeout: "30s"
  partialGang: hold
  handover: pin
  backoff: {first: 250ms, max: 2s}
  retryInterval: 3s
badNodes: {startWindow: 30s, gangs: 4, pods: 5, leaveOutFirst: 1m, leaveOutMax: 2m, mostPercent: 0}
autoscaling:
  scaleUp: unschedulable
  after: 30s
  keepNodes: all
  provisioningClass: check-capacity.autoscaling.x-k8s.io
extender:
  address: "[::]:9443"
  httpTimeout: 10s
  limits: {header: 8KiB, body: 1MiB, bufferedBodies: 2MiB, connections: 5}
  timeouts: {header: 1s, body: 2s, write: 3s, idle: 4s}
  tls:
    certFile: /etc/muster/tls.crt
    keyFile: /etc/muster/tls.key
    clientCaFile: '/etc/muster/a "ca".crt'
    allowedClientNames: [system:kube-scheduler, "*.example.org"]
metrics: {address: :9090}
)",
                               "p");
  REQUIRE((read.ok() ? "" : read.error().ToString()) == "");
  const engine::Options& options = read->engine;
  CHECK(options.scheduler_names == std::vector<std::string>{"muster", "default-scheduler"});
  CHECK(read->allow_default_scheduler);
  CHECK(options.namespaces.allow == std::vector<std::string>{"team-a", "team-b"});
  CHECK(options.namespaces.deny == std::vector<std::string>{"kube-system"});
  CHECK(options.placement.strategy == policy::Strategy::kSpread);
  CHECK(options.max_members == 77);
  CHECK(options.queues ==
        queues::OneQueue(queues::Order::kStrictFifo, queues::WithinQueue::kLowerPriority));
  CHECK(options.victim_timeout == Seconds(1200));
  CHECK(options.reservation_timeout == Seconds(5400));
  CHECK(options.partial_timeout == Seconds(30));
  CHECK(options.partial_gang == engine::PartialGang::kHold);
  CHECK(options.hand_over == engine::HandOver::kPin);
  CHECK(options.backoff_first == Duration(250));
  CHECK(options.backoff_max == Seconds(2));
  CHECK(options.retry_interval == Seconds(3));
  CHECK(options.bad_nodes.start_window == Seconds(30));
  CHECK(options.bad_nodes.gangs == 4);
  CHECK(options.bad_nodes.pods == 5);
  CHECK(options.bad_nodes.first == Seconds(60));
  CHECK(options.bad_nodes.max == Seconds(120));
  CHECK(options.bad_nodes.most_percent == 0);
  CHECK(options.autoscaling.scale_up == engine::ScaleUp::kUnschedulable);
  CHECK(options.autoscaling.after == Seconds(30));
  CHECK(options.autoscaling.keep_nodes == engine::KeepNodes::kAll);
  CHECK(options.autoscaling.provisioning_class == "check-capacity.autoscaling.x-k8s.io");
  CHECK(options.bind_hold_timeout == Seconds(8));  // 0.8 × httpTimeout
  ExtenderSettings extender;
  extender.address = "[::]:9443";
  extender.http_timeout = Seconds(10);
  extender.max_header_bytes = 8 << 10;
  extender.max_body_bytes = 1 << 20;
  extender.max_buffered_bytes = 2 << 20;
  extender.max_connections = 5;
  extender.header_timeout = Seconds(1);
  extender.body_timeout = Seconds(2);
  extender.write_timeout = Seconds(3);
  extender.idle_timeout = Seconds(4);
  extender.tls = {"/etc/muster/tls.crt",
                  "/etc/muster/tls.key",
                  "/etc/muster/a \"ca\".crt",
                  {"system:kube-scheduler", "*.example.org"}};
  CHECK(read->extender == extender);
  CHECK(read->metrics == MetricsSettings{":9090", {}});
}

// Breaks when engine::Options gains a member: give it a field in policy_fields.cpp, then count it
// here.
TEST_CASE("every option of the engine has a field in the policy", "[config][policy]") {
  const engine::Options options;
  const auto& [placement, scheduler_names, namespaces, queues, reservation_timeout,
               max_reservation_timeout, bind_hold_timeout, partial_timeout, partial_gang,
               lost_member, hand_over, victim_timeout, backoff_first, backoff_max, bad_nodes,
               autoscaling, retry_interval, max_members] = options;
  const auto& [start_window, gangs, pods, first, max, most_percent] = bad_nodes;
  CHECK(most_percent == 10);
  const auto& [scale_up, after, keep_nodes, provisioning_class] = autoscaling;
  CHECK(provisioning_class == "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  CHECK(after == Seconds(10));
  CHECK(placement.strategy == policy::Strategy::kBinpack);
  CHECK(ListPolicyFields() == std::vector<std::string>{
                                  "schedulerNames",
                                  "allowDefaultScheduler",
                                  "namespaces",
                                  "namespaces.allow",
                                  "namespaces.deny",
                                  "placement",
                                  "placement.strategy",
                                  "placement.machineProfiles",
                                  "fabric",
                                  "fabric.trees",
                                  "fabric.trees[]",
                                  "fabric.trees[].name",
                                  "fabric.trees[].preset",
                                  "fabric.trees[].levels",
                                  "fabric.trees[].levels[]",
                                  "fabric.trees[].levels[].name",
                                  "fabric.trees[].levels[].labels",
                                  "fabric.trees[].levels[].unlabelled",
                                  "fabric.reserve",
                                  "fabric.reserve[]",
                                  "fabric.reserve[].level",
                                  "fabric.reserve[].nodes",
                                  "fabric.lostMember",
                                  "queues",
                                  "queues[]",
                                  "queues[].name",
                                  "queues[].parent",
                                  "queues[].namespaces",
                                  "queues[].namespaces.names",
                                  "queues[].namespaces.selector",
                                  "queues[].namespaces.selector.matchLabels",
                                  "queues[].namespaces.selector.matchLabels.*",
                                  "queues[].guarantee",
                                  "queues[].guarantee.shapes",
                                  "queues[].guarantee.shapes[]",
                                  "queues[].guarantee.shapes[].wholeNodes",
                                  "queues[].guarantee.shapes[].model",
                                  "queues[].guarantee.*",
                                  "queues[].lend",
                                  "queues[].lend.*",
                                  "queues[].limit",
                                  "queues[].limit.*",
                                  "queues[].weight",
                                  "queues[].resourceWeights",
                                  "queues[].resourceWeights.*",
                                  "queues[].usageHalfLife",
                                  "queues[].order",
                                  "queues[].fairBy",
                                  "queues[].priorityCap",
                                  "queues[].state",
                                  "queues[].preemption",
                                  "queues[].preemption.withinQueue",
                                  "queues[].preemption.reclaim",
                                  "queues[].preemption.delay",
                                  "queues[].preemption.minRuntime",
                                  "queues[].preemption.minRuntime.preempt",
                                  "queues[].preemption.minRuntime.reclaim",
                                  "queues[].preemption.budgets",
                                  "queues[].preemption.budgets.preempt",
                                  "queues[].preemption.budgets.guarantee",
                                  "queues[].preemption.budgets.fairShare",
                                  "queues[].preemption.maxEvictionsPerGangPerHour",
                                  "queues[].preemption.maxEvictedRatio",
                                  "queues[].preemption.onEvicted",
                                  "queues[].preemption.restartWindow",
                                  "queues[].reservations",
                                  "queues[].reservations.depth",
                                  "queues[].reservations.minAge",
                                  "queues[].reservations.reserveAfter",
                                  "queues[].reservations.reserveFor",
                                  "queues[].reservations.lendToEvictable",
                                  "queues[].backfill",
                                  "queues[].backfill.trust",
                                  "queues[].backfill.maxPerUser",
                                  "queues[].backfill.withoutCheckpoint",
                                  "gangs",
                                  "gangs.byOwner",
                                  "gangs.unreadableOwners",
                                  "gangs.nonIndexedJobs",
                                  "gangs.maxMembers",
                                  "gangs.strictOrder",
                                  "gangs.preemption",
                                  "gangs.victimTimeout",
                                  "gangs.reservationTimeout",
                                  "gangs.maxReservationTimeout",
                                  "gangs.partialTimeout",
                                  "gangs.partialGang",
                                  "gangs.handover",
                                  "gangs.backoff",
                                  "gangs.backoff.first",
                                  "gangs.backoff.max",
                                  "gangs.retryInterval",
                                  "badNodes",
                                  "badNodes.startWindow",
                                  "badNodes.gangs",
                                  "badNodes.pods",
                                  "badNodes.leaveOutFirst",
                                  "badNodes.leaveOutMax",
                                  "badNodes.mostPercent",
                                  "autoscaling",
                                  "autoscaling.scaleUp",
                                  "autoscaling.after",
                                  "autoscaling.keepNodes",
                                  "autoscaling.provisioningClass",
                                  "grouping",
                                  "grouping[]",
                                  "grouping[].kind",
                                  "grouping[].group",
                                  "grouping[].versions",
                                  "grouping[].resource",
                                  "grouping[].wrapper",
                                  "grouping[].notMembers",
                                  "grouping[].notMembers[]",
                                  "grouping[].notMembers[].when",
                                  "grouping[].notMembers[].because",
                                  "grouping[].per",
                                  "grouping[].attempt",
                                  "grouping[].role",
                                  "grouping[].queue",
                                  "grouping[].priorityClass",
                                  "grouping[].roles",
                                  "grouping[].roles[]",
                                  "grouping[].roles[].name",
                                  "grouping[].roles[].each",
                                  "grouping[].roles[].when",
                                  "grouping[].roles[].pods",
                                  "grouping[].roles[].makes",
                                  "grouping[].roles[].needs",
                                  "grouping[].roles[].first",
                                  "grouping[].roles[].unit",
                                  "grouping[].early",
                                  "grouping[].early[]",
                                  "grouping[].early[].when",
                                  "grouping[].early[].passes",
                                  "grouping[].early[].pods",
                                  "grouping[].early[].because",
                                  "grouping[].cases",
                                  "grouping[].cases[]",
                                  "grouping[].cases[].when",
                                  "grouping[].cases[].gang",
                                  "grouping[].cases[].minimum",
                                  "grouping[].cases[].ended",
                                  "grouping[].cases[].keepsRest",
                                  "grouping[].cases[].because",
                                  "grouping[].notHonoured",
                                  "grouping[].notHonoured[]",
                                  "grouping[].notHonoured[].when",
                                  "grouping[].notHonoured[].because",
                                  "extender",
                                  "extender.address",
                                  "extender.httpTimeout",
                                  "extender.limits",
                                  "extender.limits.header",
                                  "extender.limits.body",
                                  "extender.limits.bufferedBodies",
                                  "extender.limits.connections",
                                  "extender.timeouts",
                                  "extender.timeouts.header",
                                  "extender.timeouts.body",
                                  "extender.timeouts.write",
                                  "extender.timeouts.idle",
                                  "extender.tls",
                                  "extender.tls.certFile",
                                  "extender.tls.keyFile",
                                  "extender.tls.clientCaFile",
                                  "extender.tls.allowedClientNames",
                                  "metrics",
                                  "metrics.address",
                                  "metrics.tls",
                                  "metrics.tls.certFile",
                                  "metrics.tls.keyFile",
                                  "metrics.tls.clientCaFile",
                                  "metrics.publicPages",
                                  "operators",
                                  "operators.clientNames",
                                  "operators.clientOrganisations",
                              });
}

// Lists whose elements depend on each other contradict themselves nearly always; without them most
// policies are left.
void LeaveOutWhatContradicts(Policy* policy) {
  engine::Options& options = policy->engine;
  std::vector<Contradiction> found;
  FindGroupingContradictions("grouping", policy->grouping, &found);
  if (!found.empty()) policy->grouping.clear();
  found.clear();
  FindQueueContradictions(policy->queues, options.namespaces, &found);
  if (!found.empty()) policy->queues.clear();
  found.clear();
  FindFabricContradictions(options.placement.fabric, &found);
  if (!found.empty()) options.placement.fabric = {};
}

TEST_CASE("what WritePolicy writes LoadPolicy reads back", "[config][policy]") {
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  int compared = 0;
  int with_lists = 0;
  const int wanted = muster::testing::kSanitized ? 15 : 300;
  for (uint64_t round = 0; compared < wanted; ++round) {
    Policy policy;
    testing::FieldRandomizer randomizer(seed + round);
    VisitPolicy(&policy, &randomizer);
    LeaveOutWhatContradicts(&policy);
    if (!FindContradictions(policy).empty()) continue;
    ++compared;
    with_lists += !policy.engine.queues.empty() + !policy.engine.placement.fabric.trees.empty();
    for (const PolicyText style : {PolicyText::kPlain, PolicyText::kCommented}) {
      const std::string text = WritePolicy(policy, style);
      const auto read = LoadPolicy(text, "p");
      CAPTURE(text);
      REQUIRE((read.ok() ? "" : read.error().ToString()) == "");
      REQUIRE(WritePolicy(*read) == WritePolicy(policy));
      REQUIRE(read->extender == policy.extender);
      REQUIRE(read->engine.namespaces == policy.engine.namespaces);
      REQUIRE(read->engine.backoff_max == policy.engine.backoff_max);
      REQUIRE(read->engine.bind_hold_timeout.value() ==
              policy.extender.http_timeout.value() * 4 / 5);
    }
  }
  CHECK((with_lists > 0 || muster::testing::kSanitized));
}

}  // namespace
}  // namespace muster::config
