#include "engine/standing/shape_book.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/gangs/membership.hpp"

namespace muster::engine {

using cluster::GangId;
using cluster::NodeIndex;
using cluster::NodeSet;
using queues::QueueIndex;
using queues::Tree;
using queues::Vector;

namespace {

// Promises make gangs come later in their queue's line, and that may end promises: so often both
// are followed before only promises end, which ends no others.
constexpr int kMostRounds = 4;

bool IsBelow(const Tree& tree, QueueIndex leaf, QueueIndex queue) {
  while (leaf != queue && leaf != queues::kRootIndex) leaf = tree.at(leaf).parent;
  return leaf == queue;
}

bool HasOthersPods(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(),
                     [](const auto& entry) { return entry.second.holds() && !entry.second.ours; });
}

// Each before those above it.
std::vector<ShapeBook::Claim> ClaimsOf(const Tree& tree) {
  std::vector<ShapeBook::Claim> claims;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const queues::Queue& queue = tree.at(QueueIndex{i});
    for (const queues::Shape& shape : queue.shapes) {
      ShapeBook::Claim claim{QueueIndex{i}, shape, std::nullopt, shape.whole_nodes};
      for (size_t r = 0; r < tree.resources().size(); ++r) {
        const bool is = tree.resources()[r].kind == queues::Resource::Kind::kGpuModel &&
                        tree.resources()[r].model == shape.model;
        if (is) claim.model = r;
      }
      claims.push_back(std::move(claim));
    }
  }
  std::stable_sort(claims.begin(), claims.end(), [&](const auto& a, const auto& b) {
    return tree.at(a.queue).depth > tree.at(b.queue).depth;
  });
  // What each says is covered by the next one above that says something of that model.
  for (const ShapeBook::Claim& claim : claims) {
    for (QueueIndex up = claim.queue; up != queues::kRootIndex;) {
      up = tree.at(up).parent;
      const auto above = std::find_if(claims.begin(), claims.end(), [&](const auto& other) {
        return other.queue == up && other.shape.model == claim.shape.model;
      });
      if (above == claims.end()) continue;
      above->nodes = std::max<int64_t>(0, above->nodes - claim.shape.whole_nodes);
      break;
    }
  }
  return claims;
}

}  // namespace

void ShapeBook::Begin() {
  edition_ = queues_.edition();
  claims_ = any() ? ClaimsOf(queues_.tree()) : std::vector<Claim>();
  promises_.Reset(claims_.size());
  covered_ = {};
  generation_ = 0;
  nodes_ = {};
  tokens_.clear();
  uses_.clear();
  gangs_.clear();
  to_classify_.clear();
  changed_.clear();
  noted_.clear();
  look_everywhere_ = false;
}

void ShapeBook::Follow() {
  if (edition_ != queues_.edition()) Begin();
  if (!any()) return noted_.clear();
  const bool same = generation_ == cluster_.generation() && generation_ != 0;
  if (same && noted_.empty() && !look_everywhere_) return;
  ReadChanges();
  for (int round = 0; round < kMostRounds; ++round) {
    Classify();
    const bool lost = DropLost();
    const bool moved = PreferOwn();
    if (!FillUp() && !lost && !moved) break;
  }
  do Classify();
  while (DropLost());
  changed_.clear();
}

// Pods without GPUs leave a node whole.
ShapeBook::NodeUse ShapeBook::Look(NodeIndex index) const {
  NodeUse use;
  const cluster::Node* node = cluster_.node(index);
  if (node == nullptr) return use;
  const Tree& tree = queues_.tree();
  use.whole = node->schedulable() && !node->gpus.empty() &&
              std::all_of(node->gpus.begin(), node->gpus.end(),
                          [](const cluster::Gpu& gpu) { return gpu.usable(); });
  const bool alike =
      std::all_of(node->gpus.begin(), node->gpus.end(),
                  [&](const cluster::Gpu& gpu) { return gpu.model == node->gpus.front().model; });
  if (use.whole && alike) use.model = tree.ModelOf(node->gpus.front().model);
  const auto add = [&](const cluster::PodUid& uid, const cluster::Placement& held) {
    const cluster::Usage usage = cluster::UsageOf(held, *node);
    if (usage.gpu_milli == 0) return;
    const Gang* gang = members_.GangOf(uid);
    if (gang == nullptr) {
      use.others_milli += usage.gpu_milli;
      return;
    }
    const Vector dense = tree.Dense(usage);
    Vector& sum = use.held[gang->id];
    sum.resize(dense.size());
    for (size_t r = 0; r < sum.size(); ++r) sum[r] += dense[r];
  };
  for (const cluster::PodUid& uid : cluster_.HoldersOn(index))
    add(uid, cluster_.AllocationOf(uid)->placement);
  for (const cluster::PodUid& uid : cluster_.EarmarksOn(index)) {
    const Member* member = members_.FindMember(uid);
    if (member != nullptr && member->planned()) add(uid, *member->plan->placement);
  }
  return use;
}

void ShapeBook::Read(NodeIndex index) {
  if (index.value >= uses_.size()) uses_.resize(index.value + 1);
  NodeUse now = Look(index);
  NodeUse& use = uses_[index.value];
  if (now == use) return;
  for (const auto& [gang, held] : use.held) {
    GangUse& sum = gangs_[gang];
    for (size_t r = 0; r < held.size(); ++r) sum.held[r] -= held[r];
    sum.nodes.erase(index);
    to_classify_.insert(gang);
  }
  for (const auto& [gang, held] : now.held) {
    GangUse& sum = gangs_[gang];
    sum.held.resize(held.size());
    for (size_t r = 0; r < held.size(); ++r) sum.held[r] += held[r];
    sum.nodes.insert(index);
    to_classify_.insert(gang);
  }
  use = std::move(now);
  changed_.insert(index);
}

void ShapeBook::ReadChanges() {
  const std::shared_ptr<const cluster::Snapshot> snapshot = cluster_.TakeSnapshot();
  const cluster::FreeTable& free = snapshot->free();
  constexpr uint32_t kChunk = cluster::FreeTable::kChunk;
  tokens_.resize(free.chunks());
  for (uint32_t chunk = 0; chunk < free.chunks(); ++chunk) {
    const bool same = tokens_[chunk] == free.token(chunk) &&
                      snapshot->nodes().SameChunk(nodes_, chunk) && generation_ != 0;
    if (same) continue;
    for (uint32_t i = chunk * kChunk; i < std::min(snapshot->size(), (chunk + 1) * kChunk); ++i)
      Read(NodeIndex{i});
    tokens_[chunk] = free.token(chunk);
  }
  nodes_ = snapshot->nodes();
  generation_ = snapshot->generation();
  for (const GangId& id : std::exchange(noted_, {})) {
    std::set<NodeIndex> nodes;
    if (const auto known = gangs_.find(id); known != gangs_.end()) nodes = known->second.nodes;
    if (const Gang* gang = members_.Find(id)) {
      for (const auto& [uid, member] : gang->members) {
        const cluster::Allocation* held = cluster_.AllocationOf(uid);
        if (held != nullptr) nodes.insert(held->placement.node);
        if (member.planned()) nodes.insert(member.plan->placement->node);
      }
    }
    for (const NodeIndex node : nodes) Read(node);
    to_classify_.insert(id);
  }
}

// New gangs come in the order in which they began to run.
void ShapeBook::Classify() {
  std::vector<std::tuple<cluster::Time, GangId>> order;
  for (const GangId& id : std::exchange(to_classify_, {})) {
    const Gang* gang = members_.Find(id);
    const auto use = gangs_.find(id);
    const bool holds = use != gangs_.end() && !use->second.nodes.empty();
    if (gang == nullptr || !holds) {
      if (use != gangs_.end() && !holds) gangs_.erase(use);
      covered_.Remove(id);
      continue;
    }
    order.emplace_back(gang->past.running_since().value_or(cluster::Time::Never()), id);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [since, id] : order) {
    const Gang& gang = *members_.Find(id);
    const GangUse& use = gangs_.at(id);
    CoveredGangs::Holding holding;
    holding.leaf = queues_.IndexOf(QueueOf(gang));
    holding.priority = HighestHeld(gang).value_or(PriorityOf(gang));
    holding.stays = gang.non_preemptible || HasOthersPods(gang);
    holding.promised = std::any_of(use.nodes.begin(), use.nodes.end(), [&](NodeIndex node) {
      const std::optional<size_t> claim = promises_.ClaimOn(node);
      return claim && !IsOwn(claims_[*claim], holding.leaf);
    });
    holding.held = use.held;
    const CoveredGangs::Holding* before = covered_.Find(id);
    const bool moved =
        before == nullptr || before->leaf != holding.leaf || before->stays != holding.stays;
    covered_.Set(queues_.tree(), id, std::move(holding));
    if (moved) changed_.insert(use.nodes.begin(), use.nodes.end());
  }
  for (const GangId& id : covered_.Follow(queues_.tree())) {
    const GangUse& use = gangs_.at(id);
    changed_.insert(use.nodes.begin(), use.nodes.end());
  }
}

bool ShapeBook::IsOwn(const Claim& claim, QueueIndex leaf) const {
  return IsBelow(queues_.tree(), leaf, claim.queue);
}

// R5; `depth`: see CoveredGangs::DepthOf.
bool ShapeBook::MayHaveEvicted(const Claim& claim, QueueIndex leaf, int64_t depth) const {
  const Tree& tree = queues_.tree();
  if (tree.at(claim.queue).preemption.reclaim == queues::Reclaim::kNever) return false;
  const auto branches = tree.Diverge(claim.queue, leaf);
  return branches && depth < tree.at(branches->b).depth;
}

std::optional<NodeSuits> ShapeBook::SuitsOf(size_t claim, NodeIndex node) const {
  if (node.value >= uses_.size()) return std::nullopt;
  const NodeUse& use = uses_[node.value];
  const Claim& of = claims_[claim];
  if (!use.whole || use.others_milli > 0 || (of.model && use.model != of.model))
    return std::nullopt;
  NodeSuits suits{use.held.empty() ? 1 : 0, 0, cluster_.node(node)->name};
  for (const auto& [id, held] : use.held) {
    const CoveredGangs::Holding* holding = covered_.Find(id);
    if (holding == nullptr) return std::nullopt;
    if (IsOwn(of, holding->leaf)) continue;
    if (!MayHaveEvicted(of, holding->leaf, covered_.DepthOf(id))) return std::nullopt;
    suits.kind = 2;
    suits.others_milli += held[Tree::kGpu];
  }
  return suits;
}

// The gangs there come elsewhere in their queue's line.
void ShapeBook::Moved(NodeIndex node) {
  changed_.insert(node);
  for (const auto& [gang, held] : uses_[node.value].held) to_classify_.insert(gang);
}

bool ShapeBook::DropLost() {
  bool any = false;
  for (const NodeIndex node : std::set<NodeIndex>(changed_)) {
    const std::optional<size_t> claim = promises_.ClaimOn(node);
    if (!claim || SuitsOf(*claim, node)) continue;
    promises_.Drop(node);
    Moved(node);
    any = true;
  }
  look_everywhere_ = look_everywhere_ || any;
  return any;
}

// A node that only the queue itself uses takes the place of one that it does not use.
bool ShapeBook::PreferOwn() {
  bool any = false;
  for (const NodeIndex node : changed_) {
    if (promises_.ClaimOn(node)) continue;
    for (size_t claim = 0; claim < claims_.size(); ++claim) {
      const auto suits = SuitsOf(claim, node);
      if (!suits || suits->kind != 0) continue;
      const std::set<NodeIndex>& has = promises_.of(claim);
      const auto worst = std::max_element(has.begin(), has.end(), [&](NodeIndex a, NodeIndex b) {
        return SuitsOf(claim, a) < SuitsOf(claim, b);
      });
      if (worst == has.end() || Lacks(claim) || KindOf(claim, *worst) == 0) continue;
      Moved(*worst);
      promises_.Drop(*worst);
      promises_.Give(claim, node);
      Moved(node);
      any = true;
      break;
    }
  }
  return any;
}

// A node that is promised to one claim helps another that can have it now, too: the first may take
// another one.
bool ShapeBook::FillUp() {
  const auto useful = [&](NodeIndex node) {
    const std::optional<size_t> has = promises_.ClaimOn(node);
    for (size_t claim = 0; claim < claims_.size(); ++claim) {
      if (has != claim && SuitsOf(claim, node)) return true;
    }
    return false;
  };
  bool lacks = false;
  for (size_t claim = 0; claim < claims_.size(); ++claim) lacks = lacks || Lacks(claim);
  const bool all = std::exchange(look_everywhere_, false);
  if (!lacks || (!all && std::none_of(changed_.begin(), changed_.end(), useful))) return false;
  bool any = false;
  for (size_t claim = 0; claim < claims_.size(); ++claim) {
    if (!Lacks(claim)) continue;
    const size_t before = promises_.of(claim).size();
    promises_.Fill(claim, claims_[claim].nodes, static_cast<uint32_t>(uses_.size()),
                   [&](size_t of, NodeIndex node) { return SuitsOf(of, node); });
    if (promises_.of(claim).size() == before) continue;
    any = true;
    for (size_t each = 0; each < claims_.size(); ++each) {
      for (const NodeIndex node : promises_.of(each)) Moved(node);
    }
  }
  return any;
}

std::vector<size_t> ShapeBook::Against(const GangId& gang, QueueIndex leaf, int64_t priority,
                                       bool stays, const Vector& more, bool any_model) const {
  std::vector<size_t> against;
  const std::vector<size_t> others = OthersOf(leaf);
  if (others.empty()) return against;
  int64_t depth = CoveredGangs::kStays;
  if (!stays) {
    depth = more[Tree::kGpu] > 0
                ? covered_.DepthWith(queues_.ledger(), gang, leaf, priority, more, any_model)
                : covered_.DepthOf(gang);
  }
  for (const size_t claim : others) {
    if (!MayHaveEvicted(claims_[claim], leaf, depth)) against.push_back(claim);
  }
  return against;
}

std::vector<size_t> ShapeBook::ClaimsBeside(QueueIndex leaf, bool own) const {
  std::vector<size_t> some;
  for (size_t claim = 0; claim < claims_.size(); ++claim) {
    if (IsOwn(claims_[claim], leaf) == own) some.push_back(claim);
  }
  return some;
}

NodeSet ShapeBook::NodesOf(const std::vector<size_t>& claims) const {
  NodeSet nodes;
  for (const size_t claim : claims) {
    for (const NodeIndex node : promises_.of(claim)) nodes.Add(node);
  }
  return nodes;
}

bool ShapeBook::HoldWithout(const std::vector<size_t>& claims, const NodeSet& taken) const {
  NodePromises trial = promises_;
  const auto without = [&](size_t claim, NodeIndex node) -> std::optional<NodeSuits> {
    const bool gone =
        taken.Contains(node) && std::find(claims.begin(), claims.end(), claim) != claims.end();
    return gone ? std::nullopt : SuitsOf(claim, node);
  };
  for (const NodeIndex node : taken.Nodes()) {
    const std::optional<size_t> claim = trial.ClaimOn(node);
    if (claim && !without(*claim, node)) trial.Drop(node);
  }
  for (size_t claim = 0; claim < claims_.size(); ++claim) {
    const auto had = static_cast<int64_t>(promises_.of(claim).size());
    trial.Fill(claim, had, static_cast<uint32_t>(uses_.size()), without);
    if (std::ssize(trial.of(claim)) < had) return false;
  }
  return true;
}

void ShapeBook::NoExchange(const GangId& gang) {
  if (no_exchange_at_ != cluster_.generation()) no_exchange_.clear();
  no_exchange_at_ = cluster_.generation();
  no_exchange_.insert(gang);
}

std::vector<std::string> ShapeBook::Audit() const {
  ShapeBook now = *this;
  now.Follow();
  return now.any() ? now.AuditOfNow() : std::vector<std::string>();
}

std::vector<std::string> ShapeBook::AuditOfNow() const {
  std::vector<std::string> broken;
  const auto say = [&](std::string what) { broken.push_back("whole nodes: " + std::move(what)); };
  for (uint32_t i = 0; i < uses_.size(); ++i) {
    if (!(Look(NodeIndex{i}) == uses_[i]))
      say("the node at " + std::to_string(i) + " is used in another way");
  }
  for (const std::string& one : covered_.Audit(queues_.tree())) say(one);
  NodePromises trial = promises_;
  for (size_t claim = 0; claim < claims_.size(); ++claim) {
    const std::string& queue = queues_.tree().at(claims_[claim].queue).name;
    for (const NodeIndex node : promises_.of(claim)) {
      if (!SuitsOf(claim, node)) say("queue " + queue + " cannot have a node promised to it");
    }
    trial.Fill(claim, claims_[claim].nodes, static_cast<uint32_t>(uses_.size()),
               [&](size_t of, NodeIndex node) { return SuitsOf(of, node); });
    if (trial.of(claim).size() != promises_.of(claim).size())
      say("queue " + queue + " could have more nodes than are promised to it");
  }
  return broken;
}

}  // namespace muster::engine
