#include "tests/kube/feed_world.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/watch/storage_kinds.hpp"

namespace muster::kube {

using cluster::MutexLock;
using cluster::Result;
using std::chrono::milliseconds;

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

class FeedWorld::Stream final : public ApiStream {
 public:
  explicit Stream(FeedWorld& world) : world_(world) {}
  Result<ApiReply> Run(const std::string& path, const std::function<bool(std::string_view)>& take,
                       milliseconds) override {
    const std::string resource = path.substr(0, path.find('?'));
    std::string lines;
    int brought = -1;
    while (true) {
      {
        const MutexLock lock(world_.mu_);
        if (brought < 0) brought = world_.bookmarks_;
        std::deque<std::string>& events = world_.events_[resource];
        while (!stopped_ && world_.bookmarks_ == brought && events.empty())
          world_.changed_.Wait(world_.mu_);
        if (stopped_) return ApiReply{.status = 200};
        lines.clear();
        for (const std::string& event : events) lines += event;
        events.clear();
        if (world_.bookmarks_ != brought) {
          lines += R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}})"
                   "\n";
        }
        brought = world_.bookmarks_;
      }
      if (!take(lines)) return ApiReply{.status = 200};
    }
  }
  void Stop() override {
    const MutexLock lock(world_.mu_);
    stopped_ = true;
    world_.changed_.NotifyAll();
  }

 private:
  FeedWorld& world_;
  bool stopped_ = false;
};

FeedWorld::FeedWorld(milliseconds stale_after, milliseconds patience, milliseconds unserved_after) {
  options.reflector.unserved_after = unserved_after;
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
         Reply(200,
               ListOf("JobList", R"({"metadata":{"name":"j","namespace":"team","uid":"j-uid"}})")));
  api.OnStream([this] { return std::make_unique<Stream>(*this); });
  feed = std::make_unique<ClusterFeed>(
      ClusterFeed::Ports{.api = api,
                         .versions = versions,
                         .apply =
                             [this](std::span<const engine::Fact> facts) {
                               if (on_apply) on_apply(facts);
                               for (const engine::Fact& fact : facts) Note(fact);
                               const MutexLock lock(mu_);
                               most_together_ = std::max(most_together_, facts.size());
                             },
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

std::string FeedWorld::Pod(const std::string& name, const std::string& min_member) {
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

void FeedWorld::ServeNative(const std::string& version, const std::string& items) {
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

void FeedWorld::ServePodGroups(bool has_status) {
  const std::string status = has_status ? R"(,{"name":"podgroups/status"})" : "";
  api.On(
      Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1",
      Reply(200, R"({"kind":"APIResourceList","resources":[{"name":"podgroups"})" + status + "]}"));
  api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500",
         Reply(200,
               ListOf("PodGroupList", R"({"metadata":{"name":"g","namespace":"team","uid":"g-uid",)"
                                      R"("resourceVersion":"5"},"spec":{"minMember":2}})")));
  api.On(Method::kGet, "/apis", Reply(200, Groups("scheduling.x-k8s.io", "v1alpha1")));
}

void FeedWorld::Serve(const std::string& api_version, const std::string& resource,
                      const std::string& items, const std::string& selector) {
  const std::string path = "/apis/" + api_version;
  api.On(Method::kGet, path,
         Reply(200, R"({"kind":"APIResourceList","resources":[{"name":")" + resource + "\"}]}"));
  api.On(Method::kGet, path + "/" + resource + "?limit=500" + selector,
         Reply(200, ListOf("List", items)));
  const size_t slash = api_version.find('/');
  api.On(Method::kGet, "/apis",
         Reply(200, Groups(api_version.substr(0, slash), api_version.substr(slash + 1))));
}

void FeedWorld::Bookmark() {
  const MutexLock lock(mu_);
  ++bookmarks_;
  changed_.NotifyAll();
}

void FeedWorld::Send(const std::string& path, const std::string& type, const std::string& object) {
  const MutexLock lock(mu_);
  events_[path].push_back(R"({"type":")" + type + R"(","object":)" + object + "}\n");
  changed_.NotifyAll();
}

FeedWorld::Texts FeedWorld::told() const {
  const MutexLock lock(mu_);
  return told_;
}

bool FeedWorld::Told(const std::string& line) const {
  const Texts lines = told();
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::string FeedWorld::LastTold(const std::string& begin) const {
  const Texts lines = told();
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [&](const std::string& line) { return line.starts_with(begin); });
  return last == lines.rend() ? "" : *last;
}

FeedWorld::Texts FeedWorld::warned() const {
  const MutexLock lock(mu_);
  return warned_;
}

int FeedWorld::synced() const {
  const MutexLock lock(mu_);
  return synced_;
}

size_t FeedWorld::most_together() const {
  const MutexLock lock(mu_);
  return most_together_;
}

void FeedWorld::Note(const engine::Fact& fact) {
  std::string line = "removal";
  if (const auto* node = std::get_if<cluster::Node>(&fact)) {
    line = "node " + node->name;
    for (const NumaPolicyName& one : kNumaPolicyNames) {
      const bool any = one.policy != cluster::NumaPolicy::kNone;
      if (any && one.policy == node->numa_policy) line += std::string(" ") + one.name;
    }
    const std::string& links = node->topology;
    if (!links.empty()) line += links.find("PHB") != links.npos ? " with PHB" : " with SYS";
  }
  if (const auto* ns = std::get_if<cluster::Namespace>(&fact)) line = "namespace " + ns->key.name;
  if (const auto* high = std::get_if<cluster::PriorityClass>(&fact)) {
    line = "priority " + std::to_string(high->value);
  }
  if (const auto* budget = std::get_if<cluster::DisruptionBudget>(&fact)) {
    line = "budget " + budget->key.ToString();
  }
  if (const auto* job = std::get_if<cluster::BatchJob>(&fact)) line = "job " + job->key.ToString();
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    line = "pod " + pod->key.ToString();
    if (pod->spec->requests.channels > 0) line += " with a channel";
    if (pod->resource_version == 0) line += ", corrected";
  }
  if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) {
    line = std::string(group->declared ? "declared gang " : "podgroup ") + group->key.ToString() +
           " of " + std::to_string(group->min_member);
    if (!group->unreadable.empty()) line += " waits: " + group->unreadable;
  }
  if (const auto* request = std::get_if<cluster::ProvisioningRequest>(&fact)) {
    line = "request " + request->key.ToString() + " " + cluster::ToString(request->state);
  }
  if (std::holds_alternative<engine::ProvisioningRequestRemoved>(fact)) line = "request removed";
  if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&fact)) {
    line = gone->uid.text().starts_with(kDeclaredUidPrefix) ? "declared gang removed"
                                                            : "podgroup removed";
  }
  const auto kind_of = [](cluster::StorageKind kind) {
    return std::string(StorageKinds()[static_cast<size_t>(kind)].object);
  };
  if (const auto* storage = std::get_if<cluster::StorageRecord>(&fact)) {
    const cluster::ObjectKey key = KeyOf(*storage);
    line = kind_of(cluster::KindOf(*storage)) + " " + (key.ns.empty() ? key.name : key.ToString());
  }
  if (const auto* gone = std::get_if<engine::StorageRemoved>(&fact)) {
    const cluster::ObjectKey& key = gone->key;
    line = kind_of(gone->kind) + " " + (key.ns.empty() ? key.name : key.ToString()) + " removed";
  }
  if (const auto* told = std::get_if<engine::StorageReadable>(&fact))
    line = told->readable ? "storage readable" : "storage not readable";
  if (const auto* pod = std::get_if<engine::PodWithdrawn>(&fact))
    line = "withdrawn pod " + pod->uid.text();
  if (std::holds_alternative<engine::PodGroupUnserved>(fact)) line = "podgroup forgotten";
  if (const auto* silence = std::get_if<engine::WatchStale>(&fact)) {
    line = "silence [" + silence->resources + "]";
  }
  const MutexLock lock(mu_);
  told_.push_back(line);
}

}  // namespace muster::kube
