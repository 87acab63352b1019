#include "tests/house/source_tree.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace muster::house {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kTextEndings = {
    ".hpp", ".cpp",  ".h",   ".cc",   ".md",   ".txt", ".cmake",
    ".sh",  ".yaml", ".yml", ".json", ".html", ".js",  ".css"};

bool IsHiddenFromRules(const std::string& path) {
  if (path == "build" || path == "Testing") return true;
  return path.starts_with('.') && path != ".ci" && path != ".clang-format" &&
         path != ".clang-tidy" && path != ".gitignore";
}

bool IsText(std::string_view path) {
  if (path == "Makefile" || path.starts_with(".ci/")) return true;
  return std::any_of(kTextEndings.begin(), kTextEndings.end(),
                     [&](auto end) { return path.ends_with(end); });
}

std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void AddParents(const std::string& path, std::set<std::string>& paths) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    paths.insert(path.substr(0, slash));
  }
}

void SortByPath(std::vector<SourceFile>& files) {
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

}  // namespace

std::string ToString(const Finding& finding) {
  const std::string place = finding.line == 0 ? "" : ":" + std::to_string(finding.line);
  return finding.path + place + ": " + finding.what;
}

SourceFile MakeFile(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    file.lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return file;
}

SourceTree MakeTree(std::vector<SourceFile> files) {
  SourceTree tree{std::move(files), {}};
  SortByPath(tree.files);
  for (const SourceFile& file : tree.files) {
    tree.paths.insert(file.path);
    AddParents(file.path, tree.paths);
  }
  return tree;
}

cluster::Result<SourceTree> ReadTree(const fs::path& root) {
  SourceTree tree;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string path = at->path().lexically_relative(root).generic_string();
    const bool folder = at->is_directory(error);
    if (at.depth() == 0 && IsHiddenFromRules(path)) {
      if (folder) at.disable_recursion_pending();
      continue;
    }
    tree.paths.insert(path);
    if (folder || !IsText(path)) continue;
    const std::optional<std::string> text = ReadText(at->path());
    if (!text) return cluster::Error{cluster::Code::kIo, "cannot be read", path};
    tree.files.push_back(MakeFile(path, *text));
  }
  if (error) return cluster::Error{cluster::Code::kIo, error.message(), root.generic_string()};
  SortByPath(tree.files);
  return tree;
}

const SourceFile* FindFile(const SourceTree& tree, std::string_view path) {
  const auto found = std::find_if(tree.files.begin(), tree.files.end(),
                                  [&](const SourceFile& file) { return file.path == path; });
  return found == tree.files.end() ? nullptr : &*found;
}

std::string_view RoomOf(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool IsHeader(std::string_view path) { return path.ends_with(".hpp"); }

bool IsSource(std::string_view path) { return path.ends_with(".cpp"); }

}  // namespace muster::house
