// JsonScanner: JSON that is read while it arrives, in pieces cut anywhere. It knows where in a
// value it stands and keeps nothing of the text; what it finds goes to a Reader at once.
//
// Held to the grammar of RFC 8259 wherever it reads, also in what its Reader skips, save two things
// that only a whole text shows cheaply and that kube::Json refuses in what is kept: malformed UTF-8
// and halves of surrogate pairs. Nesting costs one bit a level and ends at kMaxNesting. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::kube {

class JsonScanner {
 public:
  // encoding/json of Go, with which API servers read what they store, takes 10,000.
  static constexpr size_t kMaxNesting = 16'384;

  enum class Token { kKey, kText, kBare };  // bare: a number, true, false or null

  // Receives the parts of a value in the order of the text. False ends the reading.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual bool Open(bool object) = 0;  // or a list
    virtual bool Close(bool object) = 0;
    // A piece of a token as it is written, without its quotes; the token ends with the piece that
    // is `last`, which may be empty.
    virtual bool Piece(Token token, std::string_view raw, bool last) = 0;
  };

  explicit JsonScanner(Reader& reader) : reader_(reader) {}

  // Reads `bytes` up to the end of the value, and leaves what comes after it. False: the text is no
  // JSON, which problem() says, or the reader has ended it.
  bool Feed(std::string_view& bytes);
  // No more will come: a number that nothing follows is whole then.
  bool End();
  // The value has been read to its end.
  bool whole() const { return state_ == State::kWhole; }
  // Nothing but white space came yet.
  bool untouched() const { return state_ == State::kValue && nest_.empty(); }
  const std::optional<cluster::Error>& problem() const { return problem_; }
  // Ready for another value.
  void Reset();

  // For the reader. How many objects and lists are open; within Open the new one counts.
  size_t depth() const { return nest_.size(); }
  // Reports nothing until a value nested in `depth` others has ended: with depth() that is the
  // value that follows a key, with depth() - 1 within Open the rest of what was opened.
  void SkipTo(size_t depth);

 private:
  enum class State {
    kValue,      // a value is to come
    kFirstItem,  // after '[': a value or ']'
    kFirstKey,   // after '{': a key or '}'
    kKey,        // after a comma in an object
    kColon,      // after a key
    kNext,       // after a value: a comma or the end of what holds it
    kText,       // in a key or a text
    kEscape,     // after a backslash
    kHex,        // in the four digits of \u
    kWord,       // in true, false or null
    kNumber,
    kWhole,
    kEnded,  // a problem, or the reader's wish
  };
  enum class Number { kMinus, kZero, kWhole, kDot, kFraction, kE, kESign, kExponent };

  bool Step();
  bool StepValue(char c);
  bool StepNext(char c);
  bool StepText();
  bool StepEscape(char c);
  bool StepWord(char c);
  bool StepNumber(char c);
  bool Enter(bool object);
  bool Leave(bool object);
  void Begin(State state, Token token, size_t at);
  // Tells the piece of the token that ends before `end`.
  bool Tell(size_t end, bool last);
  bool EndToken();
  bool ValueDone();
  bool Fail(const char* expected);

  Reader& reader_;
  State state_ = State::kValue;
  Token token_ = Token::kText;
  Number number_ = Number::kMinus;
  std::string_view word_;   // what is still missing of true, false or null
  int hex_left_ = 0;        // digits of \u
  std::vector<bool> nest_;  // what is open, outermost first; true: an object
  std::optional<size_t> skip_to_;
  std::optional<cluster::Error> problem_;

  // Within Feed.
  std::string_view bytes_;
  size_t at_ = 0;      // first byte of `bytes_` that was not read
  size_t begin_ = 0;   // where the token that is being read began in `bytes_`
  uint64_t past_ = 0;  // bytes of earlier calls, for errors
};

}  // namespace muster::kube
