#include "config/policies/queue_fields.hpp"

#include <algorithm>
#include <utility>

#include "config/dns_names.hpp"
#include "config/fields/amounts.hpp"
#include "config/fields/elements.hpp"
#include "config/fields/other_words.hpp"
#include "config/policies/queue_amounts.hpp"
#include "config/yaml/yaml_text.hpp"

namespace muster::config {

using queues::QueueSpec;
using queues::Resource;

namespace {

constexpr int64_t kNoCap = 2'147'483'647;
constexpr int64_t kMostSeconds = 720 * 3600;
constexpr int64_t kMostCount = 1000;

std::optional<int64_t> ParseWeight(std::string_view text) {
  const std::optional<int64_t> weight = ParseWhole(text);
  return weight && *weight <= queues::kMostWeight ? weight : std::nullopt;
}
std::string FormatWeight(int64_t weight) { return std::to_string(weight); }
constexpr AmountRule kWeight{"a whole number from 0 to 1000000", ParseWeight, FormatWeight};

constexpr TextRule kQueueName{"the name of a queue (lower-case letters, digits, '-' and '.')",
                              IsDnsSubdomain};
bool IsParent(std::string_view text) { return text.empty() || IsDnsSubdomain(text); }
constexpr TextRule kParent{"the name of a queue", IsParent};
constexpr TextRule kNamespaceName{"a Kubernetes namespace", IsDnsLabel};

bool IsNamespaceLabel(std::string_view text) { return text.size() <= 63 && IsPrintableLine(text); }
constexpr TextRule kNamespaceLabelKey{"the key of a namespace's label", IsLabelKey};
constexpr TextRule kLabelValue{"the value of a namespace's label", IsNamespaceLabel};

// What the queue above says, where the field may say more.
constexpr std::string_view kInherit = "inherit";
constexpr int64_t kInherited = -1;

std::optional<int64_t> ParseDepth(std::string_view text) {
  if (text == kInherit) return kInherited;
  const std::optional<int64_t> depth = ParseWhole(text);
  return depth && *depth <= queues::kMostDepth ? depth : std::nullopt;
}
std::string FormatDepth(int64_t depth) {
  return depth == kInherited ? std::string(kInherit) : std::to_string(depth);
}
constexpr AmountRule kDepth{"a whole number from 0 to 1000, or inherit", ParseDepth, FormatDepth};

constexpr cluster::Duration kLongest = cluster::Seconds(366 * 24 * 3600);
std::optional<int64_t> ParseTerm(std::string_view text) {
  if (text == kInherit) return kInherited;
  const std::optional<cluster::Duration> term = ParseDuration(text);
  if (!term || *term > kLongest) return std::nullopt;
  return term->value();
}
std::string FormatTerm(int64_t term) {
  return term == kInherited ? std::string(kInherit) : FormatDuration(cluster::Duration(term));
}
constexpr AmountRule kTerm{"a duration from 0s to 8784h, such as 5m or 1h30m, or inherit",
                           ParseTerm, FormatTerm};

std::optional<int64_t> ParseHalfLife(std::string_view text) {
  const std::optional<int64_t> term = ParseTerm(text);
  const bool short_of = term && *term > 0 && *term < queues::kLeastHalfLife.value();
  return short_of ? std::nullopt : term;
}
constexpr AmountRule kHalfLife{"0s, or a duration from 1m to 8784h such as 168h, or inherit",
                               ParseHalfLife, FormatTerm};

// By resource: `get` and `set` are one entry of the container.
template <typename Map, typename Value>
class ResourceElements : public Elements {
 public:
  explicit ResourceElements(Map* map) : map_(*map) {}
  const std::type_info& type() const override { return typeid(Map); }
  bool empty() const override { return map_.none(); }
  void Clear() override { map_.Clear(); }
  void Add(const std::string& name, FieldVisitor* visitor) override {
    const Resource resource = *queues::ParseResource(name);
    int64_t amount = 0;
    visitor->Amount({name, ""}, RuleOf(resource), &amount);
    map_.Set(resource, Value(amount));
  }
  void VisitAll(FieldVisitor* visitor) override {
    for (const auto& [resource, value] : map_.said()) {
      const std::string name = ToString(resource);
      int64_t amount = value.value();
      visitor->Amount({name, ""}, RuleOf(resource), &amount);
    }
  }
  void VisitSample(const std::string& name, FieldVisitor* visitor) override {
    int64_t amount = 0;
    visitor->Amount({name, ""}, RuleOf({}), &amount);
  }

 private:
  Map& map_;
};

class WeightElements : public Elements {
 public:
  explicit WeightElements(std::map<Resource, int64_t>* weights) : weights_(*weights) {}
  const std::type_info& type() const override { return typeid(WeightElements); }
  bool empty() const override { return weights_.empty(); }
  void Clear() override { weights_.clear(); }
  void Add(const std::string& name, FieldVisitor* visitor) override {
    visitor->Amount({name, ""}, kWeight, &weights_[*queues::ParseResource(name)]);
  }
  void VisitAll(FieldVisitor* visitor) override {
    for (auto& [resource, weight] : weights_) {
      const std::string name = ToString(resource);
      visitor->Amount({name, ""}, kWeight, &weight);
    }
  }
  void VisitSample(const std::string& name, FieldVisitor* visitor) override {
    int64_t weight = 1;
    visitor->Amount({name, ""}, kWeight, &weight);
  }

 private:
  std::map<Resource, int64_t>& weights_;
};

template <typename Value, int64_t kAbsent>
void VisitAmounts(FieldVisitor* visitor, const FieldInfo& info,
                  queues::PerResource<Value, kAbsent>* amounts) {
  ResourceElements<queues::PerResource<Value, kAbsent>, Value> elements(amounts);
  visitor->Section(info, [&] {
    visitor->OtherNames(OtherWordsOfAmounts(), nullptr);
    visitor->Named(kResource, &elements);
  });
}

void VisitLabels(cluster::Labels* labels, FieldVisitor* visitor) {
  NamedElements elements(labels,
                         [](const FieldInfo& info, std::string* value, FieldVisitor* inside) {
                           inside->Text(info, kLabelValue, value);
                         });
  visitor->Section({"matchLabels", "All of them."},
                   [&] { visitor->Named(kNamespaceLabelKey, &elements); });
}

void VisitNamespaces(QueueSpec* queue, std::vector<std::string>* notes, FieldVisitor* visitor) {
  queues::NamespaceSelector selector = queue->selector.value_or(queues::NamespaceSelector{});
  visitor->Section(
      {"namespaces",
       "Which namespaces may use it: those with these names, and those with these labels.\n"
       "Neither: those of its parent; where no queue above says any, all."},
      [&] {
        visitor->TextList({"names", ""}, kNamespaceName, &queue->namespaces);
        visitor->Section({"selector", ""}, [&] { VisitLabels(&selector.match_labels, visitor); });
      });
  visitor->OtherSection(
      {"namespaceSelector", "is namespaces.selector here"},
      [&] {
        visitor->OtherNames(OtherWordsOfSelectors(), notes);
        VisitLabels(&selector.match_labels, visitor);
      },
      notes);
  queue->selector.reset();
  if (!selector.match_labels.empty()) queue->selector = std::move(selector);
}

// borrowingLimit: n means guarantee + n.
void AddBorrowingLimit(QueueSpec* queue, std::vector<std::string>* notes, FieldVisitor* visitor) {
  queues::Amounts borrows;
  ResourceElements<queues::Amounts, queues::Amount> elements(&borrows);
  visitor->OtherSection(
      {"borrowingLimit", "is limit here, and counts the guarantee too"},
      [&] { visitor->Named(kResource, &elements); }, notes);
  for (const auto& [resource, amount] : borrows.said()) {
    const queues::Amount all = queues::GuaranteeOf(*queue, resource) + amount;
    queue->limit.Set(resource,
                     queues::Limit(std::min(all.value(), queue->limit.of(resource).value())));
  }
}

void VisitShape(queues::Shape* shape, FieldVisitor* visitor) {
  visitor->Whole({"wholeNodes", "So many, each with all of its GPUs."},
                 {1, queues::kMostWholeNodes}, &shape->whole_nodes);
  visitor->Text({"model", "Of all of their GPUs, as in gpu/MODEL. Empty: any."}, kModel,
                &shape->model);
}

void VisitGuarantee(QueueSpec* queue, FieldVisitor* visitor) {
  ResourceElements<queues::Amounts, queues::Amount> elements(&queue->guarantee);
  visitor->Section(
      {"guarantee",
       "What it has whenever it wants it, by resource: gpu, gpu/MODEL, gpuMemory, cpu,\n"
       "memory. Not said: 0. Its parent's is at least the sum of its children's."},
      [&] {
        SectionList(visitor,
                    {"shapes",
                     "Nodes that it can have as a whole, within gpu: gangs that it could not have\n"
                     "evicted are kept off so many, however scattered what else is free."},
                    &queue->shapes, VisitShape);
        visitor->OtherNames(OtherWordsOfAmounts(), nullptr);
        visitor->Named(kResource, &elements);
      });
}

void VisitShares(QueueSpec* queue, std::vector<std::string>* notes, FieldVisitor* visitor) {
  VisitGuarantee(queue, visitor);
  VisitAmounts(
      visitor,
      {"lend", "How much of the guarantee others may use while it does not. Not said: all of it."},
      &queue->lend);
  VisitAmounts(visitor, {"limit", "What it and all below it may use at most. Not said: no limit."},
               &queue->limit);
  AddBorrowingLimit(queue, notes, visitor);
  visitor->Whole(
      {"weight",
       "Its part, beside its siblings', of what nobody has a guarantee for. 0: only what\n"
       "siblings with a weight leave."},
      {0, queues::kMostWeight}, &queue->weight);
  visitor->OtherSection(
      {"fairSharing", "fairSharing.weight is weight here"},
      [&] {
        visitor->Whole({"weight", ""}, {0, queues::kMostWeight}, &queue->weight);
      },
      notes);
  WeightElements weights(&queue->resource_weights);
  visitor->Section(
      {"resourceWeights",
       "What its part of a resource of the cluster counts when it is compared with its\n"
       "siblings. Not said: as its parent says, else 1. 0: it does not count."},
      [&] { visitor->Named(kResource, &weights); });
}

std::optional<int64_t> ParseInheritedDuration(std::string_view text) {
  if (text == kInherit) return queues::PreemptionSpec::kInherit;
  const std::optional<cluster::Duration> duration = ParseDuration(text);
  if (!duration || *duration > cluster::Seconds(kMostSeconds)) return std::nullopt;
  return duration->value();
}
std::string FormatInheritedDuration(int64_t value) {
  return value == queues::PreemptionSpec::kInherit ? std::string(kInherit)
                                                   : FormatDuration(cluster::Duration(value));
}
constexpr AmountRule kInheritedDuration{"a duration such as 10m, 720h at most, or inherit",
                                        ParseInheritedDuration, FormatInheritedDuration};

std::optional<int64_t> ParseInheritedCount(std::string_view text) {
  if (text == kInherit) return queues::PreemptionSpec::kInherit;
  const std::optional<int64_t> count = ParseWhole(text);
  return count && *count <= kMostCount ? count : std::nullopt;
}
std::string FormatInheritedCount(int64_t value) {
  return value == queues::PreemptionSpec::kInherit ? std::string(kInherit) : std::to_string(value);
}
constexpr AmountRule kInheritedCount{"a whole number from 0 to 1000, or inherit",
                                     ParseInheritedCount, FormatInheritedCount};

void VisitBudgets(queues::PreemptionSpec* says, FieldVisitor* visitor) {
  const Words words = {kInherit, "keep", "prefer"};
  visitor->Section(
      {"budgets",
       "What PodDisruptionBudgets are to gangs of this queue that are to be evicted for\n"
       "another one of it (preempt), or for one of another queue: within its guarantee\n"
       "(guarantee) or by its share (fairShare). keep: nobody goes whom a budget does not\n"
       "let go. prefer: others go first, then as few as can be in spite of their budgets."},
      [&] {
        Enumeration(visitor, {"preempt", ""}, words, &says->budgets_preempt);
        Enumeration(visitor, {"guarantee", ""}, words, &says->budgets_guarantee);
        Enumeration(visitor, {"fairShare", ""}, words, &says->budgets_fair_share);
      });
}

void VisitPreemption(queues::PreemptionSpec* says, std::vector<std::string>* notes,
                     FieldVisitor* visitor) {
  const auto min_runtime = [&] {
    visitor->Amount({"preempt", ""}, kInheritedDuration, &says->min_runtime_preempt);
    visitor->Amount({"reclaim", ""}, kInheritedDuration, &says->min_runtime_reclaim);
  };
  visitor->Section(
      {"preemption",
       "Whom Muster may evict for gangs of this queue and those below it, whole gangs at a\n"
       "time or members beyond their minimum. inherit: as the queue above says; at the root\n"
       "lower-priority, guarantee, 0s, 0s, 0s, keep, prefer, keep, 2, 4, requeue and 5m."},
      [&] {
        visitor->OtherNames(OtherWordsOfPreemption(), notes);
        Enumeration(visitor, {"withinQueue", "Of the same queue."},
                    {"inherit", "never", "lower-priority"}, &says->within_queue);
        Enumeration(visitor,
                    {"reclaim",
                     "Of other queues that use more than their guarantee. guarantee: for a gang\n"
                     "that is within the guarantee of its own. fair-share: also for one whose\n"
                     "queue then still is no further above its share than theirs."},
                    {"inherit", "never", "guarantee", "fair-share"}, &says->reclaim);
        visitor->Amount({"delay", "Nobody is evicted for a gang that has waited for less."},
                        kInheritedDuration, &says->delay);
        visitor->Section(
            {"minRuntime",
             "So long a gang of this queue runs before it is evicted for another one of it\n"
             "(preempt), or for gangs of other queues (reclaim)."},
            min_runtime);
        VisitBudgets(says, visitor);
        visitor->Amount({"maxEvictionsPerGangPerHour",
                         "Then it is left alone. 0: no gang of it is "
                         "evicted as a whole."},
                        kInheritedCount, &says->max_evictions_per_hour);
        visitor->Amount({"maxEvictedRatio",
                         "A gang evicts at most so many times the GPUs that it asks for.\n"
                         "0: no limit."},
                        kInheritedCount, &says->max_evicted_ratio);
        Enumeration(
            visitor,
            {"onEvicted",
             "A gang of this queue that was evicted as a whole. requeue: it waits for room\n"
             "again. fail: it is not started again; its team submits it anew, as another\n"
             "PodGroup."},
            {"inherit", "requeue", "fail"}, &says->on_evicted);
        visitor->Amount(
            {"restartWindow",
             "A gang for which others were evicted, and that dies before its minRuntime:\n"
             "for so long its devices are kept for it. 0s: they are not."},
            kInheritedDuration, &says->restart_window);
      });
}

void VisitTerm(FieldVisitor* visitor, const FieldInfo& info, std::optional<cluster::Duration>* term,
               const AmountRule& rule = kTerm) {
  int64_t value = *term ? (*term)->value() : kInherited;
  visitor->Amount(info, rule, &value);
  term->reset();
  if (value != kInherited) *term = cluster::Duration(value);
}

void VisitYesOrNo(FieldVisitor* visitor, const FieldInfo& info, std::optional<bool>* value) {
  size_t chosen = *value ? (**value ? 2 : 1) : 0;
  visitor->Choice(info, {kInherit, "false", "true"}, &chosen);
  value->reset();
  if (chosen > 0) *value = chosen == 2;
}

void VisitBookings(queues::BookingRules* rules, std::vector<std::string>* notes,
                   FieldVisitor* visitor) {
  visitor->Section(
      {"reservations",
       "Room that is booked for the first gang in the queues' order that finds none, from\n"
       "when others are known to leave it. Not said: as its parent says."},
      [&] {
        visitor->OtherNames(
            {{"bf_job_part_count_reserve", "depth"}, {"bf_min_age_reserve", "minAge"}}, notes);
        int64_t depth = rules->depth.value_or(kInherited);
        visitor->Amount(
            {"depth", "For so many gangs at a time that may use the same nodes (1). 0: none."},
            kDepth, &depth);
        rules->depth.reset();
        if (depth != kInherited) rules->depth = depth;
        VisitTerm(visitor, {"minAge", "Only for a gang that has waited for this long (5m)."},
                  &rules->min_age);
        VisitTerm(visitor,
                  {"reserveAfter",
                   "A gang that has waited for this long (2h), where it is not known when others\n"
                   "leave enough room, gets nodes to which no others come until it starts."},
                  &rules->reserve_after);
        VisitTerm(visitor,
                  {"reserveFor",
                   "For this long (6h). Then others may come there for as long, and so on: the\n"
                   "gang keeps its claim to the nodes. 0s: until it starts, however late."},
                  &rules->reserve_for);
        VisitYesOrNo(visitor,
                     {"lendToEvictable",
                      "Gangs may run there, however long, that the gang may evict when its time\n"
                      "comes (true)."},
                     &rules->lend_to_evictable);
      });
  visitor->Section({"backfill", "Gangs that go ahead of one with a reservation."}, [&] {
    size_t trust = rules->trust ? static_cast<size_t>(*rules->trust) + 1 : 0;
    visitor->Choice(
        {"trust",
         "Which durations count, of this queue's gangs: none; enforced (pods are ended then);\n"
         "declared, by muster.dev/expected-duration, too; learnt from earlier runs, too."},
        {kInherit, "none", "enforced", "declared", "learnt"}, &trust);
    rules->trust.reset();
    if (trust > 0) rules->trust = static_cast<queues::Trust>(trust - 1);
    visitor->OtherNames({{"bf_max_job_user", "maxPerUser"}}, notes);
    int64_t most = rules->max_per_user.value_or(kInherited);
    visitor->Amount(
        {"maxPerUser",
         "So many gangs of one namespace, that wait in this queue, are started ahead of\n"
         "gangs with reservations at a time (0). 0: any number."},
        kDepth, &most);
    rules->max_per_user.reset();
    if (most != kInherited) rules->max_per_user = most;
    VisitYesOrNo(visitor,
                 {"withoutCheckpoint",
                  "Gangs of this queue are lent reserved room until they are evicted although\n"
                  "they do not say muster.dev/checkpoint (false)."},
                 &rules->without_checkpoint);
  });
}

void VisitOrder(QueueSpec* queue, FieldVisitor* visitor) {
  Enumeration(
      visitor,
      {"order",
       "fair: of the queues below, the one that is furthest below its share goes first.\n"
       "fifo: priority and age decide; of queues below, those within their guarantee go\n"
       "first. strict-fifo: the same, and a gang that does not fit blocks those behind it;\n"
       "only in queues that gangs name."},
      {"fair", "fifo", "strict-fifo"}, &queue->order);
  Enumeration(visitor,
              {"fairBy",
               "namespace: each namespace with gangs in the queue has one of its own below it,\n"
               "QUEUE/NAMESPACE, of weight 1 and without a guarantee; order holds in each of\n"
               "them. Only in queues that gangs name."},
              {"none", "namespace"}, &queue->fair_by);
}

void VisitQueue(QueueSpec* queue, std::vector<std::string>* notes, FieldVisitor* visitor) {
  visitor->OtherNames(OtherWordsOfQueues(), notes);
  visitor->Text({"name", "What gangs call it: muster.dev/queue: NAME. root: the one above all."},
                kQueueName, &queue->name);
  visitor->Text({"parent", "The queue above it. Empty: root."}, kParent, &queue->parent);
  VisitNamespaces(queue, notes, visitor);
  VisitShares(queue, notes, visitor);
  VisitTerm(visitor,
            {"usageHalfLife",
             "What it used so long ago counts for half when it is compared with its siblings.\n"
             "0s: only what it uses now counts. inherit: as its parent says, else 0s."},
            &queue->usage_half_life, kHalfLife);
  VisitOrder(queue, visitor);
  int64_t cap = queue->priority_cap.value_or(kNoCap);
  visitor->Whole({"priorityCap", "No gang of it counts for more than this priority."}, {0, kNoCap},
                 &cap);
  queue->priority_cap.reset();
  if (cap < kNoCap) queue->priority_cap = cap;
  Enumeration(
      visitor,
      {"state",
       "open. hold: no gang is started, those that run go on. drain: as hold, and they get\n"
       "no members beyond their minimum."},
      {"open", "hold", "drain"}, &queue->state);
  VisitPreemption(&queue->preemption, notes, visitor);
  queues::PreemptionSpec& says = queue->preemption;
  const auto other = [&](std::string_view theirs, std::string_view help, int64_t* value) {
    visitor->OtherAmount({theirs, help}, kInheritedDuration, value, notes);
  };
  other("preemptMinRuntime", "is preemption.minRuntime.preempt here", &says.min_runtime_preempt);
  other("reclaimMinRuntime", "is preemption.minRuntime.reclaim here", &says.min_runtime_reclaim);
  other("PreemptExemptTime", "is preemption.minRuntime.preempt here", &says.min_runtime_preempt);
  VisitBookings(&queue->bookings, notes, visitor);
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A gang of such a namespace that names no queue is in none.
void DoubtSharedNamespaces(const std::vector<QueueSpec>& queues,
                           std::vector<Contradiction>* found) {
  const auto above_others = [&](const QueueSpec& queue) {
    return std::any_of(queues.begin(), queues.end(),
                       [&](const QueueSpec& other) { return other.parent == queue.name; });
  };
  std::map<std::string, std::string> first;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (above_others(queues[i])) continue;
    for (const std::string& ns : queues[i].namespaces) {
      const auto [known, is_new] = first.emplace(ns, queues[i].name);
      if (is_new || known->second == queues[i].name) continue;
      found->push_back({"queues[" + std::to_string(i) + "].namespaces.names",
                        "namespace " + ns + " is in queue " + known->second +
                            " too: gangs of it that name none with muster.dev/queue are Forbidden",
                        true});
    }
  }
}

}  // namespace

void VisitQueues(std::vector<QueueSpec>* queues, std::vector<std::string>* notes,
                 FieldVisitor* visitor) {
  SectionList(
      visitor,
      {"queues",
       "Queues, in a tree. None: all gangs are in one, root, whatever queue they name. It has\n"
       "no limits; gangs.strictOrder and gangs.preemption are for it. With queues a gang is in\n"
       "the one that it names, else in that of its namespace; a gang that may not use its\n"
       "queue is Forbidden."},
      queues,
      [notes](QueueSpec* queue, FieldVisitor* inside) { VisitQueue(queue, notes, inside); });
}

void FindQueueContradictions(const std::vector<QueueSpec>& queues,
                             const engine::NamespaceRules& namespaces,
                             std::vector<Contradiction>* found) {
  const auto field = [](std::size_t queue, const std::string& name) {
    return "queues[" + std::to_string(queue) + "]." + name;
  };
  for (queues::Fault& fault : queues::FindFaults(queues))
    found->push_back({field(fault.queue, fault.field), std::move(fault.message)});
  DoubtSharedNamespaces(queues, found);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    for (const std::string& ns : queues[i].namespaces) {
      const bool listed = namespaces.allow.empty() || Has(namespaces.allow, ns);
      if (listed && !Has(namespaces.deny, ns)) continue;
      found->push_back({field(i, "namespaces.names"),
                        "expected namespaces that may have gangs, found \"" + ns + "\", which " +
                            (listed ? "is in namespaces.deny" : "is not in namespaces.allow")});
    }
  }
}

}  // namespace muster::config
