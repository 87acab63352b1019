// What the tests of the HTTP server share: a caller who sends any bytes he likes, a server with a
// few routes, patience.
//
// One RawCaller is used by one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/server/server.hpp"

namespace muster::http::testing {

// Bound of everything that is expected to happen "soon": generous, only there to end a hanging
// test.
constexpr std::chrono::seconds kPatience{30};

// True as soon as `condition` holds, false when it did not within kPatience.
bool Eventually(const std::function<bool()>& condition);

// Resident memory of this process in bytes.
std::size_t ResidentBytes();
// File descriptors that this process has open.
std::size_t OpenFiles();

// Under a sanitizer memory is kept in quarantine, so its growth says nothing, and all is many times
// slower.
bool Sanitized();

struct RawReply {
  int status = 0;  // 0: the connection ended without a complete answer
  std::string head;
  std::string body;

  bool HasHeader(std::string_view line) const { return head.find(line) != std::string::npos; }
};

class RawCaller {
 public:
  explicit RawCaller(std::uint16_t port, const std::string& host = "127.0.0.1");
  // Has its socket but is not connected yet.
  RawCaller();
  ~RawCaller();
  RawCaller(const RawCaller&) = delete;
  RawCaller& operator=(const RawCaller&) = delete;

  bool connected() const { return fd_ >= 0; }
  // `from`: this machine's address that the server sees; null: the usual one.
  bool Connect(std::uint16_t port, const char* from = nullptr);
  // Sends everything, or stops when the server has closed; true when all went out.
  bool Send(std::string_view bytes);
  // Sends `count` bytes of `fill` while the server takes them.
  bool SendRepeated(char fill, std::size_t count);
  // The next complete answer (by Content-Length).
  RawReply ReadReply(bool to_head_request = false);
  // Send and ReadReply.
  RawReply Call(std::string_view bytes);
  // True when the server closes within kPatience (whatever comes before is thrown away).
  bool ClosedByServer();
  void FinishWriting();

 private:
  bool Fill();

  int fd_ = -1;
  std::string received_;
};

std::string GetRequest(const std::string& path);
std::string PostRequest(const std::string& path, const std::string& body);

// A gate that answers wait at: the held Bind calls of the tests.
class Gate {
 public:
  // `pass` runs when it opens, at once when it is open.
  void Hold(std::function<void()> pass);
  void Open();
  std::size_t waiting() const;

 private:
  mutable cluster::Mutex mu_;
  bool open_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> held_ MUSTER_GUARDED_BY(mu_);
};

// GET /healthz -> "ok"; POST /echo -> the body; POST /held -> the body, when
// `gate` opens; POST /forgotten -> nothing; GET /throw -> throws; GET /items/* -> the path; GET
// /who
// -> client name; GET /large -> 4 MiB; GET /last -> closes.
class TestServer {
 public:
  explicit TestServer(ServerOptions options = {});
  ~TestServer();

  std::uint16_t port() const { return server.port(); }
  bool Healthy() const;
  // True when all connections have gone and no body bytes are kept.
  bool Quiet();

  Gate gate;
  Server server;
};

}  // namespace muster::http::testing
