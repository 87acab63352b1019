#include "http/connections/http1_connection.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "http/connections/http2_connection.hpp"
#include "http/connections/message_text.hpp"
#include "http/messages/kept_bytes.hpp"
#include "http/tls/server_tls.hpp"

namespace muster::http {
namespace {

constexpr std::size_t kLingerBytesPerStep = 4 * 1024 * 1024;
constexpr std::size_t kReserveAtOnce = 256 * 1024;  // a longer body grows as it arrives
constexpr std::size_t kKeepCapacity = 1024;         // of buffers on an idle connection

// An idle connection should cost little, whatever was sent over it before.
void Shrink(std::string& buffer) {
  if (buffer.capacity() > kKeepCapacity) std::string(buffer).swap(buffer);
}

}  // namespace

Http1Connection::Http1Connection(std::unique_ptr<Channel> channel, std::string peer,
                                 ServerShared& shared, SteadyTime now, MemoryLedger::Kept place)
    : channel_(std::move(channel)),
      shared_(shared),
      limits_(HeadLimitsOf(shared.options)),
      place_(std::move(place)),
      kept_(shared.calls.Of(peer)),
      state_(shared.tls != nullptr ? State::kHandshake : State::kHead),
      deadline_(now + shared.options.first_byte_timeout),
      caller_{std::move(peer), "", {}, false, false},
      scanner_(limits_) {}

Http1Connection::Next Http1Connection::Advance(SteadyTime now, Scratch scratch) {
  while (true) {
    bool go_on = false;
    switch (state_) {
      case State::kHandshake:
        go_on = StepHandshake(now);
        break;
      case State::kHead:
        go_on = StepHead(now, scratch);
        break;
      case State::kBody:
        go_on = StepBody(now, scratch);
        break;
      case State::kReady:
        return Next::kRequest;
      case State::kHandling:
        go_on = StepHandling(now);
        break;
      case State::kWriting:
        go_on = StepWriting(now);
        break;
      case State::kLingering:
        go_on = StepLingering(scratch);
        break;
      case State::kSucceeded:
        return Next::kSucceeded;
      case State::kClosed:
        return Next::kClosed;
    }
    if (!go_on) return next_;
  }
}

Http1Connection::Next Http1Connection::Expire(SteadyTime now, Scratch scratch) {
  const bool idle = state_ == State::kHead && in_.empty();
  if (!idle && state_ != State::kLingering) ++shared_.timeouts;
  if (state_ == State::kHead && !idle) {
    Refuse({408, "the header did not arrive in time"}, now);
    return Advance(now, scratch);
  }
  if (state_ == State::kBody) {
    Refuse({408, "the body did not arrive in time"}, now);
    return Advance(now, scratch);
  }
  if (idle) {
    // A request may have arrived at this very moment; closing on it would lose it.
    const Next next = Advance(now, scratch);
    if (state_ != State::kHead || !in_.empty()) return next;
  }
  Close();
  return next_;
}

bool Http1Connection::StepHandshake(SteadyTime now) {
  const IoResult result = channel_->Handshake();
  if (result.state != IoState::kDone) {
    if (result.state == IoState::kFailed || result.state == IoState::kEnd) ++shared_.tls_failures;
    if (shared_.draining && !shared_.patient) return Close();
    return Wait(result.state);
  }
  std::optional<std::string> name = shared_.tls->KnownAs(channel_->PeerNames());
  caller_.stranger = !name.has_value();
  caller_.client_name = std::move(name).value_or("");
  caller_.client_organisations = channel_->PeerOrganisations();
  caller_.tls = true;
  deadline_ = now + shared_.options.first_byte_timeout;
  const bool http2 = channel_->Protocol() == kAlpnHttp2;
  state_ = http2 ? State::kSucceeded : State::kHead;
  place_.Set(http2 ? Http2Bytes(0) : kTlsBytes);  // less than before
  return true;
}

std::unique_ptr<ServerConnection> Http1Connection::Successor(SteadyTime now) {
  return std::make_unique<Http2Connection>(std::move(channel_), std::move(caller_), shared_, now,
                                           std::move(place_));
}

bool Http1Connection::StepHead(SteadyTime now, Scratch scratch) {
  if (!in_.empty()) {
    switch (scanner_.Scan(in_)) {
      case HeadScanner::State::kComplete:
        return FinishHead(now);
      case HeadScanner::State::kRefused:
        ++shared_.refused_bad;
        Refuse(scanner_.refusal(), now);
        return true;
      case HeadScanner::State::kIncomplete:
        break;
    }
  }
  // A head that is longer is refused; what is behind one may stay in the socket.
  const std::size_t most = limits_.max_bytes + 1 - std::min(limits_.max_bytes, in_.size());
  const IoResult result = channel_->Read(scratch.data, std::min(scratch.size, most));
  if (result.state == IoState::kDone) {
    if (in_.empty()) deadline_ = now + shared_.options.header_timeout;
    in_.append(scratch.data, result.bytes);
    CountRequest(now);
    return true;
  }
  const bool waited_for = !asked_ && shared_.patient;
  if (in_.empty() && shared_.draining && !waited_for) return Close();
  return Wait(result.state);
}

bool Http1Connection::FinishHead(SteadyTime now) {
  asked_ = true;
  const std::size_t length = scanner_.length();
  std::variant<RequestHead, Refusal> parsed =
      ParseHead(std::string_view(in_).substr(0, length), limits_);
  in_.erase(0, length);
  scanner_.Reset();
  if (const Refusal* refusal = std::get_if<Refusal>(&parsed)) {
    ++shared_.refused_bad;
    Refuse(*refusal, now);
    return true;
  }
  head_ = std::get<RequestHead>(std::move(parsed));
  head_bytes_ = KeptBytes(head_);
  if (caller_.stranger) {
    ++shared_.refused_client;
    Refuse(StrangerRefused(), now);
    return true;
  }
  if (!CountRequest(now)) return true;
  deadline_ = now + shared_.options.body_timeout;
  state_ = State::kBody;
  if (head_.expect_continue && head_.content_length > in_.size()) SendContinue();
  return true;
}

bool Http1Connection::StepBody(SteadyTime now, Scratch scratch) {
  const auto wanted = static_cast<std::size_t>(head_.content_length);
  if (body_.empty()) body_.reserve(std::min(wanted, kReserveAtOnce));
  std::string_view arrived;
  if (body_.size() == wanted) {
    arrived = {};
  } else if (!in_.empty()) {
    arrived = std::string_view(in_).substr(0, wanted - body_.size());
  } else {
    const IoResult result =
        channel_->Read(scratch.data, std::min(scratch.size, wanted - body_.size()));
    if (result.state != IoState::kDone) return Wait(result.state);
    arrived = {scratch.data, result.bytes};
  }
  body_.append(arrived);
  if (!in_.empty()) in_.erase(0, arrived.size());
  if (CountRequest(now) && body_.size() == wanted) state_ = State::kReady;
  return true;
}

void Http1Connection::SendContinue() {
  // Nothing is in flight towards the caller here, so these bytes fit; if not, it sends the body
  // anyway after a moment.
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  channel_->Write(kContinue.data(), kContinue.size());
}

IncomingRequest Http1Connection::TakeRequest() {
  ++shared_.requests;
  keep_alive_ = head_.keep_alive;
  to_head_ = head_.method == "HEAD";
  IncomingRequest request{
      .head = std::exchange(head_, {}),
      .body = std::exchange(body_, {}),
      .caller = caller_,
      .kept = kept_.Split(kept_.bytes() - std::min(kept_.bytes(), KeptBytes(in_)))};
  head_bytes_ = 0;
  deadline_ = SteadyTime::max();
  state_ = State::kHandling;
  return request;
}

bool Http1Connection::StepHandling(SteadyTime now) {
  std::vector<Answer> answers = answers_->TakeAll();
  if (answers.empty()) {
    next_ = Next::kWaitAnswer;
    return false;
  }
  Response& response = answers.front().response;
  const bool close = response.close || !keep_alive_ || shared_.draining;
  Send(FormatAnswer(std::move(response), {close, to_head_, shared_.options.idle_timeout}), close,
       now);
  return true;
}

bool Http1Connection::CountRequest(SteadyTime now) {
  if (kept_.Set(kCallBytes + KeptBytes(in_) + head_bytes_ + KeptBytes(body_))) return true;
  ++shared_.refused_full;
  Refuse(TooMuchKept(), now);
  return false;
}

void Http1Connection::Send(std::string bytes, bool close, SteadyTime now) {
  out_ = std::move(bytes);
  out_sent_ = 0;
  shared_.answered_bytes += out_.size();
  // Counted also where it does not fit: that matters only once it does not go out.
  fits_ = kept_.Set(KeptBytes(in_) + KeptBytes(out_)) || out_.size() <= kSmallAnswer;
  close_after_ = close;
  deadline_ = now + shared_.options.write_timeout;
  state_ = State::kWriting;
}

void Http1Connection::Refuse(const Refusal& refusal, SteadyTime now) {
  std::string().swap(body_);
  head_ = {};
  head_bytes_ = 0;
  std::string().swap(in_);
  unread_input_ = true;
  Send(FormatRefusal(refusal), true, now);
}

bool Http1Connection::StepWriting(SteadyTime now) {
  while (out_sent_ < out_.size()) {
    const IoResult result = channel_->Write(out_.data() + out_sent_, out_.size() - out_sent_);
    if (result.state != IoState::kDone) {
      // Answers that nobody takes must not pile up either.
      if (!fits_) {
        ++shared_.refused_full;
        return Close();
      }
      return Wait(result.state);
    }
    out_sent_ += result.bytes;
  }
  if (!close_after_) {
    BeginHead(now);
    return true;
  }
  channel_->FinishWriting();
  if (shared_.draining && !unread_input_ && in_.empty()) return Close();
  std::string().swap(out_);
  std::string().swap(in_);
  kept_.Release();
  deadline_ = now + kLingerTime;
  state_ = State::kLingering;
  return true;
}

void Http1Connection::BeginHead(SteadyTime now) {
  out_.clear();
  Shrink(out_);
  Shrink(in_);
  if (in_.empty()) {
    kept_.Release();
  } else if (!CountRequest(now)) {
    return;
  }
  const ServerOptions& options = shared_.options;
  deadline_ = now + (in_.empty() ? options.idle_timeout : options.header_timeout);
  state_ = State::kHead;
}

bool Http1Connection::StepLingering(Scratch scratch) {
  std::size_t discarded = 0;
  while (discarded < kLingerBytesPerStep) {
    const IoResult result = channel_->Read(scratch.data, scratch.size);
    if (result.state != IoState::kDone) return Wait(result.state);
    discarded += result.bytes;
  }
  return Wait(IoState::kWantRead);
}

bool Http1Connection::Wait(IoState state) {
  switch (state) {
    case IoState::kWantRead:
      next_ = Next::kWaitReadable;
      return false;
    case IoState::kWantWrite:
      next_ = Next::kWaitWritable;
      return false;
    default:
      return Close();
  }
}

bool Http1Connection::Close() {
  state_ = State::kClosed;
  next_ = Next::kClosed;
  return false;
}

}  // namespace muster::http
