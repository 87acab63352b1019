#include "kube/json/json.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

// Iterative: depth costs heap, and the handler stops at kMaxJsonDepth. RapidJSON's own full
// precision is left out: it counts the leading zeros of 0 for texts like 0e80. See Builder::Double.
constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                            rapidjson::kParseStopWhenDoneFlag;

// Keys of objects up to this size are compared pairwise; of larger ones sorted.
constexpr size_t kPairwise = 12;

// Hands what the reader finds to the document, and stops it at what is refused.
class Builder {
 public:
  // `stream` runs over the part of `text` from `start` on.
  Builder(rapidjson::Document& out, std::string_view text, size_t start,
          const rapidjson::MemoryStream& stream)
      : out_(out), text_(text), start_(start), stream_(stream) {}

  bool Null() { return out_.Null(); }
  bool Bool(bool value) { return out_.Bool(value); }
  bool Int(int value) { return out_.Int(value); }
  bool Uint(unsigned value) { return out_.Uint(value); }
  bool Int64(int64_t value) { return out_.Int64(value); }
  bool Uint64(uint64_t value) { return out_.Uint64(value); }
  // A quantity written as a number must come back as it was written: the text is read again, to the
  // nearest double. `value` may be off in the last bits.
  bool Double(double value) {
    const std::string_view text = NumberEndingHere();
    if (text.find_first_of(".eE") == std::string_view::npos) {
      return Refuse(Code::kInvalidArgument, "an integer beyond 64 bits");
    }
    if (!std::isfinite(value)) return Refuse(Code::kInvalidArgument, "a number out of range");
    // What is too small for a double stays as RapidJSON rounds it.
    std::from_chars(text.data(), text.data() + text.size(), value);
    return out_.Double(value);
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool copy) {
    return out_.RawNumber(text, length, copy);
  }
  bool String(const char* text, rapidjson::SizeType length, bool copy) {
    return out_.String(text, length, copy);
  }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) {
    return out_.Key(text, length, copy);
  }
  bool StartObject() { return Deeper() && out_.StartObject(); }
  bool EndObject(rapidjson::SizeType members) {
    --depth_;
    return out_.EndObject(members);
  }
  bool StartArray() { return Deeper() && out_.StartArray(); }
  bool EndArray(rapidjson::SizeType elements) {
    --depth_;
    return out_.EndArray(elements);
  }

  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  bool Refuse(Code code, std::string message) {
    refusal_ = Error{code, std::move(message), "byte " + std::to_string(start_ + stream_.Tell())};
    return false;
  }
  bool Deeper() {
    if (++depth_ <= kMaxJsonDepth) return true;
    return Refuse(Code::kExhausted,
                  "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  }
  // RapidJSON silently turns integers of more than 64 bits into doubles; the text shows it.
  std::string_view NumberEndingHere() const {
    const size_t end = start_ + stream_.Tell();
    size_t begin = end;
    while (begin > start_ && IsOfNumber(text_[begin - 1])) --begin;
    return text_.substr(begin, end - begin);
  }
  static bool IsOfNumber(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
  }

  rapidjson::Document& out_;
  std::string_view text_;
  size_t start_;
  const rapidjson::MemoryStream& stream_;
  int depth_ = 0;
  std::optional<Error> refusal_;
};

std::string_view KeyOf(const rapidjson::Value::Member& member) {
  return {member.name.GetString(), member.name.GetStringLength()};
}

// The key that the object has twice, if any.
std::optional<std::string> DuplicateKey(const rapidjson::Value& object) {
  const size_t count = object.MemberCount();
  if (count <= kPairwise) {
    for (auto a = object.MemberBegin(); a != object.MemberEnd(); ++a) {
      for (auto b = object.MemberBegin(); b != a; ++b) {
        if (KeyOf(*a) == KeyOf(*b)) return std::string(KeyOf(*a));
      }
    }
    return std::nullopt;
  }
  std::vector<std::string_view> keys;
  keys.reserve(count);
  for (const auto& member : object.GetObject()) keys.push_back(KeyOf(member));
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return std::string(*twice);
}

// Recursion is bounded by kMaxJsonDepth.
std::optional<Error> FindDuplicate(const rapidjson::Value& value) {
  if (value.IsObject()) {
    if (std::optional<std::string> key = DuplicateKey(value)) {
      return Error{Code::kInvalidArgument, "is given twice", PathStep(*key)};
    }
    for (const auto& member : value.GetObject()) {
      if (std::optional<Error> error = FindDuplicate(member.value)) {
        return error->At(PathStep(KeyOf(member)));
      }
    }
  } else if (value.IsArray()) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
      if (std::optional<Error> error = FindDuplicate(value[i])) {
        return error->At("[" + std::to_string(i) + "]");
      }
    }
  }
  return std::nullopt;
}

// Lets Document::Populate run a reader over its own handler.
struct Reading {
  std::string_view text;
  size_t start;
  rapidjson::MemoryStream stream{text.data() + start, text.size() - start};
  rapidjson::ParseResult result{};
  std::optional<Error> refusal{};

  bool operator()(rapidjson::Document& document) {
    Builder builder(document, text, start, stream);
    rapidjson::Reader reader;
    result = reader.Parse<kFlags>(stream, builder);
    refusal = builder.refusal();
    return !result.IsError();
  }
};

}  // namespace

struct Json::Tree {
  rapidjson::Document document;
};

Json::Json(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
Json::~Json() = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json&&) noexcept = default;

const JsonNode& Json::root() const {
  return reinterpret_cast<const JsonNode&>(static_cast<const rapidjson::Value&>(tree_->document));
}

Result<Json> Json::ParseAt(std::string_view text, size_t at, std::string_view name) {
  if (at >= text.size()) {
    return Error{Code::kInvalidArgument, "expected JSON, found the end",
                 "byte " + std::to_string(text.size())};
  }
  Json json(std::make_unique<Tree>());
  Reading reading{text, at};
  json.tree_->document.Populate(reading);
  if (reading.refusal) return *reading.refusal;
  if (reading.result.IsError()) {
    return Error{
        Code::kInvalidArgument,
        std::string("not valid JSON: ") + rapidjson::GetParseError_En(reading.result.Code()),
        "byte " + std::to_string(at + reading.result.Offset())};
  }
  json.end_ = at + reading.stream.Tell();
  if (std::optional<Error> error = FindDuplicate(json.tree_->document)) {
    return error->At(std::string(name));
  }
  return json;
}

Result<Json> Json::Parse(std::string_view text, size_t max_bytes, std::string_view name) {
  if (text.size() > max_bytes) {
    return Error{Code::kExhausted,
                 "JSON of " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(max_bytes) + " are taken",
                 std::string(name)};
  }
  Result<Json> json = ParseAt(text, 0, name);
  if (!json.ok()) return json;
  const size_t rest = text.find_first_not_of(" \t\r\n", json->end());
  if (rest != std::string_view::npos) {
    return Error{Code::kInvalidArgument, "expected nothing after the JSON value",
                 "byte " + std::to_string(rest)};
  }
  return json;
}

std::string PathStep(std::string_view key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (plain) return std::string(key);
  constexpr size_t kShown = 80;
  std::string step = "[\"" + std::string(key.substr(0, kShown));
  for (char& c : step) {
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  return step + (key.size() > kShown ? "...\"]" : "\"]");
}

}  // namespace muster::kube
