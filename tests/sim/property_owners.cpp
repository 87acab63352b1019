#include "property_owners.hpp"

#include <utility>
#include <variant>

#include "config/policies/grouping_file.hpp"
#include "kube/owners/owner_reader.hpp"
#include "property_world.hpp"
#include "sim/calls/direct_extender.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {

using cluster::Duration;
using cluster::Time;

namespace {

// As the API server shows it.
std::string Shown(const JobRecord& job) {
  constexpr std::string_view kMetadata = R"("metadata":{)";
  std::string text = job.json;
  text.insert(text.find(kMetadata) + kMetadata.size(),
              R"("uid":")" + job.uid + R"(","resourceVersion":")" +
                  std::to_string(job.resource_version) + R"(",)");
  text.insert(text.size() - 1, R"(,"status":{"succeeded":)" + std::to_string(job.succeeded) + "}");
  return text;
}

// What kube::GroupingText gives of such a pod.
std::string TextOf(const PodRecord& pod) {
  const std::string& name = pod.pod.key.name;
  return R"({"metadata":{"name":")" + name + R"(","namespace":")" + pod.pod.key.ns +
         R"(","uid":")" + std::string(pod.pod.uid.text()) +
         R"(","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":")" +
         name.substr(0, name.find('-')) + R"(","uid":")" + pod.job_uid +
         R"(","controller":true}]},"spec":{}})";
}

class Extender final : public ExtenderPort {
 public:
  Extender(EventLoop& loop, MusterLink& link, std::function<std::string(cluster::Pod&)> ask)
      : direct_(loop, link), ask_(std::move(ask)) {}

  FilterReply Filter(const engine::NodesQuestion& question) override {
    engine::NodesQuestion asked = question;
    const std::string why = ask_(asked.pod);
    if (why.empty()) return direct_.Filter(asked);
    FilterReply reply;
    if (asked.pod.spec->scheduler_name == "muster") {
      reply.refused["muster: " + why] = static_cast<int64_t>(question.nodes.size());
    } else {
      reply.error = "muster: " + why + ", try again";
    }
    return reply;
  }
  PrioritizeReply Prioritize(const engine::NodesQuestion& question) override {
    return direct_.Prioritize(question);
  }
  void Bind(const engine::BindCall& call, BindDone done) override {
    direct_.Bind(call, std::move(done));
  }

 private:
  DirectExtender direct_;
  std::function<std::string(cluster::Pod&)> ask_;
};

}  // namespace

std::string JobText(const JobRecord& job, uint32_t kind) {
  const std::string count = std::to_string(job.parallelism);
  std::string annotations;
  if (kind % 8 == 0) annotations = R"(,"annotations":{"muster.dev/gang":"false"})";
  std::string large;  // as most of etcd takes
  if (kind % 1024 == 12) {
    large = R"(,"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":")" +
            std::string(1'000'000, 'x') + R"("}]}]}})";
  }
  if (kind % 8 == 1) annotations = R"(,"annotations":{"muster.dev/min-member":")" + count + "\"}";
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + job.key.name +
         R"(","namespace":")" + job.key.ns + "\"" + annotations +
         R"(},"spec":{"completionMode":")" + (kind % 8 == 2 ? "NonIndexed" : "Indexed") +
         R"(","parallelism":)" + count + R"(,"completions":)" + count + large + "}}";
}

OwnerReader::OwnerReader(const std::unique_ptr<Cluster>& cluster, bool late)
    : cluster_(cluster), late_(late) {
  joiner_.Set({config::ShippedGroupingRules(), {"muster", kNobody}});
}

OwnerReader::Facts OwnerReader::Read(const WatchEvent& event) {
  const auto* const pod = std::get_if<PodPtr>(&event.object);
  const bool untold = std::holds_alternative<JobPtr>(event.object) ||
                      std::holds_alternative<OtherPtr>(event.object);
  if (untold) return {};
  if (pod == nullptr || !IsOwned(**pod)) return {FactOf(event)};
  // A real watch brings no older record.
  const cluster::Pod& record = (*pod)->pod;
  int64_t& seen = seen_[record.uid];
  if (record.resource_version < seen) return {};
  seen = record.resource_version;
  Facts facts;
  if (event.change == Change::kDeleted) {
    Tell(joiner_.Join(FactOf(event), Now()), facts);
  } else {
    const kube::PodOfOwners news{record, {}, std::make_shared<const std::string>(TextOf(**pod))};
    Tell(joiner_.Join(news, Now()), facts);
  }
  Serve(facts);
  return facts;
}

void OwnerReader::Start() {
  started_ = true;
  Facts facts;
  Tell(joiner_.Start(), facts);
  while (joiner_.behind()) Tell(joiner_.GoOn(), facts);
  Pass(facts);
}

std::string OwnerReader::Ask(cluster::Pod& pod) {
  kube::NewsJoiner::Joined joined;
  std::string why = joiner_.Ask(pod, joined);
  Facts facts;
  Tell(std::move(joined), facts);
  Serve(facts);
  Pass(facts);
  return why;
}

OwnerReader::Facts OwnerReader::Known() const {
  Facts facts;
  for (const auto& [uid, group] : groups_) facts.emplace_back(group);
  for (const auto& [uid, pod] : pods_) facts.emplace_back(pod);
  return facts;
}

kube::OwnerAnswer OwnerReader::AnswerTo(const kube::OwnerRequest& request) const {
  const kube::OwnerKey& key = request.key;
  using Kind = kube::OwnerAnswer::Kind;
  const ApiServer& api = cluster_->api();
  const OwnerReads reads = api.owner_reads(key.ns);
  if (reads == OwnerReads::kFail) return {Kind::kFailed, {}, "HTTP 503"};
  if (reads == OwnerReads::kRefused) return {Kind::kRefused, {}, "no right"};
  const JobPtr job = api.FindJob({key.ns, key.name});
  if (job == nullptr || job->uid != key.uid) return {Kind::kGone, {}, {}};
  return kube::SiftOwner(Shown(*job), *request.fields, key.kind);
}

void OwnerReader::Learn(const kube::OwnerKey& key, kube::OwnerAnswer answer, Facts& facts) {
  using Kind = kube::OwnerAnswer::Kind;
  if (answer.kind == Kind::kRead || answer.kind == Kind::kGone) read_.insert(key.uid);
  // What is on its way tells the engine more than a correction of what was read before.
  for (const PodPtr& pod : cluster_->api().Pods()) {
    if (IsOwned(*pod)) versions_.Note(pod->pod.uid, pod->pod.resource_version);
  }
  Tell(joiner_.Learn(key, std::move(answer), Now()), facts);
  if (late_ && started_) return GoOnLater();
  while (joiner_.behind()) Tell(joiner_.GoOn(), facts);
}

// Decisions are made between slices.
void OwnerReader::GoOnLater() {
  if (!joiner_.behind()) return;
  EventLoop& loop = cluster_->loop();
  loop.Post(loop.now() + Duration(1), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    Facts told;
    self->Tell(self->joiner_.GoOn(), told);
    self->Serve(told);
    self->Pass(told);
    self->GoOnLater();
  });
}

void OwnerReader::Serve(Facts& facts) {
  EventLoop& loop = cluster_->loop();
  while (const auto request = joiner_.owners().Take(Now())) {
    kube::OwnerAnswer answer = AnswerTo(*request);
    if (!late_ || !started_) {
      Learn(request->key, std::move(answer), facts);
      continue;
    }
    const Duration wait(300 + static_cast<int64_t>(seen_.size()) % 7 * 200);
    loop.Post(loop.now() + wait, [weak = weak_from_this(), key = request->key, answer] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      Facts told;
      self->Learn(key, answer, told);
      self->Serve(told);
      self->Pass(told);
    });
  }
  const Time due = joiner_.owners().NextDue();
  if (due >= wake_ && wake_ > Now()) return;
  wake_ = due;
  if (due == Time::Never()) return;
  loop.Post(due + Duration(-kBegin.value()), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    Facts told;
    self->Serve(told);
    self->Pass(told);
  });
}

void OwnerReader::Tell(kube::NewsJoiner::Joined joined, Facts& facts) {
  for (engine::Fact& fact : joined.facts) {
    for (engine::Fact& follows : declared_.Observe(fact, joiner_.GangOf(fact))) {
      Keep(follows);
      facts.push_back(std::move(follows));
    }
    Keep(fact);
    facts.push_back(std::move(fact));
  }
}

void OwnerReader::Keep(const engine::Fact& fact) {
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) pods_[pod->uid] = *pod;
  if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) pods_.erase(gone->uid);
  if (const auto* back = std::get_if<engine::PodWithdrawn>(&fact)) pods_.erase(back->uid);
  if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) groups_[group->uid] = *group;
  if (const auto* left = std::get_if<engine::PodGroupRemoved>(&fact)) groups_.erase(left->uid);
}

void OwnerReader::Pass(const Facts& facts) {
  if (facts.empty()) return;
  cluster_->muster()->scheduler().Apply(facts, cluster_->loop().now());
  cluster_->muster()->Kick();
}

std::unique_ptr<ExtenderPort> GroupingExtender(EventLoop& loop, MusterLink& link,
                                               std::function<std::string(cluster::Pod&)> ask) {
  return std::make_unique<Extender>(loop, link, std::move(ask));
}

// A Job whose pods name no PodGroup.
void World::CreateOwnedJob(const Operation& operation) {
  JobRecord job;
  job.key = {kNamespaces[operation.a / 8 % 4 == 0 ? 1 : 0], "owned" + std::to_string(made_++)};
  job.parallelism = job.completions = 1 + operation.a % 5;
  job.backoff_limit = operation.b % 4;
  job.pod = NewPod("template", operation.c % 1000);
  cluster::PodSpec spec = *job.pod.pod.spec;
  spec.rules = {};
  job.pod.pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
  job.pod.pod.volumes = nullptr;
  job.json = JobText(job, operation.b / 4);
  Tell("job " + job.key.ToString() + " of " + std::to_string(job.completions) +
       " without PodGroup, sort " + std::to_string(operation.b / 4 % 8) + ", kind " +
       std::to_string(operation.c % 1000));
  static_cast<void>(cluster_->api().CreateJob(Actor::kUser, std::move(job)));
}

void World::ChangeOwnerReads(const Operation& operation) {
  constexpr const char* kWords[] = {"are served", "fail", "are refused"};
  const uint32_t next = operation.a % 3;
  const std::string ns = kNamespaces[operation.b % 2];
  Tell("reads of owners in " + ns + " " + kWords[next]);
  cluster_->api().SetOwnerReads(ns, static_cast<OwnerReads>(next));
}

// Nobody starts a pod of which nobody has read what it belongs to.
std::string World::CheckUnread() {
  // Writes of the process before may be under way.
  const Duration slack = Delayed() ? options_.auditor.node_slack : Duration();
  for (const PodPtr& pod : cluster_->api().Pods()) {
    const bool started = IsOwned(*pod) && pod->pod.bound_by_muster && pod->bound_at;
    if (!started || !started_owned_.insert(pod->pod.uid).second) continue;
    if (*pod->bound_at > restarted_ + slack && !owners_->Knows(pod->job_uid))
      return "pod " + pod->pod.key.name + " is bound, and nobody has read its owner";
  }
  return "";
}

}  // namespace muster::sim::testing
