#include "kube/write/gang_status_writer.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/contract/gang_view.hpp"
#include "engine/reasons/reason.hpp"
#include "tests/kube/fake_api.hpp"
#include "tests/kube/played_group.hpp"

namespace muster::kube {
namespace {

using cluster::PodGroupUid;
using cluster::Seconds;
using cluster::Time;
using engine::GangState;
using engine::PatchGang;
using engine::ReasonCode;

const ServedPodGroups kServed{PodGroupFlavour::kVolcano, "scheduling.volcano.sh", "v1beta1", true};
const std::string kGangStatusWriterPath =
    "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups/train";

PatchGang Gang(GangState state, ReasonCode reason, std::string message) {
  return {{"team", "train"},
          PodGroupUid("u-1"),
          ToString(state),
          ToString(reason),
          std::move(message),
          state == GangState::kRunning ? 4 : 0,
          0,
          0};
}
PatchGang Waiting(const std::string& message) {
  return Gang(GangState::kQueued, ReasonCode::kNotEnoughGpus, message);
}

struct GangStatusWriterPlay {
  FakeApi api;
  PlayedGroup group{"{}"};
  bool leads = true;
  bool known = true;
  std::vector<std::string> warnings;
  Time now{1'000'000};
  GangStatusWriter writer{{.api = api,
                           .find = [this](const PodGroupUid&) -> std::optional<ServedPodGroups> {
                             if (!known) return std::nullopt;
                             return kServed;
                           },
                           .may_write = [this] { return leads; },
                           .warn = [this](const std::string& line) { warnings.push_back(line); }}};

  GangStatusWriterPlay() {
    api.On(Method::kGet, kGangStatusWriterPath,
           [this](const ApiRequest&) { return Reply(200, group.Object()); });
    api.On(Method::kPatch, kGangStatusWriterPath + "/status",
           [this](const ApiRequest& request) -> FakeApi::Answer {
             if (!group.Apply(request.content_type, request.body)) return Refusal(409, "changed");
             return Reply(200, group.Object());
           });
    writer.Begin(now + Seconds(-3600));
  }
  // Does all that is due within `span`; the writes made.
  int64_t Pass(cluster::Duration span) {
    const int64_t before = writer.counts().written;
    const Time end = now + span;
    while (true) {
      const Time due = writer.Step({now, now});
      if (due > end) break;
      now = std::max(now, due);
    }
    now = end;
    return writer.counts().written - before;
  }
  int64_t calls() const { return static_cast<int64_t>(api.requests().size()); }
};

TEST_CASE("a state is written once, and nothing while nothing changes", "[kube][status]") {
  GangStatusWriterPlay play;
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.api.lines() == std::vector<std::string>{"GET " + kGangStatusWriterPath,
                                                     "PATCH " + kGangStatusWriterPath + "/status"});
  for (const ApiRequest& request : play.api.requests()) CHECK(request.lane == Lane::kReport);
  CHECK(play.Pass(Seconds(3600)) == 0);
  CHECK(play.calls() == 2);
  for (int i = 0; i < 100; ++i) {
    play.writer.Want(Waiting("4 of 8"), play.now);
    CHECK(play.Pass(Seconds(1)) == 0);
  }
  CHECK(play.writer.counts().unchanged == 100);
  CHECK(play.writer.counts().waiting == 0);
}

TEST_CASE("messages with changing numbers are written once a minute", "[kube][status]") {
  GangStatusWriterPlay play;
  play.writer.Want(Waiting("0 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  int64_t written = 0;
  for (int i = 1; i <= 300; ++i) {
    play.writer.Want(Waiting(std::to_string(i) + " of 8"), play.now);
    written += play.Pass(Seconds(1));
  }
  CHECK(written == 5);
  CHECK(play.Pass(Seconds(120)) == 1);
  CHECK(play.group.Status("conditions").find("300 of 8") != std::string::npos);
  CHECK(play.Pass(Seconds(600)) == 0);
  // Another reason does not wait, nor does a start, also right after a message.
  play.writer.Want(Waiting("301 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  play.writer.Want(Gang(GangState::kQueued, ReasonCode::kFragmented, "x"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  play.writer.Want(Gang(GangState::kQueued, ReasonCode::kFragmented, "y"), play.now);
  CHECK(play.Pass(Seconds(1)) == 0);
  play.writer.Want(Gang(GangState::kRunning, ReasonCode::kNone, ""), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.group.Status("phase") == R"("Running")");
}

TEST_CASE("a new leader does not write all messages again at once", "[kube][status]") {
  GangStatusWriterPlay play;
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  play.writer.Begin(play.now);
  play.writer.Want(Waiting("5 of 8"), play.now);
  CHECK(play.Pass(Seconds(50)) == 0);
  CHECK(play.Pass(Seconds(20)) == 1);
}

TEST_CASE("only the newest of several is written", "[kube][status]") {
  GangStatusWriterPlay play;
  play.writer.Want(Waiting("4 of 8"), play.now);
  play.writer.Want(Gang(GangState::kReserved, ReasonCode::kNominating, "x"), play.now);
  play.writer.Want(Gang(GangState::kRunning, ReasonCode::kNone, ""), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.group.Status("phase") == R"("Running")");
  // One that comes while the write is under way is not lost.
  play.api.Once(Method::kGet, kGangStatusWriterPath, Reply(200, play.group.Object()));
  bool once = true;
  play.api.On(Method::kGet, kGangStatusWriterPath, [&](const ApiRequest&) -> FakeApi::Answer {
    if (std::exchange(once, false)) {
      play.writer.Want(Gang(GangState::kFinished, ReasonCode::kNone, ""), play.now);
    }
    return Reply(200, play.group.Object());
  });
  play.writer.Want(Waiting("4 of 8"), play.now);
  play.Pass(Seconds(1));
  play.writer.Want(Waiting("5 of 8"), play.now);
  play.Pass(Seconds(1));
  CHECK(play.group.Status("phase") == R"("Completed")");
}

TEST_CASE("what changed in between is read again", "[kube][status]") {
  GangStatusWriterPlay play;
  const std::string old = play.group.Object();
  REQUIRE(play.group.Apply("application/merge-patch+json",
                           R"({"metadata":{"resourceVersion":"1"},"status":{"conditions":[
                             {"type":"Theirs","status":"True"}]}})"));
  play.api.Once(Method::kGet, kGangStatusWriterPath, Reply(200, old));
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.group.Status("conditions").find("Theirs") != std::string::npos);
  CHECK(play.calls() == 4);
  // A server that says 409 for ever is asked less and less.
  play.api.On(Method::kPatch, kGangStatusWriterPath + "/status", Refusal(409, "changed"));
  play.api.ForgetRequests();
  play.writer.Want(Gang(GangState::kRunning, ReasonCode::kNone, ""), play.now);
  CHECK(play.Pass(Seconds(600)) == 0);
  CHECK(play.calls() < 50);
}

TEST_CASE("failures are tried again later and later, as the server asks", "[kube][status]") {
  GangStatusWriterPlay play;
  const std::vector<FakeApi::Answer> answers = {NoConnection(), Refusal(503, "down"),
                                                Refusal(500, "oops")};
  for (const FakeApi::Answer& answer : answers) {
    play.api.Once(Method::kPatch, kGangStatusWriterPath + "/status", answer);
  }
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(0)) == 0);
  // A newer want does not hurry it.
  play.writer.Want(Waiting("5 of 8"), play.now);
  CHECK(play.Pass(Seconds(0)) == 0);
  CHECK(play.calls() == 2);
  CHECK(play.Pass(Seconds(30)) == 1);
  CHECK(play.calls() == 8);
  ApiReply busy = Refusal(429, "slow down");
  busy.retry_after = std::chrono::seconds(20);
  play.api.Once(Method::kGet, kGangStatusWriterPath, busy);
  play.writer.Want(Gang(GangState::kRunning, ReasonCode::kNone, ""), play.now);
  CHECK(play.Pass(Seconds(19)) == 0);
  CHECK(play.Pass(Seconds(2)) == 1);
  CHECK(play.warnings.empty());
}

TEST_CASE("what is gone is given up", "[kube][status]") {
  GangStatusWriterPlay play;
  SECTION("the object is gone") {
    play.api.On(Method::kGet, kGangStatusWriterPath, Refusal(404, "not found"));
    play.writer.Want(Waiting("4 of 8"), play.now);
    CHECK(play.Pass(Seconds(600)) == 0);
    CHECK(play.calls() == 1);
  }
  SECTION("it is another one of that name") {
    PatchGang other = Waiting("4 of 8");
    other.uid = PodGroupUid("u-2");
    play.writer.Want(other, play.now);
    CHECK(play.Pass(Seconds(600)) == 0);
    CHECK(play.calls() == 1);
  }
  SECTION("it is not known as what it is served") {
    play.known = false;
    play.writer.Want(Waiting("4 of 8"), play.now);
    CHECK(play.Pass(Seconds(600)) == 0);
    CHECK(play.calls() == 0);
  }
  CHECK(play.warnings.empty());
  CHECK(play.writer.counts().gone == 1);
  CHECK(play.writer.counts().waiting == 0);
}

TEST_CASE("what is refused is said once and tried again until it is taken", "[kube][status]") {
  struct Case {
    int status;
    bool at_once;  // it is said
  };
  const auto [status, at_once] = GENERATE(values<Case>({
      {400, true},   // a webhook denies it
      {422, true},   // a ValidatingAdmissionPolicy does
      {404, true},   // the subresource is gone
      {403, false},  // also of an API server that has just started
      {500, false},  // a webhook cannot be called
  }));
  CAPTURE(status);
  GangStatusWriterPlay play;
  play.api.On(Method::kPatch, kGangStatusWriterPath + "/status", Refusal(status, "not now"));
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 0);
  CHECK(play.warnings.size() == (at_once ? 1 : 0));
  CHECK(play.Pass(Seconds(600)) == 0);
  REQUIRE(play.warnings.size() == 1);
  CHECK_THAT(play.warnings.front(),
             Catch::StartsWith("the status of PodGroup team/train is not written, it is tried "
                               "again: HTTP " +
                               std::to_string(status)));
  CHECK(play.calls() < 50);
  CHECK(play.writer.counts().gone == 0);
  CHECK(play.writer.counts().waiting == 1);
  // The refusal is over.
  play.api.On(Method::kPatch, kGangStatusWriterPath + "/status",
              [&](const ApiRequest& request) -> FakeApi::Answer {
                CHECK(play.group.Apply(request.content_type, request.body));
                return Reply(200, play.group.Object());
              });
  CHECK(play.Pass(Seconds(61)) == 1);
  CHECK(play.writer.counts().waiting == 0);
  CHECK(play.warnings.size() == 1);
}

// A gang that has begun, and what its PodGroup's annotation is said to be.
PatchGang Begun(int64_t lost) {
  PatchGang gang = Gang(GangState::kRunning, ReasonCode::kNone, "");
  gang.record.has_run = true;
  gang.record.whole.members = 4;
  gang.record.lost.members = lost;
  return gang;
}

std::vector<std::string> RecordsWritten(const GangStatusWriterPlay& play) {
  std::vector<std::string> bodies;
  for (const ApiRequest& request : play.api.requests()) {
    if (request.method == Method::kPatch && request.path == kGangStatusWriterPath)
      bodies.push_back(request.body);
  }
  return bodies;
}

TEST_CASE("a record is written whatever becomes of the status", "[kube][status]") {
  const int status = GENERATE(500, 400, 409, 404, 403);
  CAPTURE(status);
  GangStatusWriterPlay play;
  play.api.On(Method::kPatch, kGangStatusWriterPath, Reply(200));
  play.api.On(Method::kPatch, kGangStatusWriterPath + "/status", Refusal(status, "not now"));
  play.writer.Want(Begun(0), play.now);
  play.Pass(Seconds(1));
  // With each look: this server takes it and does not keep it.
  REQUIRE_FALSE(RecordsWritten(play).empty());
  CHECK_THAT(RecordsWritten(play).front(), Catch::Contains("whole=4"));
  CHECK(play.api.lines()[1] == "PATCH " + kGangStatusWriterPath);  // before the status
  // A new one does not wait for the next attempt at the status.
  play.Pass(Seconds(600));
  play.writer.Want(Begun(1), play.now);
  play.Pass(Seconds(0));
  REQUIRE(RecordsWritten(play).size() >= 2);
  CHECK_THAT(RecordsWritten(play).back(), Catch::Contains("lost=1"));
}

TEST_CASE("a status is written whatever becomes of the record", "[kube][status]") {
  GangStatusWriterPlay play;
  play.api.On(Method::kPatch, kGangStatusWriterPath, Refusal(400, "a webhook denies it"));
  play.writer.Want(Begun(0), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.group.Status("phase") == R"("Running")");
  REQUIRE(play.warnings.size() == 1);
  CHECK_THAT(play.warnings.front(), Catch::StartsWith("the record of PodGroup team/train"));
  play.Pass(Seconds(600));
  play.api.On(Method::kPatch, kGangStatusWriterPath, Reply(200));
  play.api.ForgetRequests();
  play.Pass(Seconds(61));
  CHECK(RecordsWritten(play).size() == 1);
}

TEST_CASE("one look does for a record and a status that are right", "[kube][status]") {
  GangStatusWriterPlay play;
  play.group = PlayedGroup("{}", R"("annotations":{"muster.dev/gang-record":"whole=4"},)");
  play.api.On(Method::kPatch, kGangStatusWriterPath, Reply(200));
  play.writer.Want(Begun(0), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  play.writer.Begin(play.now);
  play.api.ForgetRequests();
  play.writer.Want(Begun(0), play.now);
  CHECK(play.Pass(Seconds(3600)) == 0);
  CHECK(play.api.lines() == std::vector<std::string>{"GET " + kGangStatusWriterPath});
  CHECK(play.writer.counts().waiting == 0);
  // A record that somebody took away is noticed with the next look, and so is one that is too many.
  play.group = PlayedGroup("{}");
  play.writer.Want(Begun(0), play.now);
  play.Pass(Seconds(1));
  REQUIRE(RecordsWritten(play).size() == 1);
  play.group = PlayedGroup("{}", R"("annotations":{"muster.dev/gang-record":"whole=4"},)");
  play.writer.Begin(play.now);
  play.writer.Want(Waiting("4 of 8"), play.now);
  play.Pass(Seconds(1));
  REQUIRE(RecordsWritten(play).size() >= 2);
  CHECK_THAT(RecordsWritten(play).back(), Catch::Contains("null"));
}

TEST_CASE("no call of a status lasts longer than a lease leaves", "[kube][status]") {
  GangStatusWriterPlay play;
  play.api.On(Method::kPatch, kGangStatusWriterPath, Reply(200));
  play.writer.Want(Begun(0), play.now);
  play.Pass(Seconds(1));
  CHECK(play.calls() >= 4);
  for (const ApiRequest& request : play.api.requests()) {
    CHECK(request.timeout <= std::chrono::milliseconds(3'500));
    CHECK(request.lane == Lane::kReport);
  }
}

TEST_CASE("who may not write does not, and does when it may", "[kube][status]") {
  GangStatusWriterPlay play;
  play.leads = false;
  play.writer.Want(Waiting("4 of 8"), play.now);
  CHECK(play.Pass(Seconds(30)) == 0);
  CHECK(play.calls() == 0);
  play.leads = true;
  CHECK(play.Pass(Seconds(2)) == 1);
  play.api.On(Method::kGet, kGangStatusWriterPath, [&](const ApiRequest&) {
    play.leads = false;  // lost between reading and writing
    return Reply(200, play.group.Object());
  });
  play.writer.Want(Gang(GangState::kRunning, ReasonCode::kNone, ""), play.now);
  CHECK(play.Pass(Seconds(1)) == 0);
  CHECK(play.group.Status("phase") == R"("Inqueue")");
}

TEST_CASE("thousands of gangs leave nothing behind", "[kube][status]") {
  GangStatusWriterPlay play;
  play.api.Otherwise([](const ApiRequest& request) -> FakeApi::Answer {
    if (request.method == Method::kPatch) return Reply(200);
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    return Reply(200, R"({"metadata":{"uid":")" + name + R"(","resourceVersion":"1"}})");
  });
  for (int i = 0; i < 5000; ++i) {
    PatchGang gang = Waiting("x");
    gang.key.name = "g" + std::to_string(i);
    gang.uid = PodGroupUid(gang.key.name);
    play.writer.Want(gang, play.now);
  }
  CHECK(play.Pass(Seconds(10)) == 5000);
  CHECK(play.writer.counts().waiting == 0);
}

}  // namespace
}  // namespace muster::kube
