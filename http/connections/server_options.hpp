// ServerOptions: where a Server listens, its limits and deadlines. Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "http/connections/caller_turns.hpp"
#include "http/tls/tls_options.hpp"

namespace muster::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // IPv4, IPv6 or a name; "::" listens on both families
  std::uint16_t port = 0;          // 0 = any free one, see Server::port()

  std::size_t max_header_bytes = 16 * 1024;  // request line and header together; above: 431
  std::size_t max_header_lines = 100;
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // above: 413, before a byte of it is read
  // What is kept for calls: streams, heads, bodies, answers that are not taken; of all callers, of
  // one address at most half (memory_ledger.hpp). Above: 503, HTTP/2's "refused stream", or closed.
  // Each has a fixed cost beside its bytes (kept_bytes.hpp).
  std::size_t max_buffered_bytes = 128UL * 1024 * 1024;
  // Connections, and what they cost (4 KiB each, with TLS 32, with HTTP/2 48 or more), in the same
  // way.
  // Above, the one that has waited for its caller for longest is closed, of the same address if it
  // has any; where none waits, the newest (503).
  std::size_t max_connections = 4096;
  std::size_t max_connection_bytes = 128UL * 1024 * 1024;
  // Calls at a time on one HTTP/2 connection. Beyond it Go's clients open a connection for nearly
  // each call.
  std::size_t max_streams = 100;
  std::size_t workers = 8;         // threads; a handler that runs has one
  CallerTurns::Limits turns = {};  // of HandleInTurn

  std::chrono::milliseconds first_byte_timeout{
      10'000};  // a new connection's first byte, and its TLS handshake
  std::chrono::milliseconds header_timeout{2'000};  // from the first byte of a request; then 408
  std::chrono::milliseconds body_timeout{10'000};   // from the end of the header; then 408
  std::chrono::milliseconds write_timeout{10'000};  // for a whole answer
  std::chrono::milliseconds idle_timeout{120'000};  // between requests of one connection

  std::optional<TlsOptions> tls = std::nullopt;
  // Told in one line of events that an operator should see: certificates reloaded or refused, out
  // of files or threads. Called from any thread, must not block.
  std::function<void(const std::string&)> on_event = nullptr;
};

}  // namespace muster::http
