#include <algorithm>
#include <string>
#include <utility>

#include "config/amounts.hpp"
#include "config/policy_fields.hpp"
#include "config/yaml_scalar.hpp"

namespace muster::config {
namespace {

constexpr std::string_view kHead =
    "# The policy of Muster: every field, with its default. Leave out what need not differ.\n"
    "#\n"
    "#   muster check-policy FILE        tells what is wrong with it, by line and column\n"
    "#   muster serve --policy FILE      uses it, and loads it again when it changes; a file that "
    "is\n"
    "#                                   wrong is refused as a whole, and the last good one stays\n"
    "#\n"
    "# Durations are whole numbers of h, m, s, ms (\"1h30m\"), sizes of B, KiB, MiB, GiB.\n";

// Letters, digits and a few signs that mean nothing in YAML, and no number or truth value.
bool NeedsNoQuotes(std::string_view text) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), harmless) &&
         ResolvePlain(text).type == ScalarType::kText;
}

// No control characters can be in `text`: LoadPolicy takes none.
std::string Scalar(std::string_view text) {
  if (NeedsNoQuotes(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

class PolicyWriter : public FieldVisitor {
 public:
  explicit PolicyWriter(PolicyText style) : commented_(style == PolicyText::kCommented) {
    if (commented_) text_ += kHead;
    text_ += "apiVersion: " + std::string(kPolicyApiVersion) + "\n";
    text_ += "kind: " + std::string(kPolicyKind) + "\n";
  }

  void Section(const FieldInfo& info, const std::function<void()>& fields) override {
    Begin(info);
    text_ += "\n";
    indent_ += 2;
    first_ = true;
    fields();
    indent_ -= 2;
  }
  void Duration(const FieldInfo& info, DurationRange, cluster::Duration* value) override {
    Field(info, FormatDuration(*value));
  }
  void Whole(const FieldInfo& info, WholeRange, int64_t* value) override {
    Field(info, std::to_string(*value));
  }
  void Size(const FieldInfo& info, WholeRange, int64_t* bytes) override {
    Field(info, FormatSize(*bytes));
  }
  void Flag(const FieldInfo& info, bool* value) override { Field(info, *value ? "true" : "false"); }
  void Text(const FieldInfo& info, const TextRule&, std::string* value) override {
    Field(info, Scalar(*value));
  }
  void TextList(const FieldInfo& info, const TextRule&, std::vector<std::string>* values) override {
    if (values->empty()) return Field(info, "[]");
    Begin(info);
    text_ += "\n";
    for (const std::string& value : *values) {
      text_ += std::string(indent_, ' ') + "- " + Scalar(value) + "\n";
    }
  }
  void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) override {
    Field(info, std::string(words.at(*chosen)));
  }

  std::string TakeText() { return std::move(text_); }

 private:
  void Begin(const FieldInfo& info) {
    if (commented_) {
      if (indent_ == 0 || (!info.help.empty() && !first_)) text_ += "\n";
      std::string_view help = info.help;
      while (!help.empty()) {
        const std::size_t end = std::min(help.find('\n'), help.size());
        text_ += std::string(indent_, ' ') + "# " + std::string(help.substr(0, end)) + "\n";
        help.remove_prefix(std::min(end + 1, help.size()));
      }
    }
    first_ = false;
    text_ += std::string(indent_, ' ') + std::string(info.name) + ":";
  }
  void Field(const FieldInfo& info, const std::string& value) {
    Begin(info);
    text_ += " " + value + "\n";
  }

  const bool commented_;
  std::size_t indent_ = 0;
  bool first_ = false;  // nothing was written in this section yet
  std::string text_;
};

}  // namespace

std::string WritePolicy(const Policy& policy, PolicyText style) {
  Policy copy = policy;  // visitors may change what they visit; this one does not
  PolicyWriter writer(style);
  VisitPolicy(&copy, &writer);
  return writer.TakeText();
}

}  // namespace muster::config
