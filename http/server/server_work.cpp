#include <sys/epoll.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "http/connections/http1_connection.hpp"
#include "http/connections/message_text.hpp"
#include "http/messages/kept_bytes.hpp"
#include "http/server/server_impl.hpp"

namespace muster::http {
namespace {

using Claimed = ConnectionTable::Claimed;
using Interest = ConnectionTable::Interest;
using Next = ServerConnection::Next;

constexpr std::size_t kAcceptBatch = 64;
constexpr std::size_t kRefusalSlots = 64;  // connections beyond the cap that are told so politely
constexpr std::size_t kTurnAwayScratch = 4096;
constexpr std::size_t kRequestsInARow = 4;  // of one connection, before others get the worker
constexpr int kDisplacedForOne = 8;         // connections, at most: each may cost less than it

}  // namespace

void Server::Impl::Work() {
  // Left uninitialised: pages that are never written to cost nothing.
  const auto buffer = std::make_unique_for_overwrite<char[]>(kScratchBytes);
  while (true) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) <= 0) continue;
    if (event.data.u64 == kStopEvent) return;
    if (event.data.u64 == kListenerEvent) {
      AcceptSome();
    } else if (const Claimed claimed = table_.Claim(event.data.u64);
               claimed.connection != nullptr) {
      Serve(claimed, {buffer.get(), kScratchBytes});
    }
  }
}

void Server::Impl::AcceptSome() {
  bool starved_now = false;
  {
    const cluster::MutexLock lock(mu_);
    if (listener_ == nullptr) return;
    const bool starved_before = starved_;
    for (std::size_t i = 0; i < kAcceptBatch && AcceptOneLocked(); ++i) {
    }
    if (!starved_) ArmListenerLocked(EPOLL_CTL_MOD);
    starved_now = starved_ && !starved_before;
  }
  if (starved_now) Report("out of file descriptors: new connections wait");
}

bool Server::Impl::AcceptOneLocked() {
  Listener::Accepted accepted = listener_->Accept();
  starved_ = accepted.outcome == Listener::Outcome::kExhausted;
  if (accepted.outcome != Listener::Outcome::kAccepted) return false;
  ++shared_.accepted;
  // Whoever holds connections and asks nothing whole makes way: else few callers could keep all
  // others, and the kubelet's probes, out.
  MemoryLedger::Kept kept = shared_.connections.Of(accepted.peer);
  const std::size_t cost = tls_ ? kHandshakeBytes : kPlainBytes;
  const auto has_room = [&] {
    return table_.size() < shared_.options.max_connections && kept.Set(cost);
  };
  bool room = has_room();
  for (int i = 0; !room && i < kDisplacedForOne; ++i) {
    // Whoever has connections already makes way for more of their own.
    const bool own = kept.bytes_of_address() > 0 && table_.RemoveWaiting(&accepted.peer);
    if (!own && !table_.RemoveWaiting(nullptr)) break;
    ++shared_.displaced;
    room = has_room();
  }
  if (room) {
    Admit(accepted.fd, std::move(accepted.peer), std::move(kept));
  } else {
    TurnAway(accepted.fd, std::move(accepted.peer));
  }
  return true;
}

void Server::Impl::Admit(int fd, std::string peer, MemoryLedger::Kept kept) {
  std::unique_ptr<Channel> channel = tls_ ? MakeTlsChannel(fd, *tls_) : MakePlainChannel(fd);
  if (channel == nullptr) return;
  auto made =
      std::make_unique<Http1Connection>(std::move(channel), peer, shared_, Now(), std::move(kept));
  table_.Park(table_.Add(std::move(made), std::move(peer)), Interest::kReadable);
}

void Server::Impl::TurnAway(int fd, std::string peer) {
  ++shared_.refused_full;
  std::unique_ptr<Channel> channel = MakePlainChannel(fd);
  // A TLS caller could not read an answer before the handshake, which is the work we have no room
  // for.
  if (tls_ || table_.size() >= shared_.options.max_connections + kRefusalSlots) return;
  auto made = std::make_unique<Http1Connection>(std::move(channel), peer, shared_, Now(),
                                                shared_.connections.Of(peer));
  made->Refuse({503, "too many connections, try again"}, Now());
  ServerConnection* connection = made.get();
  const Claimed claimed{table_.Add(std::move(made), std::move(peer)), connection};
  std::array<char, kTurnAwayScratch> scratch{};
  Settle(claimed, connection->Advance(Now(), {scratch.data(), scratch.size()}));
}

void Server::Impl::Serve(Claimed claimed, Scratch scratch) {
  for (std::size_t served = 0; claimed.connection != nullptr; ++served) {
    const Next next = claimed.connection->Advance(Now(), scratch);
    if (next == Next::kSucceeded) {
      claimed = table_.Replace(claimed.id, claimed.connection->Successor(Now()));
    } else if (next != Next::kRequest || served >= kRequestsInARow) {
      Settle(claimed, next);
      return;
    } else {
      claimed = HandleRequest(claimed);
    }
  }
}

Claimed Server::Impl::HandleRequest(const Claimed& claimed) {
  ServerConnection& connection = *claimed.connection;
  IncomingRequest incoming = connection.TakeRequest();
  const auto call =
      std::make_shared<OpenCall>(open_calls_, claimed.id, connection.answers(), incoming);
  Settle(claimed, connection.pending());
  try {
    router_.Route(ToRequest(std::move(incoming)),
                  [call](Response response) { call->Answer(std::move(response)); });
  } catch (...) {
    ++shared_.handler_exceptions;
    call->Answer(ErrorResponse(500, "internal error"));
  }
  return call->LeaveHandler() ? table_.Wake(claimed.id) : Claimed{};
}

void Server::Impl::Settle(const Claimed& claimed, Next next) {
  switch (next) {
    case Next::kWaitReadable:
      table_.Park(claimed.id, Interest::kReadable);
      break;
    case Next::kWaitWritable:
      table_.Park(claimed.id, Interest::kWritable);
      break;
    case Next::kWaitAnswer:
      table_.Park(claimed.id, Interest::kNothing);
      break;
    case Next::kRequest:
    case Next::kGoOn:
    case Next::kSucceeded:
      table_.Park(claimed.id, Interest::kNow);
      break;
    case Next::kClosed:
      table_.Remove(claimed.id);
      break;
  }
}

void Server::Impl::ArmListenerLocked(int operation) {
  epoll_event accept{};
  accept.events = EPOLLIN | EPOLLONESHOT;
  accept.data.u64 = kListenerEvent;
  ::epoll_ctl(epoll_.get(), operation, listener_->fd(), &accept);
}

}  // namespace muster::http
