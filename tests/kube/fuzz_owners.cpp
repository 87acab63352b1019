// Any bytes, a line an object: the first is a pod, the others are what may own it. Judging the pod
// by the shipped rules must end, throw nothing, and always give the same result, also from what is
// kept of owners alone; and the gang's minimum can be met.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/check.hpp"
#include "config/policies/grouping_file.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/owners/grouping.hpp"
#include "kube/owners/owner_reader.hpp"

namespace muster::kube {
namespace {

// Read once, for reading them takes longer than a run.
const cluster::GroupingRules kRules = config::ShippedGroupingRules();

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

// What is kept of it; null: it is beyond a bound.
std::shared_ptr<const Json> KeptOf(const JsonNode& object, const OwnerKey& key) {
  JsonProblems ignored;
  std::string text;
  JsonView(object, "object", ignored).AppendTo(text);
  const OwnerAnswer answer = SiftOwner(text, OwnerFields(kRules, key), key.kind);
  MUSTER_CHECK(answer.kind == OwnerAnswer::Kind::kRead ||
               answer.kind == OwnerAnswer::Kind::kTooLarge);
  return answer.object.json;
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
  bool whole = true;
  const OwnerLookup kept = [&](const OwnerKey& key) {
    OwnerRead read = Find(objects, key);
    if (read.object == nullptr) return read;
    read.held = KeptOf(*read.object, key);
    whole = whole && read.held != nullptr;
    if (read.held != nullptr) read.object = &read.held->root();
    return read;
  };
  const Grouping again = JudgeGrouping(objects.front().root(), kRules, kept);
  MUSTER_CHECK(!whole || (again.kind == told.kind && again.reason == told.reason &&
                          again.key == told.key && again.minimum == told.minimum &&
                          again.roles == told.roles && again.not_honoured == told.not_honoured));
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::kube::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
