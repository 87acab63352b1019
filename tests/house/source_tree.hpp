// SourceTree: the text of the repository, as the layout rules look at it. Plain values.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::house {

struct SourceFile {
  std::string path;                // from the top of the tree, with '/'
  std::vector<std::string> lines;  // without their line ends
};

struct SourceTree {
  std::vector<SourceFile> files;  // text files, ordered by path
  std::set<std::string> paths;    // every file and folder, also those whose text was not read
};

// One breach of a rule. `line` counts from 1; 0 means the file or folder as a whole.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string what;

  bool operator==(const Finding&) const = default;
};

// "path:line: what", as compilers print.
std::string ToString(const Finding& finding);

SourceFile MakeFile(std::string path, std::string_view text);

// A tree of these files and of the folders that they imply.
SourceTree MakeTree(std::vector<SourceFile> files);

// Reads everything below `root` except build/ and hidden folders other than .ci/.
cluster::Result<SourceTree> ReadTree(const std::filesystem::path& root);

// Null: the tree has no such text.
const SourceFile* FindFile(const SourceTree& tree, std::string_view path);

// First folder of a path: "cluster/records/node.hpp" -> "cluster"; empty for a file at the top.
std::string_view RoomOf(std::string_view path);

bool IsHeader(std::string_view path);
bool IsSource(std::string_view path);
inline bool IsCode(std::string_view path) { return IsHeader(path) || IsSource(path); }

}  // namespace muster::house
