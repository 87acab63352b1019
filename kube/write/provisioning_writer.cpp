#include "kube/write/provisioning_writer.hpp"

#include <utility>

#include "kube/api/api_status.hpp"
#include "kube/api/http_status.hpp"
#include "kube/api/refusal.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::MutexLock;
using cluster::Result;
using engine::Outcome;
using engine::OutcomeKind;

namespace {

// Best first. Both show the same objects.
constexpr const char* kVersions[] = {"v1", "v1beta1"};

std::string In(const std::string& ns, const char* resource) {
  return "/api/v1/namespaces/" + ns + "/" + resource;
}

std::string RequestsIn(const std::string& ns, const std::string& version) {
  return "/apis/autoscaling.x-k8s.io/" + version + "/namespaces/" + ns + "/provisioningrequests";
}

// Of a kind that is not served the server says that without a reason.
bool Unserved(const Result<ApiReply>& reply) {
  return reply.ok() && reply->status == kHttpNotFound && StatusReason(*reply) != "NotFound";
}

bool Gone(const Result<ApiReply>& reply) {
  return reply.ok() && (reply->status == kHttpNotFound || reply->status == kHttpGone);
}

Outcome NotLeading() { return {{}, OutcomeKind::kRetry, "not the leader"}; }

// Of what did not succeed.
Outcome FailureOf(const Result<ApiReply>& reply) {
  // Only the request's permit says so.
  if (!reply.ok() && reply.error().code == Code::kForbidden) return NotLeading();
  const cluster::Error error = reply.ok() ? ErrorOf(*reply) : reply.error();
  switch (error.code) {
    case Code::kForbidden:
    case Code::kInvalidArgument:
      return {{}, OutcomeKind::kRefused, error.message};
    case Code::kNotFound:
      return {{}, OutcomeKind::kGone, error.message};
    default:
      return {{}, OutcomeKind::kRetry, error.ToString()};
  }
}

ApiRequest DeleteOf(std::string path, const cluster::ProvisioningRequestUid& uid) {
  ApiRequest request;
  request.method = Method::kDelete;
  request.path = std::move(path);
  request.metadata_only = true;
  JsonWriter json(request.body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("DeleteOptions");
  if (!uid.empty()) json.Key("preconditions").BeginObject().Key("uid").Text(uid.text()).EndObject();
  json.EndObject();
  return request;
}

}  // namespace

void ProvisioningWriter::Want(const engine::AskForNodes& ask) { Put(ask.key.ns, ask); }

void ProvisioningWriter::Want(const engine::WithdrawAsk& withdraw) {
  Put(withdraw.key.ns, withdraw);
}

void ProvisioningWriter::Put(const std::string& ns, Write write) {
  const MutexLock lock(mu_);
  const uint64_t number = ++last_;
  writes_.emplace(number, std::move(write));
  line_.Put(ns, number, cluster::Time(0));
}

cluster::Time ProvisioningWriter::Step(const Clocks& now) {
  std::optional<FairLine<uint64_t, cluster::Time>::Turn> turn;
  std::optional<Write> write;
  {
    const MutexLock lock(mu_);
    turn = line_.Take(now.steady, 1);
    if (!turn) return cluster::Time::Never();  // who is at it looks again when that is done
    write = std::move(writes_.at(turn->key));
    writes_.erase(turn->key);
  }
  Outcome outcome = std::visit([this](const auto& one) { return Do(one); }, *write);
  outcome.id = std::visit([](const auto& one) { return one.id; }, *write);
  {
    const MutexLock lock(mu_);
    line_.Done(turn->ns);
  }
  ports_.report(outcome);
  return now.steady;
}

Outcome ProvisioningWriter::Do(const engine::AskForNodes& ask) {
  std::vector<PodModel> pods;
  if (auto failure = Read(ask, pods)) return *std::move(failure);
  const AskOwner owner = OwnerOf(ask, pods.front());
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string name = engine::PodTemplateName(ask.key.name, i);
    auto failure =
        Create(In(ask.key.ns, "podtemplates"), PodTemplateBody(name, ask.key.ns, pods[i], owner));
    if (failure) return *std::move(failure);
  }
  const Result<ApiReply> made = OnRequest([&](const std::string& version) {
    ApiRequest request;
    request.method = Method::kPost;
    request.path = RequestsIn(ask.key.ns, version);
    request.body = ProvisioningRequestBody(ask, owner, version);
    request.metadata_only = true;
    return request;
  });
  if (Unserved(made)) {
    return {{},
            OutcomeKind::kRefused,
            "the API server has no ProvisioningRequests: install the CRD of cluster-autoscaler "
            "(autoscaling.x-k8s.io), or set autoscaling.scaleUp to another word"};
  }
  if (made.ok() && (made->ok() || made->status == kHttpConflict)) return {};
  return FailureOf(made);
}

std::optional<Outcome> ProvisioningWriter::Read(const engine::AskForNodes& ask,
                                                std::vector<PodModel>& pods) {
  for (const engine::AskedPods& set : ask.sets) {
    if (!ports_.may_write()) return NotLeading();
    ApiRequest get;
    get.path = In(set.like.ns, "pods/") + set.like.name;
    const Result<ApiReply> reply = ports_.api.Call(get);
    if (!reply.ok() || !reply->ok()) return FailureOf(reply);
    Result<PodModel> pod = ReadPodModel(reply->body);
    if (!pod.ok()) return Outcome{{}, OutcomeKind::kRefused, pod.error().ToString()};
    if (pod->uid != set.uid.text())
      return Outcome{{}, OutcomeKind::kGone, "pod " + set.like.ToString() + " is another one now"};
    pods.push_back(*std::move(pod));
  }
  return std::nullopt;
}

AskOwner ProvisioningWriter::OwnerOf(const engine::AskForNodes& ask, const PodModel& first) const {
  if (ask.group.empty()) return first.owner;
  const std::optional<ServedPodGroups> served = ports_.find(ask.group);
  if (!served) return first.owner;
  return {served->api_version(), std::string(KindOfPodGroups(served->group)), ask.gang.key.name,
          ask.group.text()};
}

std::optional<Outcome> ProvisioningWriter::Create(std::string path, std::string body) {
  ApiRequest request;
  request.method = Method::kPost;
  request.path = std::move(path);
  request.body = std::move(body);
  request.metadata_only = true;
  request.permit = ports_.may_write;
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (reply.ok() && (reply->ok() || reply->status == kHttpConflict)) return std::nullopt;
  return FailureOf(reply);
}

Result<ApiReply> ProvisioningWriter::OnRequest(
    const std::function<ApiRequest(const std::string& version)>& call) {
  Result<ApiReply> reply = ApiReply{};
  for (const char* version : kVersions) {
    ApiRequest request = call(version);
    request.permit = ports_.may_write;
    reply = ports_.api.Call(request);
    if (!Unserved(reply)) break;
  }
  return reply;
}

Outcome ProvisioningWriter::Do(const engine::WithdrawAsk& withdraw) {
  const Result<ApiReply> deleted = OnRequest([&](const std::string& version) {
    return DeleteOf(RequestsIn(withdraw.key.ns, version) + "/" + withdraw.key.name, withdraw.uid);
  });
  // Another one of its name is nobody's here, nor are the templates that it names.
  const bool another = deleted.ok() && deleted->status == kHttpConflict;
  if (another) return {};
  if (!Gone(deleted) && !(deleted.ok() && deleted->ok())) return FailureOf(deleted);
  for (int64_t i = 0; i < withdraw.sets; ++i) {
    const std::string name = engine::PodTemplateName(withdraw.key.name, static_cast<size_t>(i));
    ApiRequest request = DeleteOf(In(withdraw.key.ns, "podtemplates/") + name, {});
    request.permit = ports_.may_write;
    const Result<ApiReply> reply = ports_.api.Call(request);
    if (Gone(reply) || (reply.ok() && reply->ok())) continue;
    // Its owner takes it along some time.
    ports_.warn("PodTemplate " + withdraw.key.ns + "/" + name +
                " could not be deleted: " + FailureOf(reply).message);
  }
  return {};
}

}  // namespace muster::kube
