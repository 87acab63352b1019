// EventRecorder: what happens to gangs and nodes, as Events of events.k8s.io/v1 on PodGroups
// (and Grove's PodGangs), pods and nodes.
//
//   Record ──▶ one entry per (object, reason) ──▶ Step: POST, at once
//                        │  the same note again ──▶ PATCH series, 30 s after the last write
//                        │  another note        ──▶ POST a new one, 30 s after the last write
//                        └─ no room ──▶ dropped and counted
//
// Notes of an Event never change (the API forbids it), hence the new one. Events are worth little:
// they wait for nothing, are tried three times, and are dropped where there is no room.
//
// Namespaces take turns, with one write at a time each (fair_line.hpp).
//
// Any thread. As many may call Step at a time as there are to be writes, kThreads at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/base/ids.hpp"
#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/fair_line.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/dialects/pod_group_flavours.hpp"

namespace muster::kube {

class EventRecorder {
 public:
  struct Ports {
    ApiCaller& api;
    // What a PodGroup is served as. Nothing: there is no such object (the gang is given by labels).
    std::function<std::optional<ServedPodGroups>(const cluster::PodGroupUid&)> find;
    // Asked right before each write; while it says no, events are dropped.
    std::function<bool()> may_write;
    // One line for the log.
    std::function<void(const std::string&)> warn;
    // A write is over, and a thread that waits for a later time should call Step again.
    std::function<void()> wake = {};
  };
  static constexpr int kThreads = 4;
  struct Options {
    std::string instance = "muster";                   // reportingInstance: this pod's name
    size_t most = 4096;                                // entries, written ones included
    cluster::Duration between = cluster::Seconds(30);  // writes of one entry
    // A series goes on for this long: as long as an Event lives, whose life each write renews.
    cluster::Duration remember = cluster::Seconds(3600);
  };
  struct Counts {
    int64_t created = 0;
    int64_t repeated = 0;  // PATCHes of series
    int64_t dropped = 0;   // no room, not leader, or refused
    int64_t waiting = 0;
  };

  EventRecorder(Ports ports, Options options);

  void Record(const engine::EmitEvent& event, const Clocks& now);
  // Does one write that is due; when the next one is, or Never.
  cluster::Time Step(const Clocks& now);
  Counts counts() const;

 private:
  // UID of the object, reason.
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    engine::EmitEvent event;
    std::string ns;        // in whose line it stands
    std::string name;      // of the Event
    bool exists = false;   // it was created
    int64_t count = 1;     // times that it happened
    int64_t written = 0;   // times that were written
    cluster::Time first;   // wall
    cluster::Time last;    // wall
    cluster::Time due;     // where it stands in due_ or idle_
    bool waiting = false;  // in due_ or taken from it, else in idle_
    cluster::Time wrote;   // steady
    int failures = 0;
  };
  enum class Turn { kWritten, kExpired, kFailed, kDropped };

  std::string NewNameLocked(const std::string& object, cluster::Time wall) MUSTER_REQUIRES(mu_);
  bool MakeRoomLocked(cluster::Time now) MUSTER_REQUIRES(mu_);
  void PlaceLocked(const Key& key, Entry& entry, bool waiting, cluster::Time due)
      MUSTER_REQUIRES(mu_);
  void RemoveLocked(const Key& key, const Entry& entry) MUSTER_REQUIRES(mu_);
  void ForgetLocked(const Key& key) MUSTER_REQUIRES(mu_);
  ApiRequest RequestOf(const Entry& entry) const;
  Turn Write(const Entry& entry, cluster::Duration& wait);
  void Settle(const Key& key, const Entry& tried, Turn turn, cluster::Duration wait,
              const Clocks& now);

  const Ports ports_;
  const Options options_;

  mutable cluster::Mutex mu_;
  std::map<Key, Entry> entries_ MUSTER_GUARDED_BY(mu_);
  FairLine<Key, cluster::Time> due_ MUSTER_GUARDED_BY(mu_);              // to be written
  std::set<std::pair<cluster::Time, Key>> idle_ MUSTER_GUARDED_BY(mu_);  // by the last write
  uint64_t names_ MUSTER_GUARDED_BY(mu_) = 0;
  Counts counts_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube
