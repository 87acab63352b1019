// ServerConnection: one caller's socket, as a state machine that never blocks.
//
//   Advance ─▶ kRequest ─▶ TakeRequest ─▶ (a handler runs) ─▶ answers()->Put, Advance ─▶ …
//
// Until the answer comes, the connection waits as pending() says and any thread may claim it: an
// HTTP/1.1 connection waits for its answer alone, one of HTTP/2 goes on with other requests.
//
// Owned by ConnectionTable; used by one thread at a time, the one that has claimed it. AnswerBox
// may be shared.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/connections/memory_ledger.hpp"
#include "http/connections/server_options.hpp"
#include "http/messages/head.hpp"
#include "http/messages/message.hpp"

namespace muster::http {

class ServerTls;

using SteadyTime = std::chrono::steady_clock::time_point;

// How long what a caller still sends is read once the last answer is out.
inline constexpr std::chrono::milliseconds kLingerTime{1'000};

// What all connections of a server share. Atomics are independent counters; nothing is ordered by
// them.
struct ServerShared {
  explicit ServerShared(ServerOptions server_options);

  const ServerOptions options;
  const ServerTls* tls = nullptr;  // set before the first connection
  std::atomic<bool> draining = false;
  // Beside draining: callers who have not asked anything yet may still do so.
  std::atomic<bool> patient = false;

  // What is kept for connections as such, and for what they ask.
  MemoryLedger connections;
  MemoryLedger calls;
  std::atomic<std::size_t> answered_bytes = 0;  // since the last look, see IdleTrim

  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused_full = 0;
  std::atomic<std::uint64_t> displaced = 0;
  std::atomic<std::uint64_t> refused_bad = 0;
  std::atomic<std::uint64_t> refused_client = 0;
  std::atomic<std::uint64_t> timeouts = 0;
  std::atomic<std::uint64_t> tls_failures = 0;
  std::atomic<std::uint64_t> handler_exceptions = 0;
  std::atomic<std::uint64_t> certificate_reloads = 0;
};

inline HeadLimits HeadLimitsOf(const ServerOptions& options) {
  return {options.max_header_bytes, options.max_header_lines, options.max_body_bytes};
}

inline Refusal StrangerRefused() {
  return {403, "this client certificate is not on the list of allowed clients"};
}
inline Refusal TooMuchKept() { return {503, "too many large requests at once, try again"}; }

// Who is at the other end, as far as the handshake told.
struct Caller {
  std::string peer;         // IP address
  std::string client_name;  // verified, empty without mTLS
  std::vector<std::string> client_organisations;
  bool tls = false;
  bool stranger = false;  // has a valid certificate but is not on the list
};

// A complete, valid request and what the connection knows about its sender.
struct IncomingRequest {
  RequestHead head;
  std::string body;
  Caller caller;
  std::int32_t stream = 0;       // of HTTP/2; 0: the request is HTTP/1.1
  MemoryLedger::Kept kept = {};  // for it
};

struct Answer {
  std::int32_t stream = 0;
  Response response;
};

// Where answers wait for their connection; outlives it as long as a call is open.
class AnswerBox {
 public:
  void Put(Answer answer) {
    const cluster::MutexLock lock(mu_);
    answers_.push_back(std::move(answer));
  }
  std::vector<Answer> TakeAll() {
    const cluster::MutexLock lock(mu_);
    return std::exchange(answers_, {});
  }

 private:
  cluster::Mutex mu_;
  std::vector<Answer> answers_ MUSTER_GUARDED_BY(mu_);
};

class ServerConnection {
 public:
  // What the caller of Advance must do next.
  enum class Next {
    kWaitReadable,
    kWaitWritable,
    kWaitAnswer,  // only an answer or the deadline moves it
    kRequest,     // TakeRequest; later, an answer in answers()
    kGoOn,        // Advance again, after others had their turn
    kSucceeded,   // Successor() takes its place
    kClosed,      // destroy
  };
  struct Scratch {
    char* data;
    std::size_t size;
  };

  virtual ~ServerConnection() = default;

  // Goes on as far as bytes, answers and room allow. `scratch` is a buffer of the calling thread.
  virtual Next Advance(SteadyTime now, Scratch scratch) = 0;
  // The deadline has passed: says so where somebody may be listening, else closes.
  virtual Next Expire(SteadyTime now, Scratch scratch) = 0;
  // After kRequest, once, and then pending().
  virtual IncomingRequest TakeRequest() = 0;
  virtual Next pending() const = 0;
  // After kSucceeded, once: the connection that goes on with the socket.
  virtual std::unique_ptr<ServerConnection> Successor(SteadyTime now) = 0;

  // Never changes.
  virtual const std::shared_ptr<AnswerBox>& answers() const = 0;
  virtual SteadyTime deadline() const = 0;
  // What the caller loses when it is closed while it waits for the caller.
  enum class Rest {
    kNothing,  // nothing is asked, and nothing is left to send
    kPart,     // of a request that has come in part
    kUnread,   // an answer, while it takes none of it
    kAnswer,   // which is still to come, or goes out
  };
  virtual Rest rest() const = 0;
  virtual int fd() const = 0;
};

}  // namespace muster::http
