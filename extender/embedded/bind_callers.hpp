// BindCallers: concurrent Bind calls over HTTP, each on a thread and a connection of its own, as
// kube-scheduler makes them.
//
// Owned by an HTTP extender port. Start from one thread; `done` runs on the call's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/client/client.hpp"

namespace muster::extender {

class BindCallers {
 public:
  // `error` empty: the pod is bound.
  using Done = std::function<void(const std::string& error)>;

  explicit BindCallers(http::ClientPool& clients) : clients_(clients) {}
  // Waits for every call; the code that answers them must still exist, or be gone for good.
  ~BindCallers();
  BindCallers(const BindCallers&) = delete;
  BindCallers& operator=(const BindCallers&) = delete;

  void Start(std::string body, const Done& done);

 private:
  void Call(uint64_t id, const std::string& body, const Done& done);
  std::vector<std::thread> TakeFinished();

  http::ClientPool& clients_;
  cluster::Mutex mu_;
  cluster::CondVar idle_;
  uint64_t next_id_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::thread> running_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> finished_ MUSTER_GUARDED_BY(mu_);  // done or about to be; to be joined
};

}  // namespace muster::extender
