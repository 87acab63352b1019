#include "tests/house/source_rules.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/house/rooms.hpp"

namespace muster::house {
namespace {

constexpr std::size_t kMaxHeader = 250;
constexpr std::size_t kMaxEngineHeader = 150;
constexpr std::size_t kMaxSource = 600;
constexpr std::size_t kMaxTest = 500;

constexpr std::array<std::string_view, 8> kImpureWords = {
    "_clock::now", "random_device", "sleep_for", "sleep_until",
    "std::getenv", "std::cout",     "std::cerr", "std::time("};

std::string_view Trimmed(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

// One file under examination; the checks append to `findings`.
class SourceCheck {
 public:
  SourceCheck(const SourceFile& file, std::vector<Finding>& findings)
      : file_(file), room_(FindRoom(RoomOf(file.path))), findings_(findings) {}

  void Run() {
    CheckLength();
    CheckName();
    if (IsHeader(file_.path)) CheckHeader();
    for (std::size_t i = 0; i < file_.lines.size(); ++i) {
      CheckStatics(file_.lines[i], i + 1);
      CheckPurity(file_.lines[i], i + 1);
    }
  }

 private:
  void Add(std::size_t line, std::string what) {
    findings_.push_back({file_.path, line, std::move(what)});
  }

  bool AnyLineHas(std::string_view text) const {
    return std::any_of(file_.lines.begin(), file_.lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  void CheckLength() {
    std::size_t most = kMaxSource;
    if (IsHeader(file_.path)) most = RoomOf(file_.path) == "engine" ? kMaxEngineHeader : kMaxHeader;
    if (IsSource(file_.path) && RoomOf(file_.path) == "tests") most = kMaxTest;
    const std::size_t lines = file_.lines.size();
    if (lines > most)
      Add(0, std::to_string(lines) + " lines, at most " + std::to_string(most) + " are allowed");
  }

  void CheckName() {
    const std::string_view path = file_.path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::string_view stem = name.substr(0, name.rfind('.'));
    const bool snake =
        stem.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
    if (!snake || !IsCode(path)) Add(0, "code is in files named snake_case.hpp or snake_case.cpp");
  }

  void CheckHeader() {
    if (!AnyLineHas("#pragma once")) Add(0, "a header needs #pragma once");
    for (std::size_t i = 0; i < file_.lines.size(); ++i) {
      if (Trimmed(file_.lines[i]).starts_with("using namespace"))
        Add(i + 1, "using namespace in a header");
    }
    if (room_ == nullptr || room_->leaf) return;
    const std::string space = "namespace muster::" + std::string(room_->name);
    if (!AnyLineHas(space)) Add(0, "a header of this folder declares things in " + space);
  }

  // What follows its name marks a variable, not a function: '=', ';' or '{' and not '('.
  void CheckStatics(std::string_view line, std::size_t number) {
    line = Trimmed(line);
    if (!line.starts_with("static ") && !line.starts_with("thread_local ")) return;
    const std::size_t end = line.find_first_of("(=;{");
    if (end == std::string_view::npos || line[end] == '(') return;
    if (line.substr(0, end).find("constexpr") != std::string_view::npos) return;
    Add(number, "a static variable that is not constexpr");
  }

  void CheckPurity(std::string_view line, std::size_t number) {
    if (room_ == nullptr || !room_->pure) return;
    for (const std::string_view word : kImpureWords) {
      if (line.find(word) != std::string_view::npos) {
        Add(number,
            std::string(word) + ": time, chance and surroundings come in from outside this folder");
      }
    }
  }

  const SourceFile& file_;
  const Room* room_;  // null outside the rooms
  std::vector<Finding>& findings_;
};

bool LooksLikeCode(std::string_view path) {
  return IsCode(path) || path.ends_with(".h") || path.ends_with(".cc");
}

}  // namespace

std::vector<Finding> CheckTestsAreBuilt(const SourceTree& tree) {
  std::set<std::string> named;  // words of the lists, less their folders
  for (const SourceFile& file : tree.files) {
    if (RoomOf(file.path) != "tests" || !file.path.ends_with("CMakeLists.txt")) continue;
    for (const std::string& line : file.lines) {
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        word.erase(std::remove(word.begin(), word.end(), ')'), word.end());
        named.insert(word.substr(word.rfind('/') + 1));
      }
    }
  }
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (RoomOf(file.path) != "tests" || !IsSource(file.path)) continue;
    if (!named.contains(file.path.substr(file.path.rfind('/') + 1)))
      findings.push_back({file.path, 0, "no CMakeLists.txt of tests/ names it"});
  }
  return findings;
}

std::vector<Finding> CheckSources(const SourceTree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (LooksLikeCode(file.path)) SourceCheck(file, findings).Run();
  }
  return findings;
}

}  // namespace muster::house
