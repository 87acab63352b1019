// What the JSON of a server's answer says, where it says it. Pure functions; what is not there, or
// of another kind, is empty or 0.
#pragma once

#include <rapidjson/fwd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::cli {

cluster::Error Unexpected();
// Null: it is not there.
const rapidjson::Value* Find(const rapidjson::Value& object, const char* name);
const rapidjson::Value* List(const rapidjson::Value& object, const char* name);
std::string Text(const rapidjson::Value& object, const char* name);
int64_t Integer(const rapidjson::Value& object, const char* name);
double Decimal(const rapidjson::Value& object, const char* name);
bool Truth(const rapidjson::Value& object, const char* name);
std::string Number(double value);
// "850ms", "12.3s", "4m10s", "3h05m", "2d4h".
std::string Elapsed(double seconds);
// The array `name` of a JSON object in `json`, kept alive by `document`; null: there is none.
const rapidjson::Value* ParseList(rapidjson::Document& document, std::string_view json,
                                  const char* name);

}  // namespace muster::cli
