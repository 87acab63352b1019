// FeedWorld: a ClusterFeed on a simulated API server with two pods and one of everything else,
// whose watches stay open. What the feed tells is kept as lines. Any thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "kube/watch/cluster_feed.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {

// A list of `kind` at version 10.
std::string ListOf(const std::string& kind, const std::string& items);
// What GET /apis says: one group in one version, or none.
std::string Groups(const std::string& group, const std::string& version);

class FeedWorld {
 public:
  using Texts = std::vector<std::string>;

  explicit FeedWorld(std::chrono::milliseconds stale_after = std::chrono::hours(1),
                     std::chrono::milliseconds patience = std::chrono::minutes(1),
                     std::chrono::milliseconds unserved_after = std::chrono::minutes(1));
  ~FeedWorld() { feed->Stop(); }
  FeedWorld(const FeedWorld&) = delete;
  FeedWorld& operator=(const FeedWorld&) = delete;

  static std::string Pod(const std::string& name, const std::string& min_member);

  // From now on Kubernetes' own PodGroups are served in this version alone, and are these.
  void ServeNative(const std::string& version, const std::string& items);
  // From now on PodGroups of scheduler-plugins are served.
  void ServePodGroups(bool has_status = false);
  // From now on this resource alone is served beside what always is: "group/version", "things".
  // `selector`: what its list is asked for, as it ends the query: "&fieldSelector=…".
  void Serve(const std::string& api_version, const std::string& resource, const std::string& items,
             const std::string& selector = "");
  // Brings a bookmark on every watch that is open.
  void Bookmark();
  // Brings an event on the watch of `path`, now or when there is one.
  void Send(const std::string& path, const std::string& type, const std::string& object);

  Texts told() const;
  bool Told(const std::string& line) const;
  // The last one of those lines that begin so.
  std::string LastTold(const std::string& begin) const;
  Texts warned() const;
  int synced() const;
  size_t most_together() const;  // facts that came in one call

  FakeApi api;
  ClusterFeedOptions options = {.reflector = {.backoff_first = std::chrono::milliseconds(1),
                                              .backoff_max = std::chrono::milliseconds(2)},
                                .rediscover = std::chrono::milliseconds(2),
                                .discover_again = std::chrono::milliseconds(1),
                                .look_every = std::chrono::milliseconds(1)};
  PodVersions versions;
  // What takes the facts may take its time; before Start.
  std::function<void(std::span<const engine::Fact>)> on_apply;
  std::unique_ptr<ClusterFeed> feed;

 private:
  class Stream;

  void Note(const engine::Fact& fact);

  mutable cluster::Mutex mu_;
  cluster::CondVar changed_;
  int bookmarks_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::deque<std::string>> events_ MUSTER_GUARDED_BY(mu_);  // by path
  int synced_ MUSTER_GUARDED_BY(mu_) = 0;
  size_t most_together_ MUSTER_GUARDED_BY(mu_) = 0;
  Texts told_ MUSTER_GUARDED_BY(mu_);
  Texts warned_ MUSTER_GUARDED_BY(mu_);
};

// Threads of the feed do it; how long they take is nobody's business.
template <typename Condition>
bool Eventually(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace muster::kube
