// Pods that the label of their namespace gives to Muster, and that nobody took: which ones, when
// they are told, and how often.
#include "kube/admission/missed_pods.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/builders.hpp"

namespace muster::kube {
namespace {

using cluster::Seconds;
using cluster::Time;
using muster::testing::MakePod;
using muster::testing::PodBuilder;

constexpr Time kMissedPodsWall{1'800'000'000'000};

struct Feed {
  explicit Feed(bool leads = true) {
    if (leads) missed.Lead(now);
  }
  void Pass(cluster::Duration time) { now = {now.steady + time, now.wall + time}; }
  void Tell(const engine::Fact& fact) { Add(missed.Note(fact, {"muster"}, now)); }
  void Label(const std::string& ns, const std::string& value) {
    cluster::Namespace record;
    record.uid = cluster::NamespaceUid("ns-" + ns);
    record.key.name = ns;
    if (!value.empty()) record.labels["muster.dev/schedule"] = value;
    Tell(record);
  }
  // Of namespace "team", created now.
  PodBuilder New(const std::string& name) const {
    PodBuilder pod = MakePod(name);
    pod.Namespace("team").Scheduler("default-scheduler").Gpus(1);
    pod.CreatedAt(now.wall.milliseconds());
    return pod;
  }
  void Lead() { Add(missed.Lead(now)); }
  void Add(const MissedPods::Report& report) {
    for (const engine::EmitEvent& event : report.events) {
      events.push_back(event.key.name);
      last = event;
    }
    lines.insert(lines.end(), report.lines.begin(), report.lines.end());
  }

  Clocks now{Time(5'000), kMissedPodsWall};
  MissedPods missed{{.spared_namespaces = {"kube-system", "muster-system"}}, now};
  std::vector<std::string> events;  // names of pods
  std::vector<std::string> lines;
  engine::EmitEvent last;
};

using Names = std::vector<std::string>;

TEST_CASE("a missed pod is reported once, with an Event, a line and a count", "[kube][missed]") {
  Feed feed;
  feed.Label("team", "gpu");
  const cluster::Pod pod = feed.New("p0");
  feed.Tell(pod);
  feed.Pass(Seconds(1));
  feed.Tell(feed.New("p0").CreatedAt(kMissedPodsWall.milliseconds()).BoundTo("n0"));
  CHECK(feed.events == Names{"p0"});
  CHECK(feed.missed.count() == 1);
  CHECK(feed.last.reason == "NotScheduledByMuster");
  CHECK(feed.last.warning);
  CHECK(feed.last.on_pod);
  CHECK(feed.last.uid == pod.uid.text());
  CHECK_THAT(feed.last.message, Catch::Contains("though namespace team has label "
                                                "muster.dev/schedule=gpu"));
  REQUIRE(feed.lines.size() == 1);
  CHECK_THAT(feed.lines[0], Catch::StartsWith("pod team/p0 is not Muster's: "));
}

TEST_CASE("pods that are somebody else's, or were not to be taken, are not missed",
          "[kube][missed]") {
  Feed feed;
  feed.Label("team", "gpu");
  feed.Label("kube-system", "all");
  feed.Label("muster-system", "all");
  feed.Label("free", "");
  feed.Tell(feed.New("third").Scheduler("volcano"));
  feed.Tell(feed.New("muster's").Scheduler("muster"));
  feed.Tell(feed.New("daemon").Daemon());
  feed.Tell(feed.New("no-gpu").Gpus(0));
  feed.Tell(feed.New("ended").Phase(cluster::PodPhase::kSucceeded));
  feed.Tell(feed.New("bound-by-muster").BoundTo("n0", {0}));
  feed.Tell(feed.New("free").Namespace("free"));
  feed.Tell(feed.New("dns").Namespace("kube-system"));
  feed.Tell(feed.New("own").Namespace("muster-system"));
  CHECK(feed.events.empty());
  feed.Label("team", "all");
  feed.Pass(Seconds(1));
  feed.Tell(feed.New("any").Gpus(0));
  CHECK(feed.events == Names{"any"});
}

TEST_CASE("a pod that was there before the label is not missed", "[kube][missed]") {
  Feed feed;
  feed.Label("team", "");
  const cluster::Pod before = feed.New("before");
  feed.Tell(before);
  feed.Pass(Seconds(10));
  feed.Label("team", "gpu");
  feed.Tell(before);
  feed.Tell(feed.New("late-news").CreatedAt(kMissedPodsWall.milliseconds()));
  CHECK(feed.events.empty());
  feed.Pass(Seconds(1));
  feed.Tell(feed.New("after"));
  CHECK(feed.events == Names{"after"});
  feed.Label("team", "");
  feed.Pass(Seconds(1));
  feed.Tell(feed.New("label-gone"));
  CHECK(feed.missed.count() == 1);
}

TEST_CASE("what was created while Muster was away is reported when it is back", "[kube][missed]") {
  Feed feed(false);
  // In any order: pods may be listed first.
  feed.Tell(feed.New("while-away").CreatedAt(kMissedPodsWall.milliseconds() - 600'000));
  feed.Tell(feed.New("long-ago").CreatedAt(kMissedPodsWall.milliseconds() - 4'000'000));
  feed.Label("team", "gpu");
  feed.Tell(feed.New("later-in-the-list").CreatedAt(kMissedPodsWall.milliseconds() - 500'000));
  CHECK(feed.events.empty());
  feed.Pass(Seconds(20));
  feed.Lead();
  CHECK(feed.events == Names{"later-in-the-list", "while-away"});
}

TEST_CASE("a replica leaves to the leader what it sees while it follows", "[kube][missed]") {
  Feed feed(false);
  feed.Label("team", "gpu");
  feed.Tell(feed.New("leader's"));
  feed.Pass(Seconds(600));
  feed.Tell(feed.New("handover"));
  feed.Tell(feed.New("gone"));
  feed.Tell(engine::PodRemoved{feed.New("gone").Build().uid});
  feed.Pass(Seconds(10));
  feed.Lead();
  CHECK(feed.events == Names{"handover"});
}

TEST_CASE("a pod that comes before its namespace waits for it", "[kube][missed]") {
  Feed feed;
  feed.Tell(feed.New("early"));
  CHECK(feed.events.empty());
  feed.Label("team", "gpu");
  CHECK(feed.events == Names{"early"});
}

TEST_CASE("Events are bounded, and the count is not", "[kube][missed]") {
  Feed feed;
  feed.Label("team", "all");
  for (int i = 0; i < 100; ++i) feed.Tell(feed.New("p" + std::to_string(i)));
  CHECK(feed.events.size() == 30);
  CHECK(feed.lines.size() == 30);
  CHECK(feed.missed.count() == 100);
  feed.Pass(Seconds(61));
  feed.Tell(feed.New("next"));
  CHECK(feed.events.size() == 31);
  REQUIRE(feed.lines.size() == 32);
  CHECK(feed.lines[30] == "70 more pods were not taken for Muster, without an Event each");
}

TEST_CASE("a label that says nothing known is in the log once", "[kube][missed]") {
  Feed feed;
  feed.Label("team", "GPU");
  feed.Label("team", "GPU");
  REQUIRE(feed.lines.size() == 1);
  CHECK_THAT(feed.lines[0],
             Catch::Contains("muster.dev/schedule=GPU") && Catch::Contains("expected gpu or all"));
  feed.Label("kube-system", "all");
  REQUIRE(feed.lines.size() == 2);
  CHECK_THAT(feed.lines[1], Catch::Contains("no effect there"));
  feed.Tell(feed.New("p0"));
  CHECK(feed.events.empty());
}

TEST_CASE("a late removal of a namespace takes nothing from the next one of its name",
          "[kube][missed]") {
  Feed feed;
  feed.Label("team", "gpu");
  cluster::Namespace again;
  again.uid = cluster::NamespaceUid("again");
  again.key.name = "team";
  again.labels["muster.dev/schedule"] = "gpu";
  feed.Tell(again);
  feed.Tell(engine::NamespaceRemoved{cluster::NamespaceUid("ns-team")});
  feed.Tell(feed.New("p0"));
  CHECK(feed.events == Names{"p0"});
}

TEST_CASE("a namespace that comes again begins anew", "[kube][missed]") {
  Feed feed;
  feed.Label("team", "gpu");
  feed.Tell(engine::NamespaceRemoved{cluster::NamespaceUid("ns-team")});
  feed.Tell(feed.New("between"));
  CHECK(feed.events.empty());
  feed.Label("team", "");
  CHECK(feed.events.empty());
}

}  // namespace
}  // namespace muster::kube
