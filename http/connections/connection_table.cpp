#include "http/connections/connection_table.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <utility>

#include "cluster/base/check.hpp"

namespace muster::http {
namespace {

// After so many connections whose bytes are there the search ends: it holds up all workers.
constexpr int kMostHeard = 64;

// Which nobody has read, and whose event a worker may not have taken yet.
bool BytesWait(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace

ConnectionTable::Id ConnectionTable::Add(std::unique_ptr<ServerConnection> connection,
                                         std::string peer) {
  const cluster::MutexLock lock(mu_);
  const Id id = next_id_++;
  Entry& entry = entries_[id];
  entry.connection = std::move(connection);
  entry.peer = std::move(peer);
  return id;
}

void ConnectionTable::Arm(Id id, Entry& entry, Interest interest) {
  epoll_event event{};
  event.data.u64 = id;
  switch (interest) {
    case Interest::kReadable:
      event.events = EPOLLIN | EPOLLONESHOT;
      break;
    case Interest::kWritable:
      event.events = EPOLLOUT | EPOLLONESHOT;
      break;
    case Interest::kNothing:
      return;  // one-shot: nothing is armed since it was claimed
    case Interest::kNow:
      event.events = EPOLLIN | EPOLLOUT | EPOLLONESHOT;
      break;
  }
  const int operation = entry.in_epoll ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  entry.in_epoll = true;
  // A connection that the kernel will not watch (no memory) gets no event; its deadline closes it.
  if (::epoll_ctl(epoll_fd_, operation, entry.connection->fd(), &event) != 0)
    entry.in_epoll = false;
}

void ConnectionTable::Park(Id id, Interest interest) {
  const cluster::MutexLock lock(mu_);
  const auto found = entries_.find(id);
  MUSTER_CHECK(found != entries_.end() && !found->second.parked);
  Entry& entry = found->second;
  entry.parked = true;
  entry.deadline = entry.connection->deadline();
  const bool waits = interest == Interest::kReadable || interest == Interest::kWritable;
  entry.waits = waits ? ++last_park_ : 0;
  entry.rest = entry.connection->rest();
  Arm(id, entry, std::exchange(entry.woken, false) ? Interest::kNow : interest);
}

ConnectionTable::Claimed ConnectionTable::Claim(Id id) {
  const cluster::MutexLock lock(mu_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || !found->second.parked) return {};
  found->second.parked = false;
  return {id, found->second.connection.get()};
}

ConnectionTable::Claimed ConnectionTable::Wake(Id id) {
  const cluster::MutexLock lock(mu_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  Entry& entry = found->second;
  if (!entry.parked) {
    entry.woken = true;
    return {};
  }
  entry.parked = false;
  return {id, entry.connection.get()};
}

void ConnectionTable::Nudge(Id id) {
  const cluster::MutexLock lock(mu_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  if (found->second.parked) {
    Arm(id, found->second, Interest::kNow);
  } else {
    found->second.woken = true;
  }
}

ConnectionTable::Claimed ConnectionTable::Replace(Id id,
                                                  std::unique_ptr<ServerConnection> connection) {
  const cluster::MutexLock lock(mu_);
  const auto found = entries_.find(id);
  MUSTER_CHECK(found != entries_.end() && !found->second.parked);
  found->second.connection = std::move(connection);
  return {id, found->second.connection.get()};
}

std::vector<ConnectionTable::Claimed> ConnectionTable::ClaimExpired(SteadyTime now) {
  std::vector<Claimed> expired;
  const cluster::MutexLock lock(mu_);
  for (auto& [id, entry] : entries_) {
    if (!entry.parked || entry.deadline > now) continue;
    entry.parked = false;
    expired.push_back({id, entry.connection.get()});
  }
  return expired;
}

void ConnectionTable::Remove(Id id) {
  std::unique_ptr<ServerConnection> closing;  // closed after the lock is released
  {
    const cluster::MutexLock lock(mu_);
    const auto found = entries_.find(id);
    MUSTER_CHECK(found != entries_.end() && !found->second.parked);
    closing = std::move(found->second.connection);
    entries_.erase(found);
    if (entries_.empty()) empty_.NotifyAll();
  }
}

std::map<ConnectionTable::Id, ConnectionTable::Entry>::iterator ConnectionTable::LongestWaiting(
    ServerConnection::Rest rest, const std::string* peer) {
  auto longest = entries_.end();
  int heard = 0;
  for (auto at = entries_.begin(); at != entries_.end() && heard < kMostHeard; ++at) {
    const Entry& entry = at->second;
    if (!entry.parked || entry.woken || entry.waits == 0 || entry.rest != rest) continue;
    if (peer != nullptr && entry.peer != *peer) continue;
    if (longest != entries_.end() && entry.waits > longest->second.waits) continue;
    if (rest != ServerConnection::Rest::kUnread && BytesWait(entry.connection->fd())) {
      ++heard;
    } else {
      longest = at;
    }
  }
  return longest;
}

bool ConnectionTable::RemoveWaiting(const std::string* peer) {
  std::unique_ptr<ServerConnection> closing;
  {
    const cluster::MutexLock lock(mu_);
    auto longest = entries_.end();
    for (const auto rest : {ServerConnection::Rest::kNothing, ServerConnection::Rest::kPart,
                            ServerConnection::Rest::kUnread}) {
      longest = LongestWaiting(rest, peer);
      if (longest != entries_.end()) break;
    }
    if (longest == entries_.end()) return false;
    closing = std::move(longest->second.connection);
    entries_.erase(longest);
    if (entries_.empty()) empty_.NotifyAll();
  }
  return true;
}

void ConnectionTable::RemoveParked() {
  std::vector<std::unique_ptr<ServerConnection>> closing;
  {
    const cluster::MutexLock lock(mu_);
    for (auto at = entries_.begin(); at != entries_.end();) {
      if (at->second.parked) {
        closing.push_back(std::move(at->second.connection));
        at = entries_.erase(at);
      } else {
        ++at;
      }
    }
    if (entries_.empty()) empty_.NotifyAll();
  }
}

void ConnectionTable::NudgeParked() {
  const cluster::MutexLock lock(mu_);
  for (auto& [id, entry] : entries_) {
    if (entry.parked) Arm(id, entry, Interest::kNow);
  }
}

std::size_t ConnectionTable::size() const {
  const cluster::MutexLock lock(mu_);
  return entries_.size();
}

bool ConnectionTable::WaitUntilEmpty(std::chrono::milliseconds timeout) {
  const SteadyTime end = std::chrono::steady_clock::now() + timeout;
  const cluster::MutexLock lock(mu_);
  while (!entries_.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    empty_.WaitFor(mu_, left);
  }
  return true;
}

}  // namespace muster::http
