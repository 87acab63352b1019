#include "tests/house/include_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tests/house/include_line.hpp"
#include "tests/house/rooms.hpp"

namespace muster::house {
namespace {

// A third-party header, by how its name begins, and the folders that may include it.
struct Library {
  std::string_view prefix;
  std::array<std::string_view, 5> rooms;
};

constexpr std::array<Library, 9> kLibraries = {{
    {"boost/", {"topology", "http"}},
    {"catch2/", {"tests"}},
    {"httplib.h", {"http", "tests", "bench"}},
    {"nghttp2/", {"http", "tests"}},
    {"openssl/", {"http", "tests", "bench"}},
    {"prometheus/", {"extender"}},
    {"rapidjson/", {"config", "kube", "cli", "tests", "bench"}},
    {"yaml-cpp/", {"config"}},
    {"zlib.h", {"http", "tests"}},
}};

constexpr std::array<std::string_view, 16> kSystem = {
    "arpa/",  "dirent.h",  "fcntl.h", "linux/",   "malloc.h", "net/", "netdb.h",   "netinet/",
    "poll.h", "pthread.h", "sched.h", "signal.h", "spawn.h",  "sys/", "termios.h", "unistd.h"};

// Standard headers with which one could do I/O, start threads or read the calendar.
constexpr std::array<std::string_view, 10> kImpure = {
    "csignal",  "ctime",      "filesystem", "fstream",   "future",
    "iostream", "stop_token", "syncstream", "semaphore", "thread"};

constexpr std::array<std::string_view, 3> kLocks = {"condition_variable", "mutex", "shared_mutex"};

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Names>
bool HasPrefixOf(const Names& prefixes, std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto prefix) { return name.starts_with(prefix); });
}

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// A test's own helper, beside it.
bool IsNeighbourOfTest(std::string_view path, std::string_view name, const SourceTree& tree) {
  if (RoomOf(path) != "tests" || name.find('/') != std::string_view::npos) return false;
  return tree.paths.contains(std::string(path.substr(0, path.rfind('/') + 1)) + std::string(name));
}

// What is wrong with `path` including a header of ours; empty when nothing is.
std::string CheckOwn(std::string_view path, const Include& include, const SourceTree& tree) {
  const std::string name(include.name);
  const Room* from = FindRoom(RoomOf(path));
  const Room* to = FindRoom(RoomOf(name));
  if (include.angled) return "our own " + name + " is included in quotes, not in <>";
  if (IsNeighbourOfTest(path, name, tree)) return "";
  if (to == nullptr) return Quoted(name) + " is not named from the top of the tree";
  if (!tree.paths.contains(name)) return Quoted(name) + " does not exist";
  if (from != nullptr && !MayInclude(*from, *to)) {
    return std::string(from->name) + "/ may not include " + std::string(to->name) + "/ (" +
           Quoted(name) + ")";
  }
  for (const Ban& ban : kBans) {
    const bool excepted = !ban.except.empty() && path.starts_with(ban.except);
    if (path.starts_with(ban.from) && name.starts_with(ban.name) && !excepted)
      return std::string(ban.from) + "… may not include " + Quoted(name);
  }
  return "";
}

std::string CheckLibrary(std::string_view path, std::string_view name, const Library& library) {
  const Room* room = FindRoom(RoomOf(path));
  if (room == nullptr || !Has(library.rooms, room->name)) {
    return "<" + std::string(name) + "> does not belong into this folder";
  }
  // Names alone cost nobody anything.
  if (IsHeader(path) && !room->leaf && name != "rapidjson/fwd.h")
    return "<" + std::string(name) + "> belongs into a .cpp, not into a header";
  return "";
}

std::string CheckForeign(std::string_view path, std::string_view name) {
  const auto library = std::find_if(kLibraries.begin(), kLibraries.end(),
                                    [&](const Library& l) { return name.starts_with(l.prefix); });
  if (library != kLibraries.end()) return CheckLibrary(path, name, *library);
  const Room* room = FindRoom(RoomOf(path));
  const bool pure = room != nullptr && room->pure;
  const std::string shown = "<" + std::string(name) + ">";
  if (HasPrefixOf(kSystem, name)) return pure ? shown + ": this folder makes no system calls" : "";
  if (name.find_first_of("./") != std::string_view::npos)
    return shown + " is a library that nobody has allowed";
  if (pure && Has(kImpure, name))
    return shown + ": this folder does no I/O, starts no threads, reads no clock";
  if (Has(kLocks, name) && path != "cluster/base/mutex.hpp")
    return shown + ": locks come from cluster/base/mutex.hpp";
  return "";
}

}  // namespace

std::vector<Finding> CheckIncludes(const SourceTree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& file : tree.files) {
    if (!IsCode(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::optional<Include> include = ParseInclude(file.lines[i]);
      if (!include) continue;
      const bool own = !include->angled || FindRoom(RoomOf(include->name)) != nullptr;
      std::string what =
          own ? CheckOwn(file.path, *include, tree) : CheckForeign(file.path, include->name);
      if (!what.empty()) findings.push_back({file.path, i + 1, std::move(what)});
    }
  }
  return findings;
}

}  // namespace muster::house
