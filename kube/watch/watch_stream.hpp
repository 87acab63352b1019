// WatchStream: the body of a watch, cut into events, each a line. Fed bytes as they come; of a line
// that is not complete it holds what its decoder will use of the object, and no more. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/json/json_sieve.hpp"

namespace muster::kube {

enum class WatchKind { kAdded, kModified, kDeleted, kBookmark, kError };

// One event; what it points at is valid during the call that brings it.
struct WatchEvent {
  WatchKind kind = WatchKind::kAdded;
  std::string resource_version;        // metadata.resourceVersion; empty for kError
  int64_t status_code = 0;             // kError: the Status object's code
  std::string message;                 // kError: the Status object's message
  const KeptObject* object = nullptr;  // never null
};

class WatchStream {
 public:
  // An object of an API server is at most 1.5 MiB in etcd, unless its operator allows more; escapes
  // make six bytes of one. None of it is held: what is longer is not from an API server.
  static constexpr size_t kMaxLineBytes = size_t{128} << 20;

  // Returns false when the stream is to be left.
  using Take = std::function<bool(const WatchEvent&)>;

  // Of each object, a `kind`, `fields` are kept.
  WatchStream(std::span<const Kept> fields, std::string_view kind, Take take);
  ~WatchStream() = default;
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  // False: leave the stream, `take` said so or problem() tells why.
  bool Feed(std::string_view bytes);
  // A line that was no event, or too long; empty when there was none.
  const std::string& problem() const { return problem_; }
  // The most bytes that were held of an event at any time.
  size_t most_held() const { return sieve_.most_held(); }

 private:
  bool Read(std::string_view piece);
  bool EndLine();
  bool Tell(WatchKind kind, const KeptObject& object);
  bool Fail(std::string problem);

  const Take take_;
  JsonSieve sieve_;
  size_t line_bytes_ = 0;
  std::optional<cluster::Result<KeptObject>> object_;  // of the line that is read
  std::string problem_;
};

}  // namespace muster::kube
