// Http2Connection: one caller's HTTP/2 connection, many requests at a time.
//
//   of a stream:  kReceiving ─▶ kReady ─▶ kHandling ─▶ kAnswering ─▶ gone
//                     └── refused or too late ────────────▲
//
// Go's clients speak it wherever the port has TLS (ALPN). Over HTTP/1.1 calls that are open at the
// same time cost nearly each a connection with a handshake, because Go keeps two idle ones to a
// host (MaxIdleConnsPerHost).
//
// The end is gentle: GOAWAY, the open streams to their end, then what still comes is thrown away
// for a moment. A stream that is reset before its answer came is forgotten, its answer too.
//
// Owned by ConnectionTable; used by one thread at a time, the one that has claimed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "http/connections/channel.hpp"
#include "http/connections/http2_session.hpp"
#include "http/connections/server_connection.hpp"

namespace muster::http {

class Http2Connection final : public ServerConnection, private Http2Session::Events {
 public:
  // After the handshake. `place`: what is kept for the connection as such.
  Http2Connection(std::unique_ptr<Channel> channel, Caller caller, ServerShared& shared,
                  SteadyTime now, MemoryLedger::Kept place);
  ~Http2Connection() override = default;
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  Next Advance(SteadyTime now, Scratch scratch) override;
  Next Expire(SteadyTime now, Scratch scratch) override;
  IncomingRequest TakeRequest() override;
  Next pending() const override;
  std::unique_ptr<ServerConnection> Successor(SteadyTime now) override;

  const std::shared_ptr<AnswerBox>& answers() const override { return answers_; }
  SteadyTime deadline() const override;
  Rest rest() const override;
  int fd() const override { return channel_->fd(); }

 private:
  enum class Phase { kReceiving, kReady, kHandling, kAnswering };
  struct Open {
    Phase phase = Phase::kReceiving;
    RequestHead head;
    std::string body;
    bool without_body = false;   // the answer, to HEAD
    MemoryLedger::Kept kept;     // for the stream, and its request until that is taken
    std::size_t head_bytes = 0;  // that the head keeps
    SteadyTime due = SteadyTime::max();
  };
  using Stream = Http2Session::Stream;

  void HeadBegan(Stream stream) override;
  void HeadCame(Stream stream, std::string_view head) override;
  void BodyCame(Stream stream, std::string_view bytes) override;
  void Ended(Stream stream) override;
  void Closed(Stream stream) override;

  void RefuseStream(Stream stream, const Refusal& refusal);
  void Submit(Stream stream, Open& open, Response response);
  void TakeAnswers();
  // False when the socket takes no more now.
  bool Flush();
  // True when something came.
  bool Read(Scratch scratch);
  Next Linger(Scratch scratch);
  void ExpireStreams();
  void SetDue(Stream stream, Open& open, SteadyTime due);
  // A stream has ended.
  void Remember();
  // Counts what the request on the stream keeps; false, with an answer that says so, when it is too
  // much.
  bool CountRequest(Stream stream, Open& open);
  bool idle() const { return streams_.empty() && handling_ == 0; }
  Next Close();

  const std::unique_ptr<Channel> channel_;
  const Caller caller_;
  ServerShared& shared_;
  const HeadLimits limits_;
  MemoryLedger::Kept place_;
  const MemoryLedger::Kept nothing_;  // of the caller's address: what streams begin with
  const std::shared_ptr<AnswerBox> answers_ = std::make_shared<AnswerBox>();
  Http2Session session_;

  SteadyTime now_;  // of the call in progress
  std::map<Stream, Open> streams_;
  std::set<std::pair<SteadyTime, Stream>> due_;  // streams with a time by which something must be
  std::deque<Stream> ready_;
  std::size_t remembered_ = 0;        // streams that the session keeps after their end, at most
  std::size_t refused_in_a_row_ = 0;  // streams, since all that there was to send has gone out
  std::size_t handling_ = 0;          // requests taken whose answers have not come, reset ones too
  SteadyTime idle_until_;             // counts while idle()

  std::string out_;  // pulled from the session, not yet taken by the socket
  std::size_t out_sent_ = 0;
  SteadyTime blocked_until_ = SteadyTime::max();  // by then the socket has taken out_
  bool leaving_ = false;                          // GOAWAY follows
  bool lingering_ = false;                        // our side is closed
  bool closed_ = false;
};

}  // namespace muster::http
