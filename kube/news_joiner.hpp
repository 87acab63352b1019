// NewsJoiner: facts out of news, in the order in which the news come. What is only a part of facts
// about objects of another kind is joined to them (NodeParts, ChannelClaims). One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "kube/channel_claims.hpp"
#include "kube/news.hpp"
#include "kube/node_parts.hpp"
#include "kube/pod_writer.hpp"

namespace muster::kube {

class NewsJoiner {
 public:
  // What news make.
  struct Joined {
    std::vector<engine::Fact> facts;
    std::vector<std::string> warnings;
    bool read_nodes = false;  // as in NodeParts::Told

    void Add(NodeParts::Told told);
  };

  // `versions`: of pods, as writers know them.
  explicit NewsJoiner(const PodVersions& versions) : versions_(versions) {}
  Joined Join(const News& news);
  // What there is of optional kinds has been read, or cannot be for now.
  void Settle() { node_parts_.Settle(); }

 private:
  Joined JoinFact(const engine::Fact& fact);
  // To the record of the same version that the engine may have. Nothing where a write of Muster's
  // has made it an older one, which the next event does as well.
  void AddCorrection(cluster::Pod pod, std::vector<engine::Fact>& facts) const;

  const PodVersions& versions_;
  ChannelClaims channel_claims_;
  NodeParts node_parts_;
};

}  // namespace muster::kube
