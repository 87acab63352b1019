#include "kube/json/json_view.hpp"

#include <rapidjson/document.h>

#include <charconv>
#include <utility>

#include "kube/json/json.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;

namespace {

const char* Describe(const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return "null";
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return "a boolean";
    case rapidjson::kObjectType:
      return "an object";
    case rapidjson::kArrayType:
      return "a list";
    case rapidjson::kStringType:
      return "a text";
    case rapidjson::kNumberType:
      return "a number";
  }
  return "something else";
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualAnyCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Lower(a[i]) != Lower(b[i])) return false;
  }
  return true;
}

const rapidjson::Value& Of(const JsonNode& node) {
  return reinterpret_cast<const rapidjson::Value&>(node);
}

// Null stands for absent.
const JsonNode* NodeOf(const rapidjson::Value& value) {
  return value.IsNull() ? nullptr : reinterpret_cast<const JsonNode*>(&value);
}

std::string_view TextOf(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

// Recursion is bounded by kMaxJsonDepth.
void Append(JsonWriter& json, const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType:
      json.Null();
      break;
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      json.Flag(value.GetBool());
      break;
    case rapidjson::kObjectType:
      json.BeginObject();
      for (const auto& member : value.GetObject()) {
        json.TextKey(TextOf(member.name));
        Append(json, member.value);
      }
      json.EndObject();
      break;
    case rapidjson::kArrayType:
      json.BeginArray();
      for (const auto& item : value.GetArray()) Append(json, item);
      json.EndArray();
      break;
    case rapidjson::kStringType:
      json.Text(TextOf(value));
      break;
    case rapidjson::kNumberType: {
      char text[64];
      const std::to_chars_result end =
          value.IsInt64()    ? std::to_chars(text, text + sizeof text, value.GetInt64())
          : value.IsUint64() ? std::to_chars(text, text + sizeof text, value.GetUint64())
                             : std::to_chars(text, text + sizeof text, value.GetDouble());
      json.Raw({text, static_cast<size_t>(end.ptr - text)});
      break;
    }
  }
}

}  // namespace

void JsonView::AppendTo(std::string& out) const {
  JsonWriter json(out);
  if (value_ == nullptr) {
    json.Null();
  } else {
    Append(json, Of(*value_));
  }
}

JsonView::JsonView(const JsonNode& root, std::string_view name, JsonProblems& problems)
    : JsonView(NodeOf(Of(root)), nullptr, name, 0, problems) {}

JsonView::JsonView(const JsonNode* value, const JsonView* outer, std::string_view name,
                   size_t index, JsonProblems& problems)
    : value_(value), outer_(outer), name_(name), index_(index), problems_(problems) {}

JsonView JsonView::Get(std::string_view key) const& {
  const JsonNode* found = nullptr;
  if (IsObject()) {
    for (const auto& member : Of(*value_).GetObject()) {
      if (key != TextOf(member.name)) continue;
      found = NodeOf(member.value);
      break;
    }
  }
  return JsonView(found, this, key, 0, problems_);
}

JsonView JsonView::GetAnyCase(std::string_view key) const& {
  const JsonNode* found = nullptr;
  bool seen = false;
  if (IsObject()) {
    for (const auto& member : Of(*value_).GetObject()) {
      if (!EqualAnyCase(key, TextOf(member.name))) continue;
      found = NodeOf(member.value);
      if (seen) JsonView(found, this, key, 0, problems_).Problem("is given twice");
      seen = true;
    }
  }
  return JsonView(found, this, key, 0, problems_);
}

std::string_view JsonView::Text() const {
  if (value_ == nullptr) return {};
  if (Of(*value_).IsString()) return TextOf(Of(*value_));
  Unexpected("a text");
  return {};
}

bool JsonView::text() const { return value_ != nullptr && Of(*value_).IsString(); }
bool JsonView::object() const { return value_ != nullptr && Of(*value_).IsObject(); }
bool JsonView::list() const { return value_ != nullptr && Of(*value_).IsArray(); }

bool JsonView::blank() const {
  if (value_ == nullptr) return true;
  const rapidjson::Value& value = Of(*value_);
  if (value.IsString()) return value.GetStringLength() == 0;
  return value.IsArray() && value.Empty();
}

std::string JsonView::ScalarText() const {
  if (value_ == nullptr) return {};
  if (Of(*value_).IsBool()) return Of(*value_).GetBool() ? "true" : "false";
  return QuantityText();
}

std::string_view JsonView::RequiredText() const {
  const std::string_view text = Text();
  if (text.empty()) Problem("is missing");
  return text;
}

bool JsonView::Flag(bool otherwise) const {
  if (value_ == nullptr) return otherwise;
  if (Of(*value_).IsBool()) return Of(*value_).GetBool();
  Unexpected("true or false");
  return otherwise;
}

int64_t JsonView::Integer(int64_t otherwise, int64_t least, int64_t most) const {
  if (value_ == nullptr) return otherwise;
  const rapidjson::Value& value = Of(*value_);
  if (!value.IsInt64() && !value.IsUint64()) {
    Unexpected("a whole number");
    return otherwise;
  }
  if (!value.IsInt64() || value.GetInt64() < least || value.GetInt64() > most) {
    Problem("expected a whole number from " + std::to_string(least) + " to " +
            std::to_string(most));
    return otherwise;
  }
  return value.GetInt64();
}

std::string JsonView::QuantityText() const {
  if (value_ == nullptr) return {};
  const rapidjson::Value& value = Of(*value_);
  if (value.IsString()) return std::string(TextOf(value));
  if (value.IsInt64()) return std::to_string(value.GetInt64());
  if (value.IsUint64()) return std::to_string(value.GetUint64());
  if (value.IsDouble()) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value.GetDouble());
    return std::string(text, end.ptr);
  }
  Unexpected("a quantity");
  return {};
}

std::map<std::string, std::string> JsonView::TextMap() const {
  std::map<std::string, std::string> texts;
  Members([&](std::string_view key, const JsonView& item) {
    texts.emplace_hint(texts.end(), std::string(key), std::string(item.Text()));
  });
  return texts;
}

bool JsonView::ExpectObject() const {
  if (value_ == nullptr) Problem("is missing");
  return IsObject();
}

void JsonView::Problem(std::string message) const {
  if (!problems_.none()) return;
  problems_.Add(Error{Code::kInvalidArgument, std::move(message), Place()});
}

void JsonView::Problem(const Error& error) const {
  if (!problems_.none()) return;
  problems_.Add(error.At(Place()));
}

std::string JsonView::Place() const {
  if (outer_ == nullptr) return std::string(name_);
  const std::string step =
      name_.data() != nullptr ? PathStep(name_) : "[" + std::to_string(index_) + "]";
  return step.front() == '[' ? outer_->Place() + step : outer_->Place() + "." + step;
}

size_t JsonView::ItemCount() const { return IsList() ? Of(*value_).Size() : 0; }

size_t JsonView::MemberCount() const { return IsObject() ? Of(*value_).MemberCount() : 0; }

JsonView JsonView::Item(size_t index) const {
  const rapidjson::Value& item = Of(*value_)[static_cast<rapidjson::SizeType>(index)];
  return JsonView(NodeOf(item), this, {}, index, problems_);
}

JsonView JsonView::Member(size_t index) const {
  const auto member = Of(*value_).MemberBegin() + static_cast<std::ptrdiff_t>(index);
  return JsonView(NodeOf(member->value), this, TextOf(member->name), index, problems_);
}

bool JsonView::IsObject() const {
  if (value_ == nullptr) return false;
  if (!Of(*value_).IsObject()) Unexpected("an object");
  return Of(*value_).IsObject();
}

bool JsonView::IsList() const {
  if (value_ == nullptr) return false;
  if (!Of(*value_).IsArray()) Unexpected("a list");
  return Of(*value_).IsArray();
}

void JsonView::Unexpected(const char* what) const {
  Problem(std::string("expected ") + what + ", found " + Describe(Of(*value_)));
}

}  // namespace muster::kube
