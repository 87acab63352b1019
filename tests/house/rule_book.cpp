#include "tests/house/rule_book.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <regex>
#include <string>

namespace muster::house {
namespace {

constexpr const char* kRuleBook = "docs/reference/rules.md";

struct Rule {
  size_t line = 0;  // of its heading
  bool has_test = false;
};

bool Contains(const SourceFile& file, const std::string& text) {
  return std::any_of(file.lines.begin(), file.lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

// The rules of the book by name, and what is wrong with it.
std::map<std::string, Rule> ReadBook(const SourceTree& tree, const SourceFile& book,
                                     std::vector<Finding>& findings) {
  static const std::regex kHeading("^#+ ([RI][0-9]{1,2}) .*");
  static const std::regex kTest("^- \\*\\*Test\\.\\*\\* `([^`]+)`: \"([^\"]+)\"$");
  std::map<std::string, Rule> rules;
  std::string now;
  for (size_t i = 0; i < book.lines.size(); ++i) {
    std::smatch parts;
    if (std::regex_match(book.lines[i], parts, kHeading)) {
      now = parts[1];
      if (!rules.try_emplace(now, Rule{i + 1}).second)
        findings.push_back({kRuleBook, i + 1, now + " is there twice"});
    } else if (!now.empty() && std::regex_match(book.lines[i], parts, kTest)) {
      rules[now].has_test = true;
      const SourceFile* file = FindFile(tree, parts[1].str());
      if (file == nullptr || !Contains(*file, "\"" + parts[2].str() + "\""))
        findings.push_back({kRuleBook, i + 1, parts[1].str() + " has no such test"});
    }
  }
  return rules;
}

void CheckCites(const SourceFile& file, const std::map<std::string, Rule>& rules,
                std::vector<Finding>& findings) {
  static const std::regex kCite("\\b[RI][0-9]{1,2}\\b");
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    for (auto at = std::sregex_iterator(line.begin(), line.end(), kCite);
         at != std::sregex_iterator(); ++at) {
      if (!rules.contains(at->str()))
        findings.push_back({file.path, i + 1, at->str() + " is no rule of " + kRuleBook});
    }
  }
}

}  // namespace

std::vector<Finding> CheckRuleBook(const SourceTree& tree) {
  std::vector<Finding> findings;
  const SourceFile* book = FindFile(tree, kRuleBook);
  if (book == nullptr) return {{kRuleBook, 0, "there is no rule book"}};
  const std::map<std::string, Rule> rules = ReadBook(tree, *book, findings);
  for (const auto& [name, rule] : rules) {
    if (!rule.has_test) findings.push_back({kRuleBook, rule.line, name + " names no test"});
  }
  for (const SourceFile& file : tree.files) {
    const bool read = IsCode(file.path) || file.path.ends_with(".md");
    const bool planted = file.path.starts_with("tests/house/");
    if (read && !planted) CheckCites(file, rules, findings);
  }
  return findings;
}

}  // namespace muster::house
