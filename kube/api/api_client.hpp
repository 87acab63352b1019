// ApiClient: the ApiCaller that speaks HTTP/1.1 to a real API server.
//
//   Result<std::unique_ptr<ApiClient>> client = ApiClient::Create(config, {});
//   Result<ApiReply> nodes = (*client)->Call({.lane = Lane::kList, .path = "/api/v1/nodes"});
//
// Calls wait for their lane, then take an idle connection or open one; there are as many calls at a
// time as there are threads that call. Besides what api_caller.hpp says is repeated (after 401), a
// GET goes out again when a kept-alive connection turns out to be closed, and so does a write of
// which not a byte was sent. Redirects are replies. A kept-alive connection on which nothing comes
// in time takes all idle ones with it, and a lease call after one that failed has a new connection.
//
// Answers are whole: a body shorter than announced, or chunked and broken off, is an error. What
// arrives without length and without chunks ends with the connection, so a decoder of a list
// still has to see its last bracket.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/client_config.hpp"
#include "kube/api/credentials.hpp"
#include "kube/api/rate_limiter.hpp"

namespace muster::kube {

struct ApiClientOptions {
  LaneRates lanes = kDefaultLaneRates;
  std::chrono::milliseconds connect_timeout{5'000};  // of TCP and of TLS each
  std::size_t max_idle = 64;                         // kept-alive connections
  // API servers close theirs after 90 s.
  std::chrono::milliseconds max_idle_age{60'000};
  std::size_t max_body = std::size_t{256} << 20;  // bytes of an unpacked answer
  SteadyClock clock = {};                         // of the token; empty: steady_clock
};

// Since the client was made.
struct ApiClientStats {
  struct Of {
    std::uint64_t calls = 0;  // that ended
    // By first digit of the status: [2] is 2xx. [0] counts calls without a reply.
    std::array<std::uint64_t, 6> by_class{};
    int in_flight = 0;  // have left the lane
    int waiting = 0;    // for the lane
    std::chrono::nanoseconds waited{0};
  };
  std::array<Of, kLanes> lanes{};
  std::uint64_t connections_opened = 0;  // streams' included
  std::uint64_t stale_retries = 0;       // calls repeated on a fresh connection
  std::uint64_t token_renewals = 0;      // after a 401
  std::uint64_t tls_renewals = 0;        // after a failed handshake
  int streams = 0;                       // that run
  std::size_t idle_connections = 0;
};

class ApiClient final : public ApiCaller {
 public:
  // Reads the credentials, so that what is wrong with them is said at once; connects to nobody.
  static cluster::Result<std::unique_ptr<ApiClient>> Create(const ClientConfig& config,
                                                            const ApiClientOptions& options);
  ~ApiClient() override;
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // Beside what api_caller.hpp names:
  //   kExhausted        the answer is larger than max_body
  //   kInvalidArgument  the path holds what should have been escaped
  // No error and no reply ever holds a token that is sent.
  cluster::Result<ApiReply> Call(const ApiRequest& request) override;
  // Streams may outlive the client; they are stopped with it.
  std::unique_ptr<ApiStream> OpenStream() override;

  // Ends all that waits and runs, streams too, with kUnavailable "stopped"; so ends whatever comes
  // later. Returns at once. The destructor does the same, but no Call may then be under way.
  void Stop();

  ApiClientStats stats() const;

  // Shared with streams; what it is is known to api_client.cpp only.
  class Core;

 private:
  explicit ApiClient(std::shared_ptr<Core> core);

  const std::shared_ptr<Core> core_;
};

}  // namespace muster::kube
