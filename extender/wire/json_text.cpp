#include "extender/wire/json_text.hpp"

#include <utility>

namespace muster::extender {

void JsonText::BeginObject() { json_.BeginObject(); }

void JsonText::BeginObject(std::string_view key) { json_.Key(key).BeginObject(); }

void JsonText::EndObject() { json_.EndObject(); }

void JsonText::BeginArray(std::string_view key) { json_.Key(key).BeginArray(); }

void JsonText::EndArray() { json_.EndArray(); }

void JsonText::Text(std::string_view text) { json_.Text(text); }

void JsonText::Number(int64_t number) { json_.Integer(number); }

void JsonText::Add(std::string_view key, std::string_view text) { json_.Key(key).Text(text); }

void JsonText::Add(std::string_view key, int64_t number) { json_.Key(key).Integer(number); }

void JsonText::Add(std::string_view key, bool value) { json_.Key(key).Flag(value); }

void JsonText::AddDecimal(std::string_view key, double value) { json_.Key(key).Decimal(value); }

void JsonText::AddNull(std::string_view key) { json_.Key(key).Null(); }

void JsonText::AddNames(std::string_view key, const std::vector<std::string>& names) {
  BeginArray(key);
  for (const std::string& name : names) Text(name);
  EndArray();
}

std::string JsonText::Take() { return std::exchange(out_, {}) + "\n"; }

}  // namespace muster::extender
