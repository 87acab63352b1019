#include "tests/house/room_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/house/include_line.hpp"
#include "tests/house/rooms.hpp"

namespace muster::house {
namespace {

constexpr std::size_t kMostSources = 60;
constexpr std::size_t kMostSeeAll = 12;
constexpr std::string_view kWholeState = "EngineState&";

// Who includes whom, by name.
using Graph = std::map<std::string, std::set<std::string>>;

std::string UnitOf(std::string_view path) {
  path = path.substr(0, path.rfind('.'));
  constexpr std::string_view kInside = "_impl";
  if (path.ends_with(kInside)) path.remove_suffix(kInside.size());
  return std::string(path);
}

std::string FolderOf(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

// The parts of a graph whose members all reach each other, of more than one member (Tarjan).
class Cycles {
 public:
  explicit Cycles(const Graph& graph) : graph_(graph) {
    for (const auto& [name, others] : graph_) {
      if (!known_.contains(name)) Visit(name);
    }
  }
  std::vector<std::set<std::string>> Take() { return std::move(found_); }

 private:
  struct Known {
    std::size_t number = 0;  // in the order of visits
    std::size_t low = 0;     // the lowest one that it reaches, of those that are open
    bool open = true;
  };

  void Visit(const std::string& name) {
    const std::size_t number = known_.size();
    known_[name] = {number, number, true};
    open_.push_back(name);
    for (const std::string& other : graph_.at(name)) {
      if (!known_.contains(other)) Visit(other);
      if (known_[other].open) known_[name].low = std::min(known_[name].low, known_[other].low);
    }
    if (known_[name].low != number) return;
    std::set<std::string> part;
    while (!part.contains(name)) {
      known_[open_.back()].open = false;
      part.insert(std::move(open_.back()));
      open_.pop_back();
    }
    if (part.size() > 1) found_.push_back(std::move(part));
  }

  const Graph& graph_;
  std::map<std::string, Known> known_;
  std::vector<std::string> open_;
  std::vector<std::set<std::string>> found_;
};

// One folder of the layout.
class Folder {
 public:
  void Add(const SourceFile& file) {
    const std::string unit = UnitOf(file.path);
    const std::string room = FolderOf(file.path);
    units_[unit];
    rooms_[room];
    ++sources_[room];
    for (const std::string& line : file.lines) {
      const std::optional<Include> include = ParseInclude(line);
      if (!include || RoomOf(include->name) != RoomOf(file.path)) continue;
      const std::string other = FolderOf(include->name);
      if (UnitOf(include->name) != unit) units_[unit].insert(UnitOf(include->name));
      if (other != room) rooms_[room].insert(other);
    }
  }

  void Check(std::vector<Finding>& findings) {
    FindCycles(units_, findings);
    for (const auto& [room, count] : sources_) {
      if (count > kMostSources) {
        findings.push_back({room, 0,
                            std::to_string(count) + " sources, at most " +
                                std::to_string(kMostSources) + " stand together"});
      }
    }
    FindCycles(rooms_, findings);
  }

 private:
  static void FindCycles(Graph& graph, std::vector<Finding>& findings) {
    // What is not there another rule finds.
    for (auto& [name, others] : graph)
      std::erase_if(others, [&](const std::string& other) { return !graph.contains(other); });
    for (const std::set<std::string>& part : Cycles(graph).Take()) {
      std::string what = "include each other, through others or not:";
      for (const std::string& name : part) what += " " + name;
      findings.push_back({*part.begin(), 0, what});
    }
  }

  Graph units_;
  Graph rooms_;
  std::map<std::string, std::size_t> sources_;  // by room
};

bool TakesWholeState(const SourceFile& file) {
  return file.path.starts_with("engine/") && file.path.ends_with(".cpp") &&
         std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
           return line.find(kWholeState) != std::string::npos;
         });
}

void CheckLayers(const SourceTree& tree, std::vector<Finding>& findings) {
  const auto count = static_cast<std::size_t>(
      std::count_if(tree.files.begin(), tree.files.end(), TakesWholeState));
  if (count <= kMostSeeAll) return;
  findings.push_back({"engine", 0,
                      std::to_string(count) + " .cpp take " + std::string(kWholeState) +
                          ", at most " + std::to_string(kMostSeeAll) +
                          ": take the lowest layer of the state that is enough"});
}

}  // namespace

std::vector<Finding> CheckRooms(const SourceTree& tree) {
  std::map<std::string_view, Folder> folders;
  for (const SourceFile& file : tree.files) {
    const Room* room = FindRoom(RoomOf(file.path));
    if (room != nullptr && !room->leaf && IsCode(file.path)) folders[room->name].Add(file);
  }
  std::vector<Finding> findings;
  for (auto& [name, folder] : folders) folder.Check(findings);
  CheckLayers(tree, findings);
  return findings;
}

}  // namespace muster::house
