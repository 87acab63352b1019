// Any bytes, a line an object: the first is a pod, the others are what may own it. The pod is
// judged by the rules that ship, without end or exception, always the same, and what it is told can
// be met.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/check.hpp"
#include "config/grouping_file.hpp"
#include "kube/grouping.hpp"
#include "kube/json.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {
namespace {

std::vector<Json> Lines(std::string_view text) {
  std::vector<Json> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    auto json = Json::Parse(text.substr(0, end), size_t{1} << 20U, "line");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (json.ok()) lines.push_back(*std::move(json));
  }
  return lines;
}

OwnerRead Find(const std::vector<Json>& objects, const OwnerKey& key) {
  for (const Json& object : objects) {
    JsonProblems ignored;
    const JsonView view(object.root(), "object", ignored);
    const JsonView metadata = view.Get("metadata");
    if (view.Get("kind").Text() == key.kind && metadata.Get("name").Text() == key.name) {
      return {OwnerRead::State::kKnown, &object.root()};
    }
  }
  if (key.name.empty()) return {OwnerRead::State::kUnread, nullptr};
  if (key.name.size() % 2 == 0) return {OwnerRead::State::kForbidden, nullptr};
  return {OwnerRead::State::kGone, nullptr};
}

void Check(const Grouping& told) {
  MUSTER_CHECK((told.kind == Grouping::Kind::kUnread) == told.next.has_value());
  MUSTER_CHECK((told.kind == Grouping::Kind::kGang) == told.reason.empty());
  if (told.kind != Grouping::Kind::kGang) return;
  MUSTER_CHECK(told.minimum >= 1);
  int64_t sum = 0;
  for (const cluster::RoleMinimum& role : told.roles) {
    MUSTER_CHECK(role.min_member > 0);
    sum += role.min_member;
  }
  MUSTER_CHECK(sum <= told.minimum);
  MUSTER_CHECK(told.key.name.find('~') != std::string::npos);
}

// Read once, for reading them takes longer than a run.
const cluster::GroupingRules kRules = config::ShippedGroupingRules();

void Try(std::string_view text) {
  const std::vector<Json> objects = Lines(text);
  if (objects.empty()) return;
  size_t reads = 0;
  const OwnerLookup lookup = [&](const OwnerKey& key) {
    ++reads;
    return Find(objects, key);
  };
  const Grouping told = JudgeGrouping(objects.front().root(), kRules, lookup);
  MUSTER_CHECK(reads <= kMostOwners);
  Check(told);
  const Grouping again = JudgeGrouping(objects.front().root(), kRules, lookup);
  MUSTER_CHECK(again.kind == told.kind && again.reason == told.reason && again.key == told.key);
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::kube::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
