// Http1Connection: one caller's HTTP/1.1 connection, one request at a time; also the TLS handshake,
// after which a caller who chose HTTP/2 has an Http2Connection.
//
//   kHandshake ─▶ kHead ─▶ kBody ─▶ kReady ─▶ kHandling ─▶ kWriting ─▶ kHead | kLingering ─▶
//   kClosed
//       │           └────────┴── refused or too late ──▶ kWriting (error answer, then close)
//       └──▶ kSucceeded
//
// kLingering: the answer is out and our side is closed; what the caller still sends is read and
// thrown away for a moment, because closing with unread input would reset the connection and lose
// the answer.
//
// Owned by ConnectionTable; used by one thread at a time, the one that has claimed it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/connections/channel.hpp"
#include "http/connections/server_connection.hpp"

namespace muster::http {

class Http1Connection final : public ServerConnection {
 public:
  // `place`: what is kept for the connection as such.
  Http1Connection(std::unique_ptr<Channel> channel, std::string peer, ServerShared& shared,
                  SteadyTime now, MemoryLedger::Kept place);
  ~Http1Connection() override = default;
  Http1Connection(const Http1Connection&) = delete;
  Http1Connection& operator=(const Http1Connection&) = delete;

  Next Advance(SteadyTime now, Scratch scratch) override;
  Next Expire(SteadyTime now, Scratch scratch) override;
  IncomingRequest TakeRequest() override;
  Next pending() const override { return Next::kWaitAnswer; }
  // Closes after it. Also on a fresh connection.
  void Refuse(const Refusal& refusal, SteadyTime now);
  std::unique_ptr<ServerConnection> Successor(SteadyTime now) override;

  const std::shared_ptr<AnswerBox>& answers() const override { return answers_; }
  SteadyTime deadline() const override { return deadline_; }
  Rest rest() const override {
    if (state_ == State::kHandshake || (state_ == State::kHead && in_.empty()))
      return Rest::kNothing;
    if (state_ == State::kWriting) return Rest::kUnread;
    return state_ == State::kHead || state_ == State::kBody ? Rest::kPart : Rest::kAnswer;
  }
  int fd() const override { return channel_->fd(); }

 private:
  enum class State {
    kHandshake,
    kHead,
    kBody,
    kReady,
    kHandling,
    kWriting,
    kLingering,
    kSucceeded,
    kClosed
  };

  // Each handles one state and returns true to go on with the (changed) state, false to return
  // next_.
  bool StepHandshake(SteadyTime now);
  bool StepHead(SteadyTime now, Scratch scratch);
  bool StepBody(SteadyTime now, Scratch scratch);
  bool StepHandling(SteadyTime now);
  bool StepWriting(SteadyTime now);
  bool StepLingering(Scratch scratch);

  bool FinishHead(SteadyTime now);
  void Send(std::string bytes, bool close, SteadyTime now);
  void BeginHead(SteadyTime now);
  void SendContinue();
  // Counts what the request that is coming keeps; false, with an answer that says so, when it is
  // too much.
  bool CountRequest(SteadyTime now);
  bool Wait(IoState state);
  bool Close();

  std::unique_ptr<Channel> channel_;  // null after Successor
  ServerShared& shared_;
  const HeadLimits limits_;
  MemoryLedger::Kept place_;
  MemoryLedger::Kept kept_;  // for what is in the buffers
  const std::shared_ptr<AnswerBox> answers_ = std::make_shared<AnswerBox>();

  State state_;
  Next next_ = Next::kWaitReadable;
  SteadyTime deadline_;
  Caller caller_;

  std::string in_;      // received, not yet consumed
  bool asked_ = false;  // a head has come
  HeadScanner scanner_;
  RequestHead head_;            // of the request that is coming
  std::size_t head_bytes_ = 0;  // that it keeps
  bool keep_alive_ = true;      // its sender's wish, while it is handled
  bool to_head_ = false;        // it was HEAD
  std::string body_;            // so far
  std::string out_;             // answer
  std::size_t out_sent_ = 0;    // bytes of it that are out
  bool fits_ = true;            // it may be kept until it is taken
  bool close_after_ = false;    // the answer in out_ is the last
  bool unread_input_ = false;   // the caller may still be sending
};

}  // namespace muster::http
