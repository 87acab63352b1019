// batch/v1 Job: whether it counts evictions, whom it takes for done, and whether it has ended.
//
// An evicted pod ends as Failed, with the condition DisruptionTarget that the Eviction API sets.
// The first rule of the podFailurePolicy that matches it decides, and without a policy or a match
// it is a failure (matchPodFailurePolicy and isPodFailed in pkg/controller/job of k8s.io/kubernetes
// v1.36.3). A pod that was told to go is counted at once (isPodFailed there), or as what it ends
// as: where only failed pods are replaced (onlyReplaceFailedPods).
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::BatchJob;
using cluster::Result;

namespace {

// Exit codes of a container that is killed, by SIGKILL and by SIGTERM.
constexpr int64_t kKilled = 137;
constexpr int64_t kTerminated = 143;

// Containers may exit with any code when they are told to end; these two are to be expected.
bool MatchesEndedContainer(const JsonView& codes) {
  bool killed = false;
  bool terminated = false;
  const JsonView values = codes.Get("values");
  values.Items([&](const JsonView& value) {
    const int64_t code = value.Integer(0, INT32_MIN, INT32_MAX);
    killed = killed || code == kKilled;
    terminated = terminated || code == kTerminated;
  });
  if (codes.Get("operator").Text() == "NotIn") return !killed || !terminated;
  return killed || terminated;
}

bool MatchesEviction(const JsonView& conditions) {
  bool matches = false;
  conditions.Items([&](const JsonView& condition) {
    const JsonView status = condition.Get("status");
    matches = matches || (condition.Get("type").Text() == "DisruptionTarget" &&
                          (!status.present() || status.Text() == "True"));
  });
  return matches;
}

bool IgnoresEvictions(const JsonView& rules) {
  bool decided = false;
  bool ignores = false;
  rules.Items([&](const JsonView& rule) {
    if (decided) return;
    const JsonView codes = rule.Get("onExitCodes");
    const JsonView conditions = rule.Get("onPodConditions");
    decided = codes.present() ? MatchesEndedContainer(codes) : MatchesEviction(conditions);
    ignores = decided && rule.Get("action").Text() == "Ignore";
  });
  return ignores;
}

bool HasEnded(const JsonView& conditions) {
  bool ended = false;
  conditions.Items([&](const JsonView& condition) {
    const std::string_view type = condition.Get("type").Text();
    ended = ended ||
            ((type == "Complete" || type == "Failed") && condition.Get("status").Text() == "True");
  });
  return ended;
}

// Its activeDeadlineSeconds count from status.startTime, which its controller sets when it begins
// to make pods, and anew when it goes on after it was suspended: not from when a pod starts
// (pastActiveDeadline there).
cluster::Time ReadEnd(const JsonView& deadline, const JsonView& start) {
  const std::string_view text = start.Text();
  if (!deadline.present() || text.empty()) return {};
  const Result<cluster::Time> started = ParseTimestamp(text);
  const int64_t seconds = deadline.Integer(0, 0, INT32_MAX);
  return started.ok() && seconds > 0 ? *started + cluster::Seconds(seconds) : cluster::Time();
}

}  // namespace

Result<DecodedBatchJob> DecodeBatchJob(const JsonNode& json) {
  JsonProblems problems;
  const JsonView object(json, "Job", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "Job", Scope::kNamespace, Source::kApiServer);
  DecodedBatchJob decoded;
  decoded.job.uid = cluster::JobUid(meta.uid);
  decoded.job.key = meta.key;
  decoded.job.resource_version = meta.resource_version;
  const JsonView spec = object.Get("spec");
  const JsonView policy = spec.Get("podFailurePolicy");
  const JsonView rules = policy.Get("rules");
  decoded.job.ignores_evictions = IgnoresEvictions(rules);
  // The API server fills it in: Failed where there is a policy.
  const JsonView replacement = spec.Get("podReplacementPolicy");
  decoded.job.waits_for_the_end = replacement.Text() == "Failed" || policy.present();
  const JsonView metadata = object.Get("metadata");
  decoded.job.run_times = ReadRunTimes(metadata, spec.Get("activeDeadlineSeconds"));
  const JsonView status = object.Get("status");
  decoded.job.run_times.ends_at =
      ReadEnd(spec.Get("activeDeadlineSeconds"), status.Get("startTime"));
  const JsonView conditions = status.Get("conditions");
  decoded.ended = HasEnded(conditions);
  if (!problems.none()) return problems.first();
  return decoded;
}

}  // namespace muster::kube
