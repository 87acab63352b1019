#include "sim/world/autoscaler.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace muster::sim {

using cluster::Node;
using cluster::RequestState;
using cluster::Time;

namespace {

bool AsksForNodes(const PodRecord& record) {
  const cluster::Pod& pod = record.pod;
  return !pod.bound() && !pod.ending() && pod.gates.empty() && pod.nominated_node.empty() &&
         record.status_reason == "Unschedulable";
}

NodePtr RecordOf(const Node& node) {
  auto record = std::make_shared<NodeRecord>();
  record->node = node;
  return record;
}

// The name of the first node that takes the pod; empty: none does.
std::string Place(SchedulerCache& nodes, const cluster::Pod& pod) {
  for (const SchedulerCache::NodeInfo* info : nodes.nodes()) {
    if (nodes.Check(pod, *info) != Fit::kFits) continue;
    nodes.Hold(pod, info->record->node.name);
    return info->record->node.name;
  }
  return {};
}

// As many as it asks for, each with a name of its own.
std::vector<cluster::Pod> PodsOf(const RequestRecord& record) {
  std::vector<cluster::Pod> pods;
  for (size_t set = 0; set < record.sets.size(); ++set) {
    for (int64_t i = 0; i < record.sets[set].count; ++i) {
      cluster::Pod pod;
      pod.key = record.request.key;
      pod.uid = cluster::PodUid(record.request.uid.text() + "/" + std::to_string(set) + "/" +
                                std::to_string(i));
      pod.spec = record.sets[set].spec;
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

}  // namespace

Autoscaler::Autoscaler(EventLoop& loop, ApiServer& api, AutoscalerOptions options)
    : api_(api), loop_(loop), options_(std::move(options)), timer_(loop, true, [this] { Scan(); }) {
  timer_.Set(loop_.now() + options_.scan);
}

void Autoscaler::Stop() {
  timer_.Stop();
  coming_.clear();
}

void Autoscaler::Scan() {
  ExpireBookings();
  AnswerRequests();
  AddNodes();
  RemoveIdle();
  timer_.Set(loop_.now() + options_.scan);
}

int64_t Autoscaler::CountOf(const Pool& pool) const {
  return std::count_if(pool_of_.begin(), pool_of_.end(),
                       [&](const auto& entry) { return entry.second == pool.name; });
}

void Autoscaler::Fill(SchedulerCache& nodes) {
  for (const NodePtr& node : api_.Nodes()) nodes.SetNode(node);
  for (const auto& [name, node] : coming_) nodes.SetNode(RecordOf(node));
  for (const PodPtr& pod : api_.Pods()) {
    if (pod->pod.terminal()) continue;
    if (pod->pod.bound()) nodes.Hold(pod->pod, pod->pod.node_name);
    if (!pod->pod.bound() && !pod->pod.nominated_node.empty())
      nodes.Hold(pod->pod, pod->pod.nominated_node);
  }
  booked_.clear();
  for (const RequestPtr& record : api_.Requests()) {
    if (record->request.state != RequestState::kProvisioned) continue;
    for (const cluster::Pod& pod : PodsOf(*record)) {
      const std::string node = Place(nodes, pod);
      if (!node.empty()) booked_.insert(node);
    }
  }
}

void Autoscaler::ExpireBookings() {
  for (const RequestPtr& record : api_.Requests()) {
    const cluster::ProvisioningRequest& request = record->request;
    const bool over = request.state == RequestState::kProvisioned &&
                      request.since + options_.booking <= loop_.now();
    if (!over) continue;
    (void)api_.SetRequestState(Actor::kController, request.key, RequestState::kExpired,
                               "Capacity reservation time has expired");
  }
}

void Autoscaler::AnswerRequests() {
  for (const RequestPtr& record : api_.Requests()) {
    const RequestState state = record->request.state;
    const bool open = state == RequestState::kNew || state == RequestState::kAccepted;
    if (!open || requests_ == Requests::kIgnored) continue;
    if (requests_ == Requests::kFailed) {
      (void)api_.SetRequestState(Actor::kController, record->request.key, RequestState::kFailed,
                                 "Failed to create in-memory pods");
    } else {
      Answer(*record);
    }
  }
}

void Autoscaler::Answer(const RequestRecord& record) {
  SchedulerCache nodes;
  Fill(nodes);
  const bool only_looks = record.request.class_name == cluster::kCheckCapacityClass;
  std::vector<std::string> made;
  bool all = true;
  for (const cluster::Pod& pod : PodsOf(record)) {
    if (!Place(nodes, pod).empty()) continue;
    all = !only_looks && Find(nodes, pod, made);
    if (!all) break;
  }
  for (const std::string& node : made) all ? Order(node) : Abandon(node);
  (void)api_.SetRequestState(
      Actor::kController, record.request.key,
      all ? RequestState::kProvisioned : RequestState::kAccepted,
      all ? "Capacity is provisioned" : "Capacity is not found, CA will try to find it later");
}

bool Autoscaler::Find(SchedulerCache& nodes, const cluster::Pod& pod,
                      std::vector<std::string>& made) {
  for (const Pool& pool : options_.pools) {
    if (CountOf(pool) >= pool.most) continue;
    Node node = pool.node;
    node.name = pool.name + "-" + std::to_string(named_[pool.name]);
    SchedulerCache alone;
    alone.SetNode(RecordOf(node));
    if (Place(alone, pod).empty()) continue;
    ++named_[pool.name];
    pool_of_[node.name] = pool.name;
    coming_[node.name] = node;
    nodes.SetNode(RecordOf(node));
    nodes.Hold(pod, node.name);
    made.push_back(node.name);
    return true;
  }
  return false;
}

void Autoscaler::Order(const std::string& name) {
  ++added_;
  loop_.Post(loop_.now() + options_.boot, [this, name] {
    const auto found = coming_.find(name);
    if (found == coming_.end()) return;
    (void)api_.CreateNode(Actor::kController, found->second);
    coming_.erase(found);
  });
}

void Autoscaler::Abandon(const std::string& name) {
  --named_[pool_of_.at(name)];
  pool_of_.erase(name);
  coming_.erase(name);
}

void Autoscaler::AddNodes() {
  SchedulerCache nodes;
  Fill(nodes);
  for (const PodPtr& pod : api_.Pods()) {
    if (pod->pod.terminal() || !AsksForNodes(*pod)) continue;
    if (!Place(nodes, pod->pod).empty()) continue;
    std::vector<std::string> made;
    if (Find(nodes, pod->pod, made)) Order(made.front());
  }
}

void Autoscaler::RemoveIdle() {
  std::set<std::string> used = booked_;
  for (const PodPtr& pod : api_.Pods()) {
    if (pod->pod.terminal()) continue;
    if (pod->pod.bound()) used.insert(pod->pod.node_name);
    if (!pod->pod.nominated_node.empty()) used.insert(pod->pod.nominated_node);
  }
  for (auto entry = pool_of_.begin(); entry != pool_of_.end();) {
    const std::string name = entry->first;
    const bool idle = api_.FindNode(name) != nullptr && !used.contains(name);
    if (!idle) idle_since_.erase(name);
    const bool goes =
        idle &&
        idle_since_.try_emplace(name, loop_.now()).first->second + options_.idle <= loop_.now();
    ++entry;
    if (!goes) continue;
    if (api_.DeleteNode(Actor::kController, name).ok()) ++removed_;
    idle_since_.erase(name);
    pool_of_.erase(name);
  }
}

}  // namespace muster::sim
