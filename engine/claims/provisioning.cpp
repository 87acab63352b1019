#include "engine/claims/provisioning.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "engine/claims/asked_rooms.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/request.hpp"
#include "engine/reasons/cause_words.hpp"
#include "engine/standing/show.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::ObjectKey;
using cluster::RequestState;
using cluster::Time;

namespace {

constexpr Duration kAgainFirst = cluster::Seconds(60);
constexpr Duration kAgainMost = cluster::Seconds(3600);
// For the facts about its gang.
constexpr Duration kStranger = cluster::Seconds(60);
// For the fact about a request that was made.
constexpr Duration kUnseen = cluster::Seconds(60);
constexpr size_t kLongestName = 200;  // of a gang, in that of its request

// After so many tries in a row.
Duration Wait(int64_t tries) {
  const int64_t doubled = std::clamp<int64_t>(tries - 1, 0, 10);
  return std::min(Duration(kAgainFirst.value() << doubled), kAgainMost);
}

// FNV-1a, its halves folded: eight digits.
std::string Fingerprint(const std::string& text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 1099511628211ULL;
  }
  char digits[16];
  const int length = std::snprintf(digits, sizeof digits, "%08x",
                                   static_cast<unsigned>((hash >> 32U) ^ (hash & 0xffffffffU)));
  return {digits, static_cast<size_t>(std::max(length, 0))};
}

// What is asked for, without name and try.
AskForNodes AskOf(const ClaimState& state, const Gang& gang) {
  AskForNodes ask;
  ask.gang = gang.id;
  ask.class_name = state.options.autoscaling.provisioning_class;
  if (const cluster::PodGroup* group = state.members.GroupOf(gang); group && !group->declared)
    ask.group = group->uid;
  // Members are given oldest first: the order of roles and specs by their text does not depend on
  // who came first, nor on the process.
  std::map<std::tuple<std::string, std::string>, AskedPods> sets;
  for (const Member* member : NeededForStart(gang)) {
    const cluster::Pod& pod = *member->pod;
    const auto [at, fresh] = sets.try_emplace({pod.role, ToText(*pod.spec)});
    if (fresh) at->second = {member->key, member->uid, pod.role, 0, pod.spec};
    ++at->second.count;
  }
  // A PodGroup back under its name asks by another one: templates of the last may be going.
  std::string text = (gang.id.solo ? "pod " : "gang ") + gang.id.key.ToString() + " " +
                     ask.group.text() + "\n" + ask.class_name + "\n";
  for (auto& [shape, set] : sets) {
    text += std::to_string(set.count) + " " + std::get<0>(shape) + " " + std::get<1>(shape);
    ask.sets.push_back(std::move(set));
  }
  ask.fingerprint = Fingerprint(text);
  return ask;
}

// Gangs have names that no object may have: by owner "job:train~1f8e0a2c", by labels "My_Gang". The
// fingerprint tells those apart that are alike then.
ObjectKey KeyOf(const AskForNodes& ask) {
  std::string name = ask.gang.key.name.substr(0, kLongestName);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!allowed) c = '-';
  }
  return {ask.gang.key.ns,
          "muster-" + name + "-" + ask.fingerprint + "-" + std::to_string(ask.attempt)};
}

// "4 × 8 GPUs", "2 × 16 CPU"
std::string ShapeOf(const AskedPods& set) {
  const std::string each = set.spec->gpus.none()
                               ? Thousandths(set.spec->requests.cpu.value()) + " CPU"
                               : GpuCount(set.spec->gpus.total().value());
  return std::to_string(set.count) + " × " + each;
}

std::string ShapesOf(const AskForNodes& ask) {
  constexpr size_t kMostShapes = 3;
  std::string text;
  for (size_t i = 0; i < std::min(ask.sets.size(), kMostShapes); ++i)
    text += (i == 0 ? "" : " + ") + ShapeOf(ask.sets[i]);
  if (ask.sets.size() > kMostShapes) text += " + …";
  return text;
}

void Unwant(ClaimState& state, NodeRequest& request) {
  request.wanted = false;
  GiveUpAskedRoom(state, request);
  // Never tried, or gone: nothing of it is left. A try that failed may have left PodTemplates.
  if (!request.busy() && request.tried) request.there = true;
  if (!request.there && !request.busy()) return state.requests.Erase(ObjectKey(request.ask.key));
  request.not_before = Time(0);
  state.requests.Touch();
}

// What was to be deleted without having been seen may never have been made: it is made again.
void Want(NodeRequest& request) {
  if (!request.wanted && request.uid.empty()) request.there = false;
  request.wanted = true;
}

void Begin(ClaimState& state, const Gang& gang, AskForNodes ask) {
  ask.key = KeyOf(ask);
  NodeRequest& request = state.requests.Add(ask.key, gang.id);
  request.pod_sets = static_cast<int64_t>(ask.sets.size());
  request.ask = std::move(ask);
  request.wanted = true;
  state.announcer.Tell(gang, false, "GangScaleUp",
                       "cluster-autoscaler is asked for " + ShapesOf(request.ask) +
                           ": ProvisioningRequest " + request.ask.key.name);
}

std::string HowItEnded(const NodeRequest& request) {
  switch (request.state) {
    case RequestState::kExpired:
    case RequestState::kProvisioned:
      return ": its nodes did not come while cluster-autoscaler kept them for it";
    case RequestState::kRevoked:
      return ": what was found for it is another one's" +
             (request.message.empty() ? "" : ": " + request.message);
    default:
      return request.message.empty() ? " failed" : " failed: " + request.message;
  }
}

void TellEnd(ClaimState& state, const Gang& gang, NodeRequest& request, Time again) {
  if (std::exchange(request.told_end, true)) return;
  state.announcer.Tell(gang, true, "GangScaleUpFailed",
                       "ProvisioningRequest " + request.ask.key.name + HowItEnded(request) +
                           "; it is tried again at " + ShowTime(again));
}

}  // namespace

void AskByRequest(ClaimState& state, Gang& gang, Time now) {
  AskForNodes ask = AskOf(state, gang);
  if (ask.sets.empty() || ask.sets.size() > kMostPodSets) return WithdrawRequests(state, gang.id);
  NodeRequest* last = nullptr;
  for (NodeRequest* one : state.requests.Of(gang.id)) {
    const bool same = one->ask.fingerprint == ask.fingerprint && !one->deleting;
    const bool later = same && (last == nullptr || one->ask.attempt > last->ask.attempt);
    if (later) std::swap(one, last);
    if (one != nullptr && !one->deleting) Unwant(state, *one);
  }
  // What is being deleted may have the name of the next one.
  if (last == nullptr && state.requests.Any(gang.id)) {
    const auto others = state.requests.Of(gang.id);
    const bool same = std::any_of(others.begin(), others.end(), [&](const NodeRequest* one) {
      return one->ask.fingerprint == ask.fingerprint;
    });
    if (same) return;
  }
  if (last == nullptr) return Begin(state, gang, std::move(ask));
  Want(*last);
  // Another process made it; or it is still to be made, and the pods that it was to be made like
  // may be gone.
  if (last->ask.sets.empty() || (!last->there && !last->busy())) {
    ask.key = last->ask.key;
    ask.attempt = last->ask.attempt;
    last->ask = ask;
  }
  const std::optional<Time> end = EndOf(*last);
  if (!end || *end > now) return;
  const Time again = *end + Wait(last->ask.attempt);
  TellEnd(state, gang, *last, again);
  GiveUpAskedRoom(state, *last);
  if (again > now) return;
  ask.attempt = last->ask.attempt + 1;
  Unwant(state, *last);
  Begin(state, gang, std::move(ask));
}

void KeepRequests(ClaimState& state, const Gang& gang) {
  if (state.requests.Wanted(gang.id) != nullptr) return;
  NodeRequest* last = nullptr;
  for (NodeRequest* one : state.requests.Of(gang.id)) {
    if (one->deleting) continue;
    if (last == nullptr || one->ask.attempt > last->ask.attempt) last = one;
  }
  if (last != nullptr) Want(*last);
}

void WithdrawRequests(ClaimState& state, const GangId& gang) {
  if (!state.requests.Any(gang)) return;
  for (NodeRequest* one : state.requests.Of(gang)) {
    if (!one->deleting) Unwant(state, *one);
  }
}

Time RequestDue(const ClaimState& state, const Gang& gang) {
  const NodeRequest* request = state.requests.Wanted(gang.id);
  const std::optional<Time> end = request == nullptr ? std::nullopt : EndOf(*request);
  if (!end) return Time::Never();
  return request->told_end ? *end + Wait(request->ask.attempt) : *end;
}

namespace {

// When the next write of it is due; Never: none is.
Time WriteDue(const NodeRequest& request) {
  if (request.busy()) return Time::Never();
  if (!request.wanted) return request.there ? request.not_before : Time::Never();
  if (request.state != RequestState::kNew || request.ask.sets.empty()) return Time::Never();
  if (!request.there) return request.not_before;
  // Made, and never seen: it was deleted at once, or another object has its name.
  return request.uid.empty() ? request.made_at + kUnseen : Time::Never();
}

void Write(ClaimState& state, NodeRequest& request) {
  request.doing = state.writes.NextId();
  request.deleting = !request.wanted;
  if (request.deleting) {
    state.writes.Ask(WithdrawAsk{request.doing, request.ask.key, request.uid, request.pod_sets});
  } else {
    request.ask.id = request.doing;
    request.tried = true;
    state.writes.Ask(request.ask);
  }
}

}  // namespace

void WriteRequests(ClaimState& state, Time now) {
  if (state.requests.due() > now) return;
  Time due = Time::Never();
  std::vector<ObjectKey> ready;
  for (const auto& [key, request] : state.requests.all()) {
    const Time at = WriteDue(request);
    if (at <= now) {
      ready.push_back(key);
    } else {
      due = std::min(due, at);
    }
  }
  state.requests.SetDue(due);
  for (const ObjectKey& key : ready) Write(state, *state.requests.Find(key));
}

namespace {

void Refused(ClaimState& state, NodeRequest& request, const Outcome& outcome, Time now) {
  const bool passing = outcome.kind == OutcomeKind::kRetry || outcome.kind == OutcomeKind::kGone;
  ++request.refusals;
  request.not_before =
      now + (passing ? state.options.retry_interval * std::min<int64_t>(request.refusals, 60)
                     : Wait(request.refusals));
  request.obstacle = outcome.message;
  const Gang* gang = state.members.Find(request.ask.gang);
  if (passing || gang == nullptr || !request.wanted || request.refusals > 1) return;
  state.announcer.Tell(
      *gang, true, "GangScaleUpFailed",
      "ProvisioningRequest " + request.ask.key.name + " cannot be made: " + outcome.message);
}

}  // namespace

bool ReportRequest(ClaimState& state, const Outcome& outcome, Time now) {
  NodeRequest* request = state.requests.Find(outcome.id);
  if (request == nullptr) return false;
  request->doing = {};
  const GangId id = request->ask.gang;
  const bool done = outcome.kind == OutcomeKind::kDone;
  if (request->deleting) {
    request->deleting = false;
    // What was never seen, and may not be deleted, may not have been made either.
    const bool never = outcome.kind == OutcomeKind::kRefused && request->uid.empty();
    if (done || never || outcome.kind == OutcomeKind::kGone) {
      state.requests.Erase(ObjectKey(request->ask.key));
    } else {
      Refused(state, *request, outcome, now);
    }
  } else if (done) {
    request->there = true;
    request->made_at = now;
    request->refusals = 0;
    request->obstacle.clear();
    if (request->since == Time(0)) request->since = now;
  } else {
    // Nobody knows whether it was made: one that is unwanted is deleted all the same.
    if (!request->wanted) request->there = true;
    Refused(state, *request, outcome, now);
  }
  state.requests.Touch();
  if (Gang* gang = state.members.Find(id)) state.work.Touch(*gang);
  return true;
}

void ApplyRequest(ClaimState& state, const cluster::ProvisioningRequest& told, Time now) {
  if (told.gang.key.name.empty()) return;  // not Muster's
  NodeRequest* known = state.requests.Find(told.key);
  Gang* gang = state.members.Find(told.gang);
  if (known != nullptr && known->uid == told.uid && known->resource_version > told.resource_version)
    return;
  if (known == nullptr) {
    known = &state.requests.Add(told.key, told.gang);
    known->ask.fingerprint = told.fingerprint;
    known->ask.attempt = told.attempt;
    known->ask.class_name = told.class_name;
    known->pod_sets = told.pod_sets;
    known->tried = true;  // by a process before
    known->not_before = gang == nullptr ? now + kStranger : Time(0);
  }
  known->uid = told.uid;
  known->resource_version = told.resource_version;
  known->there = true;
  known->state = told.state;
  if (told.since != Time(0)) known->since = told.since;
  known->message = told.message;
  state.requests.Touch();
  if (gang == nullptr) return;
  if (!gang->judged && state.requests.Wanted(gang->id) == nullptr) known->wanted = true;
  state.work.Touch(*gang);
}

void RemoveRequest(ClaimState& state, const cluster::ProvisioningRequestUid& uid, Time now) {
  NodeRequest* request = state.requests.Find(uid);
  if (request == nullptr) return;
  const GangId id = request->ask.gang;
  if (!request->wanted && !request->busy()) {
    state.requests.Erase(ObjectKey(request->ask.key));
  } else if (request->wanted) {
    // It counts as one that failed, so that whoever deletes it is not answered in a loop.
    request->there = false;
    request->uid = {};
    GiveUpAskedRoom(state, *request);
    if (const auto end = EndOf(*request); !end || *end > now) {
      request->state = RequestState::kFailed;
      request->since = now;
      request->message = "it was deleted";
    }
  }
  if (Gang* gang = state.members.Find(id)) state.work.Touch(*gang);
}

std::string RequestText(const ClaimState& state, const Gang& gang) {
  const NodeRequest* request = state.requests.Wanted(gang.id);
  if (request == nullptr) return {};
  const std::string shapes = ShapesOf(request->ask);
  const std::string name = request->ask.key.ToString();
  const std::string at = request->since == Time(0) ? "" : " at " + ShowTime(request->since);
  if (const auto end = EndOf(*request); end && request->told_end) {
    return "asked cluster-autoscaler for " + shapes + ": request " + name + HowItEnded(*request) +
           "; it is tried again at " + ShowTime(*end + Wait(request->ask.attempt));
  }
  if (!request->there && !request->obstacle.empty())
    return "cannot ask cluster-autoscaler for " + shapes + ": " + request->obstacle;
  if (!request->there) return "asks cluster-autoscaler for " + shapes + ": request " + name;
  std::string text = "asked cluster-autoscaler for " + shapes + ": request " + name;
  const std::string message = request->message.empty() ? "" : ": " + request->message;
  switch (request->state) {
    case RequestState::kNew:
      return text + ", not accepted yet" + (at.empty() ? "" : ", made" + at) + message;
    case RequestState::kAccepted:
      return text + ", accepted" + at + message;
    default:
      return text + ", provisioned" + at + ": nodes that come are kept for it until " +
             ShowTime(request->since + kBookingTime);
  }
}

bool TooManyShapes(const ClaimState& state, const Gang& gang) {
  return AskOf(state, gang).sets.size() > kMostPodSets;
}

}  // namespace muster::engine
