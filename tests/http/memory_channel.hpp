// A Channel in memory: what arrives and what there is room for is decided byte by byte.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "http/connections/channel.hpp"

namespace muster::http::testing {

struct Wire {
  std::string to_server;
  std::string to_caller;
  std::size_t arrived = 0;  // bytes of to_server that the server can read by now
  std::size_t room = 0;     // bytes that the caller takes by now
};

class MemoryChannel final : public Channel {
 public:
  explicit MemoryChannel(Wire& wire) : wire_(wire) {}

  IoResult Handshake() override { return {IoState::kDone, 0}; }
  IoResult Read(char* data, std::size_t size) override {
    const std::size_t count = std::min({size, wire_.arrived, wire_.to_server.size()});
    if (count == 0) return {IoState::kWantRead, 0};
    std::memcpy(data, wire_.to_server.data(), count);
    wire_.to_server.erase(0, count);
    wire_.arrived -= count;
    return {IoState::kDone, count};
  }
  IoResult Write(const char* data, std::size_t size) override {
    const std::size_t count = std::min(size, wire_.room);
    if (count == 0) return {IoState::kWantWrite, 0};
    wire_.room -= count;
    wire_.to_caller.append(data, count);
    return {IoState::kDone, count};
  }
  void FinishWriting() override {}
  std::vector<std::string> PeerNames() const override { return {}; }
  std::string Protocol() const override { return kAlpnHttp2; }
  int fd() const override { return -1; }

 private:
  Wire& wire_;
};

}  // namespace muster::http::testing
