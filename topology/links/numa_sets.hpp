// NumaSets: the best sets of a machine's GPUs among those that the kubelet's topology manager
// admits (kubelet_pick.hpp says which those are). Constant after construction, any thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "topology/links/gpu_chooser.hpp"
#include "topology/links/kubelet_pick.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

class NumaSets {
 public:
  // Turns nothing away where the policy is none or best-effort, and where the NUMA node of some GPU
  // is not known.
  NumaSets(const Machine& machine, NumaPolicy policy);
  bool turns_away() const { return !groups_.empty(); }
  // The GPUs of each NUMA node between which it tells, the largest first; empty: of none.
  const std::vector<GpuMask>& groups() const { return groups_; }
  NumaPolicy policy() const { return policy_; }

  // Larger is better: what counts between a set's ring and the rest (GpuChooser::ChooseBy).
  using Merit = std::function<uint32_t(GpuMask)>;

  // Of the admitted sets of `count` free GPUs the one that `chooser`, which is of this machine,
  // ranks best, by `merit` too where there is one; empty: there is none. What a set leaves is
  // judged by the sets that are admitted there.
  GpuMask Choose(const GpuChooser& chooser, GpuMask free, size_t count,
                 const Merit& merit = nullptr) const;
  // How many such sets can be taken one after the other, at most `limit`.
  int64_t Times(const GpuChooser& chooser, GpuMask free, size_t count, int64_t limit) const;

 private:
  struct Question;
  struct Worth {
    MegabytesPerSecond ring = 0;
    uint64_t total = 0;
    auto operator<=>(const Worth&) const = default;
  };
  using Rest = std::array<Worth, 3>;  // of 8, of 4, of 2

  // How many NUMA nodes a set of `count` may be on; 0: no set is admitted.
  size_t MostGroups(size_t count) const;
  // The best admitted sets of what is left; nothing on machines that are not exact.
  Rest RestOf(const GpuChooser& chooser, GpuMask left) const;
  Worth BestOf(const GpuChooser& chooser, GpuMask left, size_t count) const;
  // The better one of `best` and the best set on `groups` more nodes, the first of which is `next`
  // or later, and on `within`.
  void Try(const Question& question, size_t groups, size_t next, GpuMask within,
           GpuMask& best) const;

  NumaPolicy policy_;
  std::vector<GpuMask> groups_;  // of each NUMA node, the largest first
};

}  // namespace muster::topology
