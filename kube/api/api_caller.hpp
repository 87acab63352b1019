// ApiCaller: calls to one Kubernetes API server, and streams from it. What reads and writes objects
// is written against this; ApiClient (api_client.hpp) speaks HTTP, tests play the server.
//
// Call and OpenStream may be used by any number of threads at once. Nothing is retried behind the
// caller's back, save once after 401, when the token was read again, and once on a fresh connection
// when a kept-alive one was closed before a GET was answered: a write whose answer never came may
// have been done, and only the caller knows how to find out.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

// Lanes share the connection pool; each waits for its own rate, so that what is less urgent never
// holds up what is more so. Order of rank as here.
enum class Lane {
  kLease,   // no rate: leadership does not wait behind work
  kBind,    // bindings
  kGang,    // nominations, gates, evictions and the reads that settle them
  kReport,  // statuses, conditions, events
  kList,    // lists and discovery
  kOwner,   // owners of pods, one by one
  kReview,  // who callers are and what they may: strangers make these
};
inline constexpr int kLanes = 7;

struct ApiRequest {
  Method method = Method::kGet;
  Lane lane = Lane::kGang;
  std::string path;       // "/api/v1/nodes?limit=500": escaped already, below the server's prefix
  std::string body = {};  // JSON, empty: none
  // kPatch: "application/merge-patch+json" and the like.
  std::string content_type = "application/json";
  std::chrono::milliseconds timeout{10'000};  // of the whole call once it has left its lane
  // Not over a kept-alive connection: where there are several API servers, another may answer it.
  bool fresh = false;
  // The answer is the object's metadata alone (PartialObjectMetadata), which costs both sides less.
  bool metadata_only = false;
  // Takes the body of a 200 piece by piece, however large, instead of the reply; false: enough of
  // it, the call ends then. Empty: the body comes with the reply.
  std::function<bool(std::string_view)> take = {};
  // Asked when the call has left its lane; false: it is not made. Empty: it always is.
  std::function<bool()> permit = {};
  // Sent beside those that every call has.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct ApiReply {
  int status = 0;  // as HTTP has it; any status is a reply
  std::string body = {};
  // Of a 429 or 503 that says so; capped at 60 s.
  std::optional<std::chrono::milliseconds> retry_after = {};
  std::optional<std::chrono::sys_seconds> date = {};  // the server's time

  bool ok() const { return status >= 200 && status < 300; }
};

// A long GET whose body is taken piece by piece: a watch. Run by one thread; Stop from any.
class ApiStream {
 public:
  virtual ~ApiStream() = default;
  // Returns when the server ends the body, `take` says false, Stop was called, or nothing came for
  // `silence`. A status other than 200 gives its body in the reply and takes nothing.
  //   kUnavailable  no connection, silence, broken off half-way, or "stopped"
  //   kIo           TLS refused
  virtual cluster::Result<ApiReply> Run(const std::string& path,
                                        const std::function<bool(std::string_view)>& take,
                                        std::chrono::milliseconds silence) = 0;
  // Ends Run soon, and lets no later one begin.
  virtual void Stop() = 0;
};

class ApiCaller {
 public:
  virtual ~ApiCaller() = default;
  //   kUnavailable  no connection (nothing was sent) or no complete answer in time
  //   kIo           TLS refused, or the answer is no HTTP
  //   kForbidden    the request's permit said no; nothing was sent
  //   kExhausted    the answer is larger than a limit
  // For a write, any of them may mean that it was done.
  virtual cluster::Result<ApiReply> Call(const ApiRequest& request) = 0;
  virtual std::unique_ptr<ApiStream> OpenStream() = 0;
};

}  // namespace muster::kube
