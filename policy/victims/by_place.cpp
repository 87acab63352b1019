#include "policy/victims/by_place.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "policy/victims/node_gain.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::Placement;
using cluster::PodUid;

namespace {

using Pool = AlikePool;

class Arranging {
 public:
  Arranging(Placer& placer, const PreemptionInput& input, const std::vector<Demand>& demands,
            const GangTerms& terms)
      : placer_(placer), input_(input), demands_(demands), terms_(terms), tx_(input.snapshot) {
    for (const Demand& demand : demands) {
      if (hardest_ == nullptr || demand.spec->gpus.total() > hardest_->spec->gpus.total())
        hardest_ = &demand;
    }
  }

  Arrangement Run() {
    const std::vector<Candidate>& all = input_.candidates;
    for (size_t i = 0; i < all.size();) {
      size_t end = i + 1;
      if (all[i].alike == nullptr) {
        Append(i, WithoutGiven(all[i]));
      } else {
        while (end < all.size() && all[end].alike != nullptr && all[end].tier == all[i].tier) ++end;
        AppendByPlace(i, end);
      }
      i = end;
    }
    return std::move(arranged_);
  }

 private:
  void Append(size_t position, Candidate candidate) {
    for (const Placement& held : candidate.held) tx_.Evict(held, candidate.queue);
    arranged_.candidates.push_back(std::move(candidate));
    arranged_.positions.push_back(position);
  }

  void Give(size_t position, const Placement& held) {
    Candidate candidate = input_.candidates[position];
    given_.insert(held.pod);
    pools_of_[candidate.owner].insert(candidate.alike.get());
    candidate.held = {held};
    Append(position, std::move(candidate));
  }

  // What is left of a gang: whoever of it goes in place of its surplus is surplus now.
  Candidate WithoutGiven(Candidate candidate) const {
    const auto pools = pools_of_.find(candidate.owner);
    if (pools == pools_of_.end()) return candidate;
    std::set<PodUid> rest;
    for (const Placement& held : candidate.held) rest.insert(held.pod);
    for (const Pool* pool : pools->second) {
      auto next = pool->begin();
      for (Placement& held : candidate.held) {
        const bool alike = std::any_of(pool->begin(), pool->end(),
                                       [&](const Placement& one) { return one.pod == held.pod; });
        if (!alike || !given_.contains(held.pod)) continue;
        while (next != pool->end() && (given_.contains(next->pod) || rest.contains(next->pod)))
          ++next;
        if (next != pool->end()) held = *next++;
      }
    }
    return candidate;
  }

  void AppendByPlace(size_t begin, size_t end) {
    std::map<const Pool*, std::vector<size_t>> open;  // positions without a pod, rising
    std::map<PodUid, size_t> own;
    for (size_t i = begin; i < end; ++i) {
      open[input_.candidates[i].alike.get()].push_back(i);
      own[input_.candidates[i].held.front().pod] = i;
    }
    std::map<NodeIndex, std::vector<Choice>> on_nodes;
    for (NodeGain& gain : GainsOf(open, own, on_nodes)) {
      std::map<const Pool*, size_t> wants;
      for (const Choice& choice : gain.leave) ++wants[choice.pool];
      const bool enough = std::all_of(wants.begin(), wants.end(), [&](const auto& want) {
        return want.second <= open.at(want.first).size();
      });
      if (!enough) gain = GainOn(gain.node, on_nodes.at(gain.node), open);
      for (const Choice& choice : gain.leave) {
        std::vector<size_t>& positions = open.at(choice.pool);
        Give(positions.front(), *choice.held);
        positions.erase(positions.begin());
      }
    }
    AppendRest(open);
  }

  // Each with its own pod if it still has that, else with another one.
  void AppendRest(const std::map<const Pool*, std::vector<size_t>>& open) {
    std::vector<size_t> left;
    for (const auto& [pool, positions] : open)
      left.insert(left.end(), positions.begin(), positions.end());
    std::sort(left.begin(), left.end());
    for (const size_t position : left) {
      const Candidate& candidate = input_.candidates[position];
      const Placement* held = &candidate.held.front();
      if (given_.contains(held->pod)) {
        held = &*std::find_if(candidate.alike->begin(), candidate.alike->end(),
                              [&](const Placement& one) { return !given_.contains(one.pod); });
      }
      Give(position, *held);
    }
  }

  std::vector<NodeGain> GainsOf(const std::map<const Pool*, std::vector<size_t>>& open,
                                const std::map<PodUid, size_t>& own,
                                std::map<NodeIndex, std::vector<Choice>>& on_nodes) {
    std::vector<std::pair<size_t, const Pool*>> pools;  // with the first candidate of each
    pools.reserve(open.size());
    for (const auto& [pool, positions] : open) pools.emplace_back(positions.front(), pool);
    std::sort(pools.begin(), pools.end());
    for (const auto& [position, pool] : pools) {
      for (const Placement& held : *pool) {
        if (given_.contains(held.pod)) continue;
        const auto is = own.find(held.pod);
        on_nodes[held.node].push_back({pool, &held, is == own.end() ? SIZE_MAX : is->second});
      }
    }
    std::vector<NodeGain> gains;
    for (auto& [node, choices] : on_nodes) {
      std::stable_sort(choices.begin(), choices.end(),
                       [](const Choice& a, const Choice& b) { return a.own < b.own; });
      NodeGain gain = GainOn(node, choices, open);
      if (gain.pods > 0) gains.push_back(std::move(gain));
    }
    std::sort(gains.begin(), gains.end());
    return gains;
  }

  static NodeGains::Counts CountsOf(const std::map<const Pool*, std::vector<size_t>>& open) {
    NodeGains::Counts counts;
    for (const auto& [pool, positions] : open) counts[pool] = positions.size();
    return counts;
  }

  NodeGain GainOn(NodeIndex node, const std::vector<Choice>& choices,
                  const std::map<const Pool*, std::vector<size_t>>& open) {
    NodeGains gains(placer_, tx_, *hardest_, static_cast<int64_t>(demands_.size()), terms_);
    NodeGain gain = gains.On(node, choices, CountsOf(open));
    gain.first = input_.first != nullptr && input_.first->Contains(node);
    return gain;
  }

  Placer& placer_;
  const PreemptionInput& input_;
  const std::vector<Demand>& demands_;
  const GangTerms& terms_;
  const Demand* hardest_ = nullptr;
  cluster::Transaction tx_;                             // without those that are arranged
  std::set<PodUid> given_;                              // pods of candidates that are surplus
  std::map<uint64_t, std::set<const Pool*>> pools_of_;  // by owner, of these
  Arrangement arranged_;
};

}  // namespace

Arrangement ArrangeByPlace(Placer& placer, const PreemptionInput& input,
                           const std::vector<Demand>& demands, const GangTerms& terms) {
  return Arranging(placer, input, demands, terms).Run();
}

}  // namespace muster::policy
