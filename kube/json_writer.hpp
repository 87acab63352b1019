// JsonWriter: appends JSON to a string in one pass, with commas where they belong and text escaped
// as Go's encoding/json escapes it. No tree is built. One thread at a time; the string is the
// caller's.
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
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  // For keys that need no escaping (ours): a literal.
  JsonWriter& Key(std::string_view plain) {
    Separate();
    out_ += '"';
    out_ += plain;
    out_ += "\":";
    pending_comma_ = false;
    return *this;
  }
  // For keys that come from outside.
  JsonWriter& TextKey(std::string_view key) {
    Separate();
    AppendJsonText(out_, key);
    out_ += ':';
    pending_comma_ = false;
    return *this;
  }
  JsonWriter& Text(std::string_view text) {
    Separate();
    AppendJsonText(out_, text);
    pending_comma_ = true;
    return *this;
  }
  JsonWriter& Integer(int64_t value);
  JsonWriter& Flag(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }
  // A complete JSON value, as it is.
  JsonWriter& Raw(std::string_view json) {
    Separate();
    out_ += json;
    pending_comma_ = true;
    return *this;
  }

 private:
  JsonWriter& Begin(char bracket) {
    Separate();
    out_ += bracket;
    pending_comma_ = false;
    return *this;
  }
  JsonWriter& End(char bracket) {
    out_ += bracket;
    pending_comma_ = true;
    return *this;
  }
  void Separate() {
    if (pending_comma_) out_ += ',';
  }

  std::string& out_;
  bool pending_comma_ = false;
};

}  // namespace muster::kube
