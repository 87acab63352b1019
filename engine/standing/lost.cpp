#include "engine/standing/lost.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::engine {

std::vector<policy::Candidate> ToCandidates(const std::vector<const Lost*>& losses) {
  std::vector<policy::Candidate> candidates;
  candidates.reserve(losses.size());
  std::map<cluster::GangId, uint64_t> owners;
  uint64_t next_owner = 0;
  for (const Lost* lost : losses) {
    policy::Candidate candidate;
    candidate.tier = TierOf(lost->loss);
    candidate.violates = lost->loss.violates;
    candidate.gpu_time = lost->loss.gpu_time;
    candidate.queue = lost->loss.holder.queue;
    // Those that leave anyway bind nobody else.
    candidate.owner = lost->loss.leaves
                          ? next_owner++
                          : owners.try_emplace(lost->loss.holder.gang, next_owner++).first->second;
    candidate.held.reserve(lost->pods.size());
    for (const LostPod& pod : lost->pods) candidate.held.push_back(*pod.held);
    candidate.alike = lost->alike;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace muster::engine
