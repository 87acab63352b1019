// The words of grouping rules: paths, amounts and conditions, from text and to text.
//
//   path        owner.spec.replicatedJobs[].dependsOn    pod.metadata.labels[ray.io/group]
//   amount      (item.replicas or 1) * min(item.parallelism or 1, item.completions)
//   condition   owner.spec.mode is Indexed    owner.spec.replicas is above 1
//
// docs/reference/grouping-rules.md has the whole language. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "cluster/records/grouping_rule.hpp"

namespace muster::config {

// Of one text, in bytes; and parentheses in each other.
inline constexpr std::size_t kMostGroupingText = 400;
inline constexpr int kMostParentheses = 16;
// The greatest number that a text may have.
inline constexpr int64_t kMostGroupingNumber = 1'000'000'000;

// Empty text is no path, no amount. Errors say what was expected, what was found, and at which
// character.
cluster::Result<cluster::GroupingPath> ParseGroupingPath(std::string_view text);
cluster::Result<cluster::GroupingAmount> ParseGroupingAmount(std::string_view text);
cluster::Result<cluster::GroupingCondition> ParseGroupingCondition(std::string_view text);

// Parsing what these return gives the same value back.
std::string FormatGroupingPath(const cluster::GroupingPath& path);
std::string FormatGroupingAmount(const cluster::GroupingAmount& amount);
std::string FormatGroupingCondition(const cluster::GroupingCondition& condition);

}  // namespace muster::config
