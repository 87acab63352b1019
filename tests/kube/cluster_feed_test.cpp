#include "kube/cluster_feed.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::Result;
using std::chrono::milliseconds;

using Texts = std::vector<std::string>;

std::string ListOf(const std::string& kind, const std::string& items) {
  return R"({"kind":")" + kind + R"(","metadata":{"resourceVersion":"10"},"items":[)" + items +
         "]}";
}

std::string Groups(const std::string& group, const std::string& version) {
  std::string groups = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  if (!group.empty()) {
    groups += R"({"name":")" + group + R"(","versions":[{"groupVersion":")" + group + "/" +
              version + R"(","version":")" + version + R"("}]})";
  }
  return groups + "]}";
}

// A ClusterFeed on an API server with two pods and one of everything else, whose watches stay open.
class World {
 public:
  explicit World(milliseconds stale_after = std::chrono::hours(1),
                 milliseconds patience = std::chrono::minutes(1)) {
    options.stale_after = stale_after;
    options.patience = patience;
    options.refresh_within = 5 * patience;
    api.On(Method::kGet, "/version", Reply(200, R"({"major":"1","minor":"37"})"));
    api.On(Method::kGet, "/apis", Reply(200, Groups("", "")));
    api.On(Method::kGet, "/api/v1/nodes?limit=500",
           Reply(200, ListOf("NodeList",
                             R"({"metadata":{"name":"n","uid":"n-uid","resourceVersion":"3"}})")));
    api.On(Method::kGet, "/api/v1/pods?limit=500",
           Reply(200, ListOf("PodList", Pod("a", "") + "," + Pod("b", "2"))));
    api.On(Method::kGet, "/api/v1/namespaces?limit=500",
           Reply(200, ListOf("NamespaceList", R"({"metadata":{"name":"team","uid":"team-uid"}})")));
    api.On(Method::kGet, "/apis/scheduling.k8s.io/v1/priorityclasses?limit=500",
           Reply(200, ListOf("PriorityClassList",
                             R"({"metadata":{"name":"high","uid":"high-uid"},"value":9})")));
    api.On(Method::kGet, "/apis/policy/v1/poddisruptionbudgets?limit=500",
           Reply(200, ListOf("PodDisruptionBudgetList",
                             R"({"metadata":{"name":"b","namespace":"team","uid":"b-uid"}})")));
    api.On(Method::kGet, "/apis/batch/v1/jobs?limit=500",
           Reply(200, ListOf("JobList",
                             R"({"metadata":{"name":"j","namespace":"team","uid":"j-uid"}})")));
    api.OnStream([this] { return std::make_unique<Stream>(*this); });
    feed = std::make_unique<ClusterFeed>(
        ClusterFeed::Ports{.api = api,
                           .versions = versions,
                           .apply = [this](const engine::Fact& fact) { Note(fact); },
                           .synced =
                               [this] {
                                 const MutexLock lock(mu_);
                                 ++synced_;
                               },
                           .warn =
                               [this](const std::string& what) {
                                 const MutexLock lock(mu_);
                                 warned_.push_back(what);
                               }},
        options, 1);
  }
  ~World() { feed->Stop(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static std::string Pod(const std::string& name, const std::string& min_member) {
    std::string annotations;
    if (!min_member.empty()) {
      annotations =
          R"(,"labels":{"scheduling.x-k8s.io/pod-group":"g"},"annotations":{"muster.dev/min-member":")" +
          min_member + R"("})";
    }
    return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":")" + name +
           R"(-uid","resourceVersion":"4")" + annotations +
           R"(},"spec":{"containers":[{"name":"main"}]}})";
  }

  // From now on Kubernetes' own PodGroups are served in this version alone, and are these.
  void ServeNative(const std::string& version, const std::string& items) {
    const std::string path = "/apis/scheduling.k8s.io/" + version;
    api.On(Method::kGet, path,
           Reply(200, R"({"kind":"APIResourceList","resources":[{"name":"podgroups"}]})"));
    api.On(Method::kGet, path + "/podgroups?limit=500", [this, items](const ApiRequest& request) {
      const MutexLock lock(mu_);
      told_.push_back("list " + request.path.substr(0, request.path.find('?')));
      return Reply(200, ListOf("PodGroupList", items));
    });
    api.On(Method::kGet, "/apis", Reply(200, Groups("scheduling.k8s.io", version)));
  }

  // From now on PodGroups of scheduler-plugins are served.
  void ServePodGroups(bool has_status = false) {
    const std::string status = has_status ? R"(,{"name":"podgroups/status"})" : "";
    api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1",
           Reply(200,
                 R"({"kind":"APIResourceList","resources":[{"name":"podgroups"})" + status + "]}"));
    api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500",
           Reply(200, ListOf("PodGroupList",
                             R"({"metadata":{"name":"g","namespace":"team","uid":"g-uid",)"
                             R"("resourceVersion":"5"},"spec":{"minMember":2}})")));
    api.On(Method::kGet, "/apis", Reply(200, Groups("scheduling.x-k8s.io", "v1alpha1")));
  }

  // Brings a bookmark on every watch that is open.
  void Bookmark() {
    const MutexLock lock(mu_);
    ++bookmarks_;
    changed_.NotifyAll();
  }

  Texts told() const {
    const MutexLock lock(mu_);
    return told_;
  }
  bool Told(const std::string& line) const {
    const Texts lines = told();
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  Texts warned() const {
    const MutexLock lock(mu_);
    return warned_;
  }
  int synced() const {
    const MutexLock lock(mu_);
    return synced_;
  }

  FakeApi api;
  ClusterFeedOptions options = {
      .reflector = {.backoff_first = milliseconds(1), .backoff_max = milliseconds(2)},
      .rediscover = milliseconds(2),
      .discover_again = milliseconds(1),
      .look_every = milliseconds(1)};
  PodVersions versions;
  std::unique_ptr<ClusterFeed> feed;

 private:
  class Stream final : public ApiStream {
   public:
    explicit Stream(World& world) : world_(world) {}
    Result<ApiReply> Run(const std::string&, const std::function<bool(std::string_view)>& take,
                         milliseconds) override {
      int brought = world_.Bookmarks();
      while (true) {
        {
          const MutexLock lock(world_.mu_);
          while (!stopped_ && world_.bookmarks_ == brought) world_.changed_.Wait(world_.mu_);
          if (stopped_) return ApiReply{.status = 200};
          brought = world_.bookmarks_;
        }
        take(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}})"
             "\n");
      }
    }
    void Stop() override {
      const MutexLock lock(world_.mu_);
      stopped_ = true;
      world_.changed_.NotifyAll();
    }

   private:
    World& world_;
    bool stopped_ = false;
  };

  int Bookmarks() const {
    const MutexLock lock(mu_);
    return bookmarks_;
  }

  void Note(const engine::Fact& fact) {
    std::string line = "removal";
    if (const auto* node = std::get_if<cluster::Node>(&fact)) line = "node " + node->name;
    if (const auto* ns = std::get_if<cluster::Namespace>(&fact)) line = "namespace " + ns->key.name;
    if (const auto* high = std::get_if<cluster::PriorityClass>(&fact)) {
      line = "priority " + std::to_string(high->value);
    }
    if (const auto* budget = std::get_if<cluster::DisruptionBudget>(&fact)) {
      line = "budget " + budget->key.ToString();
    }
    if (const auto* job = std::get_if<cluster::BatchJob>(&fact))
      line = "job " + job->key.ToString();
    if (const auto* pod = std::get_if<cluster::Pod>(&fact)) line = "pod " + pod->key.ToString();
    if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) {
      line = std::string(group->declared ? "declared gang " : "podgroup ") + group->key.ToString() +
             " of " + std::to_string(group->min_member);
    }
    if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&fact)) {
      line = gone->uid.text().starts_with(kDeclaredUidPrefix) ? "declared gang removed"
                                                              : "podgroup removed";
    }
    if (std::holds_alternative<engine::PodGroupUnserved>(fact)) line = "podgroup forgotten";
    if (const auto* silence = std::get_if<engine::WatchStale>(&fact)) {
      line = "silence [" + silence->resources + "]";
    }
    const MutexLock lock(mu_);
    told_.push_back(line);
  }

  mutable cluster::Mutex mu_;
  cluster::CondVar changed_;
  int bookmarks_ MUSTER_GUARDED_BY(mu_) = 0;
  int synced_ MUSTER_GUARDED_BY(mu_) = 0;
  Texts told_ MUSTER_GUARDED_BY(mu_);
  Texts warned_ MUSTER_GUARDED_BY(mu_);
};

// Threads of the feed do it; how long they take is nobody's business.
template <typename Condition>
bool Eventually(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST_CASE("a cluster is synced when everything that is served was listed once", "[kube][feed]") {
  World world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  REQUIRE(Eventually([&] { return world.Told("job team/j"); }));  // not waited for
  const Texts told = world.told();
  CHECK(std::set<std::string>(told.begin(), told.end()) ==
        std::set<std::string>{"declared gang team/g of 2", "node n", "pod team/a", "pod team/b",
                              "namespace team", "priority 9", "budget team/b", "job team/j"});
  CHECK(world.versions.Find(cluster::PodUid("a-uid")) == 4);
}

TEST_CASE("PodGroups whose CRD appears later are found, and take the place of declared gangs",
          "[kube][feed]") {
  World world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(!world.feed->FindServed(cluster::PodGroupUid("g-uid")));
  world.ServePodGroups();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  CHECK(world.Told("declared gang removed"));
  const auto served = world.feed->FindServed(cluster::PodGroupUid("g-uid"));
  REQUIRE(served);
  CHECK(served->api_version() == "scheduling.x-k8s.io/v1alpha1");
  CHECK(world.synced() == 1);
}

TEST_CASE("a CRD that is installed again with a status subresource, or without, is written so",
          "[kube][feed]") {
  World world;
  world.ServePodGroups();
  world.feed->Start();
  const auto has_status = [&] {
    const auto served = world.feed->FindServed(cluster::PodGroupUid("g-uid"));
    return served && served->has_status;
  };
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  CHECK_FALSE(has_status());
  world.ServePodGroups(true);
  CHECK(Eventually(has_status));
  world.ServePodGroups(false);
  CHECK(Eventually([&] { return !has_status(); }));
}

const char* const kAllSilent =
    "silence [namespaces, nodes, pods, poddisruptionbudgets, priorityclasses]";

TEST_CASE("the version of PodGroups that is served is read, back and forth", "[kube][feed]") {
  World world;
  world.feed->Start();
  for (const char* version : {"v1alpha3", "v1beta1", "v1alpha3"}) {
    CAPTURE(version);
    const std::string list = "list /apis/scheduling.k8s.io/" + std::string(version) + "/podgroups";
    const auto lists = [&] {
      const Texts told = world.told();
      return std::count(told.begin(), told.end(), list);
    };
    const auto before = lists();
    world.ServeNative(version, "");
    REQUIRE(Eventually([&] { return lists() > before; }));
    REQUIRE(Eventually([&] {
      const std::vector<FeedHealth> health = world.feed->Health();
      return std::count_if(health.begin(), health.end(), [](const FeedHealth& one) {
               return one.resource == "podgroups.scheduling.k8s.io";
             }) == 1;
    }));
  }
}

TEST_CASE("a PodGroup that goes while another version takes over is known to be gone",
          "[kube][feed]") {
  World world;
  world.ServeNative(
      "v1alpha3", R"({"metadata":{"name":"g","namespace":"team","uid":"g-uid",)"
                  R"("resourceVersion":"5"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  world.ServeNative("v1beta1", "");
  REQUIRE(Eventually([&] { return world.Told("podgroup forgotten"); }));
}

TEST_CASE("silence of the API server is told once, with the resources, and so is its end",
          "[kube][feed]") {
  World world(milliseconds(30));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  REQUIRE(Eventually([&] { return world.Told(kAllSilent); }));
  REQUIRE(Eventually([&] {
    world.Bookmark();
    return world.Told("silence []");
  }));
}

TEST_CASE("a kind of PodGroups that cannot be listed holds up no new leader, nodes do",
          "[kube][feed]") {
  World world(std::chrono::hours(1), milliseconds(100));
  world.ServePodGroups();
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  const auto go_on = [] { return true; };
  CHECK(world.feed->Refresh(go_on));
  world.api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500",
               Refusal(500, "conversion webhook failed"));
  CHECK(world.feed->Refresh(go_on));
  CHECK_FALSE(world.Told("podgroup removed"));
  CHECK_FALSE(world.Told("podgroup forgotten"));
  world.api.On(Method::kGet, "/api/v1/nodes?limit=500", Refusal(500, "etcd is away"));
  CHECK_FALSE(world.feed->Refresh(go_on));
}

TEST_CASE("what is not nodes or pods holds up no new leader, who plans nothing until it is listed",
          "[kube][feed]") {
  World world(std::chrono::hours(1), milliseconds(100));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  const std::string path = "/apis/policy/v1/poddisruptionbudgets?limit=500";
  world.api.On(Method::kGet, path, Refusal(403, "poddisruptionbudgets is forbidden"));
  CHECK(world.feed->Refresh([] { return true; }));
  CHECK(world.Told("silence [poddisruptionbudgets]"));  // before it leads
  CHECK_FALSE(world.Told("silence []"));
  world.api.On(Method::kGet, path, Reply(200, ListOf("PodDisruptionBudgetList", "")));
  CHECK(Eventually([&] { return world.Told("silence []"); }));
}

TEST_CASE("Jobs that may not be read hold up nothing, and that is said once", "[kube][feed]") {
  World world(milliseconds(500));
  const auto forbid = Refusal(403, "jobs.batch is forbidden");
  world.api.On(Method::kGet, "/apis/batch/v1/jobs?limit=500", forbid);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.feed->Refresh([] { return true; }));
  REQUIRE(Eventually([&] { return world.Told(kAllSilent); }));  // and no word of Jobs
  const auto health = world.feed->Health();
  const auto jobs = std::find_if(health.begin(), health.end(),
                                 [](const FeedHealth& one) { return one.resource == "jobs"; });
  REQUIRE(jobs != health.end());
  CHECK_FALSE(jobs->needed);
  CHECK_FALSE(jobs->synced);
  const Texts warned = world.warned();
  CHECK(std::count_if(warned.begin(), warned.end(), [](const std::string& line) {
          return line.starts_with("jobs: list failed");
        }) == 1);
  // The right is given later.
  world.api.On(Method::kGet, "/apis/batch/v1/jobs?limit=500",
               Reply(200, ListOf("JobList",
                                 R"({"metadata":{"name":"j","namespace":"team","uid":"j-uid"}})")));
  CHECK(Eventually([&] { return world.Told("job team/j"); }));
}

TEST_CASE("a list of which a page is missing is no news", "[kube][feed]") {
  World world(milliseconds(200));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.api.On(
      Method::kGet, "/api/v1/nodes?limit=500",
      Reply(200, R"({"kind":"NodeList","metadata":{"resourceVersion":"30","continue":"x"},)"
                 R"("items":[]})"));
  world.api.On(Method::kGet, "/api/v1/nodes?limit=500&continue=x", Refusal(500, "etcd is slow"));
  // Everything else is heard of; only a whole list would end this.
  CHECK_FALSE(world.feed->Refresh([&] {
    world.Bookmark();
    return !world.Told("silence [nodes]");
  }));
  CHECK(world.Told("silence [nodes]"));
}

}  // namespace
}  // namespace muster::kube
