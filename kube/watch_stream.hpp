// WatchStream: the body of a watch, cut into events. Fed bytes as they come; keeps the piece of a
// line that is not complete. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cluster/result.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {

enum class WatchKind { kAdded, kModified, kDeleted, kBookmark, kError };

// One event; what it points at is valid during the call that brings it.
struct WatchEvent {
  WatchKind kind = WatchKind::kAdded;
  std::string resource_version;      // metadata.resourceVersion; empty for kError
  int64_t status_code = 0;           // kError: the Status object's code
  std::string message;               // kError: the Status object's message
  const JsonNode* object = nullptr;  // never null
};

class WatchStream {
 public:
  // An object of an API server is at most 1.5 MiB in etcd; JSON with managed fields is some larger.
  static constexpr size_t kMaxLineBytes = size_t{8} << 20;

  // Returns false when the stream is to be left.
  using Take = std::function<bool(const WatchEvent&)>;

  explicit WatchStream(Take take) : take_(std::move(take)) {}

  // False: leave the stream, `take` said so or problem() tells why.
  bool Feed(std::string_view bytes);
  // A line that was no event, or too long; empty when there was none.
  const std::string& problem() const { return problem_; }

 private:
  bool Line(std::string_view line);
  bool Fail(std::string problem);

  Take take_;
  std::string rest_;
  std::string problem_;
};

}  // namespace muster::kube
