// SharedChunk: a counted reference to a value that is copied when it is written while shared, for
// tables that are copied often and written a little at a time.
//
// Beside shared_ptr's own count, which cannot be read with the ordering that this takes: a table
// may write in place only after everything that former readers did. Copies may live in any threads;
// one reference is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace muster::cluster {

template <typename Chunk>
class SharedChunk {
 public:
  SharedChunk() : shared_(std::make_shared<Shared>()) {}
  SharedChunk(const SharedChunk& other) : shared_(other.shared_) {
    shared_->users.fetch_add(1, std::memory_order_relaxed);
  }
  SharedChunk(SharedChunk&& other) noexcept = default;
  SharedChunk& operator=(const SharedChunk& other) {  // NOLINT(bugprone-unhandled-self-assignment)
    SharedChunk copy(other);
    std::swap(shared_, copy.shared_);
    return *this;
  }
  SharedChunk& operator=(SharedChunk&& other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~SharedChunk() {
    if (shared_ != nullptr) shared_->users.fetch_sub(1, std::memory_order_release);
  }

  const Chunk& read() const { return shared_->chunk; }
  // The value, after it was copied if anybody else refers to it.
  Chunk& write() {
    if (shared_->users.load(std::memory_order_acquire) != 1)
      *this = SharedChunk(std::make_shared<Shared>(shared_->chunk));
    return shared_->chunk;
  }
  // Both refer to one value, which therefore is equal.
  bool same(const SharedChunk& other) const { return shared_ == other.shared_; }

 private:
  struct Shared {
    Shared() = default;
    explicit Shared(const Chunk& from) : chunk(from) {}
    Chunk chunk;
    std::atomic<uint32_t> users{1};
  };
  explicit SharedChunk(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace muster::cluster
