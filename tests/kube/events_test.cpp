#include "kube/write/events.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/timestamp.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::PodGroupUid;
using cluster::Result;
using cluster::Seconds;
using cluster::Time;
using engine::EmitEvent;

const std::string kPath = "/apis/events.k8s.io/v1/namespaces/team/events";
const Time kWall = *ParseTimestamp("2026-11-21T12:00:00.250Z");

EmitEvent Event(const std::string& message, const std::string& reason = "GangQueued",
                const std::string& uid = "u-1") {
  return {{"team", "train"}, uid, false, true, reason, message};
}

// Keeps Events as the API server does, as far as these rules go: names are unique, everything but
// the series is immutable, a series counts from 2.
class EventServer {
 public:
  FakeApi::Answer Answer(const ApiRequest& request) {
    const Result<Json> json = Json::Parse(request.body, 1 << 20, "event");
    REQUIRE(json.ok());
    JsonProblems problems;
    const JsonView body(json->root(), "event", problems);
    const JsonView series = body.Get("series");
    const int64_t count = series.Get("count").Integer(0, 0, 1'000'000);
    if (series.present() && count < 2) return Refusal(422, "series.count");
    if (request.method == Method::kPost) {
      const JsonView metadata = body.Get("metadata");
      const std::string name(metadata.Get("name").Text());
      for (const char* key : {"eventTime", "reportingController", "reportingInstance", "action",
                              "reason", "type", "note", "regarding"}) {
        if (!body.Get(key).present()) return Refusal(422, key);
      }
      CHECK(body.Get("note").Text().size() <= 1024);
      if (!counts.emplace(name, std::max<int64_t>(count, 1)).second) {
        return Refusal(409, "already exists");
      }
      return Reply(201, request.body);
    }
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    if (counts.find(name) == counts.end()) return Refusal(404, "not found");
    CHECK(request.body.starts_with(R"({"series":)"));
    counts[name] = count;
    return Reply(200);
  }

  std::map<std::string, int64_t> counts;  // times that each Event happened
};

struct EventsPlay {
  FakeApi api;
  EventServer server;
  bool leads = true;
  std::vector<std::string> warnings;
  Clocks now{Time(5'000), kWall};
  EventRecorder recorder;

  explicit EventsPlay(size_t most = 100)
      : recorder({.api = api,
                  .find = [](const PodGroupUid& uid) -> std::optional<ServedPodGroups> {
                    if (uid.text() == "labels") return std::nullopt;
                    if (uid.text() == "grove")
                      return ServedPodGroups{PodGroupFlavour::kGrove, "scheduler.grove.io",
                                             "v1alpha1", true};
                    return ServedPodGroups{PodGroupFlavour::kVolcano, "scheduling.volcano.sh",
                                           "v1beta1", true};
                  },
                  .may_write = [this] { return leads; },
                  .warn = [this](const std::string& line) { warnings.push_back(line); }},
                 {.instance = "muster-7f", .most = most}) {
    api.Otherwise([this](const ApiRequest& request) { return server.Answer(request); });
  }
  // Makes all writes that are due within `span`; how many.
  int Pass(Duration span) {
    const auto before = api.requests().size();
    const Time end = now.steady + span;
    while (true) {
      const Time due = recorder.Step(now);
      if (due > end) break;
      Go(due - now.steady);
    }
    Go(end - now.steady);
    return static_cast<int>(api.requests().size() - before);
  }
  void Go(Duration span) {
    if (span < Duration(0)) return;
    now.steady = now.steady + span;
    now.wall = now.wall + span;
  }
  ApiRequest last() const { return api.requests().back(); }
};

TEST_CASE("an event says what happened to what", "[kube][events]") {
  EventsPlay play;
  play.recorder.Record(Event("not enough free GPUs: 4 of 8"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  const ApiRequest request = play.last();
  CHECK(request.method == Method::kPost);
  CHECK(request.lane == Lane::kReport);
  CHECK(request.path == kPath);
  const std::string name = play.server.counts.begin()->first;
  CHECK(name.starts_with("train."));
  CHECK(
      request.body ==
      R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"namespace":"team","name":")" +
          name +
          R"("},"eventTime":"2026-11-21T12:00:00.250000Z","reportingController":)"
          R"("muster.dev/muster","reportingInstance":"muster-7f","action":"Scheduling",)"
          R"("reason":"GangQueued","type":"Warning","note":"not enough free GPUs: 4 of 8",)"
          R"("regarding":{"kind":"PodGroup","namespace":"team","name":"train","uid":"u-1",)"
          R"("apiVersion":"scheduling.volcano.sh/v1beta1"}})");
  EmitEvent on_pod = Event("x");
  on_pod.on_pod = true;
  on_pod.warning = false;
  on_pod.uid = "p-1";
  play.recorder.Record(on_pod, play.now);
  play.Pass(Seconds(1));
  CHECK(play.last().body.find(R"("regarding":{"kind":"Pod","namespace":"team","name":"train",)"
                              R"("uid":"p-1","apiVersion":"v1"})") != std::string::npos);
  CHECK(play.last().body.find(R"("type":"Normal")") != std::string::npos);
  EmitEvent on_node = Event("left out");
  on_node.on_node = true;
  on_node.key = {"default", "node-1"};
  on_node.uid = "n-1";
  play.recorder.Record(on_node, play.now);
  play.Pass(Seconds(1));
  CHECK(play.last().path == "/apis/events.k8s.io/v1/namespaces/default/events");
  CHECK(play.last().body.find(R"("regarding":{"kind":"Node","name":"node-1","uid":"n-1",)"
                              R"("apiVersion":"v1"})") != std::string::npos);
  // A gang that is given by labels has a name, but no object.
  play.recorder.Record(Event("x", "GangQueued", "labels"), play.now);
  play.Pass(Seconds(1));
  CHECK(play.last().body.find(R"("regarding":{"kind":"PodGroup","namespace":"team",)"
                              R"("name":"train"}})") != std::string::npos);
}

TEST_CASE("what repeats becomes a series, written every 30 s at most", "[kube][events]") {
  EventsPlay play;
  for (int second = 0; second < 300; ++second) {
    play.recorder.Record(Event("4 of 8"), play.now);
    play.Pass(Seconds(1));
  }
  // One at once, then one each 30 s, up to the last second.
  CHECK(play.api.requests().size() == 11);
  CHECK(play.last().method == Method::kPatch);
  CHECK(play.last().content_type == "application/merge-patch+json");
  CHECK(play.last().path == kPath + "/" + play.server.counts.begin()->first);
  CHECK(play.last().body ==
        R"({"series":{"count":300,"lastObservedTime":"2026-11-21T12:04:59.250000Z"}})");
  CHECK(play.server.counts.size() == 1);
  CHECK(play.Pass(Seconds(3600)) == 0);
  CHECK(play.recorder.counts().repeated == 10);
}

TEST_CASE("an Event repeated every half hour is one series for a whole night", "[kube][events]") {
  EventsPlay play;
  for (int half_hour = 0; half_hour < 20; ++half_hour) {
    play.recorder.Record(Event("4 of 8"), play.now);
    CHECK(play.Pass(Seconds(1800)) == 1);
  }
  CHECK(play.server.counts.size() == 1);
  CHECK(play.server.counts.begin()->second == 20);
  CHECK(play.recorder.counts().created == 1);
}

TEST_CASE("another note is a new event, since notes never change", "[kube][events]") {
  EventsPlay play;
  for (int second = 0; second < 90; ++second) {
    play.recorder.Record(Event(std::to_string(second) + " of 100"), play.now);
    play.Pass(Seconds(1));
  }
  CHECK(play.Pass(Seconds(60)) == 0);
  CHECK(play.api.requests().size() == 4);
  CHECK(play.server.counts.size() == 4);
  CHECK(play.last().body.find("89 of 100") != std::string::npos);
  // Other reasons and other objects do not wait for it.
  play.recorder.Record(Event("x", "GangBackoff"), play.now);
  play.recorder.Record(Event("x", "GangQueued", "u-2"), play.now);
  CHECK(play.Pass(Seconds(0)) == 2);
}

TEST_CASE("an event on a gang of Grove's names the PodGang", "[kube][events]") {
  EventsPlay play;
  play.recorder.Record(Event("x", "GangQueued", "grove"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.last().body.find(R"("regarding":{"kind":"PodGang","namespace":"team",)"
                              R"("name":"train","uid":"grove",)"
                              R"("apiVersion":"scheduler.grove.io/v1alpha1"}})") !=
        std::string::npos);
}

TEST_CASE("what repeated before the first write is a series from the start", "[kube][events]") {
  EventsPlay play;
  for (int i = 0; i < 3; ++i) play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.last().body.find(R"("series":{"count":3,)") != std::string::npos);
}

TEST_CASE("long words and notes are cut between characters", "[kube][events]") {
  EventsPlay play;
  EmitEvent event = Event("x" + std::string(3000, 'y'), std::string(300, 'R'));
  for (int i = 0; i < 1000; ++i) event.message += "ü";
  event.message.replace(1, 2000, "");
  event.key.name = std::string(199, 'n') + "." + std::string(53, 'm');
  play.recorder.Record(event, play.now);
  CHECK(play.Pass(Seconds(1)) == 1);
  CHECK(play.server.counts.size() == 1);
  CHECK(play.server.counts.begin()->first.size() <= 253);
  CHECK(play.server.counts.begin()->first.find("..") == std::string::npos);
  CHECK(play.last().body.find('"' + std::string(128, 'R') + '"') != std::string::npos);
}

TEST_CASE("an answer that was lost makes no second event", "[kube][events]") {
  EventsPlay play;
  play.api.Once(Method::kPost, kPath, NoConnection());
  bool lost = false;
  play.api.Otherwise([&](const ApiRequest& request) -> FakeApi::Answer {
    FakeApi::Answer answer = play.server.Answer(request);
    if (!std::exchange(lost, true)) return NoConnection();
    return answer;
  });
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(60)) == 3);  // not sent, sent with its answer lost, 409
  CHECK(play.server.counts.size() == 1);
  CHECK(play.recorder.counts().created == 1);
  CHECK(play.recorder.counts().dropped == 0);
}

TEST_CASE("an event that expired begins again", "[kube][events]") {
  EventsPlay play;
  play.recorder.Record(Event("x"), play.now);
  play.Pass(Seconds(60));
  play.server.counts.clear();
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(60)) == 2);
  REQUIRE(play.server.counts.size() == 1);
  CHECK(play.server.counts.begin()->second == 1);
  CHECK(play.last().body.find(R"("eventTime":"2026-11-21T12:01:00.250000Z")") != std::string::npos);
}

TEST_CASE("events are tried three times, as the server asks, and then dropped", "[kube][events]") {
  EventsPlay play;
  ApiReply busy = Refusal(429, "slow down");
  busy.retry_after = std::chrono::seconds(25);
  play.api.Otherwise([&](const ApiRequest&) { return busy; });
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(24)) == 1);
  CHECK(play.Pass(Seconds(600)) == 2);
  CHECK(play.recorder.counts().dropped == 1);
  CHECK(play.recorder.counts().waiting == 0);
  CHECK(play.warnings.empty());
  play.api.Otherwise([](const ApiRequest&) { return Refusal(403, "events is forbidden"); });
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(600)) == 3);
  REQUIRE(play.warnings.size() == 1);
  CHECK(play.warnings.front() ==
        "an event on team/train is dropped: HTTP 403: events is forbidden");
  play.leads = false;
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(600)) == 0);
  CHECK(play.recorder.counts().dropped == 3);
}

TEST_CASE("what overtakes an event whose write fails is written", "[kube][events]") {
  EventsPlay play;
  const int status = GENERATE(400, 503);
  bool first = true;
  play.api.Otherwise([&](const ApiRequest& request) -> FakeApi::Answer {
    if (!std::exchange(first, false)) return play.server.Answer(request);
    play.recorder.Record(Event("newer"), play.now);
    return Refusal(status, "not this one");
  });
  play.recorder.Record(Event("older"), play.now);
  play.Pass(Seconds(60));
  CHECK(play.server.counts.size() == 1);
  CHECK(play.last().body.find("newer") != std::string::npos);
  CHECK(play.recorder.counts().created == 1);
  CHECK(play.recorder.counts().waiting == 0);
}

TEST_CASE("in a namespace that is being deleted there is nothing to tell", "[kube][events]") {
  EventsPlay play;
  play.api.Otherwise([](const ApiRequest&) {
    return Reply(403, R"({"kind":"Status","message":"it is being terminated","reason":"Forbidden",)"
                      R"("details":{"causes":[{"reason":"NamespaceTerminating"}]},"code":403})");
  });
  play.recorder.Record(Event("x"), play.now);
  CHECK(play.Pass(Seconds(600)) == 1);
  CHECK(play.recorder.counts().dropped == 1);
  CHECK(play.warnings.empty());
}

TEST_CASE("memory is bounded, and what finds no room is counted", "[kube][events]") {
  EventsPlay play(10);
  for (int i = 0; i < 25; ++i) {
    play.recorder.Record(Event("x", "GangQueued", "u-" + std::to_string(i)), play.now);
  }
  CHECK(play.recorder.counts().waiting == 10);
  CHECK(play.recorder.counts().dropped == 15);
  CHECK(play.Pass(Seconds(1)) == 10);
  // What was written long ago gives way.
  for (int i = 100; i < 105; ++i) {
    play.recorder.Record(Event("x", "GangQueued", "u-" + std::to_string(i)), play.now);
  }
  CHECK(play.recorder.counts().dropped == 15);
  CHECK(play.Pass(Seconds(1)) == 5);
}

TEST_CASE("whatever comes and fails, the counts add up and none is written too often",
          "[kube][events]") {
  std::mt19937 random(11);
  for (int run = 0; run < 30; ++run) {
    EventsPlay play(20);
    std::map<std::string, Time> last;  // write of each object and reason
    play.api.Otherwise([&](const ApiRequest& request) -> FakeApi::Answer {
      if (random() % 5 == 0) return NoConnection();
      FakeApi::Answer answer = play.server.Answer(request);
      if (random() % 7 == 0) return NoConnection();
      return answer;
    });
    std::map<std::string, int64_t> happened;
    for (int step = 0; step < 400; ++step) {
      const std::string uid = "u-" + std::to_string(random() % 8);
      play.recorder.Record(Event("same", "GangQueued", uid), play.now);
      ++happened[uid];
      play.Pass(Seconds(static_cast<int64_t>(random() % 10)));
    }
    play.Pass(Seconds(3600));
    CHECK(play.recorder.counts().waiting == 0);
    int64_t told = 0;
    for (const auto& [name, count] : play.server.counts) told += count;
    CHECK(told <= 400);
    if (play.recorder.counts().dropped == 0) CHECK(told == 400);
    // 8 objects, an event each 30 s at most, up to three attempts each.
    const int64_t seconds = (play.now.steady - Time(5'000)).value() / 1000 - 3600;
    CHECK(static_cast<int64_t>(play.api.requests().size()) <= 3 * 8 * (seconds / 30 + 2));
  }
}

}  // namespace
}  // namespace muster::kube
