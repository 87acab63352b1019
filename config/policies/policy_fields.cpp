#include "config/policies/policy_fields.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/dns_names.hpp"
#include "config/fields/amounts.hpp"
#include "config/fields/field_lister.hpp"
#include "config/policies/fabric_fields.hpp"
#include "config/policies/grouping_fields.hpp"
#include "config/policies/grouping_file.hpp"
#include "config/policies/queue_fields.hpp"
#include "config/yaml/yaml_text.hpp"

namespace muster::config {

using cluster::Seconds;

namespace {

constexpr int64_t kKiB = int64_t{1} << 10U;
constexpr int64_t kMiB = int64_t{1} << 20U;
constexpr int64_t kGiB = int64_t{1} << 30U;

bool IsPort(std::string_view text) {
  const std::optional<int64_t> port = ParseWhole(text);
  return port && *port <= 65535;
}

// host:port, [v6]:port or :port; the host itself is looked up when the server starts.
bool IsAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsPort(text.substr(colon + 1))) return false;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  return std::all_of(host.begin(), host.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || (bracketed && (c == ':' || c == '%'));
  });
}

bool IsPath(std::string_view text) { return text.size() <= 4096 && IsPrintableLine(text); }

bool IsPublicPage(std::string_view text) {
  return std::find(std::begin(kPublicPages), std::end(kPublicPages), text) !=
         std::end(kPublicPages);
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 253 && IsPrintableLine(text);
}

constexpr TextRule kNamespace{"a Kubernetes namespace", IsDnsLabel};
bool IsNamespaceOrEvery(std::string_view text) {
  return text == kEveryNamespace || IsDnsLabel(text);
}
constexpr TextRule kNamespaceOrEvery{"a Kubernetes namespace, or \"*\" for all",
                                     IsNamespaceOrEvery};
constexpr TextRule kSchedulerName{"a schedulerName (lower-case letters, digits, '-' and '.')",
                                  IsDnsSubdomain};
constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr TextRule kProvisioningClass{
    "a provisioning class (lower-case letters, digits, '-' and '.')", IsDnsSubdomain};
constexpr TextRule kAddress{"an address such as 127.0.0.1:8888, [::1]:8888 or :8888", IsAddress};
constexpr TextRule kPath{"the path of a file", IsPath};
constexpr TextRule kPage{"gangs, nodes, queues, topology or policy", IsPublicPage};
constexpr TextRule kClientName{"the name in a client's certificate", IsName};

void VisitNamespaces(engine::NamespaceRules* rules, FieldVisitor* visitor) {
  visitor->Section(
      {"namespaces", "Which namespaces may have gangs. Gangs in others are Forbidden."}, [&] {
        visitor->TextList({"allow", "Empty: all namespaces except those in deny."}, kNamespace,
                          &rules->allow);
        visitor->TextList({"deny", "Never in these namespaces."}, kNamespace, &rules->deny);
      });
}

void VisitPlacement(policy::Options* placement, FieldVisitor* visitor) {
  visitor->Section({"placement", ""}, [&] {
    Enumeration(visitor,
                {"strategy",
                 "binpack: the fullest node first, so that whole nodes stay free for large gangs.\n"
                 "spread: the emptiest node first, so that members interfere least."},
                {"binpack", "spread"}, &placement->strategy);
    Enumeration(
        visitor,
        {"machineProfiles",
         "Which links a node's GPUs have, if neither its annotation muster.dev/gpu-topology\n"
         "nor HAMi's scores say it.\n"
         "shipped: those of usual machines with this model and number of GPUs.\n"
         "none: all GPUs of a node are alike."},
        {"shipped", "none"}, &placement->profile_use);
  });
}

void VisitStrictOrder(bool* strict, std::vector<std::string>* notes, FieldVisitor* visitor) {
  visitor->Flag(
      {"strictOrder",
       "true: a gang that does not fit blocks those behind it that may use some of the same\n"
       "nodes. The same is said by queues: [{name: root, order: strict-fifo}]; with queues,\n"
       "each has its order."},
      strict);
  if (!*strict) return;
  visitor->Remark({"strictOrder", "is now said by queues: [{name: root, order: strict-fifo}]"},
                  notes);
}

void VisitPreemption(Policy* policy, FieldVisitor* visitor) {
  Enumeration(visitor,
              {"preemption",
               "byQueue: as the queues' preemption says; without queues as never.\n"
               "never: a gang that does not fit waits.\n"
               "lowerPriority: Muster may evict pods that it placed, if their priority is lower\n"
               "than that of every member of the waiting gang and the whole gang then fits. It\n"
               "evicts whole gangs, or their members beyond minMember. It evicts nothing for a\n"
               "gang that has a pod with preemptionPolicy Never."},
              {"byQueue", "never", "lowerPriority"}, &policy->preemption);
  if (policy->queues.empty() || policy->preemption == Preemption::kByQueue) return;
  visitor->Remark(
      {"preemption", policy->preemption == Preemption::kNever
                         ? "is now said by queues: [{name: root, preemption: {withinQueue: never, "
                           "reclaim: never}}]"
                         : "is now said by queues: [{name: root, preemption: {withinQueue: "
                           "lower-priority, reclaim: guarantee}}]"},
      &policy->notes);
}

// What the policy says for all gangs is what it says for the root queue.
std::vector<queues::QueueSpec> QueuesOf(const Policy& policy) {
  using queues::Reclaim;
  using queues::WithinQueue;
  const bool lower = policy.preemption == Preemption::kLowerPriority;
  const WithinQueue within = lower ? WithinQueue::kLowerPriority : WithinQueue::kNever;
  if (policy.queues.empty()) {
    return queues::OneQueue(policy.strict_order ? queues::Order::kStrictFifo : queues::Order::kFifo,
                            within);
  }
  std::vector<queues::QueueSpec> specs = policy.queues;
  if (policy.preemption == Preemption::kByQueue) return specs;
  auto root = std::find_if(specs.begin(), specs.end(),
                           [](const auto& one) { return one.name == queues::kRoot; });
  if (root == specs.end()) root = specs.insert(specs.end(), {.name = queues::kRoot});
  queues::PreemptionSpec& says = root->preemption;
  if (says.within_queue == WithinQueue::kInherit) says.within_queue = within;
  if (says.reclaim == Reclaim::kInherit)
    says.reclaim = lower ? Reclaim::kGuarantee : Reclaim::kNever;
  return specs;
}

// Of Jobs that are not Indexed.
void FindJobContradictions(const Policy& policy, std::vector<Contradiction>* found) {
  if (policy.non_indexed_jobs.empty()) return;
  const std::string field = "gangs.nonIndexedJobs";
  if (!policy.by_owner) {
    found->push_back(
        {field, "expected none beside byOwner: false, which leaves the pods of every Job alone"});
  }
  if (std::any_of(policy.grouping.begin(), policy.grouping.end(), IsForJobs)) {
    found->push_back(
        {field,
         "expected none beside a rule of your own for Job of batch in grouping: write it there"});
  }
}

void VisitGangsByOwner(Policy* policy, FieldVisitor* visitor) {
  visitor->Flag({"byOwner",
                 "Pods that name no PodGroup are a gang where what owns them makes them start\n"
                 "together (grouping). false: such pods start one by one."},
                &policy->by_owner);
  Enumeration(visitor,
              {"unreadableOwners",
               "What becomes of pods whose owner Muster cannot read, so that nobody knows who is\n"
               "in their gang: its kind is not served, say, or a right is missing.\n"
               "wait: they wait until it can be read; muster get gangs says what is missing.\n"
               "alone: where that lasts for a minute they start one by one."},
              {"wait", "alone"}, &policy->unreadable_owners);
  visitor->TextList(
      {"nonIndexedJobs",
       "Namespaces in which a Job without completionMode Indexed is a gang, too, if\n"
       "its parallelism is above 1 and the same as its completions. [\"*\"]: in all."},
      kNamespaceOrEvery, &policy->non_indexed_jobs);
}

void VisitGangs(Policy* policy, FieldVisitor* visitor) {
  engine::Options* const options = &policy->engine;
  std::vector<std::string>* const notes = &policy->notes;
  visitor->Section({"gangs", ""}, [&] {
    VisitGangsByOwner(policy, visitor);
    visitor->Whole({"maxMembers", "The largest accepted minMember."}, {1, 100'000},
                   &options->max_members);
    VisitStrictOrder(&policy->strict_order, notes, visitor);
    VisitPreemption(policy, visitor);
    visitor->Duration({"victimTimeout",
                       "How long the evicted pods may take to end: longer grace periods are cut.\n"
                       "Then the waiting gang gives up the room that was earmarked for it, and\n"
                       "is planned again."},
                      {Seconds(1), Seconds(86'400)}, &options->victim_timeout);
    visitor->Duration(
        {"reservationTimeout",
         "How long a plan stays valid until the last Bind call. A PodGroup's\n"
         "scheduleTimeoutSeconds takes precedence. The last Bind call must also come\n"
         "within 0.8 of extender.httpTimeout after the first."},
        {Seconds(1), Seconds(86'400)}, &options->reservation_timeout);
    visitor->Duration(
        {"maxReservationTimeout", "Upper limit for a PodGroup's scheduleTimeoutSeconds."},
        {Seconds(1), Seconds(86'400)}, &options->max_reservation_timeout);
    visitor->Duration({"partialTimeout", "How long a gang may stay partly bound."},
                      {Seconds(1), Seconds(3'600)}, &options->partial_timeout);
    Enumeration(visitor,
                {"partialGang",
                 "Afterwards its bound members are evicted (the gang starts again) or held."},
                {"evict", "hold"}, &options->partial_gang);
    Enumeration(
        visitor,
        {"handover",
         "nominate: members are nominated to their nodes before their gates are removed.\n"
         "The nomination keeps the room free, and a broken plan is made again.\n"
         "pin: members that have a controller get their node as required node affinity\n"
         "instead. This saves one write per member. But nothing keeps the room free between\n"
         "release and binding, and a released pod whose node is lost stays Pending until it\n"
         "is deleted. A Job counts that as a failure; a ReplicaSet or a StatefulSet does not."},
        {"nominate", "pin"}, &options->hand_over);
    visitor->Section(
        {"backoff",
         "The wait after a failed start: first, then twice as long each time, up to max.\n"
         "A node that kube-scheduler rejected for a pod is excluded for that pod for max."},
        [&] {
          const DurationRange range{cluster::Duration(1), Seconds(86'400)};
          visitor->Duration({"first", ""}, range, &options->backoff_first);
          visitor->Duration({"max", ""}, range, &options->backoff_max);
        });
    visitor->Duration(
        {"retryInterval", "The wait before a failed write to the API server is retried."},
        {cluster::Duration(1), Seconds(3'600)}, &options->retry_interval);
  });
}

void VisitBadNodes(engine::BadNodes* nodes, FieldVisitor* visitor) {
  visitor->Section(
      {"badNodes",
       "A node is left out for new members for a while if members fail there at their start:\n"
       "the kubelet does not admit them, or a container fails at once. If it is known which\n"
       "device a pod was given (shared devices), only that device is left out. A gang that\n"
       "fails on three nodes is considered faulty itself, and no node is left out for it.\n"
       "Containers that fail count only if pods of two namespaces or templates failed there."},
      [&] {
        const DurationRange range{Seconds(1), Seconds(86'400)};
        visitor->Duration(
            {"startWindow",
             "A container that fails within this time of its first start is such a\n"
             "failure. A member that runs for this time has started successfully, and\n"
             "earlier failures on its node are forgotten."},
            {cluster::Duration(1), Seconds(600)}, &nodes->start_window);
        visitor->Whole(
            {"gangs", "The node is left out when this many different gangs have failed there,"},
            {1, 100}, &nodes->gangs);
        visitor->Whole({"pods",
                        "or one gang has failed there this many times. After the first time one\n"
                        "more failure is enough."},
                       {1, 1'000}, &nodes->pods);
        visitor->Duration(
            {"leaveOutFirst", "How long; then twice as long each time, up to leaveOutMax."}, range,
            &nodes->first);
        visitor->Duration({"leaveOutMax", ""}, range, &nodes->max);
        visitor->Whole({"mostPercent",
                        "Upper limit of nodes that are left out at the same time, in percent; at\n"
                        "least one node if there are two or more. 0: never leave out a node."},
                       {0, 100}, &nodes->most_percent);
      });
}

void VisitAutoscaling(engine::Autoscaling* says, FieldVisitor* visitor) {
  visitor->Section(
      {"autoscaling",
       "For clusters in which cluster-autoscaler or Karpenter adds and removes nodes."},
      [&] {
        Enumeration(
            visitor,
            {"scaleUp",
             "What is done for a gang that lacks room.\n"
             "none: nothing. Its pods stay behind Muster's gate, where no autoscaler counts them.\n"
             "unschedulable: the pods that it needs to start are released without a node.\n"
             "kube-scheduler marks them Unschedulable, and the autoscaler adds nodes for them.\n"
             "provisioningRequest: cluster-autoscaler is asked for their nodes with a\n"
             "ProvisioningRequest. They stay behind the gate, and the nodes are kept for them.\n"
             "Gangs that a queue, an order or strictOrder keeps from starting ask for none,\n"
             "nor more gangs than the limits of their queues have room for."},
            {"none", "unschedulable", "provisioningRequest"}, &says->scale_up);
        visitor->Duration({"after",
                           "Only when the gang has been complete and without room for this long:\n"
                           "others may be about to leave."},
                          {cluster::Duration(0), Seconds(86'400)}, &says->after);
        Enumeration(
            visitor,
            {"keepNodes",
             "Which pods are bound with karpenter.sh/do-not-disrupt: \"true\" and\n"
             "cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\", so that their node is "
             "not\n"
             "removed: none, gangs (of two or more pods) or all. Pods that have one of these\n"
             "annotations keep theirs. With scaleUp: none as none."},
            {"none", "gangs", "all"}, &says->keep_nodes);
        visitor->Text({"provisioningClass",
                       "provisioningClassName of these requests. A provider of nodes has others."},
                      kProvisioningClass, &says->provisioning_class);
      });
}

void VisitLimits(Policy* policy, FieldVisitor* visitor) {
  ExtenderSettings* const extender = &policy->extender;
  visitor->Section(
      {"limits", "Limits of this server. Calls beyond a limit are refused with the reason."}, [&] {
        visitor->Size({"header", "Request line and header of one call."}, {kKiB, kMiB},
                      &extender->max_header_bytes);
        visitor->Size({"body",
                       "Body of one call. With nodeCacheCapable: false it has whole nodes, about\n"
                       "20 KiB each."},
                      {kKiB, kGiB}, &extender->max_body_bytes);
        visitor->Size(
            {"bufferedBodies",
             "What all calls keep together: bodies, headers, answers that are not taken, 4 KiB "
             "for\n"
             "each call. One address may keep half of it. Less than twice `body` counts as that."},
            {kKiB, 64 * kGiB}, &extender->max_buffered_bytes);
        visitor->Whole({"connections", "Open connections, including idle ones."}, {1, 1'000'000},
                       &extender->max_connections);
        visitor->Retired({"threads", "a held Bind call takes no thread"}, &policy->notes);
      });
}

void VisitTimeouts(ExtenderSettings* extender, FieldVisitor* visitor) {
  const DurationRange range{cluster::Duration(100), Seconds(3'600)};
  visitor->Section({"timeouts", "How long a caller may take for each part of a call."}, [&] {
    visitor->Duration({"header", ""}, range, &extender->header_timeout);
    visitor->Duration({"body", ""}, range, &extender->body_timeout);
    visitor->Duration({"write", "To receive the answer."}, range, &extender->write_timeout);
    visitor->Duration({"idle", "Between two calls on one connection."}, range,
                      &extender->idle_timeout);
  });
}

void VisitTls(TlsSettings* tls, FieldVisitor* visitor) {
  visitor->Section(
      {"tls",
       "Without certFile and keyFile: plain HTTP. Changed files are reloaded without a restart."},
      [&] {
        visitor->Text({"certFile", "PEM: the server's certificate, then intermediates."}, kPath,
                      &tls->cert_file);
        visitor->Text({"keyFile", "PEM: its private key."}, kPath, &tls->key_file);
        visitor->Text(
            {"clientCaFile",
             "PEM: if set, callers must present a certificate that one of these CAs signed."},
            kPath, &tls->client_ca_file);
        visitor->TextList(
            {"allowedClientNames",
             "CN or DNS names of admitted callers. Empty: every certificate of clientCaFile."},
            kClientName, &tls->allowed_client_names);
      });
}

void VisitApiTls(TlsSettings* tls, FieldVisitor* visitor) {
  visitor->Section(
      {"tls",
       "Without certFile and keyFile: plain HTTP. Changed files are reloaded without a restart."},
      [&] {
        visitor->Text({"certFile", "PEM: the server's certificate, then intermediates."}, kPath,
                      &tls->cert_file);
        visitor->Text({"keyFile", "PEM: its private key."}, kPath, &tls->key_file);
        visitor->Text({"clientCaFile",
                       "PEM: operators may present a certificate that one of these CAs signed."},
                      kPath, &tls->client_ca_file);
      });
}

void VisitExtender(Policy* policy, FieldVisitor* visitor) {
  ExtenderSettings* const extender = &policy->extender;
  visitor->Section({"extender", "The server that kube-scheduler calls."}, [&] {
    visitor->Text({"address", "host:port, or :port for all addresses; port 0 takes any free one."},
                  kAddress, &extender->address);
    visitor->Duration(
        {"httpTimeout",
         "Must equal httpTimeout of this extender in kube-scheduler's configuration. Bind calls\n"
         "are held for at most 0.8 of it, until the calls of the whole gang have come."},
        {Seconds(1), Seconds(600)}, &extender->http_timeout);
    VisitLimits(policy, visitor);
    VisitTimeouts(extender, visitor);
    VisitTls(&extender->tls, visitor);
  });
}

void FindSchedulerContradictions(const Policy& policy, std::vector<Contradiction>* found) {
  const std::vector<std::string>& names = policy.engine.scheduler_names;
  if (policy.allow_default_scheduler ||
      std::find(names.begin(), names.end(), kDefaultScheduler) == names.end())
    return;
  found->push_back(
      {"schedulerNames",
       "expected no default-scheduler: every pod that names no scheduler has it, those of the "
       "system included; leave it out, or write allowDefaultScheduler: true if it is meant"});
}

}  // namespace

void VisitPolicy(Policy* policy, FieldVisitor* visitor) {
  engine::Options& options = policy->engine;
  visitor->TextList(
      {"schedulerNames",
       "Pods with one of these schedulerNames are planned as soon as they exist, other\n"
       "pods when kube-scheduler asks about them."},
      kSchedulerName, &options.scheduler_names);
  visitor->Flag({"allowDefaultScheduler",
                 "true: default-scheduler may be among schedulerNames. It is what every pod has\n"
                 "that names no scheduler, those of the system included. Has no other effect."},
                &policy->allow_default_scheduler);
  VisitNamespaces(&options.namespaces, visitor);
  VisitPlacement(&options.placement, visitor);
  VisitFabric(&options.placement.fabric, &options.lost_member, visitor);
  VisitQueues(&policy->queues, &policy->notes, visitor);
  VisitGangs(policy, visitor);
  options.queues = QueuesOf(*policy);
  VisitBadNodes(&options.bad_nodes, visitor);
  VisitAutoscaling(&options.autoscaling, visitor);
  VisitGroupingRules(
      {"grouping",
       "Which pods start together where no PodGroup says it: rules by the kind of owner, each in\n"
       "place of the one that Muster has for that kind. docs/reference/grouping-rules.md has\n"
       "their words, and config/grouping the rules that Muster has."},
      &policy->grouping, visitor);
  VisitExtender(policy, visitor);
  visitor->Section({"metrics", "The server of /healthz, /readyz, /metrics and /v1."}, [&] {
    visitor->Text({"address", ""}, kAddress, &policy->metrics.address);
    VisitApiTls(&policy->metrics.tls, visitor);
    visitor->TextList(
        {"publicPages",
         "Pages of /v1 that whoever reaches the port may read: gangs, nodes, queues, topology,\n"
         "policy. The others are for those whom RBAC lets read them, and for callers on the same\n"
         "machine (kubectl exec, kubectl port-forward)."},
        kPage, &policy->metrics.public_pages);
  });
  visitor->Section(
      {"operators",
       "Who may give orders (muster priority, queue, cancel) by a client certificate. Whom RBAC\n"
       "lets do so may in any case, with a bearer token."},
      [&] {
        visitor->TextList({"clientNames", "CN or DNS names."}, kClientName,
                          &policy->operators.client_names);
        visitor->TextList({"clientOrganisations", "O of the subject."}, kClientName,
                          &policy->operators.client_organisations);
      });
}

std::vector<std::string> ListPolicyFields() {
  Policy policy;
  return ListFields([&](FieldVisitor* visitor) { VisitPolicy(&policy, visitor); });
}

std::vector<Contradiction> FindContradictions(const Policy& policy) {
  std::vector<Contradiction> found;
  const auto check = [&](bool good, std::string_view field, std::string message) {
    if (!good) found.push_back({std::string(field), std::move(message)});
  };
  const engine::Options& options = policy.engine;
  FindSchedulerContradictions(policy, &found);
  for (const std::string& name : options.namespaces.deny) {
    const auto& allow = options.namespaces.allow;
    check(std::find(allow.begin(), allow.end(), name) == allow.end(), "namespaces.deny",
          "expected no namespace that namespaces.allow has too, found \"" + name + "\"");
  }
  FindFabricContradictions(options.placement.fabric, &found);
  FindQueueContradictions(policy.queues, options.namespaces, &found);
  FindGroupingContradictions("grouping", policy.grouping, &found);
  FindJobContradictions(policy, &found);
  check(!policy.strict_order || policy.queues.empty(), "gangs.strictOrder",
        "expected false beside queues: write order: strict-fifo in those that are to have it");
  check(options.backoff_first <= options.backoff_max, "gangs.backoff.max",
        "expected at least gangs.backoff.first (" + FormatDuration(options.backoff_first) +
            "), found " + FormatDuration(options.backoff_max));
  check(options.bad_nodes.first <= options.bad_nodes.max, "badNodes.leaveOutMax",
        "expected at least badNodes.leaveOutFirst (" + FormatDuration(options.bad_nodes.first) +
            "), found " + FormatDuration(options.bad_nodes.max));
  const ExtenderSettings& extender = policy.extender;
  check(extender.max_body_bytes <= extender.max_buffered_bytes, "extender.limits.bufferedBodies",
        "expected at least extender.limits.body (" + FormatSize(extender.max_body_bytes) +
            "), found " + FormatSize(extender.max_buffered_bytes));
  const TlsSettings& tls = extender.tls;
  check(tls.cert_file.empty() || !tls.key_file.empty(), "extender.tls.keyFile",
        "expected the key of extender.tls.certFile, found nothing");
  check(tls.key_file.empty() || !tls.cert_file.empty(), "extender.tls.certFile",
        "expected the certificate of extender.tls.keyFile, found nothing");
  check(tls.client_ca_file.empty() || !tls.cert_file.empty() || !tls.key_file.empty(),
        "extender.tls.clientCaFile",
        "expected extender.tls.certFile and keyFile beside it: callers show certificates only to a "
        "server that has one");
  check(tls.allowed_client_names.empty() || !tls.client_ca_file.empty(),
        "extender.tls.allowedClientNames",
        "expected extender.tls.clientCaFile beside it: names in unchecked certificates prove "
        "nothing");
  const TlsSettings& api_tls = policy.metrics.tls;
  check(api_tls.cert_file.empty() || !api_tls.key_file.empty(), "metrics.tls.keyFile",
        "expected the key of metrics.tls.certFile, found nothing");
  check(api_tls.key_file.empty() || !api_tls.cert_file.empty(), "metrics.tls.certFile",
        "expected the certificate of metrics.tls.keyFile, found nothing");
  check(api_tls.client_ca_file.empty() || !api_tls.cert_file.empty(), "metrics.tls.clientCaFile",
        "expected metrics.tls.certFile and keyFile beside it: callers show certificates only to a "
        "server that has one");
  const auto needs_ca = [&](const std::vector<std::string>& names, std::string_view field) {
    check(names.empty() || !api_tls.client_ca_file.empty(), field,
          "expected metrics.tls.clientCaFile beside it: names in unchecked certificates prove "
          "nothing");
  };
  needs_ca(policy.operators.client_names, "operators.clientNames");
  needs_ca(policy.operators.client_organisations, "operators.clientOrganisations");
  const bool same_port = extender.address == policy.metrics.address &&
                         extender.address.substr(extender.address.rfind(':') + 1) != "0";
  check(!same_port, "metrics.address", "expected another address than extender.address");
  return found;
}

}  // namespace muster::config
