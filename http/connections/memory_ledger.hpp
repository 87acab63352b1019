// MemoryLedger: the bytes that a server keeps for its callers, of each address and of all, and how
// many they may be:
//
//   bytes of the address ≤ limit − bytes of all
//
// So one address can have half of the limit, two a third each, n of them 1/(n+1): whoever comes new
// finds as much as each of the others has. (The dynamic threshold of switches that share a buffer.)
// What is large leaves a sixteenth of that to what is small: an address that fills its part with
// bodies can still ask for /healthz.
//
//   MemoryLedger calls(128 * kMiB);
//   MemoryLedger::Kept kept = calls.Of("10.0.0.7");
//   if (!kept.Set(head + body)) …refuse…        // given back at the end of `kept`
//
// What is counted is what a thing costs, not what it says: a stream, a connection and each line of
// a head have fixed costs (kept_bytes.hpp).
//
// Owned by Server. Any thread; one Kept by one thread at a time. A Kept may outlive its ledger.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cluster/base/mutex.hpp"

namespace muster::http {

class MemoryLedger {
 public:
  class Kept;
  // One call that keeps more than so many bytes is large.
  static constexpr std::size_t kLarge = 16 * 1024;

  explicit MemoryLedger(std::size_t limit) : all_(std::make_shared<All>(limit)) {}

  // Keeps nothing yet.
  Kept Of(const std::string& address);
  std::size_t bytes() const { return all_->bytes; }
  // The most that was kept at a time since the last call.
  std::size_t TakePeak() { return all_->peak.exchange(all_->bytes); }

 private:
  struct All {
    explicit All(std::size_t the_limit) : limit(the_limit) {}
    const std::size_t limit;
    std::atomic<std::size_t> bytes = 0;
    std::atomic<std::size_t> peak = 0;
  };
  struct Address {
    explicit Address(std::shared_ptr<All> its_all) : all(std::move(its_all)) {}
    const std::shared_ptr<All> all;
    std::atomic<std::size_t> bytes = 0;
  };

  const std::shared_ptr<All> all_;
  cluster::Mutex mu_;
  // Those that keep something, and some that do not any more.
  std::map<std::string, std::weak_ptr<Address>> addresses_ MUSTER_GUARDED_BY(mu_);
  std::size_t sweep_at_ MUSTER_GUARDED_BY(mu_) = 64;
};

class MemoryLedger::Kept {
 public:
  Kept() = default;  // takes nothing
  ~Kept() { Release(); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  Kept(Kept&& from) noexcept
      : address_(std::move(from.address_)), bytes_(std::exchange(from.bytes_, 0)) {}
  Kept& operator=(Kept&& from) noexcept {
    if (this == &from) return *this;
    Release();
    address_ = std::move(from.address_);
    bytes_ = std::exchange(from.bytes_, 0);
    return *this;
  }

  // So many from now on. Fewer than before are always taken. False: too many, it is as before.
  bool Set(std::size_t bytes);
  bool Add(std::size_t bytes) { return Set(bytes_ + bytes); }
  void Release() { Set(0); }
  std::size_t bytes() const { return bytes_; }

  // Of all that its address keeps.
  std::size_t bytes_of_address() const { return address_ ? address_->bytes.load() : 0; }
  // Takes so many out of this one, at most all.
  Kept Split(std::size_t bytes);
  // Of the same address, with nothing.
  Kept Another() const { return Kept(address_); }

 private:
  friend class MemoryLedger;
  explicit Kept(std::shared_ptr<Address> address) : address_(std::move(address)) {}

  std::shared_ptr<Address> address_;
  std::size_t bytes_ = 0;
};

}  // namespace muster::http
