#include "sim/api_server/api_server.hpp"

#include "sim/api_server/api_server_impl.hpp"

namespace muster::sim {

using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

const char* ToString(Actor actor) {
  switch (actor) {
    case Actor::kUser:
      return "user";
    case Actor::kController:
      return "controller";
    case Actor::kKubelet:
      return "kubelet";
    case Actor::kKubeScheduler:
      return "kube-scheduler";
    case Actor::kMuster:
      return "muster";
  }
  return "?";
}

const char* ToString(Verb verb) {
  switch (verb) {
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kDelete:
      return "delete";
    case Verb::kPatch:
      return "patch";
    case Verb::kPatchStatus:
      return "patch status";
    case Verb::kBind:
      return "bind";
    case Verb::kEvict:
      return "evict";
    case Verb::kEvent:
      return "event";
  }
  return "?";
}

ApiServer::ApiServer(EventLoop& loop, ApiServerOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}
ApiServer::~ApiServer() = default;

Result<NodePtr> ApiServer::CreateNode(Actor actor, cluster::Node node, bool own_numa_policy) {
  if (node.name.empty()) return Invalid("a node needs a name");
  ApiStore& store = impl_->store;
  if (store.nodes.contains(node.name)) return Taken("node", node.name);
  node.uid = cluster::NodeUid(store.NewUid());
  const auto record = std::make_shared<const NodeRecord>(
      NodeRecord{std::move(node), own_numa_policy, store.NextVersion()});
  store.nodes[record->node.name] = record;
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, record);
  return NodePtr(record);
}

Result<PodGroupPtr> ApiServer::CreatePodGroup(Actor actor, cluster::PodGroup group) {
  ApiStore& store = impl_->store;
  if (group.key.name.empty() || group.key.ns.empty()) {
    return Invalid("a PodGroup needs a name and a namespace");
  }
  if (store.pod_groups.contains(group.key)) return Taken("podgroup", group.key.ToString());
  group.uid = cluster::PodGroupUid(store.NewUid());
  group.created = impl_->loop.now();
  group.resource_version = store.NextVersion();
  auto record = std::make_shared<PodGroupRecord>();
  record->group = std::move(group);
  store.pod_groups[record->group.key] = record;
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, PodGroupPtr(record));
  return PodGroupPtr(record);
}

Result<JobPtr> ApiServer::CreateJob(Actor actor, JobRecord job) {
  ApiStore& store = impl_->store;
  if (job.key.name.empty() || job.key.ns.empty()) {
    return Invalid("a job needs a name and a namespace");
  }
  if (job.pod.pod.spec == nullptr) return Invalid("a job needs a pod template");
  if (job.parallelism < 0 || job.completions < 0) {
    return Invalid("parallelism and completions must not be negative");
  }
  if (store.jobs.contains(job.key)) return Taken("job", job.key.ToString());
  job.uid = store.NewUid();
  job.resource_version = store.NextVersion();
  const auto record = std::make_shared<const JobRecord>(std::move(job));
  store.jobs[record->key] = record;
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, record);
  return JobPtr(record);
}

Result<OtherPtr> ApiServer::CreateOther(Actor actor, OtherRecord other) {
  ApiStore& store = impl_->store;
  if (other.kind.empty() || other.key.name.empty()) return Invalid("it needs a kind and a name");
  const std::pair slot(other.kind, other.key);
  if (store.others.contains(slot)) return Taken(other.kind.c_str(), other.key.ToString());
  other.uid = store.NewUid();
  other.resource_version = store.NextVersion();
  const auto record = std::make_shared<const OtherRecord>(std::move(other));
  store.others.emplace(slot, record);
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, record);
  return OtherPtr(record);
}

Result<RequestPtr> ApiServer::CreateRequest(Actor actor, RequestRecord request) {
  ApiStore& store = impl_->store;
  const ObjectKey key = request.request.key;
  if (store.requests.contains(key)) return Taken("provisioningrequest", key.ToString());
  request.request.uid = cluster::ProvisioningRequestUid(store.NewUid());
  request.request.since = impl_->loop.now();
  request.request.resource_version = store.NextVersion();
  const auto record = std::make_shared<const RequestRecord>(std::move(request));
  store.requests.emplace(key, record);
  impl_->Count(actor, Verb::kCreate);
  store.Log(Change::kAdded, record);
  return RequestPtr(record);
}

Status ApiServer::SetRequestState(Actor actor, const ObjectKey& key, cluster::RequestState state,
                                  const std::string& message) {
  ApiStore& store = impl_->store;
  const auto found = store.requests.find(key);
  if (found == store.requests.end()) return NotFound("provisioningrequest", key.ToString());
  const cluster::ProvisioningRequest& old = found->second->request;
  if (old.state == state && old.message == message) return Ok{};
  impl_->Count(actor, Verb::kPatchStatus);
  auto next = std::make_shared<RequestRecord>(*found->second);
  if (next->request.state != state) next->request.since = impl_->loop.now();
  next->request.state = state;
  next->request.message = message;
  next->request.resource_version = store.NextVersion();
  found->second = std::move(next);
  store.Log(Change::kModified, found->second);
  return Ok{};
}

Status ApiServer::UpdateNode(Actor actor, cluster::Node node) {
  ApiStore& store = impl_->store;
  const auto found = store.nodes.find(node.name);
  if (found == store.nodes.end()) return NotFound("node", node.name);
  impl_->Count(actor, Verb::kUpdate);
  node.uid = found->second->node.uid;
  if (node == found->second->node) return Ok{};
  found->second = std::make_shared<const NodeRecord>(
      NodeRecord{std::move(node), found->second->own_numa_policy, store.NextVersion()});
  store.Log(Change::kModified, found->second);
  return Ok{};
}

Status ApiServer::UpdatePodGroup(Actor actor, cluster::PodGroup group) {
  ApiStore& store = impl_->store;
  const auto found = store.pod_groups.find(group.key);
  if (found == store.pod_groups.end()) return NotFound("podgroup", group.key.ToString());
  impl_->Count(actor, Verb::kUpdate);
  const cluster::PodGroup& old = found->second->group;
  group.uid = old.uid;
  group.created = old.created;
  group.resource_version = old.resource_version;
  if (group == old) return Ok{};
  auto next = std::make_shared<PodGroupRecord>(*found->second);
  next->group = std::move(group);
  next->group.resource_version = store.NextVersion();
  found->second = std::move(next);
  store.Log(Change::kModified, found->second);
  return Ok{};
}

Status ApiServer::UpdateJob(Actor actor, JobRecord job) {
  ApiStore& store = impl_->store;
  const auto found = store.jobs.find(job.key);
  if (found == store.jobs.end() || found->second->uid != job.uid) {
    return NotFound("job", job.key.ToString());
  }
  impl_->Count(actor, Verb::kUpdate);
  job.resource_version = store.NextVersion();
  found->second = std::make_shared<const JobRecord>(std::move(job));
  store.Log(Change::kModified, found->second);
  return Ok{};
}

Status ApiServer::DeleteNode(Actor actor, const std::string& name) {
  ApiStore& store = impl_->store;
  const auto found = store.nodes.find(name);
  if (found == store.nodes.end()) return NotFound("node", name);
  const NodePtr last = found->second;
  store.nodes.erase(found);
  store.NextVersion();
  impl_->Count(actor, Verb::kDelete);
  store.Log(Change::kDeleted, last);
  return Ok{};
}

Status ApiServer::DeletePodGroup(Actor actor, const ObjectKey& key) {
  ApiStore& store = impl_->store;
  const auto found = store.pod_groups.find(key);
  if (found == store.pod_groups.end()) return NotFound("podgroup", key.ToString());
  auto last = std::make_shared<PodGroupRecord>(*found->second);
  last->group.resource_version = store.NextVersion();
  store.pod_groups.erase(found);
  impl_->Count(actor, Verb::kDelete);
  store.Log(Change::kDeleted, PodGroupPtr(std::move(last)));
  return Ok{};
}

Status ApiServer::DeleteJob(Actor actor, const ObjectKey& key) {
  ApiStore& store = impl_->store;
  const auto found = store.jobs.find(key);
  if (found == store.jobs.end()) return NotFound("job", key.ToString());
  const JobPtr last = found->second;
  store.jobs.erase(found);
  store.NextVersion();
  impl_->Count(actor, Verb::kDelete);
  store.Log(Change::kDeleted, last);
  return Ok{};
}

Status ApiServer::DeleteOther(Actor actor, const std::string& kind, const ObjectKey& key) {
  ApiStore& store = impl_->store;
  const auto found = store.others.find({kind, key});
  if (found == store.others.end()) return NotFound(kind.c_str(), key.ToString());
  const OtherPtr last = found->second;
  store.others.erase(found);
  store.NextVersion();
  impl_->Count(actor, Verb::kDelete);
  store.Log(Change::kDeleted, last);
  return Ok{};
}

Status ApiServer::DeleteRequest(Actor actor, const ObjectKey& key) {
  ApiStore& store = impl_->store;
  const auto found = store.requests.find(key);
  if (found == store.requests.end()) return NotFound("provisioningrequest", key.ToString());
  const RequestPtr last = found->second;
  store.requests.erase(found);
  store.NextVersion();
  impl_->Count(actor, Verb::kDelete);
  store.Log(Change::kDeleted, last);
  return Ok{};
}

Status ApiServer::PatchPodGroupStatus(Actor actor, const engine::PatchGang& patch) {
  ApiStore& store = impl_->store;
  const auto found = store.pod_groups.find(patch.key);
  if (found == store.pod_groups.end() || found->second->group.uid != patch.uid) {
    return NotFound("podgroup", patch.key.ToString());
  }
  impl_->Count(actor, Verb::kPatchStatus);
  auto next = std::make_shared<PodGroupRecord>(*found->second);
  next->state = patch.state;
  next->reason = patch.reason;
  next->message = patch.message;
  next->bound = patch.bound;
  next->succeeded = patch.succeeded;
  next->failed = patch.failed;
  next->group.record = patch.record;
  next->group.resource_version = store.NextVersion();
  found->second = std::move(next);
  store.Log(Change::kModified, found->second);
  return Ok{};
}

}  // namespace muster::sim
