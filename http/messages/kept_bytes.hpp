// What a server's things cost in memory, for MemoryLedger: measured, and rounded up. A flood of
// each that is counted as less would be seen by tests/http/memory_flood_test.cpp.
#pragma once

#include <cstddef>
#include <string>

#include "http/messages/head.hpp"

namespace muster::http {

// A connection: its objects, what its buffers keep between requests, its socket's entries.
inline constexpr std::size_t kPlainBytes = 4 * 1024;
// With TLS; more while the handshake lasts, which OpenSSL keeps whole.
inline constexpr std::size_t kTlsBytes = 32 * 1024;
inline constexpr std::size_t kHandshakeBytes = 80 * 1024;
// With HTTP/2: tables and a frame of each direction, and those streams that nghttp2 remembers after
// their end, as many as may be open.
inline std::size_t Http2Bytes(std::size_t remembered) {
  constexpr std::size_t kRememberedStream = 320;
  return 48 * 1024 + remembered * kRememberedStream;
}

// An open stream of HTTP/2, with an answer of kSmallAnswer bytes.
inline constexpr std::size_t kSmallAnswer = 2 * 1024;
inline constexpr std::size_t kStreamBytes = 1024 + kSmallAnswer;
// A request that has begun, beside what it says.
inline constexpr std::size_t kCallBytes = 1024;

// Of large buffers the part that was never written to takes no memory.
inline std::size_t KeptBytes(const std::string& buffer) {
  constexpr std::size_t kLarge = 64 * 1024;
  return buffer.capacity() < kLarge ? buffer.capacity() : buffer.size();
}

// Every text has an allocation of its own.
inline std::size_t KeptBytes(const RequestHead& head) {
  constexpr std::size_t kText = sizeof(std::string) + 16;
  std::size_t bytes =
      KeptBytes(head.method) + KeptBytes(head.target) + KeptBytes(head.content_type);
  bytes += (head.headers.capacity() - head.headers.size()) * 2 * sizeof(std::string);
  for (const auto& [name, value] : head.headers)
    bytes += 2 * kText + KeptBytes(name) + KeptBytes(value);
  return bytes;
}

}  // namespace muster::http
