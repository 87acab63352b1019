// Reading the ApiServer: objects, lists, watches, counters, Events.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/api_server/api_server_impl.hpp"

namespace muster::sim {

using cluster::ObjectKey;
using cluster::PodUid;

namespace {

template <typename Map>
auto SortedValues(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  std::vector<typename Map::mapped_type> values;
  values.reserve(entries.size());
  for (const auto* entry : entries) values.push_back(entry->second);
  return values;
}

template <typename Map, typename Key>
typename Map::mapped_type FindIn(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

NodePtr ApiServer::FindNode(const std::string& name) const {
  return FindIn(impl_->store.nodes, name);
}
PodPtr ApiServer::FindPod(const ObjectKey& key) const { return FindIn(impl_->store.pods, key); }
PodPtr ApiServer::FindPod(const PodUid& uid) const {
  const PodPtr* slot = FindIn(impl_->store.pods_by_uid, uid);
  return slot == nullptr ? nullptr : *slot;
}
PodGroupPtr ApiServer::FindPodGroup(const ObjectKey& key) const {
  return FindIn(impl_->store.pod_groups, key);
}
RequestPtr ApiServer::FindRequest(const ObjectKey& key) const {
  return FindIn(impl_->store.requests, key);
}
JobPtr ApiServer::FindJob(const ObjectKey& key) const { return FindIn(impl_->store.jobs, key); }

OtherPtr ApiServer::FindOther(const std::string& kind, const ObjectKey& key) const {
  return FindIn(impl_->store.others, std::pair(kind, key));
}

std::vector<NodePtr> ApiServer::Nodes() const { return SortedValues(impl_->store.nodes); }
std::vector<PodPtr> ApiServer::Pods() const { return SortedValues(impl_->store.pods); }
std::vector<PodGroupPtr> ApiServer::PodGroups() const {
  return SortedValues(impl_->store.pod_groups);
}
std::vector<JobPtr> ApiServer::Jobs() const { return SortedValues(impl_->store.jobs); }
std::vector<RequestPtr> ApiServer::Requests() const { return SortedValues(impl_->store.requests); }
std::vector<OtherPtr> ApiServer::Others() const { return SortedValues(impl_->store.others); }

size_t ApiServer::node_count() const { return impl_->store.nodes.size(); }
size_t ApiServer::pod_count() const { return impl_->store.pods.size(); }

std::unique_ptr<Watch> ApiServer::OpenWatch(Kinds kinds, std::function<void()> on_event) {
  return std::make_unique<Watch>(impl_->store.log(), kinds, std::move(on_event));
}

std::vector<WatchEvent> ApiServer::List(Kinds kinds) const {
  std::vector<WatchEvent> list;
  const auto add = [&](const auto& objects) {
    for (const auto& object : objects) {
      list.push_back({Change::kAdded, object, resource_version(), impl_->loop.now()});
    }
  };
  if (kinds.others) add(Others());
  if (kinds.requests) add(Requests());
  if (kinds.nodes) add(Nodes());
  if (kinds.pod_groups) add(PodGroups());
  if (kinds.jobs) add(Jobs());
  if (kinds.pods) add(Pods());
  return list;
}

void ApiServer::RecordEvent(Actor actor, const engine::EmitEvent& event) {
  impl_->Count(actor, Verb::kEvent);
  impl_->events.Add(impl_->loop.now(), event);
}
const std::deque<EventRecord>& ApiServer::Events() const { return impl_->events.records(); }

std::vector<EventRecord> ApiServer::LivingEvents() const {
  return impl_->events.Living(impl_->loop.now());
}

void ApiServer::SetOwnerReads(const std::string& ns, OwnerReads reads) {
  auto& known = impl_->owner_reads[ns];
  if (reads != known.how) known.since = impl_->loop.now();
  known.how = reads;
}
OwnerReads ApiServer::owner_reads(const std::string& ns) const {
  const auto found = impl_->owner_reads.find(ns);
  return found == impl_->owner_reads.end() ? OwnerReads::kServed : found->second.how;
}
cluster::Time ApiServer::owner_reads_since(const std::string& ns) const {
  const auto found = impl_->owner_reads.find(ns);
  return found == impl_->owner_reads.end() ? cluster::Time() : found->second.since;
}

int64_t ApiServer::resource_version() const { return impl_->store.version(); }

int64_t ApiServer::Writes(Actor actor, Verb verb) const {
  return impl_->writes[static_cast<size_t>(actor)][static_cast<size_t>(verb)];
}
int64_t ApiServer::Writes(Actor actor) const {
  const auto& writes = impl_->writes[static_cast<size_t>(actor)];
  return std::accumulate(writes.begin(), writes.end(), int64_t{0});
}

const DecisionLog& ApiServer::decisions() const { return impl_->decisions; }

}  // namespace muster::sim
