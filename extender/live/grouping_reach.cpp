#include "extender/live/grouping_reach.hpp"

#include <set>

#include "cluster/records/grouping_paths.hpp"
#include "config/policies/grouping_text.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::extender {

using cluster::GroupingPath;
using cluster::GroupingRule;

std::vector<std::string> UnkeptPodPaths(const cluster::GroupingRules& rules) {
  std::vector<std::string> sentences;
  for (const GroupingRule& rule : rules) {
    std::set<GroupingPath> paths;
    cluster::EachPath(
        rule, [&](const GroupingPath& path, const GroupingPath& /*each*/) { paths.insert(path); });
    for (const GroupingPath& path : paths) {
      if (path.root != GroupingPath::Root::kPod || kube::IsInGroupingText(path)) continue;
      sentences.push_back("the grouping rule for " + rule.kind + " of " + rule.group + " reads " +
                          config::FormatGroupingPath(path) +
                          ", which Muster does not keep of pods: it is always absent; all labels "
                          "are kept");
    }
  }
  return sentences;
}

}  // namespace muster::extender
