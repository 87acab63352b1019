// WireScanner: walks the outermost levels of a message by hand, so that thousands of node names are
// read without a tree; everything below is handed to kube::Json. For the codec only.
//
//   WireScanner scan(body);
//   Status read = scan.Members([&](const std::string& key) -> Status { … scan.Text() … });
//   if (read.ok()) read = scan.End();
//
// One thread; views stay valid as long as the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/json/json.hpp"

namespace muster::extender {

class WireScanner {
 public:
  explicit WireScanner(std::string_view text) : text_(text) {}

  // An object: `visit(key)` must read the value. Keys come in lower case; one that comes twice is
  // an Error.
  template <typename Visit>
  cluster::Status Members(Visit visit) {
    std::set<std::string> seen;
    if (!Take('{')) return Expected("an object");
    if (Take('}')) return cluster::Ok{};
    do {
      const cluster::Result<std::string> key = NextKey(seen);
      if (!key.ok()) return key.error();
      cluster::Status visited = visit(*key);
      if (!visited.ok()) return visited;
    } while (Take(','));
    if (!Take('}')) return Expected("a comma or the end of the object");
    return cluster::Ok{};
  }

  // The members of a map from names to texts, without a look at duplicates: `visit(key)` must read
  // the value.
  template <typename Visit>
  cluster::Status Entries(Visit visit) {
    if (!Take('{')) return Expected("an object");
    if (Take('}')) return cluster::Ok{};
    do {
      if (!PlainText()) {
        const cluster::Result<std::string> key = Text();
        if (!key.ok()) return key.error();
      }
      if (!Take(':')) return Expected("a colon");
      cluster::Status visited = visit();
      if (!visited.ok()) return visited;
    } while (Take(','));
    if (!Take('}')) return Expected("a comma or the end of the object");
    return cluster::Ok{};
  }

  // A list: `visit()` must read one item.
  template <typename Visit>
  cluster::Status Items(Visit visit) {
    if (!Take('[')) return Expected("a list");
    if (Take(']')) return cluster::Ok{};
    do {
      cluster::Status visited = visit();
      if (!visited.ok()) return visited;
    } while (Take(','));
    if (!Take(']')) return Expected("a comma or the end of the list");
    return cluster::Ok{};
  }

  // True when the next value is null; it is read then.
  bool TakeNull();
  cluster::Result<std::string> Text();
  // A text of printable ASCII without escapes, by far the most common; nothing is read when it is
  // another.
  std::optional<std::string_view> PlainText();
  // Any value; `name` begins the paths in errors.
  cluster::Result<kube::Json> Value(std::string_view name);
  // Any value, of which `fields` alone are looked at and held; a `kind`, for errors.
  cluster::Result<kube::KeptObject> Object(std::span<const kube::Kept> fields,
                                           std::string_view kind);
  // The text of the value that Value read last.
  std::string_view LastValue() const { return text_.substr(value_begin_, at_ - value_begin_); }
  // How many bytes are not read yet.
  size_t left() const { return text_.size() - at_; }
  // Nothing but white space is left.
  cluster::Status End();

 private:
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  // `c`, after white space.
  bool Take(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  cluster::Error Expected(const char* what) const;
  // Reads a key and its colon, and adds the key to `seen`.
  cluster::Result<std::string> NextKey(std::set<std::string>& seen);

  std::string_view text_;
  size_t at_ = 0;
  size_t value_begin_ = 0;
};

}  // namespace muster::extender
