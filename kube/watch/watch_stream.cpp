#include "kube/watch/watch_stream.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "kube/decode/kept_fields.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Error;
using cluster::Result;

namespace {

constexpr Kept kEvent[] = {{.name = "type"}, {.name = "object", .kind = Kept::Kind::kElement}};

std::optional<WatchKind> KindOf(std::string_view type) {
  if (type == "ADDED") return WatchKind::kAdded;
  if (type == "MODIFIED") return WatchKind::kModified;
  if (type == "DELETED") return WatchKind::kDeleted;
  if (type == "BOOKMARK") return WatchKind::kBookmark;
  if (type == "ERROR") return WatchKind::kError;
  return std::nullopt;
}

}  // namespace

WatchStream::WatchStream(std::span<const Kept> fields, std::string_view kind, Take take)
    : take_(std::move(take)),
      sieve_({.root = {.kind = Kept::Kind::kObject, .members = kEvent},
              .element = fields,
              .also = StatusFields(),
              .name = kind},
             [this](std::string_view text, const Error* left_out) {
               object_ = KeptObject::Parse(text, left_out, "event.object");
               return true;
             }) {}

bool WatchStream::Feed(std::string_view bytes) {
  if (!problem_.empty()) return false;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!Read(piece)) return false;
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    if (!EndLine()) return false;
  }
  return true;
}

bool WatchStream::Read(std::string_view piece) {
  line_bytes_ += piece.size();
  if (line_bytes_ > kMaxLineBytes) {
    return Fail("an event of more than " + std::to_string(kMaxLineBytes) + " bytes");
  }
  if (!sieve_.whole() && !sieve_.Feed(piece)) return Fail(sieve_.problem()->ToString());
  if (piece.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  return Fail("expected nothing after an event");
}

bool WatchStream::EndLine() {
  line_bytes_ = 0;
  if (sieve_.untouched()) return true;
  if (!sieve_.End()) return Fail(sieve_.problem()->ToString());
  const Result<Json> json = Json::Parse(sieve_.around(), JsonSieve::kMaxKept, "event");
  if (!json.ok()) return Fail(json.error().ToString());
  JsonProblems problems;
  const JsonView root(json->root(), "event", problems);
  const JsonView type = root.Get("type");
  const std::optional<WatchKind> kind = KindOf(type.RequiredText());
  if (!object_) root.Get("object").ExpectObject();
  if (!problems.none()) return Fail(problems.first().ToString());
  if (!kind) return Fail("an event of type \"" + std::string(type.Text()) + "\"");
  if (!object_->ok()) return Fail(object_->error().ToString());
  const KeptObject object = *std::move(*object_);
  object_.reset();
  sieve_.Reset();
  return Tell(*kind, object);
}

bool WatchStream::Tell(WatchKind kind, const KeptObject& object) {
  JsonProblems problems;
  const JsonView view(object.node(), "event.object", problems);
  view.ExpectObject();
  WatchEvent event;
  event.kind = kind;
  event.object = &object;
  if (kind == WatchKind::kError) {
    event.status_code = view.Get("code").Integer(0, 0, std::numeric_limits<int64_t>::max());
    event.message = view.Get("message").Text();
  } else {
    const JsonView metadata = view.Get("metadata");
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
