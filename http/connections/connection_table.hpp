// ConnectionTable: all open connections of a server, and the epoll set in which the waiting ones
// stand.
//
//            Park                     event: Claim(id) · deadline: ClaimExpired
//   owned ─────────▶ parked ──────────────────────────▶ owned ──Remove──▶ gone
//
// A connection is either parked (in epoll, one-shot, with a deadline) or owned by exactly one
// thread. Events carry an id, never a pointer, so an event that comes late for a connection already
// gone is simply not found.
//
// Owner: Server. All methods from any thread. Park and nudges talk to epoll under the lock:
// outside it, the connection could be claimed and closed in between and the call would hit another
// socket with the same number.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/connections/server_connection.hpp"

namespace muster::http {

class ConnectionTable {
 public:
  using Id = std::uint64_t;
  static constexpr Id kFirstId =
      16;  // smaller ones are free for the server's own descriptors in the same epoll

  enum class Interest {
    kReadable,
    kWritable,
    kNothing,  // only Wake, nudges and the deadline
    kNow,      // an event at once, to be advanced by some worker
  };

  struct Claimed {
    Id id = 0;
    ServerConnection* connection = nullptr;  // null: not there, or owned by another thread
  };

  explicit ConnectionTable(int epoll_fd) : epoll_fd_(epoll_fd) {}

  // The caller owns it; follow with Park or Remove.
  Id Add(std::unique_ptr<ServerConnection> connection, std::string peer);
  void Park(Id id, Interest interest);
  Claimed Claim(Id id);
  // Claims it, or, when another thread owns it, sees to it that it is advanced after its next Park.
  Claimed Wake(Id id);
  // Some worker advances it soon, whichever thread has it now.
  void Nudge(Id id);
  // Another connection in the place of an owned one, with the same socket.
  Claimed Replace(Id id, std::unique_ptr<ServerConnection> connection);
  std::vector<Claimed> ClaimExpired(SteadyTime now);
  // Closes an owned connection.
  void Remove(Id id);
  // Closes the connection that has waited for its caller for longest: of those that lose nothing,
  // else of those whose request has come in part, else of those whose caller takes no answer. Not
  // one whose bytes are there; after some of those it looks no further. `peer`: of that address;
  // null: of any. False: there is none.
  bool RemoveWaiting(const std::string* peer);
  // Closes every parked connection.
  void RemoveParked();
  // Gives every parked connection an event at once.
  void NudgeParked();

  std::size_t size() const;
  // False when the timeout passed first.
  bool WaitUntilEmpty(std::chrono::milliseconds timeout);

 private:
  struct Entry {
    std::unique_ptr<ServerConnection> connection;
    std::string peer;
    bool parked = false;
    bool woken = false;  // while owned
    bool in_epoll = false;
    SteadyTime deadline;      // of a parked one: owned ones are not looked at
    std::uint64_t waits = 0;  // since which Park it waits for its caller; 0: it does not
    ServerConnection::Rest rest = ServerConnection::Rest::kAnswer;
  };

  void Arm(Id id, Entry& entry, Interest interest) MUSTER_REQUIRES(mu_);
  // Of those with that rest; end: there is none.
  std::map<Id, Entry>::iterator LongestWaiting(ServerConnection::Rest rest, const std::string* peer)
      MUSTER_REQUIRES(mu_);

  const int epoll_fd_;
  mutable cluster::Mutex mu_;
  cluster::CondVar empty_;
  Id next_id_ MUSTER_GUARDED_BY(mu_) = kFirstId;
  std::uint64_t last_park_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<Id, Entry> entries_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::http
