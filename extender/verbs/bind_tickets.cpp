#include "extender/verbs/bind_tickets.hpp"

#include <utility>

namespace muster::extender {

using cluster::MutexLock;

std::optional<uint64_t> BindTickets::Open(Answered answered) {
  const MutexLock lock(mu_);
  if (open_.size() >= most_) return std::nullopt;
  open_.emplace(++last_, std::move(answered));
  return last_;
}

bool BindTickets::Answer(uint64_t ticket, const std::string& error) {
  Answered answered;
  {
    const MutexLock lock(mu_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return false;
    answered = std::move(found->second);
    open_.erase(found);
  }
  answered(error);
  return true;
}

void BindTickets::AnswerAll(const std::string& error) {
  std::map<uint64_t, Answered> all;
  {
    const MutexLock lock(mu_);
    all.swap(open_);
  }
  for (const auto& [ticket, answered] : all) answered(error);
}

bool BindTickets::IsOpen(uint64_t ticket) const {
  const MutexLock lock(mu_);
  return open_.count(ticket) != 0;
}

std::size_t BindTickets::open() const {
  const MutexLock lock(mu_);
  return open_.size();
}

uint64_t BindTickets::last() const {
  const MutexLock lock(mu_);
  return last_;
}

}  // namespace muster::extender
