// A flood of a server from a process of its own: what the callers keep is not in the server's
// process, whose memory is measured. For tests/http, too.
//
// FloodSocket and the frames of HTTP/2 are for that process: nothing here asserts, a caller whom
// the server refuses has simply no connection.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::bench {

// One connection that never reads, from an address of this machine. What cannot be sent within a
// second is given up.
class FloodSocket {
 public:
  virtual ~FloodSocket() = default;
  virtual bool Send(std::string_view bytes) = 0;
};
using FloodSockets = std::vector<std::unique_ptr<FloodSocket>>;

// A socket that reads and writes at most so long; -1: the server takes no connection.
int ConnectFrom(std::uint16_t port, const std::string& from, int patience_s = 1);
// Null: the server takes no connection.
std::unique_ptr<FloodSocket> PlainFlood(std::uint16_t port, const std::string& from);
// After the handshake, with this protocol (ALPN).
std::unique_ptr<FloodSocket> TlsFlood(std::uint16_t port, const std::string& from,
                                      const std::string& protocol);

// "127.0.0.2" and so on.
std::string FloodAddress(int number);

// What an HTTP/2 client says first. `window`: bytes of answers that it takes unasked, of a stream.
std::string Http2Opening(std::uint32_t window = 65'535);
// A head, on stream 1, 3 and so on. `body_follows`: the request does not end with it.
struct Http2Head {
  std::uint32_t stream = 1;
  std::string_view method_and_path = {};  // HPACK
  std::string_view fields = {};           // HPACK
  bool body_follows = true;
};
std::string HeadFrame(const Http2Head& head);
// HPACK: a field that the table of the connection has from then on (the newest is number 62). A
// name with a number is in the static table (RFC 7541, Appendix A), 0: `name` counts.
std::string NewField(unsigned number, std::string_view name, std::string_view value);
inline constexpr std::string_view kNewestField = "\xbe";  // number 62

class FloodProcess {
 public:
  // Starts the process, which waits for Begin: before this one has further threads.
  explicit FloodProcess(const std::function<FloodSockets(std::uint16_t port)>& flood);
  ~FloodProcess() { End(); }
  FloodProcess(FloodProcess&& from) noexcept
      : child_(std::exchange(from.child_, -1)),
        to_child_(from.to_child_),
        from_child_(from.from_child_) {}
  FloodProcess& operator=(FloodProcess&&) = delete;
  FloodProcess(const FloodProcess&) = delete;
  FloodProcess& operator=(const FloodProcess&) = delete;

  // Returns when all is sent and the connections stand open; false when that did not come about.
  bool Begin(std::uint16_t port);
  // All connections are closed then. Idempotent.
  void End();

 private:
  pid_t child_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
};

}  // namespace muster::bench
