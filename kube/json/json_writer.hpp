// JsonWriter: appends JSON to a string in one pass, with commas where they belong and text escaped
// as Go's encoding/json escapes it. No tree is built. One thread at a time; the string is the
// caller's. It is ours because a body must have the very bytes that Go would write (RapidJSON
// leaves '<', '>', '&' and U+2028 as they are and does not mend malformed UTF-8), and because it is
// on the way of every pod.
//
//   JsonWriter json(out);
//   json.BeginObject().Key("kind").Text("Pod").EndObject();
//
// The caller keeps begins and ends in balance and writes a key before each member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::kube {

// How many characters at the front of `text` stand for themselves inside a JSON string: printable
// ASCII without
// '"' and '\\'. (Go also escapes '<', '>' and '&' when it writes, see AppendJsonText.)
size_t PlainJsonPrefix(std::string_view text);

// The longest front of `text` of at most `most` bytes that cuts no UTF-8 character in two.
std::string_view CutText(std::string_view text, size_t most);

// `text` in quotes. Malformed UTF-8 becomes U+FFFD.
void AppendJsonText(std::string& out, std::string_view text);

class JsonWriter {
 public:
  // kLines: each member on a line of its own, indented by two, for people.
  enum class Layout { kCompact, kLines };

  explicit JsonWriter(std::string& out, Layout layout = Layout::kCompact)
      : out_(out), lines_(layout == Layout::kLines) {}

  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  // For keys that need no escaping (ours): a literal.
  JsonWriter& Key(std::string_view plain) {
    Separate();
    out_ += '"';
    out_ += plain;
    out_ += '"';
    return Colon();
  }
  // For keys that come from outside.
  JsonWriter& TextKey(std::string_view key) {
    Separate();
    AppendJsonText(out_, key);
    return Colon();
  }
  JsonWriter& Text(std::string_view text) {
    Separate();
    AppendJsonText(out_, text);
    after_ = After::kValue;
    return *this;
  }
  JsonWriter& Integer(int64_t value);
  // As few digits as give `value` back; null when it is not finite.
  JsonWriter& Decimal(double value);
  JsonWriter& Flag(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }
  // A complete JSON value, as it is.
  JsonWriter& Raw(std::string_view json) {
    Separate();
    out_ += json;
    after_ = After::kValue;
    return *this;
  }

 private:
  enum class After { kBegin, kKey, kValue };

  JsonWriter& Begin(char bracket) {
    Separate();
    out_ += bracket;
    ++depth_;
    after_ = After::kBegin;
    return *this;
  }
  JsonWriter& End(char bracket) {
    --depth_;
    if (after_ == After::kValue) BreakLine();
    out_ += bracket;
    after_ = After::kValue;
    return *this;
  }
  JsonWriter& Colon() {
    out_ += ':';
    if (lines_) out_ += ' ';
    after_ = After::kKey;
    return *this;
  }
  void Separate() {
    if (after_ == After::kKey) return;
    if (after_ == After::kValue) out_ += ',';
    if (depth_ > 0) BreakLine();
  }
  void BreakLine() {
    if (!lines_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  std::string& out_;
  const bool lines_;
  std::size_t depth_ = 0;
  After after_ = After::kBegin;  // what was written last
};

}  // namespace muster::kube
