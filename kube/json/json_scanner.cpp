#include "kube/json/json_scanner.hpp"

#include <string>

#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;

namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

void JsonScanner::Reset() {
  state_ = State::kValue;
  nest_.clear();
  skip_to_.reset();
  problem_.reset();
}

void JsonScanner::SkipTo(size_t depth) { skip_to_ = depth; }

bool JsonScanner::Feed(std::string_view& bytes) {
  bytes_ = bytes;
  at_ = begin_ = 0;
  while (at_ < bytes_.size() && state_ != State::kWhole && state_ != State::kEnded) {
    if (!Step()) state_ = State::kEnded;
  }
  const bool in_token = state_ == State::kText || state_ == State::kEscape ||
                        state_ == State::kHex || state_ == State::kWord || state_ == State::kNumber;
  if (in_token && !Tell(at_, false)) state_ = State::kEnded;
  past_ += at_;
  bytes.remove_prefix(at_);
  bytes_ = {};
  at_ = begin_ = 0;
  return state_ != State::kEnded;
}

bool JsonScanner::End() {
  if (state_ == State::kWhole) return true;
  if (state_ == State::kEnded) return false;
  // A delimiter ends a number as nothing else would.
  if (state_ == State::kNumber && nest_.empty() && StepNumber(' ')) return true;
  if (!problem_) Fail("more, found the end");
  state_ = State::kEnded;
  return false;
}

bool JsonScanner::Step() {
  if (state_ == State::kText) return StepText();
  const char c = bytes_[at_];
  switch (state_) {
    case State::kEscape:
    case State::kHex:
      return StepEscape(c);
    case State::kWord:
      return StepWord(c);
    case State::kNumber:
      return StepNumber(c);
    default:
      break;
  }
  if (IsSpace(c)) {
    ++at_;
    return true;
  }
  switch (state_) {
    case State::kValue:
    case State::kFirstItem:
      return StepValue(c);
    case State::kFirstKey:
    case State::kKey:
      if (c == '}' && state_ == State::kFirstKey) return Leave(true);
      if (c != '"') return Fail("a key");
      Begin(State::kText, Token::kKey, ++at_);
      return true;
    case State::kColon:
      if (c != ':') return Fail("a colon");
      ++at_;
      state_ = State::kValue;
      return true;
    default:
      return StepNext(c);
  }
}

bool JsonScanner::StepValue(char c) {
  if (c == '{' || c == '[') return Enter(c == '{');
  if (c == ']' && state_ == State::kFirstItem) return Leave(false);
  if (c == '"') {
    Begin(State::kText, Token::kText, ++at_);
    return true;
  }
  if (c == '-' || IsDigit(c)) {
    Begin(State::kNumber, Token::kBare, at_++);
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kWhole;
    return true;
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (word.front() != c) continue;
    Begin(State::kWord, Token::kBare, at_++);
    word_ = word.substr(1);
    return true;
  }
  return Fail("a value");
}

bool JsonScanner::StepNext(char c) {
  const bool object = nest_.back();
  if (c == ',') {
    ++at_;
    state_ = object ? State::kKey : State::kValue;
    return true;
  }
  if (c == (object ? '}' : ']')) return Leave(object);
  return Fail(object ? "a comma or the end of the object" : "a comma or the end of the list");
}

bool JsonScanner::StepText() {
  at_ += PlainJsonPrefix(bytes_.substr(at_));
  if (at_ == bytes_.size()) return true;
  const char c = bytes_[at_];
  if (c == '"') return EndToken();
  if (c == '\\') {
    state_ = State::kEscape;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    return Fail("the end of a text, or an escape");
  }
  ++at_;
  return true;
}

bool JsonScanner::StepEscape(char c) {
  if (state_ == State::kHex) {
    if (!IsHex(c)) return Fail("four hexadecimal digits");
    if (--hex_left_ == 0) state_ = State::kText;
  } else if (c == 'u') {
    state_ = State::kHex;
    hex_left_ = 4;
  } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
    state_ = State::kText;
  } else {
    return Fail("an escape");
  }
  ++at_;
  return true;
}

bool JsonScanner::StepWord(char c) {
  if (c != word_.front()) return Fail("true, false or null");
  word_.remove_prefix(1);
  ++at_;
  return !word_.empty() || EndToken();
}

bool JsonScanner::StepNumber(char c) {
  const auto go_on = [this](Number next) {
    number_ = next;
    ++at_;
    return true;
  };
  const bool may_have_fraction = number_ == Number::kZero || number_ == Number::kWhole;
  const bool may_end =
      may_have_fraction || number_ == Number::kFraction || number_ == Number::kExponent;
  if (IsDigit(c)) {
    switch (number_) {
      case Number::kMinus:
        return go_on(c == '0' ? Number::kZero : Number::kWhole);
      case Number::kZero:
        return Fail("no digit after a leading zero");
      case Number::kDot:
        return go_on(Number::kFraction);
      case Number::kE:
      case Number::kESign:
        return go_on(Number::kExponent);
      default:
        return go_on(number_);
    }
  }
  if (c == '.' && may_have_fraction) return go_on(Number::kDot);
  if ((c == 'e' || c == 'E') && may_end && number_ != Number::kExponent) return go_on(Number::kE);
  if ((c == '+' || c == '-') && number_ == Number::kE) return go_on(Number::kESign);
  return may_end ? EndToken() : Fail("a digit");
}

bool JsonScanner::Enter(bool object) {
  ++at_;
  if (nest_.size() == kMaxNesting) {
    problem_ =
        Error{Code::kExhausted, "nested deeper than " + std::to_string(kMaxNesting) + " levels",
              "byte " + std::to_string(past_ + at_)};
    return false;
  }
  nest_.push_back(object);
  state_ = object ? State::kFirstKey : State::kFirstItem;
  return skip_to_ || reader_.Open(object);
}

bool JsonScanner::Leave(bool object) {
  ++at_;
  nest_.pop_back();
  if (!skip_to_ && !reader_.Close(object)) return false;
  return ValueDone();
}

void JsonScanner::Begin(State state, Token token, size_t at) {
  state_ = state;
  token_ = token;
  begin_ = at;
}

bool JsonScanner::Tell(size_t end, bool last) {
  if (skip_to_ || (end == begin_ && !last)) return true;
  return reader_.Piece(token_, bytes_.substr(begin_, end - begin_), last);
}

// A text ends with its quote, a word with its last letter, a number before whatever follows it.
bool JsonScanner::EndToken() {
  if (!Tell(at_, true)) return false;
  if (state_ == State::kText) ++at_;
  if (token_ != Token::kKey) return ValueDone();
  state_ = State::kColon;
  return true;
}

bool JsonScanner::ValueDone() {
  if (skip_to_ && *skip_to_ == nest_.size()) skip_to_.reset();
  state_ = nest_.empty() ? State::kWhole : State::kNext;
  return true;
}

bool JsonScanner::Fail(const char* expected) {
  problem_ = Error{Code::kInvalidArgument, std::string("not valid JSON: expected ") + expected,
                   "byte " + std::to_string(past_ + at_)};
  return false;
}

}  // namespace muster::kube
