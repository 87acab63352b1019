// ClusterFeed: everything that muster reads of a cluster, as facts: nodes, pods, namespaces,
// PriorityClasses, PodDisruptionBudgets, Jobs, the PodGroups of every flavour that the API server
// serves, and what it serves of OptionalKind. One Reflector and one thread for each resource; what
// a CRD that appears later brings is found within `rediscover` and read from then on.
//
// Once all are listed, WatchStale facts name the resources of which nothing was heard for
// `stale_after`, or that were not listed when a new leader asked for it. A kind of PodGroups that
// cannot be listed holds up its own gangs, and the start for `patience` at most. Jobs, storage and
// optional kinds are worth having: no WatchStale is reported of them; of storage StorageReadable
// is. Jobs are not waited for; of storage and of optional kinds that are found before the start the
// first list is, until it fails, for `patience` at most.
//
//   discover ──▶ podgroups.*,
//                podgangs     ─┐
//           nodes, pods, …    ─┼─▶ Reflectors ──▶ join ──▶ apply(fact)
//           optional kinds    ─┘          ▲                        …all listed once ──▶ synced()
//                       owners of pods ───┘ one GET each
//
// Owners of pods that name no PodGroup are read one by one, and what grouping rules say of them is
// told with the pods (GroupingBook). The start waits for those of pods that exist then, for
// `patience` at most.
//
// Start and Stop by one thread; the rest from any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cluster/base/fair_mutex.hpp"
#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/dialects/pod_group_choice.hpp"
#include "kube/owners/declared_gangs.hpp"
#include "kube/watch/discovery.hpp"
#include "kube/watch/news_joiner.hpp"
#include "kube/watch/reflector.hpp"
#include "kube/write/pod_writer.hpp"

namespace muster::kube {

struct ClusterFeedOptions {
  ReflectorOptions reflector;
  std::chrono::milliseconds rediscover{30'000};
  // Between tries of the first discovery.
  std::chrono::milliseconds discover_again{1'000};
  // A resource of which the API server told nothing for so long may have changed: WatchStale.
  std::chrono::milliseconds stale_after{120'000};
  std::chrono::milliseconds look_every{5'000};  // whether one is
  // For kinds of PodGroups at the start, once everything else was listed; and for a new list of
  // anything but nodes and pods.
  std::chrono::milliseconds patience{60'000};
  std::chrono::milliseconds refresh_within{300'000};  // a new list of nodes and pods
};

// How one resource is read, for metrics.
struct FeedHealth {
  std::string resource;
  bool synced = false;
  int64_t lists = 0;
  std::chrono::milliseconds age{0};  // since the API server said anything on it
  bool needed = true;                // nothing starts without it
};

class ClusterFeed {
 public:
  struct Ports {
    ApiCaller& api;
    PodVersions& versions;
    // One call at a time. Facts that come together belong together: a gang and its pods, if it is
    // not too large to be told at once.
    std::function<void(std::span<const engine::Fact>)> apply;
    // Said when every resource found at first was listed once, and never again.
    std::function<void()> synced;
    std::function<void(const std::string&)> warn;
  };

  ClusterFeed(Ports ports, ClusterFeedOptions options, uint64_t seed);
  ~ClusterFeed();  // Stop()
  ClusterFeed(const ClusterFeed&) = delete;
  ClusterFeed& operator=(const ClusterFeed&) = delete;

  void Start();
  // No more is read. Returns at once; calls that are under way go on, and may tell what they bring.
  void Quit();
  void Stop();  // Quit, and waits for those calls
  // Lists everything again and returns when the engine has received that. What the watches brought
  // may be a minute and a half old. False: `go_on` says no, or nodes or pods, which say what is
  // free, cannot be listed. Anything else that cannot be listed stays as it was last read, and is
  // reported as WatchStale before this returns and until it is listed. A kind of PodGroups is not
  // reported: a gang is planned by what was last read of its PodGroup, and waits if none was read
  // yet.
  bool Refresh(const std::function<bool()>& go_on);
  std::vector<FeedHealth> Health() const;  // ordered by resource
  // Which pods are in gangs by their owners. Before Start, and whenever it changes.
  void SetGrouping(GroupingSettings settings);
  // As GroupingBook::Ask: `pod` as kube-scheduler has it becomes what is known of its gang. Not
  // empty: why that is not known yet.
  std::string AskGrouping(cluster::Pod& pod);
  // As what a PodGroup is served, as was found last; nothing when there is no such object.
  std::optional<ServedPodGroups> FindServed(const cluster::PodGroupUid& uid) const;

 private:
  struct Reader {
    std::shared_ptr<Reflector> reflector;
    std::thread thread;
    std::optional<PodGroupFlavour> flavour;  // of PodGroups
    bool needed = true;
    bool awaited = false;  // it is not needed, and the start waits for its first list
    uint64_t late = 0;     // the refresh that Refresh did not wait for any longer
  };

  void Discover();
  bool Sleep(std::chrono::milliseconds time);
  // `before`: the reader whose place it takes, or null.
  void Read(Resource resource, std::function<void(const News&)> apply, Reflector* before,
            std::function<void(const std::string&)> warn) MUSTER_REQUIRES(mu_);
  // As Read, for a resource that Muster can do without.
  void ReadIfAllowed(Resource resource, Reflector* before) MUSTER_REQUIRES(mu_);
  void NotAwaited(const std::string& path);
  void ReadPodGroups(const ServedPodGroups& served);
  void ReadOptional(const ServedKind& served);
  // What there is of optional kinds has been read, or cannot be for now.
  void SettleParts();
  // Nodes that were told before are told again: nothing was kept of them.
  void ReadNodesAgain();
  // The reader of another version of the same resource, told to stop; null: there is none.
  std::optional<Reader> GiveUpOther(const Resource& resource);
  void ApplyPodGroup(PodGroupFlavour flavour, const engine::Fact& fact);
  void Apply(const News& news);
  // Reads what is due of owners; when the next one is.
  cluster::Time ReadOwners();
  void PokeOwners();
  // What of it is for the log comes after the lock.
  struct Said {
    std::vector<std::string> warnings;
    bool withheld = false;  // a PodGroup
    bool read_nodes = false;
    bool read_owners = false;
    bool told = false;  // something is in the outbox
  };
  // Judges what is left of the pods of what was learnt, slice by slice: a Filter call or a watch
  // comes in between.
  void JudgeRest();
  // Puts what they become into the outbox; Say delivers it.
  Said TellAll(NewsJoiner::Joined joined) MUSTER_REQUIRES(facts_mu_);
  // Tells what is in the outbox by now, in order. Meanwhile facts_mu_ is free: the engine may be
  // busy.
  void Deliver();
  // Something is on its way there of a pod of this namespace.
  bool OnItsWay(const std::string& ns) const MUSTER_REQUIRES(facts_mu_);
  void Say(const Said& said);
  // Adds what the fact becomes. True: it is a PodGroup that is withheld.
  bool Choose(const engine::Fact& fact, std::vector<engine::Fact>& told) MUSTER_REQUIRES(facts_mu_);
  using Awaited = std::map<std::string, uint64_t>;  // refreshes, by path
  // What is left in `awaited` was not waited for any longer; false: it should have come.
  bool Await(Awaited& awaited, const std::function<bool()>& go_on) MUSTER_REQUIRES(mu_);
  cluster::Time LookAtAges(const Clocks& now);
  void TellSilence();
  bool StorageIsReadable() const;
  void TellStorageReadable();
  std::string Silent() const;  // of which resources too little is known, for people
  // `patient`: PodGroups are waited for, too.
  void OneSynced(bool patient = true);

  const Ports ports_;
  const ClusterFeedOptions options_;
  uint64_t seed_;
  std::thread discovery_;

  cluster::FairMutex telling_mu_;  // of one that delivers; before facts_mu_
  // Facts of several resources are told one after the other. After mu_.
  mutable cluster::FairMutex facts_mu_;
  std::deque<std::vector<engine::Fact>> outbox_ MUSTER_GUARDED_BY(facts_mu_);
  NewsJoiner joiner_ MUSTER_GUARDED_BY(facts_mu_);
  PodGroupChoice choice_ MUSTER_GUARDED_BY(facts_mu_);
  DeclaredGangs declared_ MUSTER_GUARDED_BY(facts_mu_);
  // The earliest time for which a thread of owner_threads_ sleeps, or was woken.
  cluster::Time owners_due_ MUSTER_GUARDED_BY(facts_mu_) = cluster::Time::Never();
  std::unordered_map<cluster::PodGroupUid, PodGroupFlavour> flavour_of_
      MUSTER_GUARDED_BY(facts_mu_);
  // As found last: a CRD may be installed again in another version, or with a status subresource.
  std::map<PodGroupFlavour, ServedPodGroups> served_ MUSTER_GUARDED_BY(facts_mu_);

  mutable cluster::Mutex mu_;
  std::unique_ptr<StepThread> ages_;
  std::vector<std::unique_ptr<StepThread>> owner_threads_;        // constant from Start on
  cluster::Mutex silence_mu_;                                     // before mu_ and facts_mu_
  std::string silent_ MUSTER_GUARDED_BY(silence_mu_);             // as told
  bool storage_readable_ MUSTER_GUARDED_BY(silence_mu_) = false;  // likewise
  cluster::Time basics_since_ = cluster::Time::Never();           // listed; of the thread of ages_
  cluster::CondVar stopped_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  bool discovered_ MUSTER_GUARDED_BY(mu_) = false;
  bool said_synced_ MUSTER_GUARDED_BY(mu_) = false;
  std::map<std::string, Reader> readers_ MUSTER_GUARDED_BY(mu_);  // by path
};

}  // namespace muster::kube
