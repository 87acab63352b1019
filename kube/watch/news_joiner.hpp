// NewsJoiner: facts out of news, in the order in which the news come. What is only a part of facts
// about objects of another kind is joined to them (NodeParts, ChannelClaims, GroupingBook). One
// thread at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/decode/news.hpp"
#include "kube/owners/grouping_book.hpp"
#include "kube/watch/channel_claims.hpp"
#include "kube/watch/node_parts.hpp"
#include "kube/write/pod_writer.hpp"

namespace muster::kube {

class NewsJoiner {
 public:
  // What news make.
  struct Joined {
    std::vector<engine::Fact> facts;
    std::vector<std::string> warnings;
    bool read_nodes = false;  // as in NodeParts::Told

    void Add(NodeParts::Told told);
    void Add(Joined joined);
  };

  // `versions`: of pods, as writers know them.
  explicit NewsJoiner(const PodVersions& versions) : NewsJoiner(versions, {}) {}
  NewsJoiner(const PodVersions& versions, GroupingBook::Slice slice)
      : versions_(versions), grouping_({}, slice) {}
  Joined Join(const News& news, cluster::Time now);
  // What there is of optional kinds has been read, or cannot be for now.
  void Settle() { node_parts_.Settle(); }

  Joined Set(GroupingSettings settings) { return Told(grouping_.Set(std::move(settings))); }
  Joined Learn(const OwnerKey& owner, OwnerAnswer answer, cluster::Time now) {
    return Told(grouping_.Learn(owner, std::move(answer), now));
  }
  Joined Start() { return Told(grouping_.Start()); }
  // After each of these three: as GroupingBook's.
  bool behind() const { return grouping_.behind(); }
  Joined GoOn() { return Told(grouping_.GoOn()); }
  // As GroupingBook::Ask; what is to be told is added to `joined`.
  std::string Ask(cluster::Pod& pod, Joined& joined);
  // What the owners of the pod that the fact is of say of its gang; null: nothing.
  const Grouping* GangOf(const engine::Fact& fact) const;
  size_t withheld() const { return grouping_.withheld(); }
  OwnerTable& owners() { return grouping_.owners(); }

 private:
  Joined JoinFact(const engine::Fact& fact, cluster::Time now);
  Joined JoinClaims(const PodOfClaims& claiming, cluster::Time now);
  Joined Told(GroupingBook::Told told);
  void AddWithdrawn(std::vector<engine::Fact>& facts);
  // To the record of the same version that the engine may have. Nothing where a write of Muster's
  // has made it an older one, which the next event does as well.
  void AddCorrection(cluster::Pod pod, std::vector<engine::Fact>& facts) const;

  const PodVersions& versions_;
  ChannelClaims channel_claims_;
  GroupingBook grouping_;
  NodeParts node_parts_;
};

}  // namespace muster::kube
