#include "http/connections/memory_ledger.hpp"

#include <algorithm>

namespace muster::http {
namespace {

void Raise(std::atomic<std::size_t>& peak, std::size_t to) {
  std::size_t now = peak;
  while (now < to && !peak.compare_exchange_weak(now, to)) {
  }
}

}  // namespace

MemoryLedger::Kept MemoryLedger::Of(const std::string& address) {
  const cluster::MutexLock lock(mu_);
  if (addresses_.size() >= sweep_at_) {
    std::erase_if(addresses_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * addresses_.size() + 64;
  }
  std::weak_ptr<Address>& known = addresses_[address];
  std::shared_ptr<Address> found = known.lock();
  if (found == nullptr) {
    found = std::make_shared<Address>(all_);
    known = found;
  }
  return Kept(std::move(found));
}

bool MemoryLedger::Kept::Set(std::size_t bytes) {
  if (bytes > bytes_) {
    if (address_ == nullptr) return false;
    const std::size_t more = bytes - bytes_;
    All& all = *address_->all;
    const std::size_t of_address = address_->bytes.fetch_add(more) + more;
    const std::size_t of_all = all.bytes.fetch_add(more) + more;
    const std::size_t room = all.limit - std::min(all.limit, of_all);
    const std::size_t left_over = bytes > kLarge ? room / 16 : 0;
    if (of_all > all.limit || of_address > room - left_over) {
      address_->bytes -= more;
      all.bytes -= more;
      return false;
    }
    Raise(all.peak, of_all);
  } else if (bytes < bytes_) {
    address_->bytes -= bytes_ - bytes;
    address_->all->bytes -= bytes_ - bytes;
  }
  bytes_ = bytes;
  return true;
}

MemoryLedger::Kept MemoryLedger::Kept::Split(std::size_t bytes) {
  Kept part(address_);
  part.bytes_ = std::min(bytes, bytes_);
  bytes_ -= part.bytes_;
  return part;
}

}  // namespace muster::http
