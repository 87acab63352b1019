#include "engine/judging/queue_rules.hpp"

#include <algorithm>
#include <utility>

#include "engine/gangs/minimum.hpp"
#include "engine/judging/request.hpp"
#include "engine/standing/queue_hold.hpp"
#include "engine/standing/standing_state.hpp"
#include "queues/choice.hpp"

namespace muster::engine {

using cluster::Usage;
using queues::Resource;

namespace {

// What PriorityClasses of users have is below.
constexpr int32_t kSystemPriority = 2'000'000'000;

constexpr const char* kProductLabel = "nvidia.com/gpu.product";

// The one that the pod's node selector or required affinity leaves; empty: it names none.
std::string ModelOf(const cluster::PodSpec& spec) {
  const cluster::NodeConstraints& wants = spec.constraints;
  const auto selected = wants.node_selector.find(kProductLabel);
  if (selected != wants.node_selector.end()) return selected->second;
  if (wants.affinity_terms.size() != 1) return {};
  for (const cluster::SelectorRequirement& one : wants.affinity_terms.front().match_expressions) {
    const bool names = one.key == kProductLabel && one.op == cluster::SelectorOperator::kIn;
    if (names && one.values.size() == 1) return one.values.front();
  }
  return {};
}

Usage AsksOf(const cluster::PodSpec& spec) {
  Usage asks{.pods = 1, .requests = spec.requests};
  if (spec.gpus.none()) return asks;
  asks.gpu_milli = spec.gpus.total().value();
  asks.gpu_memory = spec.gpus.memory_each * spec.gpus.count;
  if (const std::string model = ModelOf(spec); !model.empty())
    asks.gpu_milli_by_model[model] = asks.gpu_milli;
  return asks;
}

const std::string& AskedQueue(const StandingState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (group != nullptr && !group->queue.empty()) return group->queue;
  const auto named = std::find_if(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    return !entry.second.pod->asked_queue.empty();
  });
  return named == gang.members.end() ? gang.members.begin()->second.pod->asked_queue
                                     : named->second.pod->asked_queue;
}

bool IsMemory(const Resource& resource) {
  return resource.kind == Resource::Kind::kMemory || resource.kind == Resource::Kind::kGpuMemory;
}

// Whole GPUs, cores or MiB.
int64_t Whole(const Resource& resource, int64_t amount, bool up) {
  return IsMemory(resource) ? amount : amount / 1000 + (up && amount % 1000 > 0 ? 1 : 0);
}

// ": 64 kept for prod, 8 kept for ci": for whom the room of the queue is that the leaf may not
// take.
std::string KeepersText(const queues::Ledger& ledger, const queues::Excess& excess,
                        queues::QueueIndex leaf) {
  constexpr size_t kMostKeepers = 3;
  const queues::Tree& tree = ledger.tree();
  const std::vector<queues::QueueIndex> own = tree.PathOf(leaf);
  std::vector<std::pair<int64_t, std::string>> keepers;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const queues::QueueIndex queue{i};
    const int64_t kept = ledger.kept(queue, excess.resource);
    if (kept <= 0 || std::find(own.begin(), own.end(), queue) != own.end()) continue;
    const std::vector<queues::QueueIndex> path = tree.PathOf(queue);
    if (std::find(path.begin(), path.end(), excess.queue) == path.end()) continue;
    keepers.emplace_back(-kept, tree.at(queue).name);
  }
  std::sort(keepers.begin(), keepers.end());
  std::string text;
  for (size_t i = 0; i < std::min(keepers.size(), kMostKeepers); ++i) {
    text += (i == 0 ? ": " : ", ") +
            ShowAmount(tree.resources()[excess.resource], -keepers[i].first) + " kept for " +
            keepers[i].second;
  }
  return keepers.size() > kMostKeepers ? text + " and others" : text;
}

// `asks`: of the gang alone, which is in queue `leaf`.
std::string Describe(const queues::Ledger& ledger, const queues::Excess& excess,
                     queues::QueueIndex leaf, int64_t asks) {
  const queues::Tree& tree = ledger.tree();
  const Resource& resource = tree.resources()[excess.resource];
  const std::string queue = "queue " + tree.at(excess.queue).name;
  const std::string name = ToString(resource);
  const std::string would = ShowAmount(resource, excess.would);
  const std::string most = ShowAmount(resource, excess.most);
  const bool alone = asks > excess.most;
  const std::string asked = " for " + ShowAmount(resource, asks) + " of " + name;
  switch (excess.kind) {
    case queues::Excess::Kind::kLimit:
      return alone ? "it asks" + asked + ", the limit of " + queue + " is " + most
                   : queue + " would use " + would + " of " + name + ", its limit is " + most;
    case queues::Excess::Kind::kGuarantee:
      return "in " + queue + " " + most + " of " + name + " may be borrowed, it would borrow " +
             would + KeepersText(ledger, excess, leaf);
    case queues::Excess::Kind::kOwnGuarantee:
      break;
  }
  return alone ? "it is not preemptible and asks" + asked + ", the guarantee of " + queue + " is " +
                     most
               : "it is not preemptible, and such gangs of " + queue + " would use " + would +
                     " of " + name + ", the guarantee is " + most;
}

// What the gang asks for alone is said where that is more than there may ever be.
Reason BecauseOf(const queues::Ledger& ledger, const queues::Excess& excess,
                 queues::QueueIndex leaf, const queues::Vector& asks) {
  const Resource& resource = ledger.tree().resources()[excess.resource];
  const bool limit = excess.kind == queues::Excess::Kind::kLimit;
  const bool borrows = excess.kind == queues::Excess::Kind::kGuarantee;
  const int64_t alone = asks[excess.resource];
  const int64_t need = !borrows && alone > excess.most ? alone : excess.would;
  return Because(limit ? ReasonCode::kQueueLimit : ReasonCode::kQueueGuarantee,
                 Whole(resource, excess.most, false), Whole(resource, need, true),
                 Describe(ledger, excess, leaf, alone));
}

std::optional<queues::Excess> ExcessOf(const queues::Ledger& ledger, queues::QueueIndex leaf,
                                       const queues::Vector& asks, bool non_preemptible) {
  if (non_preemptible) {
    if (auto excess = ledger.ExceedsGuarantee(leaf, asks)) return excess;
  }
  return ledger.Exceeds(leaf, asks);
}

Reason OverQueue(const QueueBook& book, const Gang& gang, const queues::Vector& asks) {
  const queues::QueueIndex leaf = book.IndexOf(QueueOf(gang));
  const auto excess = ExcessOf(book.ledger(), leaf, asks, gang.non_preemptible);
  return excess ? BecauseOf(book.ledger(), *excess, leaf, asks) : Reason{};
}

}  // namespace

void AssignQueue(StandingState& state, Gang& gang) {
  QueueBook& book = state.queue_book;
  gang.queue_bar = {};
  gang.priority_cap = INT64_MAX;
  gang.non_preemptible = IsNonPreemptible(state, gang);
  if (state.shapes.any()) state.shapes.Note(gang.id);
  if (gang.members.empty()) book.Leave(gang.id);
  if (gang.members.empty()) return;
  const cluster::Namespace* ns = state.cluster.FindNamespace(gang.id.key.ns);
  queues::Choice choice = Choose(book.tree(), AskedQueue(state, gang), gang.id.key.ns,
                                 ns == nullptr ? cluster::Labels{} : ns->labels);
  std::string queue;
  if (choice.kind == queues::Choice::Kind::kChosen) {
    queue = book.Enter(gang.id, choice.queue);
  } else {
    const bool unknown = choice.kind == queues::Choice::Kind::kUnknown;
    gang.queue_bar = Because(unknown ? ReasonCode::kQueueUnknown : ReasonCode::kQueueForbidden, 0,
                             0, std::move(choice.why));
    book.Leave(gang.id);
    queue = std::move(choice.queue);
  }
  gang.priority_cap = book.tree().at(book.IndexOf(queue)).priority_cap;
  gang.written_queue = book.tree().at(book.WrittenOf(queue)).name;
  for (const auto& [uid, member] : gang.members)
    state.cluster.ChargeTo(uid, queue, gang.non_preemptible);
}

Usage AsksOf(const Gang& gang) {
  Usage asks;
  const std::vector<const Member*> open = OpenMembers(gang);
  const cluster::Headcount there =
      CountMembers(gang, !gang.minimum.roles.empty(),
                   [](const Member& member) { return IsThere(member, Counting::kPlanned); });
  const std::vector<size_t> needed = Needed(gang.minimum, there, open);
  for (const size_t i : needed) asks += AsksOf(*open[i]->pod->spec);
  if (needed.empty() && !open.empty()) asks = AsksOf(*open.front()->pod->spec);
  return asks;
}

bool StrictOrder(const StandingState& state, const std::string& queue) {
  const QueueBook& book = state.queue_book;
  return book.tree().at(book.IndexOf(queue)).order == queues::Order::kStrictFifo;
}

namespace {

QueueHold HoldOn(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return HoldOf(book.tree(), state.orders.standing(), book.IndexOf(QueueOf(gang)));
}

}  // namespace

Reason HoldBar(const StandingState& state, const Gang& gang) {
  QueueHold hold = HoldOn(state, gang);
  if (hold.state == queues::QueueState::kOpen) return {};
  return Because(ReasonCode::kHold, 0, 0, std::move(hold.why));
}

bool Drains(const StandingState& state, const Gang& gang) {
  return HoldOn(state, gang).state == queues::QueueState::kDrain;
}

Reason EvictedBar(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  if (!gang.past.evicted() || gang.members.empty()) return {};
  const queues::Queue& queue = book.tree().at(book.WrittenOf(QueueOf(gang)));
  if (queue.preemption.on_evicted != queues::OnEvicted::kFail) return {};
  return Because(
      ReasonCode::kEvicted, 0, 0,
      "queue " + queue.name + " says onEvicted: fail; submit it anew, as another PodGroup");
}

Reason OverQueue(const StandingState& state, const Gang& gang, const Usage& asks) {
  const QueueBook& book = state.queue_book;
  return OverQueue(book, gang, book.tree().Dense(asks));
}

Reason OverOwnGuarantee(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  if (!gang.non_preemptible) return {};
  const queues::Vector asks = book.tree().Dense(gang.queue->asks);
  const auto excess = book.ledger().ExceedsGuarantee(book.IndexOf(QueueOf(gang)), asks);
  return excess ? BecauseOf(book.ledger(), *excess, book.IndexOf(QueueOf(gang)), asks) : Reason{};
}

bool OverQueueAlone(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const queues::Vector asks = book.tree().Dense(gang.queue->asks);
  return ExcessOf(book.idle(), book.IndexOf(QueueOf(gang)), asks, gang.non_preemptible).has_value();
}

Reason OverGrownQueue(const StandingState& state, const Gang& gang,
                      const std::vector<ChargedAlso>& others) {
  const QueueBook& book = state.queue_book;
  const queues::Tree& tree = book.tree();
  const queues::QueueIndex leaf = book.IndexOf(QueueOf(gang));
  const queues::Vector asks = tree.Dense(gang.queue->asks);
  const auto add = [](queues::Vector& to, const queues::Vector& more) {
    for (size_t r = 0; r < to.size(); ++r) to[r] += more[r];
  };
  queues::Ledger grown = book.ledger();
  queues::Vector capacity = grown.capacity();
  add(capacity, asks);
  for (const ChargedAlso& other : others) {
    const queues::Vector more = tree.Dense(other.asks);
    const queues::QueueIndex theirs = book.IndexOf(other.queue);
    queues::Vector used = grown.used(theirs);
    add(used, more);
    add(capacity, more);
    grown.Set(theirs, used);
  }
  grown.SetCapacity(std::move(capacity));
  const auto excess = ExcessOf(grown, leaf, asks, gang.non_preemptible);
  return excess ? BecauseOf(grown, *excess, leaf, asks) : Reason{};
}

ClosedNodes ClosedTo(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  ClosedNodes closed;
  const queues::Tree& tree = book.tree();
  const queues::Vector asks = tree.Dense(gang.queue->asks);
  int64_t unnamed = gang.queue->asks.gpu_milli;
  for (const auto& [model, milli] : gang.queue->asks.gpu_milli_by_model) unnamed -= milli;
  if (unnamed <= 0) return closed;
  cluster::NodeSet nodes;
  for (size_t r = 0; r < asks.size(); ++r) {
    if (tree.resources()[r].kind != Resource::Kind::kGpuModel) continue;
    queues::Vector all(asks.size());
    all[r] = asks[r] + unnamed;
    Reason why = OverQueue(book, gang, all);
    if (why.code == ReasonCode::kNone) continue;
    nodes.Join(book.NodesOf(r));
    closed.why = std::move(why);
  }
  if (nodes.first().valid())
    closed.nodes = std::make_shared<const cluster::NodeSet>(std::move(nodes));
  return closed;
}

Usage UsageOf(const StandingState& state, const std::vector<cluster::Placement>& places) {
  Usage usage;
  for (const cluster::Placement& place : places)
    usage += cluster::UsageOf(place, *state.cluster.node(place.node));
  return usage;
}

const std::string& BookedFor(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return book.tree().at(book.WrittenOf(QueueOf(gang))).name;
}

queues::BookingTerms TermsOfBookings(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return book.tree().at(book.IndexOf(QueueOf(gang))).bookings;
}

bool IsNonPreemptible(const StandingState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const std::optional<bool> said = group == nullptr ? std::nullopt : group->preemptible;
  return said == false || gang.terms.priority.value_or(0) >= kSystemPriority ||
         std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
           const cluster::Pod& pod = *entry.second.pod;
           if (pod.terminal()) return false;
           return pod.daemon || pod.spec->priority >= kSystemPriority ||
                  (!said && pod.preemptible == false);
         });
}

}  // namespace muster::engine
