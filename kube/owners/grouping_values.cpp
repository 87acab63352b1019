#include "kube/owners/grouping_values.hpp"

#include <algorithm>
#include <charconv>

namespace muster::kube {

using cluster::GroupingAmount;
using cluster::GroupingCondition;
using cluster::GroupingConditions;
using cluster::GroupingPath;

namespace {

// What an object may say.
constexpr int64_t kMostNumber = 1'000'000'000;
// What is calculated stays within this; the product of two still fits into 64 bits.
constexpr int64_t kMostResult = 3'000'000'000;

int64_t Bounded(int64_t number) { return std::clamp(number, -kMostResult, kMostResult); }

// `path` from `step` on, seen from `at`.
void Walk(const JsonView& at, const GroupingPath& path, size_t step,
          const std::function<void(const JsonView&)>& visit) {
  if (step == path.steps.size()) return visit(at);
  if (path.steps[step] != cluster::kEach) {
    const JsonView next = at.Get(path.steps[step]);
    return Walk(next, path, step + 1, visit);
  }
  const auto inside = [&](const JsonView& element) { Walk(element, path, step + 1, visit); };
  if (at.list()) {
    at.Items(inside);
  } else {
    at.Members([&](std::string_view, const JsonView& member) { inside(member); });
  }
}

std::optional<int64_t> Whole(std::string_view text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number >= 0 && number <= kMostNumber ? std::optional(number) : std::nullopt;
}

}  // namespace

void GroupingValues::At(const GroupingPath& path, const Visit& visit) const {
  const OwnerLink* object = nullptr;
  switch (path.root) {
    case GroupingPath::Root::kNone:
    case GroupingPath::Root::kKey:
      return;
    case GroupingPath::Root::kItem:
      if (item_ != nullptr) Walk(*item_, path, 0, visit);
      return;
    case GroupingPath::Root::kOwner:
      object = objects_.owner;
      break;
    case GroupingPath::Root::kPod:
      object = objects_.pod;
      break;
    case GroupingPath::Root::kLeader:
      object = objects_.leader;
      break;
  }
  const std::string name = object->key.Shown();
  const JsonView root(*object->object, name, problems_);
  Walk(root, path, 0, visit);
}

std::string GroupingValues::Text(const GroupingPath& path) const {
  if (path.root == GroupingPath::Root::kKey) return std::string(key_);
  std::string text;
  At(path, [&](const JsonView& value) { text = value.ScalarText(); });
  return text;
}

void GroupingValues::AppendShown(const GroupingPath& path, std::string& text) const {
  At(path, [&](const JsonView& value) {
    if (value.present()) value.AppendTo(text);
    text += ',';
  });
  text += ';';
}

void GroupingValues::ForEach(const GroupingPath& path,
                             const std::function<void(const GroupingValues&)>& visit) const {
  const auto inside = [&](std::string_view key, const JsonView& item) {
    GroupingValues values(objects_, problems_);
    values.item_ = &item;
    values.key_ = key;
    visit(values);
  };
  At(path, [&](const JsonView& elements) {
    if (elements.list()) {
      elements.Items([&](const JsonView& item) { inside({}, item); });
    } else {
      elements.Members(inside);
    }
  });
}

std::optional<int64_t> GroupingValues::Number(const GroupingPath& path) const {
  std::optional<int64_t> number;
  At(path, [&](const JsonView& value) {
    const std::string text = value.blank() ? std::string() : value.QuantityText();
    if (text.empty()) return;
    number = Whole(text);
    if (!number) {
      value.Problem("expected a whole number from 0 to " + std::to_string(kMostNumber) +
                    ", found " + text.substr(0, 40));
    }
  });
  return number;
}

std::optional<int64_t> GroupingValues::Amount(const GroupingAmount& amount) const {
  using Kind = GroupingAmount::Kind;
  switch (amount.kind) {
    case Kind::kNone:
      return std::nullopt;
    case Kind::kNumber:
      return amount.number;
    case Kind::kPath:
      return Number(amount.path);
    default:
      break;
  }
  std::optional<int64_t> result;
  for (size_t i = 0; i < amount.parts.size(); ++i) {
    const std::optional<int64_t> part = Amount(amount.parts[i]);
    if (amount.kind == Kind::kFirst) {
      if (part) return part;
    } else if (amount.kind == Kind::kLeast || amount.kind == Kind::kMost) {
      if (!part) continue;
      if (!result) result = part;
      result = amount.kind == Kind::kLeast ? std::min(*result, *part) : std::max(*result, *part);
    } else if (!part) {
      return std::nullopt;
    } else if (i == 0) {
      result = part;
    } else if (amount.kind == Kind::kTimes) {
      result = Bounded(*result * *part);
    } else {
      result = Bounded(amount.kind == Kind::kMinus ? *result - *part : *result + *part);
    }
  }
  return result;
}

bool GroupingValues::Holds(const GroupingConditions& conditions) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const GroupingCondition& one) { return Holds(one); });
}

bool GroupingValues::AnyPresent(const GroupingPath& path) const {
  if (path.root == GroupingPath::Root::kKey) return !key_.empty();
  bool present = false;
  At(path, [&](const JsonView& value) { present = present || !value.blank(); });
  return present;
}

bool GroupingValues::IsOneOf(const GroupingCondition& condition) const {
  const auto matches = [&](const std::string& text) {
    return std::find(condition.words.begin(), condition.words.end(), text) != condition.words.end();
  };
  const GroupingPath& path = condition.path;
  if (path.root == GroupingPath::Root::kKey) return matches(std::string(key_));
  // What reads one object of a list may leave out its kind.
  if (path.root == GroupingPath::Root::kOwner && path.steps == std::vector<std::string>{"kind"}) {
    return matches(objects_.owner->key.kind);
  }
  bool found = false;
  At(path, [&](const JsonView& value) {
    found = found || (!value.blank() && matches(value.ScalarText()));
  });
  return found;
}

bool GroupingValues::Holds(const GroupingCondition& condition) const {
  using Kind = GroupingCondition::Kind;
  switch (condition.kind) {
    case Kind::kPresent:
      return AnyPresent(condition.path);
    case Kind::kAbsent:
      return !AnyPresent(condition.path);
    case Kind::kIs:
      return IsOneOf(condition);
    case Kind::kIsNot:
      return !IsOneOf(condition);
    case Kind::kEquals:
    case Kind::kAbove:
      break;
  }
  const std::optional<int64_t> left = Amount(condition.left);
  const std::optional<int64_t> right = Amount(condition.right);
  if (!left || !right) return false;
  return condition.kind == Kind::kEquals ? *left == *right : *left > *right;
}

}  // namespace muster::kube
