#include "config/fields/other_words.hpp"

#include <iterator>

namespace muster::config {
namespace {

constexpr std::string_view kOneList =
    "all queues are in one list here: give the queue below it an entry of its own that says "
    "parent: NAME";
constexpr std::string_view kAmounts =
    "amounts are said directly here: what is guaranteed as guarantee: {gpu: 8}, the most as limit: "
    "{gpu: 16}; gpu/MODEL is of one model";
constexpr std::string_view kNoPriority =
    "queues have no priority here: weight says who gets more of what is idle, and order: fifo in "
    "the "
    "queue above lets the priority of gangs decide";
constexpr std::string_view kNoCount =
    "gangs are not counted here: limit says how much those of a queue may use";
constexpr std::string_view kUsers = "who may use a queue is said by namespaces here";
constexpr std::string_view kNothing = "nothing here goes by it: leave it out";

constexpr OtherName kOfQueues[] = {
    // Kueue
    {"nominalQuota", "guarantee"},
    {"lendingLimit", "lend"},
    {"cohort", "parent"},
    {"cohortName", "parent"},
    {"parentName", "parent"},
    {"queueingStrategy", "order"},
    {"BestEffortFIFO", "fifo"},
    {"StrictFIFO", "strict-fifo"},
    {"stopPolicy", "state"},
    {"None", "open"},
    {"Hold", "hold"},
    {"HoldAndDrain", "drain"},
    {"LocalQueue", "namespace"},
    {"resourceGroups", "", kAmounts},
    {"flavorFungibility", "", kNothing},
    {"admissionChecks", "", kNothing},
    {"admissionChecksStrategy", "", kNothing},
    {"admissionScope", "", kNothing},
    // KAI
    {"quota", "guarantee"},
    {"overQuotaWeight", "weight"},
    {"parentQueue", "parent"},
    {"resources", "", kAmounts},
    {"priority", "", kNoPriority},
    {"displayName", "", kNothing},
    // Volcano
    {"deserved", "guarantee"},
    {"capability", "limit"},
    {"shared-weight", "weight"},
    {"reclaimable", "",
     "others take back only what a queue has beyond its guarantee here: raise that, or lend: "
     "{gpu: 0} keeps it from being lent at all"},
    {"affinity", "",
     "queues are not bound to nodes here: the pods' own nodeSelector and affinity count"},
    {"type", "", kNothing},
    {"extendClusters", "", kNothing},
    {"dequeueStrategy", "",
     "say order: fifo, or strict-fifo where a gang that does not fit blocks those behind it"},
    // YuniKorn
    {"guaranteed", "guarantee"},
    {"max", "limit"},
    {"queues", "", kOneList},
    {"children", "", kOneList},
    {"childtemplate", "", kOneList},
    {"submitacl", "", kUsers},
    {"adminacl", "", kUsers},
    {"limits", "", kNoCount},
    {"maxapplications", "", kNoCount},
    {"properties", "",
     "say order in place of application.sort.policy, priorityCap and preemption in place of "
     "priority.policy and preemption.policy"},
    // Slurm
    {"min", "guarantee"},
    {"TRESBillingWeights", "resourceWeights"},
    {"usageHalfLifeTime", "usageHalfLife"},
    {"PriorityDecayHalfLife", "usageHalfLife"},
    {"MaxJobs", "", kNoCount},
    {"AllowAccounts", "", kUsers},
};

}  // namespace

std::vector<OtherName> OtherWordsOfQueues() { return {std::begin(kOfQueues), std::end(kOfQueues)}; }

std::vector<OtherName> OtherWordsOfPreemption() {
  constexpr std::string_view kOlder =
      "a gang has only gangs of lower priority evicted in its own queue here: lower-priority";
  return {
      {"withinClusterQueue", "withinQueue"},
      {"reclaimWithinCohort", "reclaim"},
      {"Never", "never"},
      {"LowerPriority", "lower-priority"},
      {"LowerOrNewerEqualPriority", "lower-priority", kOlder},
      {"Any", "guarantee"},
      {"borrowWithinCohort", "",
       "for gangs that borrow others are evicted with reclaim: fair-share, by shares and not by "
       "priority"},
  };
}

std::vector<OtherName> OtherWordsOfAmounts() {
  return {
      {"pods", "", "pods are not counted here"},
      {"vcore", "", "this is cpu here"},
      {"resource", "",
       "amounts are said directly here, as guarantee: {gpu: 8}; what of it is never lent is the "
       "rest "
       "of lend"},
  };
}

std::vector<OtherName> OtherWordsOfSelectors() {
  return {{"matchExpressions", "",
           "only matchLabels is read here: list the namespaces as namespaces: {names: [a, b]}, or "
           "give them a label of their own"}};
}

}  // namespace muster::config
