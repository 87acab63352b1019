#include "http/connections/http2_connection.hpp"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "cluster/base/check.hpp"
#include "http/messages/kept_bytes.hpp"

namespace muster::http {
namespace {

constexpr std::size_t kWriteAtOnce = 16 * 1024;  // a TLS record
constexpr std::size_t kReadsInARow = 16;         // before others get the worker
constexpr std::size_t kRefusedAtMost = 1'000;    // streams, while nothing goes out

Http2Session::Limits SessionLimits(const ServerOptions& options) {
  return {.max_streams = static_cast<std::uint32_t>(options.max_streams),
          .max_head = options.max_header_bytes};
}

std::variant<RequestHead, Refusal> ReadHead(std::string_view text, const HeadLimits& limits) {
  HeadScanner scanner(limits);
  switch (scanner.Scan(text)) {
    case HeadScanner::State::kRefused:
      return scanner.refusal();
    case HeadScanner::State::kIncomplete:
      return Refusal{400, "malformed header"};
    case HeadScanner::State::kComplete:
      return ParseHead(text, limits);
  }
  return Refusal{};
}

}  // namespace

Http2Connection::Http2Connection(std::unique_ptr<Channel> channel, Caller caller,
                                 ServerShared& shared, SteadyTime now, MemoryLedger::Kept place)
    : channel_(std::move(channel)),
      caller_(std::move(caller)),
      shared_(shared),
      limits_(HeadLimitsOf(shared.options)),
      place_(std::move(place)),
      nothing_(shared.calls.Of(caller_.peer)),
      session_(SessionLimits(shared.options), *this),
      now_(now),
      idle_until_(now + shared.options.first_byte_timeout) {}

// 1. Answers that came. 2. Out with everything. 3. A request for the caller of this. 4. In with
// what has come, and again. 5. When it is to end: no more after what has come by now.
ServerConnection::Next Http2Connection::Advance(SteadyTime now, Scratch scratch) {
  now_ = now;
  leaving_ |= shared_.draining;
  std::size_t reads = 0;
  while (!closed_) {
    TakeAnswers();
    if (lingering_) return Linger(scratch);
    const bool flushed = Flush();
    if (closed_) break;
    if (!ready_.empty()) return Next::kRequest;
    if (!flushed) return Next::kWaitWritable;
    if (session_.done() || (session_.going_away() && idle())) {
      channel_->FinishWriting();
      lingering_ = true;
      idle_until_ = now + kLingerTime;
      continue;
    }
    if (reads < kReadsInARow && Read(scratch)) {
      ++reads;
    } else if (leaving_ && !session_.going_away() && !closed_) {
      session_.GoAway();
    } else {
      return closed_ ? Next::kClosed : reads < kReadsInARow ? Next::kWaitReadable : Next::kGoOn;
    }
  }
  return Next::kClosed;
}

ServerConnection::Next Http2Connection::Expire(SteadyTime now, Scratch scratch) {
  now_ = now;
  if (lingering_) return Close();
  if (blocked_until_ <= now) {
    ++shared_.timeouts;
    return Close();
  }
  ExpireStreams();
  if (idle() && idle_until_ <= now) leaving_ = true;
  return Advance(now, scratch);
}

ServerConnection::Rest Http2Connection::rest() const {
  if (lingering_ || handling_ > 0) return Rest::kAnswer;
  if (out_.size() != out_sent_) return Rest::kUnread;
  if (streams_.empty()) return Rest::kNothing;
  const bool part = std::all_of(streams_.begin(), streams_.end(), [](const auto& entry) {
    return entry.second.phase == Phase::kReceiving;
  });
  return part ? Rest::kPart : Rest::kAnswer;
}

void Http2Connection::ExpireStreams() {
  while (!due_.empty() && due_.begin()->first <= now_) {
    const Stream stream = due_.begin()->second;
    Open& open = streams_.at(stream);
    ++shared_.timeouts;
    if (open.phase == Phase::kReceiving) {
      RefuseStream(stream, {408, "the request did not arrive in time"});
    } else {
      SetDue(stream, open, SteadyTime::max());
      session_.Reset(stream, Http2Session::Cause::kCancelled);
    }
  }
}

SteadyTime Http2Connection::deadline() const {
  SteadyTime deadline = blocked_until_;
  if (!due_.empty()) deadline = std::min(deadline, due_.begin()->first);
  if (lingering_ || idle()) deadline = std::min(deadline, idle_until_);
  return deadline;
}

ServerConnection::Next Http2Connection::pending() const {
  if (!ready_.empty()) return Next::kRequest;
  return out_.empty() ? Next::kWaitReadable : Next::kWaitWritable;
}

IncomingRequest Http2Connection::TakeRequest() {
  const Stream stream = ready_.front();
  ready_.pop_front();
  Open& open = streams_.at(stream);
  open.phase = Phase::kHandling;
  ++handling_;
  ++shared_.requests;
  return {.head = std::exchange(open.head, {}),
          .body = std::exchange(open.body, {}),
          .caller = caller_,
          .stream = stream,
          .kept = open.kept.Split(open.kept.bytes() - kStreamBytes)};
}

std::unique_ptr<ServerConnection> Http2Connection::Successor(SteadyTime /*now*/) {
  MUSTER_CHECK(false);
  return nullptr;
}

void Http2Connection::TakeAnswers() {
  for (Answer& answer : answers_->TakeAll()) {
    --handling_;
    leaving_ |= answer.response.close;
    const auto found = streams_.find(answer.stream);
    if (found == streams_.end()) continue;  // reset meanwhile
    // Answers that nobody takes must not pile up.
    Open& open = found->second;
    // A small one is in the price of the stream and goes out whatever else is kept: reset, a Bind
    // would seem to have failed.
    const std::size_t size = answer.response.body.size();
    shared_.answered_bytes += size;
    if (size > kSmallAnswer && !open.kept.Set(kStreamBytes + size)) {
      ++shared_.refused_full;
      session_.Reset(answer.stream, Http2Session::Cause::kCancelled);
      continue;
    }
    Submit(answer.stream, open, std::move(answer.response));
  }
  if (idle() && idle_until_ == SteadyTime::max()) {
    idle_until_ = now_ + shared_.options.idle_timeout;
  }
}

void Http2Connection::Submit(Stream stream, Open& open, Response response) {
  open.phase = Phase::kAnswering;
  SetDue(stream, open, now_ + shared_.options.write_timeout);
  session_.Submit(stream, std::move(response), open.without_body);
}

void Http2Connection::RefuseStream(Stream stream, const Refusal& refusal) {
  Open& open = streams_.at(stream);
  open.head = {};
  std::string().swap(open.body);
  open.kept.Set(kStreamBytes);
  Response response = ErrorResponse(refusal.status, refusal.message);
  if (refusal.status == 503) response.headers["Retry-After"] = "1";
  Submit(stream, open, std::move(response));
}

void Http2Connection::HeadBegan(Stream stream) {
  // Requests that were reset still wait for their answers.
  const std::size_t most = shared_.options.max_streams;
  MemoryLedger::Kept kept = nothing_.Another();
  if (streams_.size() >= most || handling_ + ready_.size() >= most ||
      !kept.Set(kStreamBytes + kCallBytes)) {
    ++shared_.refused_full;
    session_.Reset(stream, Http2Session::Cause::kRefused);
    Remember();
    // Refusals that the caller does not read must not pile up.
    if (++refused_in_a_row_ > kRefusedAtMost) Close();
    return;
  }
  idle_until_ = SteadyTime::max();
  Open& open = streams_[stream];
  open.kept = std::move(kept);
  SetDue(stream, open, now_ + shared_.options.header_timeout);
}

void Http2Connection::HeadCame(Stream stream, std::string_view head) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.phase != Phase::kReceiving) return;
  Open& open = found->second;
  std::variant<RequestHead, Refusal> parsed = ReadHead(head, limits_);
  if (const Refusal* refusal = std::get_if<Refusal>(&parsed)) {
    ++shared_.refused_bad;
    RefuseStream(stream, *refusal);
    return;
  }
  if (caller_.stranger) {
    ++shared_.refused_client;
    RefuseStream(stream, StrangerRefused());
    return;
  }
  open.head = std::get<RequestHead>(std::move(parsed));
  open.head_bytes = KeptBytes(open.head);
  if (!CountRequest(stream, open)) return;
  open.without_body = open.head.method == "HEAD";
  if (open.head.expect_continue) session_.Continue(stream);
  SetDue(stream, open, now_ + shared_.options.body_timeout);
}

void Http2Connection::BodyCame(Stream stream, std::string_view bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.phase != Phase::kReceiving) return;
  Open& open = found->second;
  if (open.body.size() + bytes.size() > limits_.max_body) {
    ++shared_.refused_bad;
    RefuseStream(stream, {413, "the body is too large: at most " +
                                   std::to_string(limits_.max_body) + " bytes are accepted"});
    return;
  }
  open.body.append(bytes);
  CountRequest(stream, open);
}

void Http2Connection::Ended(Stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.phase != Phase::kReceiving) return;
  Open& open = found->second;
  SetDue(stream, open, SteadyTime::max());
  open.head.content_length = open.body.size();
  open.phase = Phase::kReady;
  ready_.push_back(stream);
}

void Http2Connection::Closed(Stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  SetDue(stream, found->second, SteadyTime::max());
  if (found->second.phase == Phase::kReady) {
    ready_.erase(std::find(ready_.begin(), ready_.end(), stream));
  }
  streams_.erase(found);
  Remember();
  if (idle()) idle_until_ = now_ + shared_.options.idle_timeout;
}

bool Http2Connection::Flush() {
  while (true) {
    if (out_.empty()) session_.Pull(out_, kWriteAtOnce);
    if (out_.empty()) {
      std::string().swap(out_);  // an idle connection should cost little
      return true;
    }
    if (blocked_until_ == SteadyTime::max()) blocked_until_ = now_ + shared_.options.write_timeout;
    while (out_sent_ < out_.size()) {
      const IoResult result = channel_->Write(out_.data() + out_sent_, out_.size() - out_sent_);
      if (result.state == IoState::kWantWrite || result.state == IoState::kWantRead) return false;
      if (result.state != IoState::kDone) {
        Close();
        return false;
      }
      out_sent_ += result.bytes;
    }
    out_.clear();
    out_sent_ = 0;
    refused_in_a_row_ = 0;
    blocked_until_ = SteadyTime::max();
  }
}

bool Http2Connection::Read(Scratch scratch) {
  const IoResult result = channel_->Read(scratch.data, scratch.size);
  if (result.state == IoState::kDone) {
    session_.Receive({scratch.data, result.bytes});
    return true;
  }
  if (result.state != IoState::kWantRead && result.state != IoState::kWantWrite) Close();
  return false;
}

ServerConnection::Next Http2Connection::Linger(Scratch scratch) {
  const IoResult result = channel_->Read(scratch.data, scratch.size);
  if (result.state == IoState::kDone || result.state == IoState::kWantRead) {
    return Next::kWaitReadable;
  }
  return Close();
}

void Http2Connection::SetDue(Stream stream, Open& open, SteadyTime due) {
  if (open.due != SteadyTime::max()) due_.erase({open.due, stream});
  open.due = due;
  if (due != SteadyTime::max()) due_.emplace(due, stream);
}

// Where that is too much the caller goes on with another connection.
void Http2Connection::Remember() {
  if (remembered_ >= shared_.options.max_streams) return;
  ++remembered_;
  if (!place_.Set(Http2Bytes(remembered_))) leaving_ = true;
}

bool Http2Connection::CountRequest(Stream stream, Open& open) {
  const std::size_t bytes = kStreamBytes + kCallBytes + open.head_bytes + KeptBytes(open.body);
  if (open.kept.Set(bytes)) return true;
  ++shared_.refused_full;
  RefuseStream(stream, TooMuchKept());
  return false;
}

ServerConnection::Next Http2Connection::Close() {
  closed_ = true;
  return Next::kClosed;
}

}  // namespace muster::http
