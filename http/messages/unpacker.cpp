#include "http/messages/unpacker.hpp"

#include <zlib.h>

#include <array>
#include <cstddef>
#include <limits>
#include <new>

#include "http/messages/message.hpp"

namespace muster::http {

struct Unpacker::Zlib {
  Zlib() {
    constexpr int kGzipOrZlib = 32;
    if (::inflateInit2(&stream, kGzipOrZlib + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Zlib() { ::inflateEnd(&stream); }
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;

  z_stream stream{};
  std::array<char, std::size_t{32} * 1024> buffer{};
};

Unpacker::Unpacker() : zlib_(std::make_unique<Zlib>()) {}
Unpacker::~Unpacker() = default;

bool Unpacker::Knows(std::string_view coding) {
  const std::string name = LowerCase(coding);
  return name == "gzip" || name == "x-gzip" || name == "deflate";
}

Unpacker::State Unpacker::Unpack(std::string_view packed, const Take& take) {
  z_stream& stream = zlib_->stream;
  std::array<char, std::size_t{32}* 1024>& buffer = zlib_->buffer;
  while (!packed.empty() && state_ != State::kRefused) {
    if (state_ == State::kDone) state_ = State::kMalformed;
    if (state_ == State::kMalformed) break;
    // zlib's interface knows no const, and changes nothing.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // NOLINT
    stream.avail_in =
        static_cast<uInt>(std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max()));
    const uInt given = stream.avail_in;
    int result = Z_OK;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      result = ::inflate(&stream, Z_NO_FLUSH);
      const std::size_t made = buffer.size() - stream.avail_out;
      if (made > 0 && !take({buffer.data(), made})) return state_ = State::kRefused;
    } while (result == Z_OK && stream.avail_out == 0);
    packed.remove_prefix(given - stream.avail_in);
    if (result == Z_STREAM_END) {
      state_ = State::kDone;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      state_ = State::kMalformed;
    } else if (stream.avail_in == given) {
      break;
    }
  }
  return state_;
}

}  // namespace muster::http
