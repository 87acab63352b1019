#include "cli/tables/answer.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace muster::cli {

using cluster::Code;
using cluster::Error;
namespace {
using Value = rapidjson::Value;
}  // namespace

Error Unexpected() {
  return Error{Code::kInternal, "the server's answer is not what a muster server sends", ""};
}

const Value* Find(const Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string Text(const Value& object, const char* name) {
  const Value* value = Find(object, name);
  if (value == nullptr || !value->IsString()) return {};
  return {value->GetString(), value->GetStringLength()};
}

int64_t Integer(const Value& object, const char* name) {
  const Value* value = Find(object, name);
  return value != nullptr && value->IsInt64() ? value->GetInt64() : 0;
}

double Decimal(const Value& object, const char* name) {
  const Value* value = Find(object, name);
  return value != nullptr && value->IsNumber() ? value->GetDouble() : 0;
}

bool Truth(const Value& object, const char* name) {
  const Value* value = Find(object, name);
  return value != nullptr && value->IsBool() && value->GetBool();
}

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::string Elapsed(double seconds) {
  std::array<char, 48> text{};
  if (!(seconds > 0)) return "0s";
  if (seconds < 1) {
    std::snprintf(text.data(), text.size(), "%.0fms", std::floor(seconds * 1000));
  } else if (seconds < 60) {
    std::snprintf(text.data(), text.size(), "%.1fs", std::floor(seconds * 10) / 10);
  } else {
    const auto whole = static_cast<long long>(std::min(seconds, 1e15));
    if (whole < 3600) {
      std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
    } else if (whole < 86400) {
      std::snprintf(text.data(), text.size(), "%lldh%02lldm", whole / 3600, whole / 60 % 60);
    } else {
      std::snprintf(text.data(), text.size(), "%lldd%lldh", whole / 86400, whole / 3600 % 24);
    }
  }
  return text.data();
}

// The array `name` of a JSON object in `json`, kept alive by `document`.
const Value* ParseList(rapidjson::Document& document, std::string_view json, const char* name) {
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError()) return nullptr;
  const Value* list = Find(document, name);
  return list != nullptr && list->IsArray() ? list : nullptr;
}

const Value* List(const Value& object, const char* name) {
  const Value* list = Find(object, name);
  return list != nullptr && list->IsArray() ? list : nullptr;
}

}  // namespace muster::cli
