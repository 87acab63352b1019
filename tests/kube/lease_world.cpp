#include "tests/kube/lease_world.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Duration;
using cluster::Result;
using cluster::Time;

namespace {

// Of the JSON text `object`, the member's JSON.
std::string Member(const std::string& object, const char* key) {
  const Result<Json> json = Json::Parse(object, 1 << 20, "object");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView view(json->root(), "object", problems);
  std::string out;
  view.Get(key).AppendTo(out);
  return out;
}

}  // namespace

std::string LeaseServer::Object() const {
  return R"({"kind":"Lease","metadata":{)" + metadata_ + R"("resourceVersion":")" +
         std::to_string(version_) + R"("},"spec":)" + spec_ + "}";
}

LeaseRecord LeaseServer::record() const {
  const Result<LeaseObject> lease = ReadLease(Object());
  REQUIRE(lease.ok());
  return lease->record;
}

std::string LeaseServer::Says() const {
  if (!exists()) return "none";
  const LeaseRecord is = record();
  return is.holder + "/" + std::to_string(is.transitions);
}

void LeaseServer::Set(const LeaseRecord& record, const std::string& metadata) {
  metadata_ = R"("name":"muster","namespace":"system",)" + metadata;
  spec_ = Member(CreateLease({"system", "muster"}, record).body, "spec");
  ++version_;
}

FakeApi::Answer LeaseServer::Answer(const ApiRequest& request) {
  const std::string collection = "/apis/coordination.k8s.io/v1/namespaces/system/leases";
  CHECK(request.path == (request.method == Method::kPost ? collection : collection + "/muster"));
  CHECK(request.lane == Lane::kLease);
  CHECK(request.timeout == std::chrono::seconds(5));
  if (request.method == Method::kGet) {
    if (!exists()) return Refusal(404, "not found");
    return Reply(200, Object());
  }
  if (request.method == Method::kPost) {
    if (exists()) return Refusal(409, "already exists");
    metadata_ = R"("name":"muster","namespace":"system",)";
  } else {
    if (!exists()) return Refusal(404, "not found");
    const std::string sent = Member(Member(request.body, "metadata"), "resourceVersion");
    if (sent != '"' + std::to_string(version_) + '"') return Refusal(409, "it was modified");
  }
  spec_ = Member(request.body, "spec");
  CHECK(spec_.find("strategy") == std::string::npos);
  ++version_;
  ++writes_;
  return Reply(request.method == Method::kPost ? 201 : 200, Object());
}

Replica::Replica(LeaseWorld& its_world, const std::string& its_name)
    : world(its_world), name(its_name) {
  api.Otherwise([this](const ApiRequest& request) -> FakeApi::Answer {
    return world.serve ? world.serve(*this, request) : world.server.Answer(request);
  });
  LeaderElection::Ports ports{
      .api = api,
      .clock = [this] { return Clock(); },
      .on_started =
          [this](uint64_t epoch) {
            epochs.push_back(epoch);
            world.epochs.push_back(epoch);
          },
      .on_stopped = [this] { ++stopped; },
      .warn = [this](const std::string& line) { warnings.push_back(line); }};
  LeaseOptions options;
  options.lease = {"system", "muster"};
  options.identity = name;
  options.seed = world.random();
  options.one_term = world.one_term;
  election = std::make_unique<LeaderElection>(std::move(ports), options);
}

Clocks Replica::Clock() const {
  const auto true_time = static_cast<double>(world.now.milliseconds());
  return {Time(static_cast<int64_t>(true_time * rate)) + offset,
          Time(1'790'000'000'000) + Duration(world.now.milliseconds()) + skew};
}

void Replica::Announce() {
  if (!alive) return;
  for (int calls = 0; election->Announce() == Time(); ++calls) REQUIRE(calls < 4);
  // Each term was begun once and, but for a present one, ended once. The only one of a process that
  // wants no other may be over before it was begun.
  const int begun = static_cast<int>(epochs.size());
  const bool unbegun = world.one_term && begun == 0 && stopped == 1;
  CHECK((stopped == begun || stopped == begun - 1 || unbegun));
  if (election->MayWrite(Duration(0))) CHECK(stopped == begun - 1);
}

LeaseWorld::~LeaseWorld() {
  serve = nullptr;
  for (const std::unique_ptr<Replica>& replica : replicas) replica->election->Stop();
}

Replica& LeaseWorld::Add(const std::string& name) {
  replicas.push_back(std::make_unique<Replica>(*this, name));
  replicas.back()->due = now;
  return *replicas.back();
}

int LeaseWorld::leaders() const {
  return static_cast<int>(
      std::count_if(replicas.begin(), replicas.end(), [](const std::unique_ptr<Replica>& replica) {
        return replica->alive && replica->election->MayWrite(Duration(0));
      }));
}

void LeaseWorld::Elect(Replica& replica) {
  replica.busy = true;
  const Time due = replica.election->Elect();
  replica.busy = false;
  const auto wait = static_cast<double>((due - replica.Clock().steady).value()) / replica.rate;
  replica.due = now + Duration(std::max<int64_t>(1, static_cast<int64_t>(wait)));
  most_leaders = std::max(most_leaders, leaders());
  replica.Announce();
}

void LeaseWorld::Pass(Duration span) {
  const Time end = now + span;
  while (true) {
    Replica* next = nullptr;
    for (const auto& replica : replicas) {
      if (replica->busy || !replica->alive || replica->due > end) continue;
      if (next == nullptr || replica->due < next->due) next = replica.get();
    }
    if (next == nullptr) break;
    now = std::max(now, next->due);
    Elect(*next);
  }
  now = std::max(now, end);
  most_leaders = std::max(most_leaders, leaders());
  for (const auto& replica : replicas) {
    if (!replica->busy) replica->Announce();
  }
}

}  // namespace muster::kube
