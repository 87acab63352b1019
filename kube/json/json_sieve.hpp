// JsonSieve: lets through, of JSON that arrives in pieces, only what its reader uses; so that
// memory follows what is kept and not what is sent.
//
// What is kept of each object is JSON again, as it was written, and goes through kube::Json and the
// decoders like any other text: their limits and their paths hold for it. What is left out is held
// to the grammar only (json_scanner.hpp). A value of another kind than was expected is kept where
// it is short, and as {} or [] where it is not, so that its decoder can say what it found.
//
// Bounds, none of them on the text as a whole: kMaxMember, where its user names no other, for each
// member of a member of the object (metadata.labels, spec.affinity), `longest` for each text in it.
// A member beyond them is kept as null, and `left_out` says so. Only names that are given again and
// again reach kMaxKept, which is an error. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "kube/json/json_scanner.hpp"

namespace muster::kube {

// Bytes, as written. Names and values of labels have at most 63 characters, names of objects 253.
inline constexpr size_t kMaxKeptText = 4096;

// What to keep of one value. Constants of their users; see kept_fields.cpp.
struct Kept {
  enum class Kind {
    kValue,     // a text, a number, a boolean
    kObject,    // of an object the members that are named
    kMap,       // of an object every member, each a value
    kList,      // of a list every element: an object of which `members` are kept, else a value
    kElement,   // an object, kept apart
    kElements,  // a list, each element kept apart
    // Of an object the members that are named; "*", which is the last, is any other, and each
    // element of a list. Without it a list is kept as whether it has elements.
    kTree,
    kMark,  // whether something stands there: of a text or a list whether it is empty
  };
  std::string_view name = {};  // with * at its end: all names that begin so
  Kind kind = Kind::kValue;
  std::span<const Kept> members = {};
  size_t longest = kMaxKeptText;  // of each text
};

// The first that has this name; null: none.
const Kept* FindKept(std::span<const Kept> members, std::string_view name);

class JsonSieve final : private JsonScanner::Reader {
 public:
  static constexpr size_t kMaxMember = size_t{256} << 10;
  static constexpr size_t kMaxKept = size_t{8} << 20;

  // An element, valid during the call that brings it. `left_out`: the first member that was beyond
  // a bound, or null.
  using Take = std::function<bool(std::string_view text, const cluster::Error* left_out)>;

  struct Options {
    Kept root;                           // what is around elements, or kElement itself
    std::span<const Kept> element = {};  // what is kept of each element
    std::span<const Kept> also = {};     // and as well
    std::string_view name = {};          // of an element, in errors
    size_t largest_member = kMaxMember;
    size_t most = kMaxKept;  // of all that is kept
  };
  // `take` returns false when the rest is not wanted.
  JsonSieve(const Options& options, Take take);

  // Reads up to the end of the value and leaves what follows. False: problem() says why, or `take`
  // wants no more.
  bool Feed(std::string_view& bytes);
  // Nothing will follow. False: the value is not whole.
  bool End();
  bool whole() const { return scanner_.whole(); }
  bool untouched() const { return scanner_.untouched(); }
  const std::optional<cluster::Error>& problem() const;
  // What was kept around the elements; in place of one stands null or nothing.
  const std::string& around() const { return kept_; }
  void Reset();

  // Bytes that are held now, and the most since the sieve was made.
  size_t held() const;
  size_t most_held() const { return most_held_; }

 private:
  struct Frame {
    Kept kept;          // how it is read
    bool list = false;  // its kind
    bool any = false;   // something was kept in it
  };

  bool Open(bool object) override;
  bool Close(bool object) override;
  bool Piece(JsonScanner::Token token, std::string_view raw, bool last) override;

  bool KeyPiece(std::string_view raw, bool last);
  bool MatchKey();
  // What is to be kept of the value that begins.
  Kept Expected() const;
  // Of the innermost list only that it has elements is kept, and one begins, in `depth` others.
  bool InMarkedList() const;
  bool MarkElement(size_t depth);
  // Before the first byte of a value that lies in `depth` others: commas, and which bounds it is
  // under. `holds_members`: those of its members.
  void BeginValue(const Kept& kept, bool holds_members, size_t depth);
  // False: nothing was appended, for the member that is read has been left out or there is a
  // problem.
  bool Append(std::string_view raw);
  // Keeps null for the member that is read. False: there is none, which is a problem.
  bool LeaveOut(std::string why);
  bool EndValue();
  bool EndElement();
  bool InElement() const { return element_frames_.has_value(); }

  const Options options_;
  const Take take_;
  JsonScanner scanner_;
  std::string kept_;
  std::vector<Frame> frames_;  // what is open and kept
  Kept next_;                  // of the value that follows a key
  std::string key_;            // that is read, as it is written
  bool in_value_ = false;      // pieces of a value have come
  bool mark_ = false;          // of that text only whether it is empty is kept
  size_t longest_ = 0;         // of that value
  size_t value_begin_ = 0;     // in `kept_`

  // Of the element that is read.
  std::optional<size_t> element_frames_;  // frames around it
  size_t element_begin_ = 0;              // in `kept_`
  std::optional<cluster::Error> left_out_;
  // Of the member that the bounds are for.
  bool bounded_ = false;
  std::string_view member_;
  size_t member_begin_ = 0;
  size_t member_frames_ = 0;
  size_t member_depth_ = 0;

  std::optional<cluster::Error> problem_;
  size_t most_held_ = 0;
};

// All of one text.
struct Sifted {
  std::string text;
  std::optional<cluster::Error> left_out;
  size_t end = 0;  // first byte of the text after the value
};
// The value at the front of `text`, of which `fields` are kept; what follows is not looked at.
cluster::Result<Sifted> Sift(std::string_view text, std::span<const Kept> fields,
                             std::string_view name);

}  // namespace muster::kube
