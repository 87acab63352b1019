#include "http2_test_support.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

namespace muster::http::testing {
namespace {

std::uint8_t* Bytes(const std::string& text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

std::string Text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

struct Http2Caller::Callbacks {
  static Http2Caller& Of(void* user) { return *static_cast<Http2Caller*>(user); }

  static int Header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                    const std::uint8_t* name_bytes, std::size_t name_size,
                    const std::uint8_t* value_bytes, std::size_t value_size, std::uint8_t /*flags*/,
                    void* user) {
    Http2Reply& reply = Of(user).replies_[frame->hd.stream_id];
    const std::string name = Text(name_bytes, name_size);
    const std::string value = Text(value_bytes, value_size);
    if (name == ":status") reply.status = std::atoi(value.c_str());
    reply.continued |= reply.status == 100;
    reply.headers[name] = value;
    return 0;
  }
  static int DataChunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t stream,
                       const std::uint8_t* data, std::size_t size, void* user) {
    Of(user).replies_[stream].body += Text(data, size);
    return 0;
  }
  static int StreamClosed(nghttp2_session* /*session*/, std::int32_t stream, std::uint32_t code,
                          void* user) {
    Http2Reply& reply = Of(user).replies_[stream];
    reply.closed = true;
    reply.code = code;
    return 0;
  }
  static int FrameReceived(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) Of(user).told_to_go_ = true;
    return 0;
  }
  static ssize_t ReadUpload(nghttp2_session* /*session*/, std::int32_t /*stream*/,
                            std::uint8_t* data, std::size_t size, std::uint32_t* flags,
                            nghttp2_data_source* source, void* /*user*/) {
    Upload& upload = *static_cast<Upload*>(source->ptr);
    const std::size_t count = std::min(size, upload.bytes.size() - upload.sent);
    if (count == 0 && !upload.last) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(data, upload.bytes.data() + upload.sent, count);
    upload.sent += count;
    if (upload.last && upload.sent == upload.bytes.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }
};

Http2Caller::Http2Caller(const TlsCaller& to, std::uint32_t window) : socket_(to.Open("h2")) {
  nghttp2_session_callbacks* callbacks = nullptr;
  REQUIRE(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::Header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::DataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::StreamClosed);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::FrameReceived);
  // What a strict client would never send is what the tests want to send.
  nghttp2_option* option = nullptr;
  REQUIRE(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_peer_max_concurrent_streams(option, 4096);
  nghttp2_option_set_max_send_header_block_length(option, 1024 * 1024);
  nghttp2_option_set_no_auto_window_update(option, window < 1024 * 1024 ? 1 : 0);
  REQUIRE(nghttp2_session_client_new2(&session_, callbacks, this, option) == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const std::array<nghttp2_settings_entry, 1> settings = {
      {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(std::max(window, 65'535U)));
  Flush();
}

Http2Caller::~Http2Caller() { nghttp2_session_del(session_); }

Http2Caller::Stream Http2Caller::Begin(const Http2Call& call) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {":method", call.method}, {":scheme", "https"}, {":authority", "t"}, {":path", call.path}};
  fields.insert(fields.end(), call.headers.begin(), call.headers.end());
  std::vector<nghttp2_nv> lines;
  lines.reserve(fields.size());
  for (const auto& [name, value] : fields) {
    lines.push_back({Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  const bool empty = call.whole && call.body.empty();
  const auto stream = static_cast<Stream>(nghttp2_session_get_next_stream_id(session_));
  Upload& kept = uploads_[stream];
  kept = {call.body, 0, call.whole};
  nghttp2_data_provider provider{};
  provider.source.ptr = &kept;
  provider.read_callback = &Callbacks::ReadUpload;
  REQUIRE(nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(),
                                 empty ? nullptr : &provider, nullptr) == stream);
  Flush();
  return stream;
}

void Http2Caller::Continue(Stream stream, const std::string& bytes, bool last) {
  Upload& upload = uploads_.at(stream);
  upload.bytes += bytes;
  upload.last = last;
  nghttp2_session_resume_data(session_, stream);
  Flush();
}

void Http2Caller::Reset(Stream stream) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  Flush();
}

Http2Reply Http2Caller::Wait(Stream stream) {
  while (!replies_[stream].closed && Fill()) {
  }
  return replies_[stream];
}

bool Http2Caller::ClosedByServer() {
  while (Fill()) {
  }
  return socket_->ended();
}

bool Http2Caller::GotGoaway() {
  while (!told_to_go_ && Fill()) {
  }
  return told_to_go_;
}

void Http2Caller::Flush() {
  const std::uint8_t* data = nullptr;
  ssize_t size = 0;
  while ((size = nghttp2_session_mem_send(session_, &data)) > 0) {
    if (!socket_->Send(Text(data, static_cast<std::size_t>(size)))) return;
  }
}

bool Http2Caller::Fill() {
  const std::string bytes = socket_->Receive();
  if (bytes.empty()) return false;
  nghttp2_session_mem_recv(session_, Bytes(bytes), bytes.size());
  Flush();
  return true;
}

}  // namespace muster::http::testing
