// OpenCall: a request that a handler has, until its answer is with the connection that waits for
// it.
//
//   kRunning ── the handler returns ──▶ kLeft ── Answer ──▶ kAnswered: the connection is nudged
//      └──────────── Answer ──────────▶ kAnswered: the handler's thread goes on with the connection
//
// Shared by the handler's thread and the code that will answer; any thread. When the last reference
// goes without an answer, the caller gets "internal error". It may outlive the server: then an
// answer is dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "cluster/base/mutex.hpp"
#include "http/connections/connection_table.hpp"

namespace muster::http {

// What open calls need of the server.
struct OpenCalls {
  explicit OpenCalls(int epoll_fd) : table(epoll_fd) {}

  ConnectionTable table;
  std::atomic<std::size_t> open = 0;  // calls without an answer
};

class OpenCall {
 public:
  OpenCall(std::shared_ptr<OpenCalls> open_calls, ConnectionTable::Id connection,
           std::shared_ptr<AnswerBox> box, IncomingRequest& request);
  ~OpenCall();
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  // The first one counts.
  void Answer(Response response);
  // The handler has returned. True when it has answered by then: the connection is the calling
  // thread's to wake.
  bool LeaveHandler();

 private:
  enum class State { kRunning, kLeft, kAnswered };

  const std::shared_ptr<OpenCalls> open_calls_;
  const ConnectionTable::Id connection_;
  const std::shared_ptr<AnswerBox> box_;
  const std::int32_t stream_;

  cluster::Mutex mu_;
  State state_ MUSTER_GUARDED_BY(mu_) = State::kRunning;
  // For the request, wherever it is: also when its caller has gone.
  MemoryLedger::Kept kept_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::http
