// What a YAML scalar without quotes stands for, as kubectl (sigs.k8s.io/yaml) decides it.
//
//   null     nothing ~ null Null NULL
//   boolean  true false yes no on off y n, in lower case, upper case or with a capital
//   integer  12 -7 +3 1_000, 0x1F, 0o17, 017 (octal), 0b101, if it fits 64 bits
//   float    1.5 .5 1e3 08, and integers beyond 64 bits; .inf and .nan have no JSON form
//   text     all else, dates included
// Pure functions, any thread. By hand: yaml-cpp's conversions take another set of words.
#pragma once

#include <string>
#include <string_view>

namespace muster::config {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

enum class ScalarType { kNull, kBoolean, kInteger, kFloat, kNotFinite, kText };

struct Scalar {
  ScalarType type = ScalarType::kText;
  std::string json;  // the value as JSON; empty for kNotFinite and kText
};

Scalar ResolvePlain(std::string_view text);

}  // namespace muster::config
