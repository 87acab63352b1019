// Unpacker: takes the packing off an answer's body, piece by piece (zlib). One per answer; one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace muster::http {

class Unpacker {
 public:
  enum class State { kMore, kDone, kMalformed, kRefused };
  // Has a piece of what was packed; false: no more is wanted.
  using Take = std::function<bool(std::string_view)>;

  Unpacker();
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // "gzip" (RFC 1952) or "deflate" (RFC 1950), told apart by their first bytes.
  static bool Knows(std::string_view coding);

  // kRefused: `take` returned false. After kDone more bytes are kMalformed.
  State Unpack(std::string_view packed, const Take& take);
  State state() const { return state_; }

 private:
  struct Zlib;
  std::unique_ptr<Zlib> zlib_;
  State state_ = State::kMore;
};

}  // namespace muster::http
