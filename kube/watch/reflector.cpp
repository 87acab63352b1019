#include "kube/watch/reflector.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "http/messages/url.hpp"
#include "kube/api/http_status.hpp"
#include "kube/watch/list_stream.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using std::chrono::milliseconds;

namespace {

// A list may take long where there are 100,000 pods.
constexpr milliseconds kListTimeout{60'000};
// Watches in a row that ended at once and brought nothing, before the list is read again: an API
// server that has lost its place answers like that instead of 410.
constexpr int kVainWatches = 3;

Error Refused(const ApiReply& reply) {
  constexpr size_t kShown = 200;
  return {Code::kUnavailable,
          "HTTP " + std::to_string(reply.status) + ": " + reply.body.substr(0, kShown), ""};
}

// The last part of a query.
std::string Selected(const Resource& resource) {
  return resource.selector.empty() ? "" : "&" + resource.selector;
}

}  // namespace

Reflector::Reflector(Resource resource, Ports ports, ReflectorOptions options, uint64_t seed)
    : resource_(std::move(resource)),
      ports_(std::move(ports)),
      options_(options),
      random_(seed),
      page_limit_(options.page) {}

Reflector::~Reflector() = default;

void Reflector::Stop() {
  const MutexLock lock(mu_);
  stopping_ = true;
  if (stream_) stream_->Stop();
  stopped_.NotifyAll();
}

uint64_t Reflector::Refresh() {
  const MutexLock lock(mu_);
  ++wanted_;
  if (stream_) stream_->Stop();
  stopped_.NotifyAll();
  return wanted_;
}

bool Reflector::stopping() {
  const MutexLock lock(mu_);
  return stopping_;
}

bool Reflector::refresh_asked() {
  const MutexLock lock(mu_);
  return refresh_wanted();
}

milliseconds Reflector::age() const {
  const Clock::rep heard = heard_;
  if (heard == 0) return milliseconds(0);
  const auto since = Clock::now().time_since_epoch() - Clock::duration(heard);
  return std::chrono::duration_cast<milliseconds>(since);
}

void Reflector::Run() {
  Next next = Next::kList;
  while (!stopping()) {
    if (next == Next::kList && !Relist()) continue;
    next = Watch();
    if (refresh_asked()) {
      next = Next::kList;
    } else if (next == Next::kWatchAgain) {
      PauseUntil(WatchAgainAt());
    }
  }
  fresh_ = std::numeric_limits<uint64_t>::max();  // nobody waits for what is not read any more
}

// False: it failed. A list that no watch has followed waits, however the one before it ended.
bool Reflector::Relist() {
  if (unproven_ && !refresh_asked()) {
    const milliseconds asked = std::exchange(retry_after_, milliseconds(0));
    PauseUntil(std::max(list_ended_ + NextWait(), Clock::now()) + asked);
  }
  uint64_t serving = 0;
  {
    const MutexLock lock(mu_);
    if (stopping_) return false;
    serving = serving_ = wanted_;
  }
  const bool listed = List();
  list_ended_ = Clock::now();
  unproven_ = true;
  const bool unserved = !listed && Unserved();  // there is nothing to know
  if (!listed && !unserved) return false;
  fresh_ = serving;
  if (!synced_.exchange(true)) ports_.synced();
  return listed;
}

// 1. Page after page. 2. What was known and is not in it is gone. A continuation that has become
// too old starts the list again, in one piece; a page that is too large is asked for in halves.
bool Reflector::List() {
  ++listing_;
  std::string token;
  bool in_one_piece = false;
  while (!stopping()) {
    std::string query = "?";
    if (!in_one_piece) query += "limit=" + std::to_string(page_limit_.now());
    if (!token.empty()) query += "&continue=" + http::PercentEncoded(token);
    PageFault fault = PageFault::kNone;
    const Result<std::string> next = ListPage(query, fault);
    if (!next.ok()) {
      if (fault == PageFault::kGone && !in_one_piece) {
        ++listing_;
        token.clear();
        in_one_piece = true;
        continue;
      }
      if (fault == PageFault::kTooLarge && !in_one_piece && page_limit_.TooLarge()) {
        Warn("a page did not come whole, it is asked for with at most " +
             std::to_string(page_limit_.now()) + " objects: " + next.error().ToString());
        continue;
      }
      Warn("list failed, it is tried again: " + next.error().ToString());
      return false;
    }
    page_limit_.Good();
    token = *next;
    if (!token.empty()) continue;
    ForgetUnseen();
    Heard();  // not before: of a part nobody knows what is gone
    ++lists_;
    vain_watches_ = 0;
    return true;
  }
  return false;
}

Result<std::string> Reflector::ListPage(const std::string& query, PageFault& fault) {
  fault = PageFault::kOther;
  ListStream page(resource_.fields, resource_.kind, resource_.name,
                  [&](const KeptObject& object) { Upsert(object); });
  const auto began = Clock::now();
  const Result<ApiReply> reply =
      ports_.api.Call({.method = Method::kGet,
                       .lane = Lane::kList,
                       .path = resource_.path + query + Selected(resource_),
                       .timeout = kListTimeout,
                       .fresh = not_found_since_.has_value(),
                       .take = [&](std::string_view bytes) { return page.Feed(bytes); }});
  const bool not_found = reply.ok() && reply->status == kHttpNotFound && resource_.unserved;
  if (!not_found) not_found_since_.reset();
  if (!reply.ok()) {
    // It began and did not end, or nothing came in all that time.
    if (page.begun() || Clock::now() - began >= kListTimeout) fault = PageFault::kTooLarge;
    return reply.error();
  }
  if (not_found) {
    // One API server of several may not know it yet, or not any more.
    if (!not_found_since_) not_found_since_ = Clock::now();
    if (Unserved()) {
      Heard();
      version_.clear();
      ForgetUnserved();
    }
    return Refused(*reply);
  }
  if (reply->status == kHttpGone) fault = PageFault::kGone;
  if (reply->status == kHttpContentTooLarge || reply->status == kHttpGatewayTimeout)
    fault = PageFault::kTooLarge;
  retry_after_ = reply->retry_after.value_or(milliseconds(0));
  if (!reply->ok()) return Refused(*reply);
  Result<ListStream::Page> end = page.End();
  if (!end.ok()) return end.error();
  version_ = std::move(end->resource_version);
  return std::move(end->continue_token);
}

void Reflector::ForgetUnseen() {
  std::vector<std::string> gone;
  for (const auto& [name, known] : known_) {
    if (known.listing != listing_) gone.push_back(name);
  }
  // The order of a hash table is nobody's business.
  std::sort(gone.begin(), gone.end());
  for (const std::string& name : gone) {
    const auto found = known_.find(name);
    ports_.apply(Missing(found->second.uid.empty() ? name : found->second.uid));
    known_.erase(found);
    ignored_.erase(name);
  }
}

News Reflector::Missing(const std::string& uid) const {
  return resource_.missing ? resource_.missing(uid) : resource_.removed(uid);
}

bool Reflector::Unserved() const {
  return not_found_since_ && Clock::now() - *not_found_since_ >= options_.unserved_after;
}

void Reflector::ForgetUnserved() {
  std::vector<std::string> uids;
  for (const auto& [name, known] : known_) uids.push_back(known.uid.empty() ? name : known.uid);
  std::sort(uids.begin(), uids.end());
  for (const std::string& uid : uids) ports_.apply(resource_.unserved(uid));
  known_.clear();
}

void Reflector::Upsert(const KeptObject& object) {
  const Result<Observed> observed = resource_.decode(object);
  if (!observed.ok()) {
    Warn("an object is left out: " + observed.error().ToString());
    return;
  }
  Known& known = known_[observed->name];
  if (!known.uid.empty() && known.uid != observed->uid) ports_.apply(Missing(known.uid));
  known = {observed->uid, listing_};
  TellIgnored(*observed);
  ports_.apply(observed->news);
}

// Once, and again when it is something else: nodes report every few seconds.
void Reflector::TellIgnored(const Observed& observed) {
  if (observed.warnings.empty()) {
    ignored_.erase(observed.name);
    return;
  }
  if (ignored_[observed.name] == observed.warnings) return;
  ignored_[observed.name] = observed.warnings;
  for (const std::string& warning : observed.warnings) Warn(observed.name + ": " + warning);
}

void Reflector::Remove(const KeptObject& object) {
  const Result<Observed> observed = resource_.decode(object);
  if (!observed.ok()) {
    Warn("a deleted object cannot be identified: " + observed.error().ToString());
    return;
  }
  const auto found = known_.find(observed->name);
  if (found != known_.end() && found->second.uid == observed->uid) {
    known_.erase(found);
    ignored_.erase(observed->name);
  }
  ports_.apply(resource_.removed(observed->uid.empty() ? observed->name : observed->uid));
}

Reflector::Next Reflector::Watch() {
  const int64_t longest = options_.watch_for.count() * 2;
  const auto wanted =
      std::uniform_int_distribution<int64_t>(options_.watch_for.count(), longest)(random_);
  std::shared_ptr<ApiStream> stream = ports_.api.OpenStream();
  {
    const MutexLock lock(mu_);
    if (stopping_ || refresh_wanted()) return Next::kWatch;
    stream_ = stream;
  }
  Watched watched;
  WatchStream events(resource_.fields, resource_.kind,
                     [&](const WatchEvent& event) { return TakeEvent(event, watched); });
  const auto began = Clock::now();
  const Result<ApiReply> end = stream->Run(
      resource_.path +
          "?watch=1&allowWatchBookmarks=true&resourceVersion=" + http::PercentEncoded(version_) +
          "&timeoutSeconds=" + std::to_string(wanted) + Selected(resource_),
      [&](std::string_view bytes) { return events.Feed(bytes); }, options_.silence);
  {
    const MutexLock lock(mu_);
    stream_.reset();
    if (stopping_) return Next::kWatch;
  }
  watched.lasted = Clock::now() - began >= options_.backoff_max;
  const Next next = AfterWatch(end, events.problem(), watched);
  if (Worked(end, watched, next)) {
    failures_ = 0;
    unproven_ = false;
  }
  return next;
}

bool Reflector::Worked(const Result<ApiReply>& end, const Watched& watched, Next next) {
  if (watched.any) return watched.lasted || next != Next::kList;
  return watched.lasted && !watched.refused && (!end.ok() || end->status == 200);
}

bool Reflector::TakeEvent(const WatchEvent& event, Watched& watched) {
  if (event.kind != WatchKind::kError) Heard();
  switch (event.kind) {
    case WatchKind::kAdded:
    case WatchKind::kModified:
      Upsert(*event.object);
      break;
    case WatchKind::kDeleted:
      Remove(*event.object);
      break;
    case WatchKind::kBookmark:
      break;
    case WatchKind::kError:
      watched.refused = event.status_code;
      Warn("watch refused with code " + std::to_string(event.status_code) + ": " + event.message);
      return false;
  }
  watched.any = true;
  if (!event.resource_version.empty()) version_ = event.resource_version;
  return true;
}

Reflector::Next Reflector::AfterWatch(const Result<ApiReply>& end, const std::string& problem,
                                      const Watched& watched) {
  if (watched.refused) return AfterRefusal(*watched.refused);
  if (!problem.empty()) {
    Warn("watch left, the list is read again: " + problem);
    return Next::kList;
  }
  if (!end.ok()) {
    Warn("watch broken off: " + end.error().ToString());
    return ResumeOrList();
  }
  if (end->status != 200) {
    retry_after_ = end->retry_after.value_or(milliseconds(0));
    Warn("watch refused: " + Refused(*end).message);
    return AfterRefusal(end->status);
  }
  if (watched.any) {
    vain_watches_ = 0;
    return Next::kWatch;
  }
  // The server ended it in order. Not even a bookmark came: it may have lost its place.
  return ++vain_watches_ >= kVainWatches ? Next::kList : Next::kWatchAgain;
}

// The version may be of no use any more, or the server has no time, or we no right: in which case a
// list would be one more burden and tell nothing new.
Reflector::Next Reflector::AfterRefusal(int status) {
  if (status == kHttpGone || status == kHttpNotFound || status == kHttpBadRequest)
    return Next::kList;
  return ResumeOrList();
}

Reflector::Next Reflector::ResumeOrList() {
  if (age() < options_.silence) return Next::kWatchAgain;
  Warn("nothing came for long, the list is read again");
  return Next::kList;
}

void Reflector::Warn(const std::string& what) { ports_.warn(resource_.name + ": " + what); }

milliseconds Reflector::NextWait() {
  const int doublings = std::min(failures_++, 10);
  const milliseconds most =
      std::min(options_.backoff_first * (1 << doublings), options_.backoff_max);
  return milliseconds(std::uniform_int_distribution<int64_t>(0, most.count())(random_));
}

Reflector::Clock::time_point Reflector::WatchAgainAt() {
  const auto asked = Clock::now() + std::exchange(retry_after_, milliseconds(0));
  const auto silent = Clock::time_point(Clock::duration(heard_)) + options_.silence;
  return std::max(asked, std::min(asked + NextWait(), silent));
}

void Reflector::PauseUntil(Clock::time_point until) {
  const MutexLock lock(mu_);
  while (!stopping_ && !refresh_wanted()) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return;
    stopped_.WaitFor(mu_, left);
  }
}

}  // namespace muster::kube
