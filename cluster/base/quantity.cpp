#include "cluster/base/quantity.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace muster::cluster {
namespace {

// digits × 10^exponent, exactly; `digits` holds the values 0 … 9, most significant first.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

// An exponent beyond this decides the outcome for every text that fits in memory.
constexpr int64_t kExponentLimit = 1'000'000'000'000;

struct Suffix {
  int64_t ten = 0;  // power of 10
  int two = 0;      // power of 2
};

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 48;
  std::string quoted = "\"";
  for (char c : text.substr(0, kShown)) quoted += c >= ' ' && c <= '~' && c != '"' ? c : '?';
  return quoted + (text.size() > kShown ? "\"…" : "\"");
}

Error Malformed(std::string_view text) {
  return {Code::kInvalidArgument,
          "expected a Kubernetes quantity such as 500m, 2, 1.5 or 64Gi, got " + Quoted(text),
          {}};
}

Error OutOfRange(std::string_view text) {
  return {Code::kInvalidArgument, "the quantity " + Quoted(text) + " is too large", {}};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Moves the leading decimal digits of `text` to the end of `digits` and returns how many.
size_t TakeDigits(std::string_view& text, std::string& digits) {
  size_t count = 0;
  for (; count < text.size() && IsDigit(text[count]); ++count) {
    digits.push_back(static_cast<char>(text[count] - '0'));
  }
  text.remove_prefix(count);
  return count;
}

// The <int> of e<int>: an optional sign and at least one digit.
std::optional<int64_t> ParseExponent(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    exponent = std::min(exponent * 10 + (c - '0'), kExponentLimit);
  }
  return negative ? -exponent : exponent;
}

std::optional<Suffix> ParseSuffix(std::string_view text) {
  constexpr std::string_view kBinary = "KMGTPE";       // 2^10, 2^20, …
  constexpr std::string_view kDecimal = "num kMGTPE";  // 10^-9, 10^-6, …; the blank is 10^0
  if (text.empty()) return Suffix{};
  if (text.size() == 1 && text.front() != ' ') {
    const size_t at = kDecimal.find(text.front());
    if (at == std::string_view::npos) return std::nullopt;
    return Suffix{3 * (static_cast<int64_t>(at) - 3), 0};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const size_t at = kBinary.find(text.front());
    if (at == std::string_view::npos) return std::nullopt;
    return Suffix{0, 10 * (static_cast<int>(at) + 1)};
  }
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  const std::optional<int64_t> exponent = ParseExponent(text.substr(1));
  if (!exponent) return std::nullopt;
  return Suffix{*exponent, 0};
}

void Multiply(Decimal& number, int factor) {
  int carry = 0;
  for (auto digit = number.digits.rbegin(); digit != number.digits.rend(); ++digit) {
    carry += *digit * factor;
    *digit = static_cast<char>(carry % 10);
    carry /= 10;
  }
  std::string more;
  for (; carry > 0; carry /= 10) more.push_back(static_cast<char>(carry % 10));
  number.digits.insert(number.digits.begin(), more.rbegin(), more.rend());
}

// Times 2^two. A division by 2 is exact too: it is a multiplication by 5 and one decimal place
// more.
void MultiplyByPowerOfTwo(Decimal& number, int two) {
  for (; two >= 10; two -= 10) Multiply(number, 1024);
  for (; two <= -4; two += 4) {
    Multiply(number, 625);
    number.exponent -= 4;
  }
  for (; two > 0; --two) Multiply(number, 2);
  for (; two < 0; ++two) {
    Multiply(number, 5);
    --number.exponent;
  }
}

struct Whole {
  int64_t floor = 0;
  bool exact = true;
};

// Nothing when the integral part does not fit in an int64.
std::optional<Whole> Split(const Decimal& number) {
  const size_t first = std::min(number.digits.find_first_not_of('\0'), number.digits.size());
  const int64_t count = static_cast<int64_t>(number.digits.size() - first);
  if (count == 0) return Whole{};
  const int64_t integral = count + number.exponent;  // digits left of the point
  if (integral <= 0) return Whole{0, false};
  if (integral > std::numeric_limits<int64_t>::digits10 + 1) return std::nullopt;
  Whole whole;
  for (int64_t i = 0; i < std::max(integral, count); ++i) {
    const int digit = i < count ? number.digits[first + static_cast<size_t>(i)] : 0;
    if (i >= integral) {
      whole.exact = whole.exact && digit == 0;
    } else if (__builtin_mul_overflow(whole.floor, 10, &whole.floor) ||
               __builtin_add_overflow(whole.floor, digit, &whole.floor)) {
      return std::nullopt;
    }
  }
  return whole;
}

// `text` × 10^ten × 2^two as a whole number and what is left over.
Result<Whole> Parse(std::string_view text, int64_t ten, int two) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  Decimal number;
  TakeDigits(rest, number.digits);
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    number.exponent = -static_cast<int64_t>(TakeDigits(rest, number.digits));
  }
  if (number.digits.empty()) return Malformed(text);
  const std::optional<Suffix> suffix = ParseSuffix(rest);
  if (!suffix) return Malformed(text);
  number.exponent += suffix->ten + ten;
  MultiplyByPowerOfTwo(number, suffix->two + two);
  if (negative && number.digits.find_first_not_of('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument, "expected no negative quantity, got " + Quoted(text), {}};
  }
  const std::optional<Whole> whole = Split(number);
  if (!whole) return OutOfRange(text);
  return *whole;
}

// The amount in units of `text` × 10^ten × 2^two. The largest int64 is refused too: it means "no
// limit".
template <typename Unit>
Result<Unit> ParseRounded(std::string_view text, int64_t ten, int two, Round round) {
  const Result<Whole> whole = Parse(text, ten, two);
  if (!whole.ok()) return whole.error();
  const bool up = round == Round::kUp && !whole->exact;
  if (whole->floor >= std::numeric_limits<int64_t>::max() - (up ? 1 : 0)) return OutOfRange(text);
  return Unit(whole->floor + (up ? 1 : 0));
}

}  // namespace

Result<MilliCpu> ParseCpu(std::string_view text, Round round) {
  return ParseRounded<MilliCpu>(text, 3, 0, round);
}

Result<MiB> ParseMemory(std::string_view text, Round round) {
  return ParseRounded<MiB>(text, 0, -20, round);
}

Result<int64_t> ParseCount(std::string_view text) {
  const Result<Whole> whole = Parse(text, 0, 0);
  if (!whole.ok()) return whole.error();
  if (!whole->exact) {
    return Error{Code::kInvalidArgument, "expected a whole number, got " + Quoted(text), {}};
  }
  return whole->floor;
}

Result<GpuMilli> ParseGpuShare(std::string_view text) {
  const Result<Whole> whole = Parse(text, 3, 0);
  if (!whole.ok()) return whole.error();
  if (!whole->exact) {
    return Error{Code::kInvalidArgument,
                 "expected a share of a GPU in thousandths at most, got " + Quoted(text),
                 {}};
  }
  if (whole->floor == std::numeric_limits<int64_t>::max()) return OutOfRange(text);
  return GpuMilli(whole->floor);
}

}  // namespace muster::cluster
