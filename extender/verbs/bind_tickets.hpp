// BindTickets: the Bind calls of kube-scheduler that have no answer yet, by ticket.
//
// A ticket is taken before the engine is asked, because its answer may come on another thread
// before the question has returned. Each callback is called exactly once, with no lock held. Owned
// by ExtenderHandlers; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cluster/base/mutex.hpp"

namespace muster::extender {

class BindTickets {
 public:
  // `error` empty: the pod is bound.
  using Answered = std::function<void(const std::string& error)>;

  explicit BindTickets(std::size_t most) : most_(most) {}

  // Nothing when `most` calls are open already; then `answered` is dropped. Tickets are numbered
  // from 1.
  std::optional<uint64_t> Open(Answered answered);
  // False when there is no such open ticket (answered before).
  bool Answer(uint64_t ticket, const std::string& error);
  void AnswerAll(const std::string& error);
  bool IsOpen(uint64_t ticket) const;
  std::size_t open() const;
  // The number of the ticket opened last; 0: none yet.
  uint64_t last() const;

 private:
  const std::size_t most_;
  mutable cluster::Mutex mu_;
  uint64_t last_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Answered> open_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::extender
