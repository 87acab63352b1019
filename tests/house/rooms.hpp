// The folders of the repository layout and their order, as docs/explanation/architecture.md draws
// them. Constants.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::house {

struct Room {
  std::string_view name;
  int level;  // a room may include itself and rooms of a lower level
  bool pure =
      false;  // facts and time come in, actions go out: no I/O, no threads, no clock of its own
  bool leaf = false;  // nothing includes it, so its headers may show a library
  // Who alone may include it; empty: all of a higher level.
  std::array<std::string_view, 5> users = {};
};

constexpr std::array<Room, 13> kRooms = {{
    {"cluster", 0, true},
    {"topology", 1, true},
    {"queues", 1, true},
    {"http", 1, false, false, {"kube", "extender", "cli", "bench", "tests"}},
    {"policy", 2, true},
    {"engine", 3, true},
    {"config", 4},
    {"kube", 4},
    {"sim", 4},
    {"extender", 5},
    {"cli", 6},
    {"bench", 7, false, true},
    {"tests", 8, false, true},
}};

// Within a room: files whose path begins with `from` do not include what begins with `name`, save
// those that begin with `except` (empty: none).
struct Ban {
  std::string_view from;
  std::string_view name;
  std::string_view except;
};

constexpr std::array<Ban, 2> kBans = {{
    {"extender/", "sim/", "extender/embedded/"},  // service and simulator meet in one place
    {"extender/wire", "extender/embedded/", ""},  // and the codec knows nothing of it
}};

inline bool MayInclude(const Room& from, const Room& to) {
  if (&from == &to) return true;
  const bool named = std::find(to.users.begin(), to.users.end(), from.name) != to.users.end();
  return to.level < from.level && (to.users.front().empty() || named);
}

// Null when there is no room of that name.
inline const Room* FindRoom(std::string_view name) {
  const auto* room =
      std::find_if(kRooms.begin(), kRooms.end(), [&](const Room& r) { return r.name == name; });
  return room == kRooms.end() ? nullptr : room;
}

}  // namespace muster::house
