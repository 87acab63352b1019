// JsonText: a thin hand on RapidJSON's writer for the pages of the API; one call per member,
// indented by two. For .cpp files of this folder only (it brings RapidJSON's headers). One thread.
#pragma once

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/units.hpp"

namespace muster::extender {

class JsonText {
 public:
  JsonText() : writer_(buffer_) { writer_.SetIndent(' ', 2); }

  void BeginObject() { writer_.StartObject(); }
  void BeginObject(std::string_view key) {
    Key(key);
    writer_.StartObject();
  }
  void EndObject() { writer_.EndObject(); }
  void BeginArray(std::string_view key) {
    Key(key);
    writer_.StartArray();
  }
  void EndArray() { writer_.EndArray(); }
  void Text(std::string_view text) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Number(int64_t number) { writer_.Int64(number); }
  void Add(std::string_view key, std::string_view text) {
    Key(key);
    Text(text);
  }
  void Add(std::string_view key, const char* text) { Add(key, std::string_view(text)); }
  void Add(std::string_view key, const std::string& text) { Add(key, std::string_view(text)); }
  void Add(std::string_view key, int64_t number) {
    Key(key);
    Number(number);
  }
  void Add(std::string_view key, int32_t number) { Add(key, static_cast<int64_t>(number)); }
  void Add(std::string_view key, bool value) {
    Key(key);
    writer_.Bool(value);
  }
  void AddDecimal(std::string_view key, double value) {
    Key(key);
    writer_.Double(value);
  }
  // Thousandths (of a second, of a GPU) as a decimal number.
  void AddMilli(std::string_view key, int64_t milli) {
    AddDecimal(key, static_cast<double>(milli) / 1000);
  }
  void AddSeconds(std::string_view key, cluster::Duration duration) {
    AddMilli(key, duration.value());
  }
  void AddNames(std::string_view key, const std::vector<std::string>& names) {
    BeginArray(key);
    for (const std::string& name : names) Text(name);
    EndArray();
  }
  std::string Take() { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

 private:
  void Key(std::string_view key) {
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_;
};

}  // namespace muster::extender
