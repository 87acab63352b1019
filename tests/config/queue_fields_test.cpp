// `queues` in a policy: the words, other systems' words, and what is wrong with them, by place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "config/policies/policy_file.hpp"
#include "queues/tree.hpp"

namespace muster::config {
namespace {

using queues::Amount;
using queues::Limit;
using queues::QueueSpec;
using queues::Resource;

const Resource kGpu{Resource::Kind::kGpu};                // NOLINT(cert-err58-cpp)
const Resource kH100{Resource::Kind::kGpuModel, "h100"};  // NOLINT(cert-err58-cpp)

std::string Text(const std::string& queues) {
  return "apiVersion: muster.dev/v1alpha1\nkind: Policy\n" + queues;
}

PolicyReading Read(const std::string& queues) { return ReadPolicy(Text(queues), "p"); }

std::vector<QueueSpec> Queues(const std::string& queues) {
  PolicyReading reading = Read(queues);
  for (const cluster::Error& fault : reading.faults) UNSCOPED_INFO(fault.ToString());
  REQUIRE(reading.ok());
  return reading.policy.engine.queues;
}

std::string Faults(const std::string& queues) {
  std::string text;
  for (const cluster::Error& fault : Read(queues).faults) text += fault.ToString() + "\n";
  return text;
}

std::string Notes(const std::string& queues) {
  std::string text;
  for (const std::string& note : Read(queues).policy.notes) text += note + "\n";
  return text;
}

TEST_CASE("a queue says all that it is", "[config][queues]") {
  const std::vector<QueueSpec> queues = Queues(R"(queues:
- name: company
  guarantee: {gpu: 96, gpu/h100: 32, cpu: 0.5, memory: 512GiB, gpuMemory: 80GiB}
  resourceWeights: {gpu/h100: 4, cpu: 0}
- name: research
  parent: company
  namespaces:
    names: [lab]
    selector: {matchLabels: {team: research, example.com/tier: "1"}}
  guarantee: {gpu: 64, gpu/h100: 32}
  lend: {gpu: 48}
  limit: {gpu: 128}
  weight: 2
  order: strict-fifo
  usageHalfLife: 168h
  fairBy: namespace
  priorityCap: 1000
  state: drain
)");
  REQUIRE(queues.size() == 2);
  const Resource cpu{Resource::Kind::kCpu};
  const Resource memory{Resource::Kind::kMemory};
  const Resource gpu_memory{Resource::Kind::kGpuMemory};
  CHECK(queues[0] == QueueSpec{.name = "company",
                               .guarantee = {{kGpu, Amount(96'000)},
                                             {kH100, Amount(32'000)},
                                             {cpu, Amount(500)},
                                             {memory, Amount(512 * 1024)},
                                             {gpu_memory, Amount(80 * 1024)}},
                               .resource_weights = {{kH100, 4}, {cpu, 0}}});
  CHECK(queues[1] == QueueSpec{.name = "research",
                               .parent = "company",
                               .namespaces = {"lab"},
                               .selector = queues::NamespaceSelector{{{"team", "research"},
                                                                      {"example.com/tier", "1"}}},
                               .guarantee = {{kGpu, Amount(64'000)}, {kH100, Amount(32'000)}},
                               .lend = {{kGpu, Limit(48'000)}},
                               .limit = {{kGpu, Limit(128'000)}},
                               .weight = 2,
                               .usage_half_life = cluster::Seconds(168 * 3600),
                               .priority_cap = 1000,
                               .order = queues::Order::kStrictFifo,
                               .fair_by = queues::FairBy::kNamespace,
                               .state = queues::QueueState::kDrain});
  CHECK(Queues("") == queues::OneQueue());
  CHECK(Queues("queues: []\n") == queues::OneQueue());
}

TEST_CASE("a guarantee has shapes, in whole nodes", "[config][queues][R14]") {
  const std::vector<QueueSpec> queues = Queues(R"(queues:
- {name: a, guarantee: {gpu: 64, gpu/h100: 32, shapes: [{wholeNodes: 2, model: h100}, {wholeNodes: 1}]}}
- {name: b, deserved: {gpu: 8, shapes: [{wholeNodes: 1, model: h100-80gb}]}}
)");
  CHECK(queues[0].shapes == std::vector<queues::Shape>{{2, "h100"}, {1, ""}});
  CHECK(queues[0].guarantee == queues::Amounts{{kGpu, Amount(64'000)}, {kH100, Amount(32'000)}});
  CHECK(queues[1].shapes == std::vector<queues::Shape>{{1, "h100-80gb"}});
  CHECK(Faults(R"(queues:
- name: a
  guarantee:
    gpu: 64
    shapes:
    - {wholeNodes: 0, model: H/100}
    - {model: h100, nodes: 3}
  lend: {shapes: []}
)") == "p:8:20: queues[0].guarantee.shapes[0].wholeNodes: expected a whole number from 1 to "
       "100000, found \"0\"\n"
       "p:8:30: queues[0].guarantee.shapes[0].model: expected a word of a GPU's name, such as "
       "h100, found \"H/100\"\n"
       "p:9:7: queues[0].guarantee.shapes[1].wholeNodes: expected a whole number from 1 to "
       "100000, found nothing\n"
       "p:9:21: queues[0].guarantee.shapes[1].nodes: unknown field, did you mean "
       "fabric.reserve[].nodes?\n"
       "p:10:10: queues[0].lend.shapes: expected gpu, gpu/MODEL (such as gpu/h100), gpuMemory, "
       "cpu or memory, found \"shapes\"\n");
  CHECK(Faults(R"(queues:
- name: a
  guarantee: {gpu: 64, shapes: [{wholeNodes: 2, model: h100}, {wholeNodes: 1, model: h100}]}
- name: b
  parent: a
  guarantee: {gpu: 32, shapes: [{wholeNodes: 3, model: h100}]}
- {name: c, guarantee: {shapes: [{wholeNodes: 3}]}}
)") == "p:5:46: queues[0].guarantee.shapes[0].wholeNodes: expected at least 3, which queues below "
       "are guaranteed (b 3), found 2\n"
       "p:5:76: queues[0].guarantee.shapes[1].wholeNodes: expected at least 3, which queues below "
       "are guaranteed (b 3), found 1\n"
       "p:5:86: queues[0].guarantee.shapes[1].model: expected a model that no other shape of the "
       "queue has, found \"h100\" again (first as [0])\n"
       "p:9:33: queues[2].guarantee.shapes: expected gpu beside it in the guarantee, with the GPUs "
       "of its 3 nodes, 3 at least, found none\n");
}

TEST_CASE("other systems' words are taken, and said in ours", "[config][queues]") {
  const std::string theirs = R"(queues:
- name: a
  nominalQuota: {gpu: 8}
  lendingLimit: {gpu: 4}
  borrowingLimit: {gpu: 2}
  fairSharing: {weight: 3}
  namespaceSelector: {matchLabels: {team: a}}
  order: StrictFIFO
  fairBy: LocalQueue
  state: HoldAndDrain
- name: b
  deserved: {gpu: 8}
  capability: {gpu: 9}
  shared-weight: 2
  TRESBillingWeights: {gpu: 2}
  PriorityDecayHalfLife: 24h
  order: BestEffortFIFO
  state: Hold
)";
  const std::vector<QueueSpec> queues = Queues(theirs);
  CHECK(queues == Queues(R"(queues:
- {name: a, guarantee: {gpu: 8}, lend: {gpu: 4}, limit: {gpu: 10}, weight: 3, order: strict-fifo,
   fairBy: namespace, state: drain, namespaces: {selector: {matchLabels: {team: a}}}}
- {name: b, guarantee: {gpu: 8}, limit: {gpu: 9}, weight: 2, resourceWeights: {gpu: 2}, usageHalfLife: 24h,
   order: fifo, state: hold}
)"));
  const std::string notes = Notes(theirs);
  CHECK_THAT(notes, Catch::Contains("p:5:17: queues[0].nominalQuota: is guarantee here\n"));
  CHECK_THAT(notes,
             Catch::Contains("p:7:19: queues[0].borrowingLimit: is limit here, and counts the "
                             "guarantee too\n"));
  CHECK_THAT(notes, Catch::Contains("p:10:10: queues[0].order: StrictFIFO is strict-fifo here\n"));
  CHECK(std::count(notes.begin(), notes.end(), '\n') == 15);
  CHECK(Notes("queues: [{name: a, guarantee: {gpu: 1}}]\n").empty());
  // GPUs that are guaranteed by model are guaranteed GPUs.
  CHECK(Queues("queues: [{name: a, quota: {gpu/h100: 8}, borrowingLimit: {gpu: 4}}]\n") ==
        Queues("queues: [{name: a, guarantee: {gpu/h100: 8}, limit: {gpu: 12}}]\n"));
}

TEST_CASE("amounts may be said as Kubernetes does, and models as nodes' labels do",
          "[config][queues]") {
  const std::vector<QueueSpec> queues = Queues(R"(queues:
- name: a
  guarantee: {nvidia.com/gpu: "8", gpu/NVIDIA-H100-80GB-HBM3: 4, cpu: 9500m, memory: 36Gi}
  limit: {gpu/Tesla_V100: 2, gpuMemory: 1Ti}
)");
  const Resource h100{Resource::Kind::kGpuModel, "nvidia-h100-80gb-hbm3"};
  CHECK(queues[0].guarantee == queues::Amounts{{kGpu, Amount(8'000)},
                                               {h100, Amount(4'000)},
                                               {{Resource::Kind::kCpu}, Amount(9'500)},
                                               {{Resource::Kind::kMemory}, Amount(36 * 1024)}});
  CHECK(queues[0].limit == queues::Limits{{{Resource::Kind::kGpuModel, "tesla-v100"}, Limit(2'000)},
                                          {{Resource::Kind::kGpuMemory}, Limit(1024 * 1024)}});
  CHECK(Faults("queues:\n- {name: a, guarantee: {gpu: 1, nvidia.com/gpu: 2, gpu/H100: 1, "
               "gpu/h100: 2, memory: 64G}}\n") ==
        "p:4:33: queues[0].guarantee.nvidia.com/gpu: expected gpu once, found it again (first as "
        "gpu on line 4)\n"
        "p:4:65: queues[0].guarantee.gpu/h100: expected gpu/h100 once, found it again (first as "
        "gpu/H100 on line 4)\n"
        "p:4:86: queues[0].guarantee.memory: expected a size in whole MiB, such as 512GiB or "
        "512Gi, found \"64G\"\n");
}

TEST_CASE("words of other systems that nothing here is the same as are answered",
          "[config][queues]") {
  const auto answer = [](const std::string& field) {
    const std::string faults = Faults("queues:\n- name: a\n  " + field + "\n");
    CHECK(std::count(faults.begin(), faults.end(), '\n') == 1);
    return faults.substr(faults.find("unknown field"));
  };
  CHECK_THAT(answer("queues: [{name: b}]"), Catch::Contains("parent: NAME"));
  CHECK_THAT(answer("children: []"), Catch::Contains("parent: NAME"));
  CHECK_THAT(answer("resources: {gpu: {quota: 8}}"), Catch::Contains("guarantee: {gpu: 8}"));
  CHECK_THAT(answer("resourceGroups: []"), Catch::Contains("guarantee: {gpu: 8}"));
  CHECK_THAT(answer("priority: 100"), Catch::Contains("queues have no priority here"));
  CHECK_THAT(answer("reclaimable: false"), Catch::Contains("beyond its guarantee"));
  CHECK_THAT(answer("submitacl: '*'"), Catch::Contains("namespaces"));
  CHECK_THAT(answer("maxapplications: 4"), Catch::Contains("limit says how much"));
  CHECK_THAT(answer("preemption: {borrowWithinCohort: {policy: Never}}"),
             Catch::Contains("reclaim: fair-share"));
  CHECK_THAT(answer("namespaceSelector: {matchExpressions: []}"),
             Catch::Contains("only matchLabels"));
  CHECK_THAT(Faults("queues:\n- {name: a, limit: {pods: 5}, guarantee: {resource: {cpu: 1}}}\n"),
             Catch::Contains("limit.pods: pods are not counted here") &&
                 Catch::Contains("guarantee.resource: amounts are said directly"));
  CHECK_THAT(answer("placement: {}"), Catch::Contains("it belongs at the top of the file"));
  CHECK_THAT(Faults("queues:\n- {name: a, preemption: {withinClusterQueue: "
                    "LowerOrNewerEqualPriority}}\n"),
             Catch::Contains("lower-priority"));
  const std::vector<QueueSpec> queues = Queues(R"(queues:
- {name: all, guarantee: {gpu: 8}}
- name: a
  cohort: all
  queueingStrategy: StrictFIFO
  stopPolicy: HoldAndDrain
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
  guaranteed: {gpu: 8}
  max: {gpu: 16}
)");
  CHECK(queues[1] == QueueSpec{.name = "a",
                               .parent = "all",
                               .guarantee = {{kGpu, Amount(8'000)}},
                               .limit = {{kGpu, Limit(16'000)}},
                               .order = queues::Order::kStrictFifo,
                               .state = queues::QueueState::kDrain,
                               .preemption = {.within_queue = queues::WithinQueue::kLowerPriority,
                                              .reclaim = queues::Reclaim::kGuarantee}});
}

TEST_CASE("a namespace in the lists of several queues is doubted", "[config][queues]") {
  CHECK(Notes(R"(queues:
- {name: all, namespaces: {names: [lab, prod]}}
- {name: a, parent: all, namespaces: {names: [lab]}}
- {name: b, parent: all, namespaces: {names: [prod, lab]}}
)") == "p:6:46: queues[2].namespaces.names: namespace lab is in queue a too: gangs of it that name "
       "none with muster.dev/queue are Forbidden\n");
}

TEST_CASE("all faults of queues are reported at once, with their places", "[config][queues]") {
  CHECK(Faults(R"(queues:
- name: a
  guarantee: {gpu: 8, gpus: 4, cpu: -1, memory: 12}
  parents: b
  guarantees: {gpu: 1}
- {parent: a}
)") == "p:5:23: queues[0].guarantee.gpus: expected gpu, gpu/MODEL (such as gpu/h100), gpuMemory, "
       "cpu or memory, found \"gpus\"\n"
       "p:5:37: queues[0].guarantee.cpu: expected an amount such as 64 or 0.5, with three digits "
       "at most after the point, or 500m, found \"-1\"\n"
       "p:5:49: queues[0].guarantee.memory: expected a size in whole MiB, such as 512GiB or "
       "512Gi, found \"12\"\n"
       "p:6:3: queues[0].parents: unknown field, did you mean parent?\n"
       "p:7:3: queues[0].guarantees: unknown field, did you mean guarantee?\n"
       "p:8:3: queues[1].name: expected the name of a queue (lower-case letters, digits, '-' and "
       "'.'), found nothing\n");
  CHECK(Faults(R"(namespaces: {deny: [kube-system]}
gangs: {strictOrder: true}
queues:
- {name: a, parent: c, guarantee: {gpu: 8}, limit: {gpu: 4}}
- {name: b, parent: b}
- {name: a, namespaces: {names: [kube-system]}}
)") == "p:4:22: gangs.strictOrder: expected false beside queues: write order: strict-fifo in "
       "those that are to have it\n"
       "p:6:21: queues[0].parent: expected the name of a queue, found \"c\"\n"
       "p:6:58: queues[0].limit.gpu: expected at least the guarantee of 8, found 4\n"
       "p:7:21: queues[1].parent: expected a queue that is not below this one, found the cycle "
       "b → b\n"
       "p:8:10: queues[2].name: expected a name that no other queue has, found \"a\" again (first "
       "as [0])\n"
       "p:8:33: queues[2].namespaces.names: expected namespaces that may have gangs, found "
       "\"kube-system\", which is in namespaces.deny\n");
  CHECK(
      Faults("queues:\n- {name: a, fairBy: namespace}\n- {name: b, parent: a}\n") ==
      "p:4:21: queues[0].fairBy: expected none in a queue that has others below it (\"b\"), found "
      "namespace\n");
  CHECK(
      Faults("queues:\n- {name: a, usageHalfLife: 30s}\n") ==
      "p:4:28: queues[0].usageHalfLife: expected 0s, or a duration from 1m to 8784h such as 168h, "
      "or inherit, found \"30s\"\n");
  CHECK_THAT(Faults("queues: [{name: a, fairBy: user}]\n"),
             Catch::Contains("queues[0].fairBy: expected none or namespace, found \"user\""));
  CHECK_THAT(Faults("queues: [{name: a, min: {gpu: 1}, guarantee: {gpu: 1}}]\n"),
             Catch::Contains("queues[0].min: expected one name of guarantee, found two"));
}

TEST_CASE("strict order in the words of old policies is noted in new words", "[config][queues]") {
  CHECK(Notes("gangs: {strictOrder: true}\n") ==
        "p:3:22: gangs.strictOrder: is now said by queues: [{name: root, order: strict-fifo}]\n");
  CHECK(Notes("gangs: {strictOrder: false}\n").empty());
  CHECK(Queues("queues: [{name: root, order: strict-fifo}]\n")[0].order ==
        queues::Order::kStrictFifo);
}

TEST_CASE("reservations and backfill are said by queue, else as the queue above says",
          "[config][queues][R10]") {
  const std::vector<QueueSpec> queues = Queues(R"(queues:
- name: a
  reservations: {depth: 2, minAge: 1m, reserveAfter: 90m, reserveFor: 3h}
  backfill: {trust: enforced}
- {name: b, parent: a, reservations: {depth: 0, minAge: inherit}}
)");
  CHECK(queues[0].bookings == queues::BookingRules{.depth = 2,
                                                   .min_age = cluster::Seconds(60),
                                                   .reserve_after = cluster::Seconds(5400),
                                                   .reserve_for = cluster::Seconds(10'800),
                                                   .trust = queues::Trust::kEnforced});
  CHECK(queues[1].bookings == queues::BookingRules{.depth = 0});
  const queues::Tree tree(queues);
  CHECK(tree.at(queues::kRootIndex).bookings == queues::BookingTerms{});
  CHECK(tree.at(*tree.Find("b")).bookings ==
        queues::BookingTerms{.depth = 0,
                             .min_age = cluster::Seconds(60),
                             .reserve_after = cluster::Seconds(5400),
                             .reserve_for = cluster::Seconds(10'800),
                             .trust = queues::Trust::kEnforced});
  const std::string slurm =
      "queues: [{name: a, reservations: {bf_job_part_count_reserve: 3, bf_min_age_reserve: "
      "10m}}]\n";
  CHECK(Queues(slurm)[0].bookings ==
        queues::BookingRules{.depth = 3, .min_age = cluster::Seconds(600)});
  CHECK_THAT(Notes(slurm),
             Catch::Contains("queues[0].reservations.bf_job_part_count_reserve: is depth here\n"));
  CHECK(Faults(R"(queues:
- {name: a, reservations: {depth: -1, minAge: soon, reserve: 1h}, backfill: {trust: declare}}
)") == "p:4:35: queues[0].reservations.depth: expected a whole number from 0 to 1000, or inherit, "
       "found \"-1\"\n"
       "p:4:47: queues[0].reservations.minAge: expected a duration from 0s to 8784h, such as 5m or "
       "1h30m, or inherit, found \"soon\"\n"
       "p:4:53: queues[0].reservations.reserve: unknown field, did you mean reserveFor?\n"
       "p:4:85: queues[0].backfill.trust: expected inherit, none, enforced, declared or learnt, "
       "found \"declare\"\n");
}

TEST_CASE("queues that are written are read as they were", "[config][queues]") {
  const std::string text = Text(R"(queues:
- {name: a, guarantee: {gpu: 1.25, memory: 3GiB}, limit: {gpu/t4: 2}, resourceWeights: {cpu: 3}}
- {name: b, namespaces: {names: [x], selector: {matchLabels: {"k/l": "1"}}}, priorityCap: 5}
- {name: c, reservations: {depth: 2, minAge: 1m}, backfill: {trust: learnt}}
- {name: d, guarantee: {gpu: 24, shapes: [{wholeNodes: 2, model: h100}, {wholeNodes: 1}]}}
)");
  const auto policy = LoadPolicy(text, "p");
  REQUIRE(policy.ok());
  for (const PolicyText style : {PolicyText::kPlain, PolicyText::kCommented}) {
    const auto again = LoadPolicy(WritePolicy(*policy, style), "again");
    REQUIRE((again.ok() ? "" : again.error().ToString()) == "");
    CHECK(again->engine.queues == policy->engine.queues);
  }
}

}  // namespace
}  // namespace muster::config
