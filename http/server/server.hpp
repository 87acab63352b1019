// Server: HTTP/1.1 and HTTP/2 on one port, with an acceptor, a connection table and limits of our
// own, because cpp-httplib's server gives one thread to every connection, bounds neither bytes nor
// time and knows no HTTP/2:
//
//            accept        complete, valid request             answer
//   epoll ──▶ [Handshake] ─▶ Head ─▶ Body ─▶ Handling ─▶ Writing ─▶ Head (keep-alive) | Closing
//
// With TLS, callers who offer HTTP/2 (ALPN) get it, by nghttp2: the same heads, limits and
// handlers, many requests at a time on one connection. kube-scheduler does; its held Bind calls
// would need a connection and a handshake each over HTTP/1.1.
//
// A connection that waits (idle, half a header, half a body, half a handshake, an answer that is to
// come, a slow reader) is an entry in a table with a deadline and costs no thread. Threads
// ("workers") wait in epoll; the one that is woken reads and runs the handler itself, so a call
// costs one wake-up. A handler that would have to wait answers later, from any thread; one that
// takes long has a thread of another pool, in turns between callers (caller_turns.hpp).
//
// Owned by the caller. Handle() before Start(); all other methods from any thread. Handlers run
// on the workers.
//
//   Server server({.host = "0.0.0.0", .port = 8888});
//   server.Handle("POST", "/filter", [&](const Request& request) { return Response{.body =
//   …}; }); if (Status started = server.Start(); !started.ok()) …
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/base/result.hpp"
#include "http/connections/server_options.hpp"
#include "http/messages/message.hpp"

namespace muster::http {

// Counters since Start(), except the first block, which is now.
struct ServerStats {
  std::size_t connections = 0;       // open
  std::size_t workers = 0;           // threads
  std::size_t open_calls = 0;        // handed to a handler, not answered
  std::size_t buffered_bytes = 0;    // see max_buffered_bytes
  std::size_t connection_bytes = 0;  // see max_connection_bytes

  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;        // handed to a handler
  std::uint64_t refused_full = 0;    // connections or requests answered 503 by the server itself
  std::uint64_t displaced = 0;       // connections closed for newer ones, see max_connections
  std::uint64_t refused_bad = 0;     // requests refused for their form or size
  std::uint64_t refused_client = 0;  // callers not in allowed_clients
  std::uint64_t timeouts = 0;        // connections closed at a deadline, idle ones not counted
  std::uint64_t tls_failures = 0;    // handshakes that failed
  std::uint64_t handler_exceptions = 0;
  std::uint64_t certificate_reloads = 0;

  ServerStats& operator+=(const ServerStats& more);
};

class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();  // Stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Routes `path` exactly, or by prefix when it ends in '*' ("/v1/gangs/*"); an exact path wins
  // over a prefix, a longer prefix over a shorter. GET also answers HEAD. An unknown path is 404, a
  // known one with another method 405.
  void Handle(const std::string& method, const std::string& path, Handler handler);
  void HandleLater(const std::string& method, const std::string& path, LaterHandler handler);
  // On a thread of CallerTurns, by the caller's address; 503 where too much of its waits.
  void HandleInTurn(const std::string& method, const std::string& path, Handler handler);

  // Binds, loads the certificates, starts to serve. Once only. Changes the process: SIGPIPE is
  // ignored, the limit of open files raised as far as max_connections needs, malloc told to
  // return large blocks at once. With `beside`, a server that has started: on its socket; both
  // accept.
  cluster::Status Start(const Server* beside = nullptr);
  // The port listened on; 0 before Start().
  std::uint16_t port() const;

  // Stops accepting, closes idle connections, lets every request that has begun be answered (with
  // `Connection: close`). True when all were answered in time. Idempotent.
  bool Drain(std::chrono::milliseconds timeout);
  // Another server takes over: accepts no more, closes what is idle, asks callers to come again
  // with their next answer. Callers who were accepted and have asked nothing yet are waited for
  // until Drain. Those in the backlog are left to the other server where it is on the same socket.
  void HandOver(bool same_socket);
  // True when all connections have ended in time.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout);
  // Closes everything, calls without an answer too: to have them answered, answer them and Drain.
  // Waits for handlers that run. Idempotent.
  void Stop();

  // Reads the certificate files now. A set that does not load leaves the old one in place.
  cluster::Status ReloadCertificates();

  ServerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::http
