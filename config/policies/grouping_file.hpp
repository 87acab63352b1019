// Files of config/grouping: grouping rules as YAML (docs/reference/grouping-rules.md). Reading text
// is pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/grouping_rule.hpp"

namespace muster::config {

struct GroupingReading {
  cluster::GroupingRules rules;        // count only when nothing is wrong
  std::vector<cluster::Error> faults;  // in the order of the file
  bool ok() const { return faults.empty(); }
};

inline constexpr std::size_t kMaxGroupingBytes = std::size_t{256} << 10U;

GroupingReading ReadGroupingRules(std::string_view text, const std::string& file_name);
// ReadGroupingRules of the text gives the rules back.
std::string WriteGroupingRules(const cluster::GroupingRules& rules);

// config/grouping/*.yaml as they were at build time. Reads them, which takes some milliseconds.
cluster::GroupingRules ShippedGroupingRules();

// `shipped`, with a rule of `own` in place of every one for the same kind and version, and the rest
// of `own` after them. A shipped rule for more versions than the one in its place stays for those.
cluster::GroupingRules WithOwnRules(cluster::GroupingRules shipped,
                                    const cluster::GroupingRules& own);

// The rule for Kubernetes' Jobs.
bool IsForJobs(const cluster::GroupingRule& rule);

inline constexpr const char* kEveryNamespace = "*";
// With what that rule says of Indexed Jobs said of all Jobs of these namespaces, or of
// kEveryNamespace.
cluster::GroupingRules WithNonIndexedJobs(cluster::GroupingRules rules,
                                          const std::vector<std::string>& namespaces);

}  // namespace muster::config
