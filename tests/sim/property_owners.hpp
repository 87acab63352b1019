// What Muster reads of the pods of a World whose gangs their owners say (Jobs without a PodGroup):
// through kube/'s grouping, as ClusterFeed does. The API server may refuse its reads of owners, or
// fail them (ApiServer::SetOwnerReads).
//
// OwnerReader is of one process of Muster, which forgets it; one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/owners/declared_gangs.hpp"
#include "kube/watch/news_joiner.hpp"
#include "sim/world/cluster.hpp"

namespace muster::sim::testing {

// Reads of owners are refused, or fail, in one or the other.
inline constexpr const char* kNamespaces[] = {"default", "team"};

// A Job that says how many of its pods start together, if at all. `kind` says how.
std::string JobText(const JobRecord& job, uint32_t kind);
// Its owner says which gang it is in.
inline bool IsOwned(const PodRecord& pod) {
  return !pod.job_uid.empty() && pod.pod.pod_group.empty();
}

class OwnerReader : public std::enable_shared_from_this<OwnerReader> {
 public:
  using Facts = std::vector<engine::Fact>;

  // `cluster`: may be made later. `late`: answers take their time once it is started.
  OwnerReader(const std::unique_ptr<Cluster>& cluster, bool late);

  Facts Read(const WatchEvent& event);
  // All that exists was read. From here on facts that no event brings are told as they come.
  void Start();
  // As ClusterFeed::AskGrouping.
  std::string Ask(cluster::Pod& pod);
  // The present ones of those that were told of owned pods.
  Facts Known() const;
  // In this process an owner of that UID was read, or is gone.
  bool Knows(const std::string& owner) const { return read_.contains(owner); }
  size_t withheld() const { return joiner_.withheld(); }

 private:
  // Owners are due from that time on, and nothing is older.
  static constexpr cluster::Duration kBegin{10};

  cluster::Time Now() const { return cluster_->loop().now() + kBegin; }
  kube::OwnerAnswer AnswerTo(const kube::OwnerRequest& request) const;
  void Learn(const kube::OwnerKey& key, kube::OwnerAnswer answer, Facts& facts);
  void GoOnLater();
  // Reads what is due.
  void Serve(Facts& facts);
  void Tell(kube::NewsJoiner::Joined joined, Facts& facts);
  void Keep(const engine::Fact& fact);
  void Pass(const Facts& facts);

  const std::unique_ptr<Cluster>& cluster_;
  const bool late_;
  bool started_ = false;
  kube::PodVersions versions_;
  // Small slices: what is between two of them is what may go wrong.
  kube::NewsJoiner joiner_{versions_, {.least = 1, .most = 3}};
  kube::DeclaredGangs declared_;
  std::map<cluster::PodUid, int64_t> seen_;  // versions, also of pods that are gone
  std::map<cluster::PodUid, cluster::Pod> pods_;
  std::map<cluster::PodGroupUid, cluster::PodGroup> groups_;
  std::set<std::string> read_;
  cluster::Time wake_ = cluster::Time::Never();
};

// DirectExtender with what owners say, as the extender's handlers ask for it.
std::unique_ptr<ExtenderPort> GroupingExtender(EventLoop& loop, MusterLink& link,
                                               std::function<std::string(cluster::Pod&)> ask);

}  // namespace muster::sim::testing
