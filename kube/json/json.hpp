// Json: one parsed JSON text, read under limits that hold for everything that reaches Muster.
//
// Refused, each with its place: text longer than the caller allows, nesting deeper than
// kMaxJsonDepth, malformed UTF-8, an object with the same key twice, numbers beyond 64 bits
// (integers) or beyond a double, anything after the value. Parsing does not recurse, so no input
// exhausts the stack. Owned by the decoder that parses; immutable, so threads may share it. The
// tree is reached through JsonView (json_view.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::kube {

inline constexpr int kMaxJsonDepth = 64;

// One value of the tree. What it is made of is known to json.cpp and json_view.cpp only.
struct JsonNode;

class Json {
 public:
  // All of `text` is one value and white space. `name` begins the paths in errors.
  static cluster::Result<Json> Parse(std::string_view text, size_t max_bytes,
                                     std::string_view name);
  // One value of `text` from byte `at` on. What follows it is not looked at; end() says where.
  static cluster::Result<Json> ParseAt(std::string_view text, size_t at, std::string_view name);

  ~Json();
  Json(Json&&) noexcept;
  Json& operator=(Json&&) noexcept;
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  const JsonNode& root() const;
  size_t end() const { return end_; }

 private:
  struct Tree;
  explicit Json(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree_;
  size_t end_ = 0;  // first byte after the value
};

// A key as one step of a path: itself, or in brackets and quotes when it is no plain word.
std::string PathStep(std::string_view key);

}  // namespace muster::kube
