// The rooms of the house and their order, as docs/architecture.md draws them. Constants.
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

constexpr std::array<Room, 12> kRooms = {{
    {"cluster", 0, true},
    {"topology", 1, true},
    {"queues", 1, true},
    {"http", 1, false, false, {"kube", "extender", "bench", "tests"}},
    {"policy", 2, true},
    {"engine", 3, true},
    {"config", 4},
    {"kube", 4},
    {"sim", 4},
    {"extender", 5},
    {"bench", 6, false, true},
    {"tests", 6, false, true},
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
