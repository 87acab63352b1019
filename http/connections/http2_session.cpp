#include "http/connections/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"

namespace muster::http {
namespace {

// Of all streams together, in multiples of one stream's.
constexpr std::uint32_t kConnectionWindows = 4;
// Of a head, in multiples of the limit: up to this it is refused in words.
constexpr std::size_t kHeadsAtMost = 8;
// A caller that counts by fours must not fill memory.
constexpr std::size_t kGapsAtMost = 64;

std::string_view View(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// nghttp2 takes non-const pointers and copies.
std::uint8_t* Bytes(const std::string& text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

}  // namespace

struct Http2Session::Callbacks {
  static Http2Session& Of(void* user) { return *static_cast<Http2Session*>(user); }

  static bool IsRequest(const nghttp2_frame* frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  }

  // nghttp2 ignores a head on a stream that it does not know, also when no head ever opened it.
  static int BeginFrame(nghttp2_session* session, const nghttp2_frame_hd* frame, void* user) {
    if (frame->type != NGHTTP2_HEADERS) return 0;
    if (Of(user).LeftOut(frame->stream_id)) {
      nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
    } else {
      Of(user).Opened(frame->stream_id);
    }
    return 0;
  }

  static int BeginHeaders(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (!IsRequest(frame)) return 0;
    Http2Session& self = Of(user);
    self.method_.clear();
    self.target_.clear();
    self.fields_.clear();
    self.head_bytes_ = 0;
    self.has_authority_ = false;
    self.has_length_ = false;
    self.events_.HeadBegan(frame->hd.stream_id);
    return 0;
  }

  static int Header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                    const std::uint8_t* name_bytes, std::size_t name_size,
                    const std::uint8_t* value_bytes, std::size_t value_size, std::uint8_t /*flags*/,
                    void* user) {
    if (!IsRequest(frame)) return 0;  // a field behind the body
    // A field of a few bytes may stand for thousands (HPACK): past all measure nothing more is
    // unpacked, and the stream is reset.
    const bool fine =
        Of(user).TakeField(View(name_bytes, name_size), View(value_bytes, value_size));
    return fine ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int FrameReceived(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Session& self = Of(user);
    if (IsRequest(frame)) self.events_.HeadCame(frame->hd.stream_id, self.TakeHeadText());
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.events_.Ended(frame->hd.stream_id);
    return 0;
  }

  static int DataChunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t stream,
                       const std::uint8_t* data, std::size_t size, void* user) {
    Of(user).events_.BodyCame(stream, View(data, size));
    return 0;
  }

  static int StreamClosed(nghttp2_session* /*session*/, std::int32_t stream, std::uint32_t /*code*/,
                          void* user) {
    Of(user).bodies_.erase(stream);
    Of(user).events_.Closed(stream);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session* session, std::int32_t stream, std::uint8_t* data,
                          std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                          void* /*user*/) {
    Body& body = *static_cast<Body*>(source->ptr);
    MUSTER_CHECK(body.sent <= body.bytes.size());
    const std::size_t count = std::min(size, body.bytes.size() - body.sent);
    body.bytes.copy(reinterpret_cast<char*>(data), count, body.sent);
    body.sent += count;
    if (body.sent == body.bytes.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      // The answer did not wait for the request's end: the peer need not send the rest (RFC 9113,
      // 8.1).
      if (nghttp2_session_get_stream_remote_close(session, stream) == 0) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
      }
    }
    return static_cast<ssize_t>(count);
  }
};

Http2Session::Http2Session(const Limits& limits, Events& events)
    : limits_(limits), events_(events) {
  nghttp2_session_callbacks* made = nullptr;
  MUSTER_CHECK(nghttp2_session_callbacks_new(&made) == 0);
  const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)>
      callbacks(made, &nghttp2_session_callbacks_del);
  nghttp2_session_callbacks_set_on_begin_frame_callback(made, &Callbacks::BeginFrame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, &Callbacks::BeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(made, &Callbacks::Header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, &Callbacks::FrameReceived);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &Callbacks::DataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, &Callbacks::StreamClosed);
  MUSTER_CHECK(nghttp2_session_server_new(&session_, made, this) == 0);

  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.max_head)},
  }};
  MUSTER_CHECK(
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
  nghttp2_session_set_local_window_size(
      session_, NGHTTP2_FLAG_NONE, 0,
      static_cast<std::int32_t>(limits.window * kConnectionWindows));
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::Opened(Stream stream) {
  if (stream <= last_opened_ || stream % 2 == 0) return;
  if (stream - last_opened_ > 2) left_out_.push_back({last_opened_ + 2, stream - 2});
  if (left_out_.size() > kGapsAtMost) left_out_.pop_front();
  last_opened_ = stream;
}

bool Http2Session::LeftOut(Stream stream) const {
  if (stream % 2 == 0) return false;
  return std::any_of(left_out_.begin(), left_out_.end(), [stream](const Gap& gap) {
    return gap.first <= stream && stream <= gap.last;
  });
}

bool Http2Session::TakeField(std::string_view name, std::string_view value) {
  head_bytes_ += name.size() + value.size();
  if (head_bytes_ > kHeadsAtMost * limits_.max_head) return false;
  if (name == ":method") {
    method_ = value;
  } else if (name == ":path") {
    target_ = value;
  } else if (name == ":authority") {
    has_authority_ = true;
    AddField("host", value);
  } else if (name.substr(0, 1) != ":" && (name != "host" || !has_authority_)) {
    has_length_ |= name == "content-length";
    AddField(name, value);
  }
  return true;
}

void Http2Session::AddField(std::string_view name, std::string_view value) {
  // The reader of the text refuses one that is too long; the rest of it need not be kept.
  if (fields_.size() > limits_.max_head) return;
  fields_.append(name).append(": ").append(value).append("\r\n");
}

// The end of a body is marked in HTTP/2, so its length need not be said.
std::string Http2Session::TakeHeadText() {
  std::string text = std::exchange(method_, {}) + " " + std::exchange(target_, {}) +
                     " HTTP/1.1\r\n" + std::exchange(fields_, {}) +
                     (has_length_ ? "" : "content-length: 0\r\n") + "\r\n";
  return text;
}

void Http2Session::Receive(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (nghttp2_session_mem_recv(session_, data, bytes.size()) < 0) broken_ = true;
}

void Http2Session::Pull(std::string& out, std::size_t enough) {
  while (out.size() < enough) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) broken_ = true;
    if (size <= 0) return;
    out.append(View(data, static_cast<std::size_t>(size)));
  }
}

bool Http2Session::done() const {
  return broken_ ||
         (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Http2Session::Continue(Stream stream) {
  const std::string name = ":status";
  const std::string value = "100";
  const nghttp2_nv line = {Bytes(name), Bytes(value), name.size(), value.size(),
                           NGHTTP2_NV_FLAG_NONE};
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, &line, 1, nullptr);
}

void Http2Session::Submit(Stream stream, Response response, bool without_body) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {":status", std::to_string(response.status)},
      {"content-type", response.content_type},
      {"content-length", std::to_string(response.body.size())}};
  for (auto& [name, value] : response.headers)
    fields.emplace_back(LowerCase(name), std::move(value));
  std::vector<nghttp2_nv> lines;
  for (const auto& [name, value] : fields) {
    const bool sound =
        name.front() == ':' || nghttp2_check_header_name(Bytes(name), name.size()) != 0;
    if (!sound || nghttp2_check_header_value(Bytes(value), value.size()) == 0) continue;
    lines.push_back({Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  const auto [at, is_new] = bodies_.try_emplace(stream);
  MUSTER_CHECK(is_new);
  Body& body = at->second;
  if (!without_body) body.bytes = std::move(response.body);
  nghttp2_data_provider provider{};
  provider.source.ptr = &body;
  provider.read_callback = &Callbacks::ReadBody;
  if (nghttp2_submit_response(session_, stream, lines.data(), lines.size(), &provider) != 0) {
    bodies_.erase(stream);
  }
}

void Http2Session::Reset(Stream stream, Cause cause) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream,
                            cause == Cause::kRefused ? NGHTTP2_REFUSED_STREAM : NGHTTP2_CANCEL);
}

void Http2Session::GoAway() {
  if (std::exchange(going_away_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

}  // namespace muster::http
