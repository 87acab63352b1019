// FairLine: what waits for a call to an API server, by namespace, and which is next. A namespace
// whose calls hang, because its webhook does, keeps what it has taken and nothing else: Take gives
// turns by namespace, one after the other, and passes over one that has taken as many as it may.
//
//   Put(ns, key, due) ──▶ waiting ──Take, due──▶ taken, counted for ns ──Done(ns)──▶ forgotten
//
// 1. What is taken stands in no line; Put puts it back.
// 2. In a namespace, what was due first comes first; then by key.
// 3. Take and NextAfter cost as many steps as there are namespaces with anything here.
//
// Its owner locks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace muster::kube {

template <typename Key, typename Time>
class FairLine {
 public:
  struct Turn {
    std::string ns;
    Key key;
  };

  void Put(const std::string& ns, const Key& key, Time due) {
    const auto [found, added] = namespaces_.try_emplace(ns);
    if (added) found->second.turn = ++turns_;  // behind those that are here
    if (found->second.waiting.insert({due, key}).second) ++waiting_;
  }

  // As it was put; nothing, if it is not here.
  void Remove(const std::string& ns, const Key& key, Time due) {
    const auto found = namespaces_.find(ns);
    if (found == namespaces_.end()) return;
    waiting_ -= found->second.waiting.erase({due, key});
    ForgetIfIdle(found);
  }

  // What waits; not what is taken.
  void Clear() {
    for (auto at = namespaces_.begin(); at != namespaces_.end();) {
      at->second.waiting.clear();
      ForgetIfIdle(at++);
    }
    waiting_ = 0;
  }

  // Of a namespace that has taken less than `most`; of those the one whose last turn is longest
  // ago.
  std::optional<Turn> Take(Time now, int most) {
    auto next = namespaces_.end();
    for (auto at = namespaces_.begin(); at != namespaces_.end(); ++at) {
      const Line& line = at->second;
      if (line.taken >= most || line.waiting.empty() || line.waiting.begin()->first > now) continue;
      if (next == namespaces_.end() || line.turn < next->second.turn) next = at;
    }
    if (next == namespaces_.end()) return std::nullopt;
    Line& line = next->second;
    Turn turn{next->first, line.waiting.begin()->second};
    line.waiting.erase(line.waiting.begin());
    --waiting_;
    line.turn = ++turns_;
    ++line.taken;
    ++taken_;
    return turn;
  }

  void Done(const std::string& ns) {
    const auto found = namespaces_.find(ns);
    --found->second.taken;
    --taken_;
    ForgetIfIdle(found);
  }

  // When the next one is due that is not due yet.
  std::optional<Time> NextAfter(Time now) const {
    std::optional<Time> next;
    for (const auto& [ns, line] : namespaces_) {
      const auto first = line.waiting.upper_bound(now);
      if (first != line.waiting.end() && (!next || first->first < *next)) next = first->first;
    }
    return next;
  }

  size_t waiting() const { return waiting_; }
  int taken() const { return taken_; }

 private:
  using Place = std::pair<Time, Key>;
  struct Before {
    using is_transparent = void;
    bool operator()(const Place& a, const Place& b) const { return a < b; }
    bool operator()(const Place& a, Time b) const { return a.first < b; }
    bool operator()(Time a, const Place& b) const { return a < b.first; }
  };
  struct Line {
    std::set<Place, Before> waiting;
    int taken = 0;
    uint64_t turn = 0;  // when it had its last one, or came
  };
  using Lines = std::map<std::string, Line>;

  void ForgetIfIdle(typename Lines::iterator at) {
    if (at->second.waiting.empty() && at->second.taken == 0) namespaces_.erase(at);
  }

  Lines namespaces_;
  uint64_t turns_ = 0;
  size_t waiting_ = 0;
  int taken_ = 0;
};

}  // namespace muster::kube
