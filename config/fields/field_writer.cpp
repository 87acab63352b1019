#include <algorithm>
#include <string>
#include <typeindex>
#include <utility>

#include "config/fields/amounts.hpp"
#include "config/fields/field_file.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {
namespace {

// Letters, digits and a few signs that mean nothing in YAML, and no number or truth value.
bool NeedsNoQuotes(std::string_view text) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), harmless) &&
         ResolvePlain(text).type == ScalarType::kText;
}

// No control characters can be in `text`: ReadFields takes none.
std::string Scalar(std::string_view text) {
  if (NeedsNoQuotes(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

class FieldWriter : public FieldVisitor {
 public:
  explicit FieldWriter(FieldText style) : commented_(style == FieldText::kCommented) {}

  void Section(const FieldInfo& info, const std::function<void()>& fields) override {
    const bool item = IsItem(info);
    if (item) {
      dash_ = true;
    } else {
      Begin(info);
      text_ += "\n";
    }
    const std::size_t begin = text_.size();
    indent_ += 2;
    first_ = true;
    fields();
    if (text_.size() == begin) {  // nothing in it
      if (item) text_ += Margin() + "{}\n";
      if (!item) text_.replace(begin - 1, 1, " {}\n");
    }
    indent_ -= 2;
  }
  void List(const FieldInfo& info, Elements* items) override {
    Begin(info);
    text_ += items->empty() ? " []\n" : "\n";
    const std::size_t inside = IsItem(info) ? 2 : 0;
    indent_ += inside;
    VisitQuietly(items);
    ShowSample("[]", items);
    indent_ -= inside;
  }
  void Named(const TextRule&, Elements* entries) override {
    VisitQuietly(entries);
    ShowSample("NAME", entries);
  }
  void Duration(const FieldInfo& info, DurationRange, cluster::Duration* value) override {
    WriteLine(info, FormatDuration(*value));
  }
  void Whole(const FieldInfo& info, WholeRange, int64_t* value) override {
    WriteLine(info, std::to_string(*value));
  }
  void Size(const FieldInfo& info, WholeRange, int64_t* bytes) override {
    WriteLine(info, FormatSize(*bytes));
  }
  void Amount(const FieldInfo& info, const AmountRule& rule, int64_t* value) override {
    WriteLine(info, rule.format(*value));
  }
  void Flag(const FieldInfo& info, bool* value) override {
    WriteLine(info, *value ? "true" : "false");
  }
  void Text(const FieldInfo& info, const TextRule&, std::string* value) override {
    WriteLine(info, Scalar(*value));
  }
  void TextList(const FieldInfo& info, const TextRule&, std::vector<std::string>* values) override {
    if (values->empty()) return WriteLine(info, "[]");
    Begin(info);
    text_ += "\n";
    const std::string margin(indent_ + (IsItem(info) ? 2 : 0), ' ');
    for (const std::string& value : *values) text_ += margin + "- " + Scalar(value) + "\n";
  }
  void Choice(const FieldInfo& info, const Words& words, std::size_t* chosen) override {
    WriteLine(info, *chosen < words.size() ? std::string(words[*chosen]) : "\"\"");
  }

  std::string TakeText() { return std::move(text_); }

 private:
  static bool IsItem(const FieldInfo& info) { return info.name.substr(0, 1) == "["; }

  // What precedes the next line: in the first of a list's item, its dash.
  std::string Margin() {
    if (!std::exchange(dash_, false)) return std::string(indent_, ' ');
    return std::string(indent_ - 2, ' ') + "- ";
  }
  void Begin(const FieldInfo& info) {
    if (commented_) {
      if ((indent_ == 0 && !IsItem(info)) || (!info.help.empty() && !first_)) text_ += "\n";
      std::string_view help = info.help;
      while (!help.empty()) {
        const std::size_t end = std::min(help.find('\n'), help.size());
        text_ += std::string(indent_, ' ') + "# " + std::string(help.substr(0, end)) + "\n";
        help.remove_prefix(std::min(end + 1, help.size()));
      }
    }
    first_ = false;
    text_ += Margin() + (IsItem(info) ? "-" : Scalar(info.name) + ":");
  }
  void WriteLine(const FieldInfo& info, const std::string& value) {
    Begin(info);
    text_ += " " + value + "\n";
  }
  // What the fields of an element mean is said in the sample.
  void VisitQuietly(Elements* elements) {
    const bool commented = std::exchange(commented_, false);
    elements->VisitAll(this);
    commented_ = commented;
  }
  void ShowSample(const std::string& name, Elements* elements) {
    const std::type_index type(elements->type());
    const bool inside = std::find(samples_.begin(), samples_.end(), type) != samples_.end();
    if (!commented_ || inside) return;
    samples_.push_back(type);
    const std::string before = std::exchange(text_, "");
    elements->VisitSample(name, this);
    samples_.pop_back();
    const std::string lines = std::exchange(text_, before);
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at) + 1;
      const std::string line = lines.substr(at, end - at);
      // Each is indented at least as far as this, or empty.
      if (line != "\n") text_ += line.substr(0, indent_) + "# " + line.substr(indent_);
      at = end;
    }
  }

  bool commented_;
  std::size_t indent_ = 0;
  bool first_ = false;  // nothing was written in this section yet
  bool dash_ = false;   // the next line begins an item
  std::string text_;
  std::vector<std::type_index> samples_;  // that are being shown, outermost first
};

}  // namespace

std::string WriteFields(const FieldTable& fields, FieldText style) {
  FieldWriter writer(style);
  fields(&writer);
  return writer.TakeText();
}

}  // namespace muster::config
