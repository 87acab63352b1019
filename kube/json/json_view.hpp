// JsonView: a value of a parsed Json, and where it stands. Readers ask it for what they expect;
// what is not as expected is noted in a JsonProblems, with its path, and reading goes on with a
// default.
//
//   JsonProblems problems;
//   const JsonView pod(json.root(), "Pod", problems);
//   const JsonView spec = pod.Get("spec");
//   const std::string node(spec.Get("nodeName").Text());
//
// A view points at the view it came from, so it lives in a scope inside that one's; asking a
// temporary for a child does not compile. JSON's null counts as absent, as it does for Go. Not
// shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {

// The first thing that was not as expected.
class JsonProblems {
 public:
  bool none() const { return !first_.has_value(); }
  const cluster::Error& first() const { return *first_; }
  void Add(cluster::Error error) {
    if (!first_) first_ = std::move(error);
  }

 private:
  std::optional<cluster::Error> first_;
};

class JsonView {
 public:
  JsonView(const JsonNode& root, std::string_view name, JsonProblems& problems);
  ~JsonView() = default;
  JsonView(const JsonView&) = delete;
  JsonView& operator=(const JsonView&) = delete;

  bool present() const { return value_ != nullptr; }
  // Absent, an empty text or an empty list.
  bool blank() const;
  bool text() const;    // a text, also an empty one
  bool list() const;    // a list, of whatever length
  bool object() const;  // likewise
  // For decoders that take a value; it must be present.
  const JsonNode& node() const { return *value_; }
  // The value written out again, without white space; absent: null.
  void AppendTo(std::string& out) const;

  // A member of an object; absent when there is none.
  JsonView Get(std::string_view key) const&;
  JsonView Get(std::string_view key) const&& = delete;
  // The same, with upper and lower case alike, as Go's encoding/json reads fields.
  JsonView GetAnyCase(std::string_view key) const&;
  JsonView GetAnyCase(std::string_view key) const&& = delete;

  std::string_view Text() const;          // absent: empty
  std::string_view RequiredText() const;  // absent or empty: a problem
  std::string ScalarText() const;         // the same of numbers and booleans, as they are written
  bool Flag(bool otherwise) const;
  int64_t Integer(int64_t otherwise, int64_t least, int64_t most) const;
  // A quantity may be written as text or as a number.
  std::string QuantityText() const;
  std::map<std::string, std::string> TextMap() const;

  // visit(const JsonView& item) for each element, visit(std::string_view key, const JsonView& item)
  // for each member. An absent value has none, any other kind of value is a problem.
  template <typename Visit>
  void Items(Visit visit) const {
    const size_t count = ItemCount();
    for (size_t i = 0; i < count; ++i) visit(Item(i));
  }
  template <typename Visit>
  void Members(Visit visit) const {
    const size_t count = MemberCount();
    for (size_t i = 0; i < count; ++i) {
      const JsonView member = Member(i);
      visit(member.name_, member);
    }
  }
  // True when it is an object; anything else, also nothing, is a problem.
  bool ExpectObject() const;

  void Problem(std::string message) const;
  // The error of another parser, seen from here.
  void Problem(const cluster::Error& error) const;
  std::string Place() const;

 private:
  JsonView(const JsonNode* value, const JsonView* outer, std::string_view name, size_t index,
           JsonProblems& problems);
  size_t ItemCount() const;
  size_t MemberCount() const;
  JsonView Item(size_t index) const;
  JsonView Member(size_t index) const;
  // False when absent, or when it is of another kind (then a problem).
  bool IsObject() const;
  bool IsList() const;
  void Unexpected(const char* what) const;

  const JsonNode* value_;  // null: absent
  const JsonView* outer_;  // null: the root
  std::string_view name_;  // of a member; an element has an index instead
  size_t index_;
  JsonProblems& problems_;
};

}  // namespace muster::kube
