#include "config/yaml/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

namespace muster::config {
namespace {

constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrues = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalses = {"n",     "N",     "no",  "No",  "NO", "false",
                                                      "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 12> kNotFinites = {".nan",  ".NaN",  ".NAN",  ".inf",
                                                          ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                          "+.INF", "-.inf", "-.Inf", "-.INF"};

template <std::size_t kSize>
bool OneOf(std::string_view text, const std::array<std::string_view, kSize>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// All of `digits` in `base`, or nothing when there is something else or too much.
std::optional<uint64_t> Unsigned(std::string_view digits, int base) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// The base is named by a prefix; a sign is allowed for what fits a signed 64-bit integer.
std::optional<std::string> Integer(std::string_view text) {
  const bool sign = !text.empty() && (text[0] == '+' || text[0] == '-');
  const bool negative = sign && text[0] == '-';
  if (sign) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = text[1];
    base = letter == 'x' || letter == 'X' ? 16 : letter == 'b' || letter == 'B' ? 2 : 8;
    text.remove_prefix(base != 8 || letter == 'o' || letter == 'O' ? 2 : 1);
  }
  const std::optional<uint64_t> amount = Unsigned(text, base);
  if (!amount) return std::nullopt;
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (sign && *amount > (negative ? kMost + 1 : kMost)) return std::nullopt;
  std::string written = negative && *amount != 0 ? "-" : "";
  written += std::to_string(*amount);
  return written;
}

// <sign>? (digits <. digits?>? | . digits) (e <sign>? digits)?
bool LooksLikeFloat(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at - begin;
  };
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  };
  sign();
  const bool whole = digits() > 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0 && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    sign();
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// The fewest digits that give the same double; from 10^-6 to below 10^21 without an exponent, as Go
// writes JSON.
std::string Shortest(double value) {
  std::array<char, 40> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e21)) return std::string(text);
  const std::size_t exponent_at = text.find('e');
  int exponent = 0;  // from_chars takes no '+'
  const bool negative = text[exponent_at + 1] == '-';
  std::from_chars(text.data() + exponent_at + 2, text.data() + text.size(), exponent);
  if (negative) exponent = -exponent;
  std::string digits(text.substr(0, exponent_at));
  const bool below_zero = digits[0] == '-';
  digits.erase(std::remove_if(digits.begin(), digits.end(), [](char c) { return !IsDigit(c); }),
               digits.end());
  if (exponent < 0) digits.insert(0, static_cast<std::size_t>(-exponent), '0');
  const auto whole = static_cast<std::size_t>(std::max(exponent, 0)) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  if (digits.size() > whole) digits.insert(whole, 1, '.');
  if (below_zero) digits.insert(0, 1, '-');
  return digits;
}

std::optional<std::string> Float(std::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);  // tells tiny from huge
  } else if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  if (!std::isfinite(value)) return std::nullopt;
  return Shortest(value);
}

}  // namespace

Scalar ResolvePlain(std::string_view text) {
  if (OneOf(text, kNulls)) return {ScalarType::kNull, "null"};
  if (OneOf(text, kTrues)) return {ScalarType::kBoolean, "true"};
  if (OneOf(text, kFalses)) return {ScalarType::kBoolean, "false"};
  if (OneOf(text, kNotFinites)) return {ScalarType::kNotFinite, ""};
  const char first = text[0];
  if (!IsDigit(first) && first != '+' && first != '-' && first != '.') return {};
  // Underscores are dropped; after a point only those between digits.
  const auto stray = [&](std::size_t at) {
    return text[at] == '_' &&
           (at + 1 == text.size() || !IsDigit(text[at - 1]) || !IsDigit(text[at + 1]));
  };
  for (std::size_t at = 1; first == '.' && at < text.size(); ++at) {
    if (stray(at)) return {};
  }
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (first != '.') {
    if (auto integer = Integer(plain)) return {ScalarType::kInteger, *std::move(integer)};
  }
  if (auto number = Float(plain)) return {ScalarType::kFloat, *std::move(number)};
  return {};
}

}  // namespace muster::config
