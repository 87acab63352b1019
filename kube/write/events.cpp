#include "kube/write/events.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "kube/api/refusal.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using cluster::Time;
using engine::EmitEvent;

namespace {

// Limits of the API, in bytes.
constexpr size_t kMaxNote = 1024;
constexpr size_t kMaxWord = 128;
constexpr size_t kMaxObjectName = 200;  // of a name of at most 253
constexpr int kTries = 3;
// Below the margin of LeaderElection::MayWrite.
constexpr std::chrono::milliseconds kEventTimeout{3500};
constexpr const char* kController = "muster.dev/muster";
constexpr const char* kAction = "Scheduling";

// FNV-1a.
uint64_t Hash(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string Hex(uint64_t value) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16);
  return {text.data(), end.ptr};
}

void AppendSeries(JsonWriter& json, int64_t count, Time last) {
  json.Key("series").BeginObject().Key("count").Integer(count);
  json.Key("lastObservedTime").Text(FormatMicroTime(last)).EndObject();
}

}  // namespace

EventRecorder::EventRecorder(Ports ports, Options options)
    : ports_(std::move(ports)), options_(std::move(options)) {}

std::string EventRecorder::NewNameLocked(const std::string& object, Time wall) {
  const uint64_t moment = Hash(options_.instance, static_cast<uint64_t>(wall.milliseconds()));
  std::string base(CutText(object, kMaxObjectName));
  // A name must not end in a dot or hyphen before the dot that follows.
  while (!base.empty() && (base.back() == '.' || base.back() == '-')) base.pop_back();
  return base + "." + Hex(Hash(std::to_string(++names_) + "/" + object, moment));
}

void EventRecorder::PlaceLocked(const Key& key, Entry& entry, bool waiting, Time due) {
  RemoveLocked(key, entry);
  entry.waiting = waiting;
  entry.due = due;
  if (waiting) {
    due_.Put(entry.ns, key, due);
  } else {
    idle_.insert({due, key});
  }
}

void EventRecorder::RemoveLocked(const Key& key, const Entry& entry) {
  if (entry.waiting) {
    due_.Remove(entry.ns, key, entry.due);
  } else {
    idle_.erase({entry.due, key});
  }
}

void EventRecorder::ForgetLocked(const Key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  RemoveLocked(key, found->second);
  entries_.erase(found);
}

// Series that ended go first, then those that were written longest ago.
bool EventRecorder::MakeRoomLocked(Time now) {
  while (!idle_.empty() &&
         (entries_.size() >= options_.most || idle_.begin()->first + options_.remember <= now)) {
    ForgetLocked(Key(idle_.begin()->second));
  }
  return entries_.size() < options_.most;
}

void EventRecorder::Record(const EmitEvent& event, const Clocks& now) {
  const MutexLock lock(mu_);
  const Key key{event.uid.empty() ? event.key.ToString() : event.uid, event.reason};
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (!MakeRoomLocked(now.steady)) {
      ++counts_.dropped;
      return;
    }
    Entry entry;
    entry.event = event;
    entry.ns = event.key.ns;
    entry.name = NewNameLocked(event.key.name, now.wall);
    entry.first = entry.last = now.wall;
    PlaceLocked(key, entries_.emplace(key, std::move(entry)).first->second, true, now.steady);
    return;
  }
  Entry& entry = found->second;
  entry.last = now.wall;
  if (entry.event.message == event.message) {
    ++entry.count;
  } else {
    // The older one, where it was not written yet, has been overtaken.
    entry.event = event;
    entry.name = NewNameLocked(event.key.name, now.wall);
    entry.exists = false;
    entry.count = 1;
    entry.written = 0;
    entry.first = now.wall;
    entry.failures = 0;
  }
  if (!entry.waiting) {
    PlaceLocked(key, entry, true, std::max(now.steady, entry.wrote + options_.between));
  }
}

Time EventRecorder::Step(const Clocks& now) {
  Key key;
  Entry entry;
  {
    const MutexLock lock(mu_);
    const auto turn = due_.Take(now.steady, 1);
    if (!turn) return due_.NextAfter(now.steady).value_or(Time::Never());
    key = turn->key;
    entry = entries_.at(key);
  }
  Duration wait;
  const Turn turn = Write(entry, wait);
  Settle(key, entry, turn, wait, now);
  if (ports_.wake) ports_.wake();
  return now.steady;
}

EventRecorder::Counts EventRecorder::counts() const {
  const MutexLock lock(mu_);
  Counts counts = counts_;
  counts.waiting = static_cast<int64_t>(due_.waiting()) + due_.taken();
  return counts;
}

ApiRequest EventRecorder::RequestOf(const Entry& entry) const {
  const EmitEvent& event = entry.event;
  ApiRequest request;
  request.lane = Lane::kReport;
  request.timeout = kEventTimeout;
  request.path = "/apis/events.k8s.io/v1/namespaces/" + event.key.ns + "/events";
  JsonWriter json(request.body);
  if (entry.exists) {
    request.method = Method::kPatch;
    request.path += "/" + entry.name;
    request.content_type = "application/merge-patch+json";
    json.BeginObject();
    AppendSeries(json, entry.count, entry.last);
    json.EndObject();
    return request;
  }
  request.method = Method::kPost;
  json.BeginObject().Key("apiVersion").Text("events.k8s.io/v1").Key("kind").Text("Event");
  json.Key("metadata").BeginObject().Key("namespace").Text(event.key.ns);
  json.Key("name").Text(entry.name).EndObject();
  json.Key("eventTime").Text(FormatMicroTime(entry.first));
  if (entry.count > 1) AppendSeries(json, entry.count, entry.last);
  json.Key("reportingController").Text(kController);
  json.Key("reportingInstance").Text(CutText(options_.instance, kMaxWord));
  json.Key("action").Text(kAction).Key("reason").Text(CutText(event.reason, kMaxWord));
  json.Key("type").Text(event.warning ? "Warning" : "Normal");
  json.Key("note").Text(CutText(event.message, kMaxNote));
  const bool core = event.on_pod || event.on_node || event.on_orders;
  // Without an object there is nothing of which UID and version could be.
  const std::optional<ServedPodGroups> as =
      core ? std::nullopt : ports_.find(cluster::PodGroupUid(event.uid));
  const std::string_view gang = KindOfPodGroups(as ? as->group : "");
  json.Key("regarding").BeginObject();
  json.Key("kind").Text(event.on_orders ? "ConfigMap"
                        : event.on_node ? "Node"
                        : event.on_pod  ? "Pod"
                                        : gang);
  if (!event.on_node) json.Key("namespace").Text(event.key.ns);
  json.Key("name").Text(event.key.name);
  if (core || as) {
    if (!event.on_orders) json.Key("uid").Text(event.uid);
    json.Key("apiVersion").Text(core ? "v1" : as->api_version());
  }
  json.EndObject().EndObject();
  return request;
}

EventRecorder::Turn EventRecorder::Write(const Entry& entry, Duration& wait) {
  const ApiRequest request = RequestOf(entry);
  if (!ports_.may_write()) return Turn::kFailed;
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (reply.ok() && reply->ok()) return Turn::kWritten;
  const Error error = reply.ok() ? ErrorOf(*reply) : reply.error();
  switch (error.code) {
    case Code::kConflict:
      // The name is ours alone: an earlier attempt whose answer was lost has made it.
      return entry.exists ? Turn::kFailed : Turn::kWritten;
    case Code::kNotFound:
      // An Event lives for an hour. Without a namespace there is nothing to tell.
      return entry.exists ? Turn::kExpired : Turn::kDropped;
    case Code::kForbidden:  // also by an API server that has just started
      if (entry.failures + 1 < kTries) return Turn::kFailed;
      ports_.warn("an event on " + entry.event.key.ToString() + " is dropped: " + error.ToString());
      return Turn::kDropped;
    case Code::kUnavailable:
    case Code::kIo:
      if (reply.ok() && reply->retry_after) wait = Duration(reply->retry_after->count());
      return Turn::kFailed;
    default:
      ports_.warn("an event on " + entry.event.key.ToString() + " is dropped: " + error.ToString());
      return Turn::kDropped;
  }
}

void EventRecorder::Settle(const Key& key, const Entry& tried, Turn turn, Duration wait,
                           const Clocks& now) {
  const MutexLock lock(mu_);
  due_.Done(tried.ns);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const bool same = entry.name == tried.name;  // no other note came meanwhile
  switch (turn) {
    case Turn::kWritten:
      ++(tried.exists ? counts_.repeated : counts_.created);
      entry.wrote = now.steady;
      entry.failures = 0;
      if (same) {
        entry.exists = true;
        entry.written = tried.count;
      }
      if (same && entry.count == entry.written) {
        PlaceLocked(key, entry, false, now.steady);
      } else {
        PlaceLocked(key, entry, true, now.steady + options_.between);
      }
      break;
    case Turn::kExpired:
      if (same) {
        entry.exists = false;
        entry.name = NewNameLocked(entry.event.key.name, now.wall);
        entry.first = entry.last;
        entry.count -= entry.written;
        entry.written = 0;
      }
      PlaceLocked(key, entry, true, now.steady);
      break;
    case Turn::kFailed:
      if (same && ++entry.failures < kTries) {
        const Duration pause(int64_t{1000} << (2 * entry.failures));
        PlaceLocked(key, entry, true, now.steady + std::max(wait, pause));
        break;
      }
      [[fallthrough]];
    case Turn::kDropped:
      ++counts_.dropped;
      if (same) {
        ForgetLocked(key);
      } else {
        PlaceLocked(key, entry, true, now.steady + options_.between);
      }
      break;
  }
}

}  // namespace muster::kube
