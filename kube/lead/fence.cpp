#include "kube/lead/fence.hpp"

#include <algorithm>
#include <utility>

#include "kube/api/at_a_time.hpp"
#include "kube/api/http_status.hpp"
#include "kube/api/refusal.hpp"
#include "kube/decode/decode.hpp"
#include "kube/write/pod_writes.hpp"

namespace muster::kube {

using cluster::Ok;
using cluster::Pod;
using cluster::Result;
using cluster::Status;
using cluster::Time;
using std::chrono::milliseconds;

namespace {

// How long to wait after another's write was seen: another thread passes the changed pod to the
// engine.
constexpr cluster::Duration kTold = cluster::Duration(500);
constexpr const char* kNoTurn = "its turn has not come yet";

// The one node that the pod's affinity lets it on, where that is Muster's doing.
std::string PinnedTo(const Pod& pod) {
  for (const cluster::NodeSelectorTerm& term : pod.spec->constraints.affinity_terms) {
    for (const cluster::SelectorRequirement& field : term.match_fields) {
      if (field.values.size() == 1) return field.values.front();
    }
  }
  return {};
}

// In which they are written: namespaces take turns, so that one that hangs takes no more of a round
// than its share.
std::vector<HandedOverPod> InTurns(std::vector<HandedOverPod> pods) {
  std::map<std::string, size_t> seen;
  std::vector<std::pair<size_t, HandedOverPod>> ranked;
  ranked.reserve(pods.size());
  for (HandedOverPod& pod : pods) {
    const size_t rank = seen[pod.pod.key.ns]++;
    ranked.emplace_back(rank, std::move(pod));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  pods.clear();
  for (auto& [rank, pod] : ranked) pods.push_back(std::move(pod));
  return pods;
}

}  // namespace

std::optional<HandedOverPod> MayBeBound(const Pod& pod) {
  // The API server binds no pod that has a gate, and gates do not come back.
  if (!pod.handed_over || pod.bound() || pod.terminal() || !pod.gates.empty()) return std::nullopt;
  const std::string node = pod.nominated_node.empty() ? PinnedTo(pod) : pod.nominated_node;
  return HandedOverPod{{pod.key, pod.uid}, node, pod.resource_version};
}

Status Fence::Raise(const std::vector<HandedOverPod>& handed_over, const std::string& epoch) {
  const std::vector<HandedOverPod> pods = InTurns(handed_over);
  epoch_ = epoch;
  raised_ = ports_.clock().steady;
  wait_ = options_.again;
  const std::vector<std::string> why = Round(pods);
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!why[i].empty())
      left_.emplace(pods[i].pod.uid, Left{pods[i], why[i], why[i] == kNoTurn ? 0 : 1});
  }
  if (!ports_.leads()) {
    return cluster::Error{cluster::Code::kUnavailable, "the term ended meanwhile", ""};
  }
  for (const auto& [uid, left] : left_) {
    ports_.tell(engine::Unfenced{uid, left.at.node, left.why});
    ports_.warn("not fenced, its gang is held back: " + left.at.pod.key.ToString() + ": " +
                left.why);
  }
  next_ = ports_.clock().steady + wait_;
  return Ok{};
}

Time Fence::Step(const Clocks& now) {
  if (left_.empty()) return Time::Never();
  if (!ports_.leads()) return now.steady + options_.again;  // the lease may yet be renewed
  const bool over = now.steady >= raised_ + options_.stray;
  std::vector<HandedOverPod> again;
  for (auto at = left_.begin(); at != left_.end();) {
    Left& left = at->second;
    const bool done = over || left.changed;
    const int64_t known = ports_.versions.Find(at->first);
    left.changed = known == 0 || known > left.at.version;
    if (over) {
      ports_.warn("not fenced, and no write of an earlier leader can be under way any more: " +
                  left.at.pod.key.ToString() + ": " + left.why);
    }
    if (done) {
      Settle(left.at);
      at = left_.erase(at);
      continue;
    }
    if (!left.changed) again.push_back(left.at);
    ++at;
  }
  if (now.steady >= next_) {
    // Of each namespace those first that had no turn in the rounds before.
    std::stable_sort(again.begin(), again.end(), [&](const auto& x, const auto& y) {
      return left_.at(x.pod.uid).tries < left_.at(y.pod.uid).tries;
    });
    again = InTurns(std::move(again));
    const std::vector<std::string> why = Round(again);
    for (size_t i = 0; i < again.size(); ++i) {
      if (why[i].empty()) {
        Settle(again[i]);
        left_.erase(again[i].pod.uid);
      } else {
        Left& left = left_.at(again[i].pod.uid);
        left.why = why[i];
        if (why[i] != kNoTurn) ++left.tries;
      }
    }
    wait_ = std::min(wait_ * 2, options_.again_max);
    next_ = ports_.clock().steady + wait_;
  }
  if (left_.empty()) return Time::Never();
  return std::min({next_, raised_ + options_.stray, now.steady + kTold});
}

std::vector<std::string> Fence::Round(const std::vector<HandedOverPod>& pods) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + options_.within;
  std::vector<std::string> why(pods.size());
  DoAtATime(pods.size(), options_.calls, [&](size_t i) {
    const auto time = std::chrono::duration_cast<milliseconds>(end - Steady::now());
    why[i] = time.count() > 0 ? Write(pods[i], std::min(time, options_.timeout)) : kNoTurn;
  });
  return why;
}

std::string Fence::Write(const HandedOverPod& at, milliseconds timeout) {
  ApiRequest request = FenceRequest(at.pod, epoch_);
  request.timeout = timeout;
  request.permit = ports_.leads;
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (!reply.ok()) return reply.error().ToString();
  if (reply->ok()) {
    Take(reply->body);
    return {};
  }
  if (reply->status == kHttpNotFound) return {};
  const std::string why = ErrorOf(*reply).ToString();
  // Another pod by that name, or a webhook that refuses it in these words.
  const bool unclear = reply->status == kHttpConflict || reply->status == kHttpUnprocessable;
  return unclear ? Look(at, why, timeout) : why;
}

std::string Fence::Look(const HandedOverPod& at, const std::string& why, milliseconds timeout) {
  ApiRequest request = GetPod(at.pod);
  request.timeout = timeout;
  const Result<ApiReply> reply = ports_.api.Call(request);
  if (!reply.ok()) return why;
  if (reply->status == kHttpNotFound) return {};
  if (!reply->ok()) return why;
  const Result<Pod> pod = DecodePod(reply->body);
  if (!pod.ok()) return why;
  if (pod->uid != at.pod.uid) return {};
  Take(reply->body);
  return pod->resource_version > at.version ? std::string() : why;
}

// A Binding may have come in since the pod was listed; what its sender gave it is not free.
void Fence::Take(const std::string& body) {
  const Result<Pod> pod = DecodePod(body);
  if (!pod.ok()) return;
  ports_.versions.Renew(pod->uid, pod->resource_version);
  ports_.tell(*pod);
}

void Fence::Settle(const HandedOverPod& at) { ports_.tell(engine::Fenced{at.pod.uid}); }

}  // namespace muster::kube
