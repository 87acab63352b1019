#include <catch2/catch.hpp>

#include "config/policies/policy_file.hpp"

namespace muster::config {
namespace {

constexpr const char* kPolicyErrorsHead = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";

struct PolicyErrorsCase {
  std::string text;
  std::string want;
};

std::string ErrorOf(const std::string& text) {
  std::string lines;
  for (const cluster::Error& fault : ReadPolicy(text, "p.yaml").faults) {
    lines += (lines.empty() ? "" : "\n") + fault.ToString();
  }
  return lines;
}

TEST_CASE("a file that is no policy is refused", "[config][policy]") {
  const PolicyErrorsCase c = GENERATE(values<PolicyErrorsCase>({
      {"",
       "p.yaml:1:1: expected a policy (apiVersion: muster.dev/v1alpha1, kind: Policy), found no "
       "text"},
      {"# all commented out\n",
       "p.yaml:1:1: expected a policy (apiVersion: muster.dev/v1alpha1, kind: Policy), found no "
       "text"},
      {"gangs: {}\n",
       "p.yaml:1:1: apiVersion: expected muster.dev/v1alpha1, found nothing\n"
       "p.yaml:1:1: kind: expected Policy, found nothing"},
      {"apiVersion: muster.dev/v1alpha1\n", "p.yaml:1:1: kind: expected Policy, found nothing"},
      {"kind: Policy\napiVersion: v1\n",
       "p.yaml:2:13: apiVersion: expected muster.dev/v1alpha1, found \"v1\""},
      {"kind: [Policy]\napiVersion: muster.dev/v1alpha1\n",
       "p.yaml:1:7: kind: expected Policy, found a list"},
      {"- a\n",
       "p.yaml:1:1: expected a policy (apiVersion: muster.dev/v1alpha1, kind: Policy), found a "
       "list"},
      {"policy\n",
       "p.yaml:1:1: expected a policy (apiVersion: muster.dev/v1alpha1, kind: Policy), found "
       "\"policy\""},
      {"a: 1\n---\nb: 1\n", "p.yaml:3:1: expected one document, found 2"},
      {std::string(kMaxPolicyBytes + 1, '\n'),
       "p.yaml: expected at most 1048576 bytes, found 1048577"},
  }));
  CHECK(ErrorOf(c.text) == c.want);
}

// Lines 1 and 2 are the head.
TEST_CASE("faults of a policy are reported by line, column and field", "[config][policy]") {
  const PolicyErrorsCase c = GENERATE(values<PolicyErrorsCase>({
      {"gangs:\n  partialTimout: 1m\n",
       "p.yaml:4:3: gangs.partialTimout: unknown field, did you mean partialTimeout?"},
      {"gang: {}\n", "p.yaml:3:1: gang: unknown field, did you mean gangs?"},
      {"partialTimeout: 1m\n",
       "p.yaml:3:1: partialTimeout: unknown field, did you mean gangs.partialTimeout?"},
      {"placement:\n  colour: red\n",
       "p.yaml:4:3: placement.colour: unknown field, expected strategy or machineProfiles"},
      {"gangs:\n  backoff:\n    third: 1s\n",
       "p.yaml:5:5: gangs.backoff.third: unknown field, expected first or max"},
      {"\"a: b\": 1\n",
       "p.yaml:3:1: \"a: b\": unknown field, expected apiVersion, kind, schedulerNames, "
       "allowDefaultScheduler, "
       "namespaces, "
       "placement, fabric, queues, gangs, badNodes, autoscaling, grouping, extender, metrics or "
       "operators"},
      {"gangs:\n  maxMembers: 5\n  maxMembers: 6\n",
       "p.yaml:5:3: gangs.maxMembers: expected each key once, found it again (first on line 4)"},
      {"gangs: 5\n", "p.yaml:3:8: gangs: expected a section (\"key: value\" lines), found \"5\""},
      {"gangs: []\n", "p.yaml:3:8: gangs: expected a section (\"key: value\" lines), found a list"},
      {"placement: {strategy: BinPack}\n",
       "p.yaml:3:23: placement.strategy: expected binpack or spread, found \"BinPack\""},
      {"placement:\n  strategy:\n",
       "p.yaml:4:3: placement.strategy: expected binpack or spread, found nothing"},
      {"gangs: {partialGang: {}}\n",
       "p.yaml:3:22: gangs.partialGang: expected evict or hold, found a map"},
      {"gangs: {strictOrder: yes}\n",
       "p.yaml:3:22: gangs.strictOrder: expected true or false, found \"yes\""},
      {"gangs: {strictOrder: \"true\"}\n",
       "p.yaml:3:22: gangs.strictOrder: expected true or false, found the text \"true\""},
      {"gangs:\n  partialTimeout: 90\n",
       "p.yaml:4:19: gangs.partialTimeout: expected a duration from 1s to 1h, such as 90s or "
       "1h30m, "
       "found \"90\""},
      {"gangs:\n  partialTimeout: 2h\n",
       "p.yaml:4:19: gangs.partialTimeout: expected a duration from 1s to 1h, such as 90s or "
       "1h30m, "
       "found \"2h\""},
      {"gangs:\n  partialTimeout: [1m]\n",
       "p.yaml:4:19: gangs.partialTimeout: expected a duration from 1s to 1h, such as 90s or "
       "1h30m, "
       "found a list"},
      {"extender: {limits: {body: 4MB}}\n",
       "p.yaml:3:27: extender.limits.body: expected a size from 1KiB to 1GiB, such as 512KiB or "
       "4MiB, found \"4MB\""},
      {"extender: {limits: {body: 4194304}}\n",
       "p.yaml:3:27: extender.limits.body: expected a size from 1KiB to 1GiB, such as 512KiB or "
       "4MiB, found \"4194304\""},
      {"autoscaling: {provisioningClass: Best_Effort}\n",
       "p.yaml:3:34: autoscaling.provisioningClass: expected a provisioning class (lower-case "
       "letters, digits, '-' and '.'), found \"Best_Effort\""},
      {"autoscaling: {scaleUp: always}\n",
       "p.yaml:3:24: autoscaling.scaleUp: expected none, unschedulable or provisioningRequest, "
       "found \"always\""},
      {"schedulerNames: muster\n",
       "p.yaml:3:17: schedulerNames: expected a list such as [first, second], found \"muster\""},
      {"schedulerNames: [muster, 12]\n",
       "p.yaml:3:26: schedulerNames[1]: expected a schedulerName (lower-case letters, digits, '-' "
       "and '.'), found 12, which YAML takes for a number or a truth value: put it in quotes"},
      {"metrics: {publicPages: [gang]}\n",
       "p.yaml:3:25: metrics.publicPages[0]: expected gangs, nodes, queues, topology or policy, "
       "found \"gang\""},
      {"namespaces: {deny: [a, b, a]}\n",
       "p.yaml:3:27: namespaces.deny[2]: expected each entry once, found \"a\" again (first as "
       "[0])"},
      {"namespaces: {deny: [Team_A]}\n",
       "p.yaml:3:21: namespaces.deny[0]: expected a Kubernetes namespace, found \"Team_A\""},
      {"gangs: {nonIndexedJobs: [Team_A]}\n",
       "p.yaml:3:26: gangs.nonIndexedJobs[0]: expected a Kubernetes namespace, or \"*\" for all, "
       "found \"Team_A\""},
      {"namespaces: {allow: [null]}\n",
       "p.yaml:3:22: namespaces.allow[0]: expected a Kubernetes namespace, found nothing"},
      {"extender: {address: localhost}\n",
       "p.yaml:3:21: extender.address: expected an address such as 127.0.0.1:8888, [::1]:8888 or "
       ":8888, found \"localhost\""},
      {"extender: {address: \"host:65536\"}\n",
       "p.yaml:3:21: extender.address: expected an address such as 127.0.0.1:8888, [::1]:8888 or "
       ":8888, found the text \"host:65536\""},
      {"extender: {address: \"::1:80\"}\n",
       "p.yaml:3:21: extender.address: expected an address such as 127.0.0.1:8888, [::1]:8888 or "
       ":8888, found the text \"::1:80\""},
      {"extender: {tls: {certFile: \"a\\nb\"}}\n",
       "p.yaml:3:28: extender.tls.certFile: expected the path of a file, found the text \"a\\nb\""},
      {"a: &x 1\n",
       "p.yaml:3:4: expected a value, found an anchor ('&'): anchors and aliases are not "
       "supported"},
      // All of them, in the order of the file.
      {"metrics: {address: 1}\ngangs: {maxMembers: x}\n",
       "p.yaml:3:20: metrics.address: expected an address such as 127.0.0.1:8888, [::1]:8888 or "
       ":8888, found 1, which YAML takes for a number or a truth value: put it in quotes\n"
       "p.yaml:4:21: gangs.maxMembers: expected a whole number from 1 to 100000, found \"x\""},
  }));
  CAPTURE(c.text);
  CHECK(ErrorOf(kPolicyErrorsHead + c.text) == c.want);
}

TEST_CASE("callers with room for one error get the first fault", "[config][policy]") {
  const auto one =
      LoadPolicy(std::string(kPolicyErrorsHead) + "gangs: {maxMembers: x}\n", "p.yaml");
  CHECK(one.error().ToString() ==
        "p.yaml:3:21: gangs.maxMembers: expected a whole number from 1 to 100000, found \"x\"");
  const auto two =
      LoadPolicy(std::string(kPolicyErrorsHead) + "gangs: {maxMembers: x}\na: 1\n", "p.yaml");
  CHECK(two.error().ToString() == one.error().ToString() + " (the first fault of 2)");
}

TEST_CASE("whole numbers that readers might take differently are refused", "[config][policy]") {
  const std::string number = GENERATE(
      as<std::string>{}, "012", "1e3", "0x10", "0b11", "0o17", "1_000", "+5", "-5", "1.0", "0",
      "100001", "9223372036854775808", "99999999999999999999", "1e400", ".inf", "five", "true");
  CHECK(ErrorOf(kPolicyErrorsHead + ("gangs: {maxMembers: " + number + "}\n")) ==
        "p.yaml:3:21: gangs.maxMembers: expected a whole number from 1 to 100000, found \"" +
            number + "\"");
}

TEST_CASE("fields that contradict each other are refused", "[config][policy]") {
  const PolicyErrorsCase c = GENERATE(values<PolicyErrorsCase>({
      {"schedulerNames: [muster, default-scheduler]\n",
       "p.yaml:3:17: schedulerNames: expected no default-scheduler: every pod that names no "
       "scheduler has it, those of the system included; leave it out, or write "
       "allowDefaultScheduler: true if it is meant"},
      {"schedulerNames: [default-scheduler]\nallowDefaultScheduler: true\n", ""},
      {"namespaces: {allow: [a], deny: [b, a]}\n",
       "p.yaml:3:32: namespaces.deny: expected no namespace that namespaces.allow has too, found "
       "\"a\""},
      {"gangs: {nonIndexedJobs: [a], byOwner: false}\n",
       "p.yaml:3:25: gangs.nonIndexedJobs: expected none beside byOwner: false, which leaves the "
       "pods of every Job alone"},
      {"gangs: {nonIndexedJobs: [a]}\ngrouping:\n- {kind: Job, group: batch, resource: jobs, "
       "cases: [{}]}\n",
       "p.yaml:3:25: gangs.nonIndexedJobs: expected none beside a rule of your own for Job of "
       "batch in grouping: write it there"},
      {"gangs: {nonIndexedJobs: [\"*\"]}\n", ""},
      {"gangs:\n  backoff: {first: 10m}\n",
       "p.yaml:4:12: gangs.backoff.max: expected at least gangs.backoff.first (10m), found 5m"},
      {"badNodes: {leaveOutFirst: 2h}\n",
       "p.yaml:3:11: badNodes.leaveOutMax: expected at least badNodes.leaveOutFirst (2h), found "
       "1h"},
      {"extender:\n  limits:\n    bufferedBodies: 1MiB\n",
       "p.yaml:5:21: extender.limits.bufferedBodies: expected at least extender.limits.body "
       "(32MiB), "
       "found 1MiB"},
      {"extender: {tls: {certFile: a}}\n",
       "p.yaml:3:17: extender.tls.keyFile: expected the key of extender.tls.certFile, found "
       "nothing"},
      {"extender: {tls: {keyFile: a}}\n",
       "p.yaml:3:17: extender.tls.certFile: expected the certificate of extender.tls.keyFile, "
       "found "
       "nothing"},
      {"extender: {tls: {clientCaFile: a}}\n",
       "p.yaml:3:32: extender.tls.clientCaFile: expected extender.tls.certFile and keyFile beside "
       "it: callers show certificates only to a server that has one"},
      {"extender: {tls: {certFile: a, keyFile: b, allowedClientNames: [c]}}\n",
       "p.yaml:3:63: extender.tls.allowedClientNames: expected extender.tls.clientCaFile beside "
       "it: "
       "names in unchecked certificates prove nothing"},
      {"extender: {address: \":80\"}\nmetrics: {address: \":80\"}\n",
       "p.yaml:4:20: metrics.address: expected another address than extender.address"},
      {"extender: {address: \":0\"}\nmetrics: {address: \":0\"}\n", ""},
  }));
  CAPTURE(c.text);
  CHECK(ErrorOf(kPolicyErrorsHead + c.text) == c.want);
}

TEST_CASE("all faults of a fabric are reported", "[config][policy]") {
  CHECK(
      ErrorOf(std::string(kPolicyErrorsHead) + "fabric:\n"
                                               "  trees:\n"
                                               "  - name: dc\n"
                                               "    preset: awz\n"
                                               "  - preset: aws\n"
                                               "  - name: other\n"
                                               "    levels:\n"
                                               "    - name: Rack\n"
                                               "      labels: [rack, \"\", rack]\n"
                                               "      unlabelled: inside\n") ==
      "p.yaml:6:13: fabric.trees[0].preset: expected none, kubernetes, topograph, aws, gcp or "
      "gpuClique, found \"awz\"\n"
      "p.yaml:7:5: fabric.trees[1].name: expected a name of lower-case letters, digits and '-', "
      "found nothing\n"
      "p.yaml:10:13: fabric.trees[2].levels[0].name: expected a name of lower-case letters, digits "
      "and '-', found \"Rack\"\n"
      "p.yaml:11:22: fabric.trees[2].levels[0].labels[1]: expected a node label's key such as "
      "example.com/rack, found the text \"\"\n"
      "p.yaml:11:26: fabric.trees[2].levels[0].labels[2]: expected each entry once, found \"rack\" "
      "again (first as [0])\n"
      "p.yaml:12:19: fabric.trees[2].levels[0].unlabelled: expected outside or alone, found "
      "\"inside\"");
}

TEST_CASE("contradictions in a fabric are reported", "[config][policy]") {
  CHECK(
      ErrorOf(std::string(kPolicyErrorsHead) + "fabric:\n"
                                               "  trees:\n"
                                               "  - name: dc\n"
                                               "  - name: dc\n"
                                               "    preset: aws\n"
                                               "    levels: [{name: rack, labels: [rack]}]\n"
                                               "  - name: other\n"
                                               "    levels:\n"
                                               "    - {name: rack, labels: [rack]}\n"
                                               "    - {name: rack, labels: [row, rack]}\n"
                                               "    - {name: host}\n") ==
      "p.yaml:5:11: fabric.trees[0].name: expected levels or a preset in tree \"dc\", found "
      "neither\n"
      "p.yaml:6:11: fabric.trees[1].name: expected a name that no other tree has, found \"dc\" of "
      "fabric.trees[0] again\n"
      "p.yaml:8:13: fabric.trees[1].levels: expected no levels beside a preset, found 1\n"
      "p.yaml:12:14: fabric.trees[2].levels[1].name: expected a name that no other level of the "
      "tree has, found \"rack\" of fabric.trees[2].levels[0] again\n"
      "p.yaml:12:28: fabric.trees[2].levels[1].labels: expected labels that no other level of the "
      "tree has, found \"rack\" of fabric.trees[2].levels[0] again\n"
      "p.yaml:13:14: fabric.trees[2].levels[2].name: expected labels in level \"host\", found "
      "none");
}

TEST_CASE("a label that also names another level is reported", "[config][policy]") {
  CHECK(
      ErrorOf(std::string(kPolicyErrorsHead) + "fabric:\n"
                                               "  trees:\n"
                                               "  - name: dc\n"
                                               "    levels:\n"
                                               "    - {name: block, labels: [rack]}\n"
                                               "    - {name: rack, labels: [example.com/rack]}\n"
                                               "  - name: other\n"
                                               "    levels:\n"
                                               "    - {name: row, labels: [row, block, t/core]}\n"
                                               "    - {name: host, labels: [host, dc/rack]}\n"
                                               "  - {name: t, preset: topograph}\n") ==
      "p.yaml:7:29: fabric.trees[0].levels[0].labels: expected labels that are no name of another "
      "level, found \"rack\", which is level \"rack\" of tree \"dc\"\n"
      "p.yaml:11:27: fabric.trees[1].levels[0].labels: expected labels that are no name of another "
      "level, found \"block\", which is level \"block\" of tree \"dc\"\n"
      "p.yaml:11:27: fabric.trees[1].levels[0].labels: expected labels that are no name of another "
      "level, found \"t/core\", which is level \"core\" of tree \"t\"\n"
      "p.yaml:12:28: fabric.trees[1].levels[1].labels: expected labels that are no name of another "
      "level, found \"dc/rack\", which is level \"rack\" of tree \"dc\"");
  // One label that several trees name alike is no matter.
  CHECK(ErrorOf(std::string(kPolicyErrorsHead) +
                "fabric:\n"
                "  trees:\n"
                "  - {name: a, levels: [{name: rack, labels: [rack]}]}\n"
                "  - {name: b, levels: [{name: cab, labels: [rack]}]}\n")
            .empty());
}

TEST_CASE("faults of a reserve and of lostMember are reported", "[config][policy]") {
  CHECK(
      ErrorOf(std::string(kPolicyErrorsHead) + "fabric:\n"
                                               "  lostMember: moveAll\n"
                                               "  reserve:\n"
                                               "  - {level: \"a b\", nodes: -1}\n"
                                               "  - {level: rack}\n") ==
      "p.yaml:4:15: fabric.lostMember: expected partialGang, wait, moveSegment or moveGang, found "
      "\"moveAll\"\n"
      "p.yaml:6:13: fabric.reserve[0].level: expected a level such as rack, TREE/rack or one of "
      "its label keys, found the text \"a b\"\n"
      "p.yaml:6:27: fabric.reserve[0].nodes: expected a whole number from 1 to 100000, found "
      "\"-1\"\n"
      "p.yaml:7:5: fabric.reserve[1].nodes: expected a whole number from 1 to 100000, found "
      "nothing");
}

TEST_CASE("a reserve names levels that are there, each once, in one tree", "[config][policy]") {
  CHECK(
      ErrorOf(std::string(kPolicyErrorsHead) + "fabric:\n"
                                               "  trees:\n"
                                               "  - name: dc\n"
                                               "    levels: [{name: row, labels: [row]},\n"
                                               "             {name: rack, labels: [rack]}]\n"
                                               "  - name: other\n"
                                               "    levels: [{name: rack, labels: [shelf]}]\n"
                                               "  reserve:\n"
                                               "  - {level: host, nodes: 1}\n"
                                               "  - {level: rack, nodes: 1}\n"
                                               "  - {level: dc/rack, nodes: 1}\n"
                                               "  - {level: row, nodes: 1}\n"
                                               "  - {level: other/rack, nodes: 1}\n"
                                               "  - {level: dc/row, nodes: 2}\n") ==
      "p.yaml:11:13: fabric.reserve[0].level: expected a level of fabric.trees, found \"host\"\n"
      "p.yaml:12:13: fabric.reserve[1].level: expected a level of one tree, found \"rack\", which "
      "is in \"dc\" and \"other\": write TREE/LEVEL\n"
      "p.yaml:16:13: fabric.reserve[5].level: expected a level that no other entry has, found "
      "\"dc/row\" of fabric.reserve[3] again");
}

}  // namespace
}  // namespace muster::config
