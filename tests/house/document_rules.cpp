#include "tests/house/document_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/house/rooms.hpp"

namespace muster::house {
namespace {

// Written in two parts, so that this file does not break its own rule.
constexpr std::array<std::string_view, 4> kUnfinished = {
    "TO"
    "DO",
    "FIX"
    "ME",
    "XX"
    "X",
    "HA"
    "CK"};
constexpr std::array<std::string_view, 4> kMachinePaths = {
    "/wo"
    "rk/",
    "/ro"
    "ot/",
    "/ho"
    "me/",
    "/Us"
    "ers/"};
constexpr std::string_view kTargetChars = "abcdefghijklmnopqrstuvwxyz-0123456789";
constexpr std::array<std::string_view, 2> kFurtherFolders = {"docs", "manifests"};
constexpr std::size_t kMostWords = 1600;
constexpr const char* kIndex = "docs/README.md";
constexpr const char* kSite = "mkdocs.yml";

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool HasWord(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !IsWordChar(line[at - 1]);
    if (starts && (end == line.size() || !IsWordChar(line[end]))) return true;
  }
  return false;
}

// An absolute path only: "a/b" inside "x/a/b" is a part of another path.
bool HasPath(std::string_view line, std::string_view path) {
  for (std::size_t at = line.find(path); at != std::string_view::npos;
       at = line.find(path, at + 1)) {
    if (at == 0) return true;
    const char before = line[at - 1];
    if (!IsWordChar(before) && before != '.' && before != '}' && before != '-' && before != '*')
      return true;
  }
  return false;
}

void CheckWords(const SourceFile& file, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    for (const std::string_view word : kUnfinished) {
      if (HasWord(file.lines[i], word)) findings.push_back({file.path, i + 1, std::string(word)});
    }
    for (const std::string_view path : kMachinePaths) {
      if (HasPath(file.lines[i], path)) {
        findings.push_back({file.path, i + 1, "a path of one machine: " + std::string(path)});
      }
    }
  }
}

std::string Resolve(const std::string& file, std::string_view link) {
  namespace fs = std::filesystem;
  std::string path = (fs::path(file).parent_path() / link).lexically_normal().generic_string();
  if (path.ends_with('/')) path.pop_back();
  return path;
}

void CheckLinks(const SourceFile& file, const SourceTree& tree, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::string_view line = file.lines[i];
    for (std::size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](")) {
      line.remove_prefix(at + 2);
      const std::string_view link = line.substr(0, line.find_first_of(")# "));
      if (link.empty() || link.find("://") != std::string_view::npos) continue;
      const std::string target = Resolve(file.path, link);
      if (target != "." && !tree.paths.contains(target)) {
        findings.push_back({file.path, i + 1, "the link leads nowhere: " + std::string(link)});
      }
    }
  }
}

std::set<std::string, std::less<>> MakeTargets(const SourceTree& tree) {
  std::set<std::string, std::less<>> targets;
  const SourceFile* makefile = FindFile(tree, "Makefile");
  if (makefile == nullptr) return targets;
  for (const std::string& line : makefile->lines) {
    const std::size_t colon = line.find_first_not_of(kTargetChars);
    if (colon != 0 && colon != std::string::npos && line[colon] == ':')
      targets.insert(line.substr(0, colon));
  }
  return targets;
}

// Commands stand in backquotes, or begin a line of a fenced example.
bool IsCommand(const std::string& line, std::size_t at, bool fenced) {
  if (at > 0 && line[at - 1] == '`') return true;
  return fenced && line.find_first_not_of(' ') == at;
}

void CheckCommands(const SourceFile& file, const std::set<std::string, std::less<>>& targets,
                   std::vector<Finding>& findings) {
  constexpr std::string_view kMake = "make ";
  bool fenced = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (line.starts_with("```")) fenced = !fenced;
    for (std::size_t at = line.find(kMake); at != std::string::npos;
         at = line.find(kMake, at + 1)) {
      const std::size_t begin = at + kMake.size();
      const std::size_t end = std::min(line.find_first_not_of(kTargetChars, begin), line.size());
      const std::string target = line.substr(begin, end - begin);
      if (IsCommand(line, at, fenced) && !target.empty() && !targets.contains(target)) {
        findings.push_back({file.path, i + 1, "the Makefile has no target " + target});
      }
    }
  }
}

bool IsPage(const SourceFile& file) {
  return file.path.starts_with("docs/") && file.path.ends_with(".md");
}

// A word has a letter or a digit; the bars of a table are none.
std::size_t CountWords(const std::string& line) {
  const auto counts = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::size_t words = 0;
  std::istringstream parts(line);
  for (std::string part; parts >> part;) {
    if (std::any_of(part.begin(), part.end(), counts)) ++words;
  }
  return words;
}

// Pages of the reference are looked up, not read, and other documents are not bounded.
void CheckSize(const SourceFile& file, std::vector<Finding>& findings) {
  const bool page = IsPage(file);
  const bool readme = std::filesystem::path(file.path).filename() == "README.md";
  if (file.path.starts_with("docs/reference/") || (!page && !readme)) return;
  std::size_t words = 0;
  for (const std::string& line : file.lines) words += CountWords(line);
  if (words > kMostWords) {
    findings.push_back(
        {file.path, 0,
         "has " + std::to_string(words) + " words, more than " + std::to_string(kMostWords) +
             (page ? ": split it by what readers want" : ": decisions go to docs/design/")});
  }
}

// The files that a document's relative links lead to; of a folder its README.md.
std::vector<std::string> LinksOf(const SourceFile& file) {
  std::vector<std::string> targets;
  for (std::string_view line : file.lines) {
    for (std::size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](")) {
      line.remove_prefix(at + 2);
      targets.push_back(Resolve(file.path, line.substr(0, line.find_first_of(")# "))));
      targets.push_back(targets.back() + "/README.md");
    }
  }
  return targets;
}

// A line "- Title: page.md" of mkdocs.yml.
std::vector<std::string> PagesOfSite(const SourceTree& tree) {
  std::vector<std::string> pages;
  const SourceFile* site = FindFile(tree, kSite);
  if (site == nullptr) return pages;
  for (const std::string& line : site->lines) {
    if (line.ends_with(".md")) pages.push_back("docs/" + line.substr(line.rfind(' ') + 1));
  }
  return pages;
}

void CheckPagesAreFound(const SourceTree& tree, std::vector<Finding>& findings) {
  std::vector<std::string> next = PagesOfSite(tree);
  next.emplace_back(kIndex);
  std::set<std::string> found;
  while (!next.empty()) {
    const std::string path = next.back();
    next.pop_back();
    const SourceFile* page = FindFile(tree, path);
    if (page == nullptr || !IsPage(*page) || !found.insert(path).second) continue;
    for (std::string& target : LinksOf(*page)) next.push_back(std::move(target));
  }
  for (const SourceFile& file : tree.files) {
    if (IsPage(file) && !found.contains(file.path)) {
      findings.push_back(
          {file.path, 0,
           "no link from " + std::string(kIndex) + " leads here, nor does " + kSite + " list it"});
    }
  }
}

void CheckReadmes(const SourceTree& tree, std::vector<Finding>& findings) {
  const auto need = [&](const std::string& folder) {
    const std::string readme = folder.empty() ? "README.md" : folder + "/README.md";
    if (!tree.paths.contains(readme)) findings.push_back({readme, 0, "is missing"});
  };
  need("");
  for (const Room& room : kRooms) need(std::string(room.name));
  for (const std::string_view folder : kFurtherFolders) need(std::string(folder));
}

}  // namespace

std::vector<Finding> CheckDocuments(const SourceTree& tree) {
  std::vector<Finding> findings;
  CheckReadmes(tree, findings);
  const auto targets = MakeTargets(tree);
  for (const SourceFile& file : tree.files) {
    CheckWords(file, findings);
    if (!file.path.ends_with(".md")) continue;
    CheckSize(file, findings);
    CheckLinks(file, tree, findings);
    CheckCommands(file, targets, findings);
  }
  CheckPagesAreFound(tree, findings);
  return findings;
}

}  // namespace muster::house
