#include "config/policies/queue_amounts.hpp"

#include "config/fields/amounts.hpp"
#include "queues/queue_spec.hpp"

namespace muster::config {

using queues::Resource;

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20U;

bool IsMemory(const Resource& resource) {
  return resource.kind == Resource::Kind::kMemory || resource.kind == Resource::Kind::kGpuMemory;
}

// "64", "0.5" or, as Kubernetes writes it, "500m"; in thousandths.
std::optional<int64_t> ParseThousandths(std::string_view text) {
  if (text.ends_with('m')) {
    const std::optional<int64_t> amount = ParseWhole(text.substr(0, text.size() - 1));
    return amount && *amount <= queues::kMostAmount ? amount : std::nullopt;
  }
  const std::size_t point = text.find('.');
  const std::optional<int64_t> whole = ParseWhole(text.substr(0, point));
  if (!whole || *whole > queues::kMostAmount / 1000) return std::nullopt;
  int64_t amount = *whole * 1000;
  if (point == std::string_view::npos) return amount;
  const std::string_view digits = text.substr(point + 1);
  const bool fine = !digits.empty() && digits.size() <= 3 &&
                    digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!fine) return std::nullopt;
  int64_t unit = 100;
  for (const char digit : digits) {
    amount += (digit - '0') * unit;
    unit /= 10;
  }
  return amount;
}

std::string FormatThousandths(int64_t amount) {
  return queues::ShowAmount({Resource::Kind::kGpu}, amount);
}

std::optional<int64_t> ParseMemory(std::string_view text) {
  const std::optional<int64_t> bytes = ParseSize(text);
  if (!bytes || *bytes % kMebibyte != 0) return std::nullopt;
  return *bytes / kMebibyte;
}

std::string FormatMemory(int64_t mebibytes) { return FormatSize(mebibytes * kMebibyte); }

constexpr AmountRule kThousandths{
    "an amount such as 64 or 0.5, with three digits at most after the point, or 500m",
    ParseThousandths, FormatThousandths};
constexpr AmountRule kMemory{"a size in whole MiB, such as 512GiB or 512Gi", ParseMemory,
                             FormatMemory};

}  // namespace

const AmountRule& RuleOf(const Resource& resource) {
  return IsMemory(resource) ? kMemory : kThousandths;
}

std::string ModelWords(std::string_view text) {
  std::string words(text);
  for (char& c : words) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '_') c = '-';
  }
  return words;
}

std::string ResourceName(std::string_view text) {
  if (text == "nvidia.com/gpu") return "gpu";
  constexpr std::string_view kModels = "gpu/";
  if (!text.starts_with(kModels)) return std::string(text);
  return std::string(kModels) + ModelWords(text.substr(kModels.size()));
}

bool IsResource(std::string_view text) {
  return queues::ParseResource(ResourceName(text)).has_value();
}

bool IsModel(std::string_view text) {
  return text.empty() || IsResource("gpu/" + std::string(text));
}

}  // namespace muster::config
