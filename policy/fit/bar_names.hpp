// BarNames: which taints and labels keep pods of some constraints off which nodes, by name
// (internal to policy/). Owned by Eligibility; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/records/node.hpp"
#include "cluster/records/selector.hpp"

namespace muster::policy {

// A taint that the control plane puts on a node while it is cordoned or not ready: the same fact
// told twice.
bool IsPassing(const cluster::Taint& taint);

// What of the node's taints is not tolerated, "a and b=c"; passing ones only where there are no
// others. Empty: all are.
std::string UntoleratedText(const cluster::NodeConstraints& constraints, const cluster::Node& node);

// What of selector and affinity does not match, "without label a=b and with label c"; empty: all
// does.
std::string MismatchText(const cluster::NodeConstraints& constraints, const cluster::Node& node);

class BarNames {
 public:
  // So many names at most; Full after it.
  static constexpr size_t kMostNames = 4096;

  // What the record of that node says now.
  void Learn(size_t node, const cluster::NodeConstraints& constraints, const cluster::Node* record);
  bool full() const { return names_.size() >= kMostNames; }
  // Numbers of names, 0 where nothing bars the node.
  uint32_t TaintOf(size_t node) const { return of_[node].taint; }
  uint32_t MismatchOf(size_t node) const { return of_[node].mismatch; }
  const std::string& Name(uint32_t number) const { return names_[number]; }
  size_t names() const { return names_.size(); }

 private:
  struct Bars {
    uint32_t taint = 0;
    uint32_t mismatch = 0;
  };
  uint32_t NumberOf(std::string name);

  std::vector<Bars> of_;                              // by node index
  std::vector<std::string> names_ = {std::string()};  // by number
  std::map<std::string, uint32_t> numbers_;
};

}  // namespace muster::policy
