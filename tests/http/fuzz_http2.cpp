// An HTTP/2 connection in memory: a caller who makes requests, sends pieces of them, gives them up,
// takes answers slowly and spoils bytes, and handlers who answer when they like. Whatever happens,
// requests are complete and within the limits, time brings the connection to its end, and nothing
// stays counted.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/connections/http2_connection.hpp"
#include "memory_channel.hpp"

namespace muster::http {
namespace {

using std::chrono::milliseconds;
using Next = ServerConnection::Next;
using testing::MemoryChannel;
using testing::Wire;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Decisions, one byte each; zeros when the input is used up.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool left() const { return at_ < size_; }
  std::uint8_t Byte() { return left() ? data_[at_++] : std::uint8_t{0}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

struct Upload {
  std::size_t left = 0;
  bool open_end = false;
};

ssize_t ReadUpload(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint8_t* data,
                   std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                   void* /*user*/) {
  Upload& upload = *static_cast<Upload*>(source->ptr);
  const std::size_t count = std::min(size, upload.left);
  if (count == 0 && upload.open_end) return NGHTTP2_ERR_DEFERRED;
  std::memset(data, 'b', count);
  upload.left -= count;
  if (upload.left == 0 && !upload.open_end) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

class World {
 public:
  explicit World(std::uint32_t window)
      : shared_(Options()),
        connection_(std::make_unique<Http2Connection>(std::make_unique<MemoryChannel>(wire_),
                                                      Caller{"peer", "client", {}, false}, shared_,
                                                      now_, shared_.connections.Of("peer"))) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_client_new(&caller_, callbacks, nullptr);
    nghttp2_session_callbacks_del(callbacks);
    const std::array<nghttp2_settings_entry, 1> settings = {
        {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}}};
    nghttp2_submit_settings(caller_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  }
  ~World() { nghttp2_session_del(caller_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void Step(Choices& choices) {
    constexpr int kActions = 11;
    switch (choices.Byte() % kActions) {
      case 0:
      case 1:
        Request(choices);
        break;
      case 2:
        nghttp2_submit_rst_stream(caller_, NGHTTP2_FLAG_NONE, 2 * (choices.Byte() % 16) + 1,
                                  NGHTTP2_CANCEL);
        break;
      case 3:
        nghttp2_submit_ping(caller_, NGHTTP2_FLAG_NONE, nullptr);
        break;
      case 4:
        Spoil(choices);
        break;
      case 5:
        AnswerOne(choices);
        break;
      case 6:
        now_ += milliseconds(choices.Byte() * 100);
        break;
      case 7:
        wire_.room += std::size_t{choices.Byte()} * 64;
        break;
      case 8:
        slow_ = choices.Byte() % 2 == 0;
        wire_.arrived = choices.Byte();
        break;
      case 9:
        nghttp2_submit_window_update(caller_, NGHTTP2_FLAG_NONE, 2 * (choices.Byte() % 16) + 1,
                                     1 + choices.Byte() * 100);
        break;
      default:
        shared_.draining = choices.Byte() == 1;
        break;
    }
    Exchange();
  }

  void Finish() {
    slow_ = false;
    while (!handled_.empty()) Answer(handled_.size() - 1, 10);
    constexpr int kEnough = 1000;
    for (int i = 0; i < kEnough && !closed_; ++i) {
      wire_.room = 1024 * 1024;
      now_ = std::max(now_, std::min(connection_->deadline(), now_ + milliseconds(60'000)));
      Exchange();
      while (!handled_.empty()) Answer(handled_.size() - 1, 10);
    }
    Require(closed_);
    connection_.reset();
    Require(shared_.calls.bytes() == 0);
  }

 private:
  static ServerOptions Options() {
    ServerOptions options;
    options.max_header_bytes = 2048;
    options.max_header_lines = 10;
    options.max_body_bytes = 40'000;
    options.max_buffered_bytes = 100'000;
    options.max_streams = 6;
    return options;
  }

  void Request(Choices& choices) {
    const std::string method = choices.Byte() % 4 == 0 ? "GET" : "POST";
    const std::string path = "/" + std::string(choices.Byte() * 4U, 'p');
    const std::string value(choices.Byte() * 10U, 'v');
    const std::uint8_t shape = choices.Byte();
    auto upload = std::make_unique<Upload>();
    upload->left = choices.Byte() * 200U;
    upload->open_end = (shape & 1U) != 0;
    const std::string length = std::to_string(upload->left + ((shape & 2U) != 0 ? 1 : 0));
    std::vector<std::pair<std::string, std::string>> fields = {{":method", method},
                                                               {":scheme", "https"},
                                                               {":authority", "a"},
                                                               {":path", path},
                                                               {"x-value", value}};
    if ((shape & 4U) != 0) fields.emplace_back("content-length", length);
    std::vector<nghttp2_nv> lines;
    lines.reserve(fields.size());
    for (auto& [name, text] : fields) {
      lines.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                       reinterpret_cast<std::uint8_t*>(text.data()), name.size(), text.size(),
                       NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider provider{};
    provider.source.ptr = upload.get();
    provider.read_callback = &ReadUpload;
    nghttp2_submit_request(caller_, nullptr, lines.data(), lines.size(), &provider, nullptr);
    uploads_.push_back(std::move(upload));
  }

  void Spoil(Choices& choices) {
    Pull();
    const std::uint8_t count = choices.Byte() % 16;
    for (std::uint8_t i = 0; i < count; ++i) {
      const std::size_t at = choices.Byte();
      const char byte = static_cast<char>(choices.Byte());
      if (at < wire_.to_server.size()) {
        wire_.to_server[at] = byte;
      } else {
        wire_.to_server += byte;
      }
    }
  }

  void AnswerOne(Choices& choices) {
    if (handled_.empty()) return;
    const std::size_t which = choices.Byte() % handled_.size();
    Answer(which, std::size_t{choices.Byte()} * 300);
  }

  void Answer(std::size_t which, std::size_t size) {
    http::Answer answer;
    answer.stream = handled_[which];
    answer.response.body.assign(size, 'a');
    answer.response.close = size == 300;
    handled_.erase(handled_.begin() + static_cast<std::ptrdiff_t>(which));
    connection_->answers()->Put(std::move(answer));
  }

  void Pull() {
    const std::uint8_t* data = nullptr;
    ssize_t size = 0;
    while ((size = nghttp2_session_mem_send(caller_, &data)) > 0) {
      wire_.to_server.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
  }

  void Exchange() {
    Pull();
    if (closed_) return;
    if (!slow_) wire_.arrived = wire_.to_server.size();
    const ServerConnection::Scratch scratch{buffer_.data(), buffer_.size()};
    Next next = now_ >= connection_->deadline() ? connection_->Expire(now_, scratch)
                                                : connection_->Advance(now_, scratch);
    while (next == Next::kRequest || next == Next::kGoOn) {
      if (next == Next::kGoOn) {
        // Others had their turn.
      } else {
        const IncomingRequest request = connection_->TakeRequest();
        Require(request.stream > 0 && request.head.target.front() == '/');
        Require(request.body.size() <= shared_.options.max_body_bytes);
        Require(request.head.content_length == request.body.size());
        handled_.push_back(request.stream);
      }
      next = connection_->Advance(now_, scratch);
    }
    Require(next != Next::kSucceeded && next != Next::kWaitAnswer);
    Require(shared_.calls.bytes() <= shared_.options.max_buffered_bytes);
    closed_ = next == Next::kClosed;
    const std::string bytes = std::exchange(wire_.to_caller, {});
    nghttp2_session_mem_recv(caller_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
  }

  Wire wire_;
  SteadyTime now_{};
  ServerShared shared_;
  std::unique_ptr<Http2Connection> connection_;
  nghttp2_session* caller_ = nullptr;
  std::vector<std::unique_ptr<Upload>> uploads_;
  std::vector<std::int32_t> handled_;
  std::array<char, 4096> buffer_{};
  bool slow_ = false;  // what is sent arrives bit by bit
  bool closed_ = false;
};

}  // namespace
}  // namespace muster::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSteps = 200;
  muster::http::Choices choices(data, size);
  muster::http::World world(choices.Byte() * 10U);
  for (std::size_t i = 0; i < kSteps && choices.left(); ++i) world.Step(choices);
  world.Finish();
  return 0;
}
