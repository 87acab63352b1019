// Channel: one non-blocking byte stream to a caller, plain or TLS.
//
// Owns the socket. Used by one thread at a time (the worker that holds the connection). No call
// blocks; what a call waits for is in its result.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace muster::http {

class ServerTls;

enum class IoState {
  kDone,       // `bytes` moved; the handshake is complete
  kWantRead,   // again when the socket is readable
  kWantWrite,  // again when it is writable
  kEnd,        // the peer has closed its side
  kFailed,     // broken, nothing more will work
};

struct IoResult {
  IoState state = IoState::kFailed;
  std::size_t bytes = 0;
};

inline constexpr const char* kAlpnHttp2 = "h2";

class Channel {
 public:
  virtual ~Channel() = default;

  virtual IoResult Handshake() = 0;
  virtual IoResult Read(char* data, std::size_t size) = 0;
  virtual IoResult Write(const char* data, std::size_t size) = 0;
  // Tells the peer that nothing more comes; reading goes on.
  virtual void FinishWriting() = 0;
  // Names in the verified certificate of the peer, common name first; empty without one. After the
  // handshake.
  virtual std::vector<std::string> PeerNames() const = 0;
  virtual std::vector<std::string> PeerOrganisations() const { return {}; }  // the subject's O
  // What was agreed on by ALPN (RFC 7301), empty without. After the handshake.
  virtual std::string Protocol() const = 0;
  virtual int fd() const = 0;
};

// Both take over `fd`, a connected non-blocking socket.
std::unique_ptr<Channel> MakePlainChannel(int fd);
// Null when TLS is out of memory; `fd` is closed then.
std::unique_ptr<Channel> MakeTlsChannel(int fd, const ServerTls& context);

}  // namespace muster::http
