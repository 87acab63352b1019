// HttpConnection: one caller's connection as a state machine that never blocks.
//
//   kHandshake ─▶ kHead ─▶ kBody ─▶ kHandling ─▶ kWriting ─▶ kHead | kLingering ─▶ kClosed
//                   └────────┴── refused or too late ──▶ kWriting (error answer, then close)
//
// kLingering: the answer is out and our side is closed; what the caller still sends is read and
// thrown away for a moment, because closing with unread input would reset the connection and lose
// the answer.
//
// Owned by ConnectionTable; used by one thread at a time, the one that has claimed it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "extender/http_channel.hpp"
#include "extender/http_head.hpp"
#include "extender/http_server.hpp"

namespace muster::extender {

using SteadyTime = std::chrono::steady_clock::time_point;

// What all connections of a server share. Atomics are independent counters; nothing is ordered by
// them.
struct HttpShared {
  explicit HttpShared(HttpServerOptions server_options) : options(std::move(server_options)) {}

  const HttpServerOptions options;
  const TlsContext* tls = nullptr;  // set before the first connection
  std::atomic<bool> draining = false;

  std::atomic<std::size_t> buffered_bytes = 0;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused_full = 0;
  std::atomic<std::uint64_t> refused_bad = 0;
  std::atomic<std::uint64_t> refused_client = 0;
  std::atomic<std::uint64_t> timeouts = 0;
  std::atomic<std::uint64_t> tls_failures = 0;
  std::atomic<std::uint64_t> handler_exceptions = 0;
  std::atomic<std::uint64_t> certificate_reloads = 0;
};

// A complete, valid request and what the connection knows about its sender.
struct IncomingRequest {
  RequestHead head;
  std::string body;
  std::string peer;
  std::string client_name;
};

class HttpConnection {
 public:
  // What the caller of Advance must do next.
  enum class Next {
    kWaitReadable,
    kWaitWritable,
    kRequest,  // TakeRequest(), then Answer()
    kClosed,   // destroy
  };
  struct Scratch {
    char* data;
    std::size_t size;
  };

  HttpConnection(std::unique_ptr<Channel> channel, std::string peer, HttpShared& shared,
                 SteadyTime now);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Goes on as far as bytes and room allow. `scratch` is a buffer of the calling thread.
  Next Advance(SteadyTime now, Scratch scratch);
  // The deadline has passed: answers 408 where somebody may be listening, else closes.
  Next Expire(SteadyTime now, Scratch scratch);
  // After kRequest, once.
  IncomingRequest TakeRequest();
  // The bytes of the answer to the request taken; go on with Advance.
  void Answer(std::string bytes, bool close, SteadyTime now);
  // Answers with an error of the server's own and closes; instead of Answer, or on a fresh
  // connection.
  void Refuse(const Refusal& refusal, SteadyTime now);

  bool keep_alive() const { return head_.keep_alive; }
  SteadyTime deadline() const { return deadline_; }
  int fd() const { return channel_->fd(); }

 private:
  enum class State { kHandshake, kHead, kBody, kHandling, kWriting, kLingering, kClosed };

  // Each handles one state and returns true to go on with the (changed) state, false to return
  // next_.
  bool StepHandshake(SteadyTime now);
  bool StepHead(SteadyTime now, Scratch scratch);
  bool StepBody(SteadyTime now, Scratch scratch);
  bool StepWriting(SteadyTime now);
  bool StepLingering(Scratch scratch);

  bool FinishHead(SteadyTime now);
  void BeginHead(SteadyTime now);
  void SendContinue();
  // Counts bytes kept for this connection against max_buffered_bytes; false when that is exceeded.
  bool CountBuffered(std::size_t bytes);
  void ReleaseBuffered();
  bool Wait(IoState state);
  bool Close();

  const std::unique_ptr<Channel> channel_;
  const std::string peer_;
  HttpShared& shared_;
  const HeadLimits limits_;

  State state_;
  Next next_ = Next::kWaitReadable;
  SteadyTime deadline_;
  std::string client_name_;
  bool stranger_ = false;  // has a valid certificate but is not on the list

  std::string in_;  // received, not yet consumed
  HeadScanner scanner_;
  RequestHead head_;           // of the request in progress
  std::string body_;           // so far
  std::size_t counted_ = 0;    // bytes of body_ or out_ counted in shared_.buffered_bytes
  std::string out_;            // answer
  std::size_t out_sent_ = 0;   // bytes of it that are out
  bool close_after_ = false;   // the answer in out_ is the last
  bool unread_input_ = false;  // the caller may still be sending
};

}  // namespace muster::extender
