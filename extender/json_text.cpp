#include "extender/json_text.hpp"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

namespace muster::extender {

struct JsonText::Writer {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json{buffer};

  void Key(std::string_view key) {
    json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
};

JsonText::JsonText() : writer_(std::make_unique<Writer>()) { writer_->json.SetIndent(' ', 2); }
JsonText::~JsonText() = default;

void JsonText::BeginObject() { writer_->json.StartObject(); }

void JsonText::BeginObject(std::string_view key) {
  writer_->Key(key);
  writer_->json.StartObject();
}

void JsonText::EndObject() { writer_->json.EndObject(); }

void JsonText::BeginArray(std::string_view key) {
  writer_->Key(key);
  writer_->json.StartArray();
}

void JsonText::EndArray() { writer_->json.EndArray(); }

void JsonText::Text(std::string_view text) {
  writer_->json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void JsonText::Number(int64_t number) { writer_->json.Int64(number); }

void JsonText::Add(std::string_view key, std::string_view text) {
  writer_->Key(key);
  Text(text);
}

void JsonText::Add(std::string_view key, int64_t number) {
  writer_->Key(key);
  Number(number);
}

void JsonText::Add(std::string_view key, bool value) {
  writer_->Key(key);
  writer_->json.Bool(value);
}

void JsonText::AddDecimal(std::string_view key, double value) {
  writer_->Key(key);
  writer_->json.Double(value);
}

void JsonText::AddNames(std::string_view key, const std::vector<std::string>& names) {
  BeginArray(key);
  for (const std::string& name : names) Text(name);
  EndArray();
}

std::string JsonText::Take() {
  return std::string(writer_->buffer.GetString(), writer_->buffer.GetSize()) + "\n";
}

}  // namespace muster::extender
