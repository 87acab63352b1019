#include "kube/watch_stream.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "kube/json.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

std::optional<WatchKind> KindOf(std::string_view type) {
  if (type == "ADDED") return WatchKind::kAdded;
  if (type == "MODIFIED") return WatchKind::kModified;
  if (type == "DELETED") return WatchKind::kDeleted;
  if (type == "BOOKMARK") return WatchKind::kBookmark;
  if (type == "ERROR") return WatchKind::kError;
  return std::nullopt;
}

}  // namespace

bool WatchStream::Feed(std::string_view bytes) {
  if (!problem_.empty()) return false;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > kMaxLineBytes) {
      return Fail("an event of more than " + std::to_string(kMaxLineBytes) + " bytes");
    }
    if (end == std::string_view::npos) {
      rest_.append(piece);
      return true;
    }
    bytes.remove_prefix(end + 1);
    if (rest_.empty()) {
      if (!Line(piece)) return false;
      continue;
    }
    rest_.append(piece);
    const std::string line = std::exchange(rest_, {});
    if (!Line(line)) return false;
  }
  return true;
}

bool WatchStream::Line(std::string_view line) {
  if (line.empty() || line == "\r") return true;
  const Result<Json> json = Json::Parse(line, kMaxLineBytes, "event");
  if (!json.ok()) return Fail(json.error().ToString());
  JsonProblems problems;
  const JsonView root(json->root(), "event", problems);
  const JsonView type = root.Get("type");
  const std::optional<WatchKind> kind = KindOf(type.RequiredText());
  const JsonView object = root.Get("object");
  if (!object.ExpectObject() || !kind) {
    return Fail(problems.none() ? "an event of type \"" + std::string(type.Text()) + "\""
                                : problems.first().ToString());
  }
  WatchEvent event;
  event.kind = *kind;
  event.object = &object.node();
  if (*kind == WatchKind::kError) {
    event.status_code = object.Get("code").Integer(0, 0, std::numeric_limits<int64_t>::max());
    event.message = object.Get("message").Text();
  } else {
    const JsonView metadata = object.Get("metadata");
    event.resource_version = metadata.Get("resourceVersion").Text();
  }
  if (!problems.none()) return Fail(problems.first().ToString());
  return take_(event);
}

bool WatchStream::Fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

}  // namespace muster::kube
