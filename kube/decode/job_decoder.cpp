#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/decode/pod_reader.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Result;

// A malformed Job is refused. A malformed template is a defect of its pods, as it would be of pods
// that exist.
Result<Job> DecodeJob(const JsonNode& json, const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "Job", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "Job", Scope::kNamespace, options.source);
  // Others have Jobs too (batch.volcano.sh), which say other things.
  const JsonView version = object.Get("apiVersion");
  if (!version.Text().empty() && version.Text() != "batch/v1") version.Problem("expected batch/v1");
  const JsonView spec = object.Get("spec");
  Job job;
  job.uid = meta.uid;
  job.key = meta.key;
  if (spec.ExpectObject()) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const JsonView completions = spec.Get("completions");
    job.parallelism = spec.Get("parallelism").Integer(1, 0, kMost);
    // Without completions any number of pods may succeed; those at work at a time are all there
    // are.
    job.completions = completions.Integer(job.parallelism, 0, kMost);
    job.parallelism = std::min(job.parallelism, job.completions);
    job.suspend = spec.Get("suspend").Flag(false);
    spec.Get("template").ExpectObject();
  }
  if (!problems.none()) return problems.first();
  JsonProblems defects;
  const JsonView job_view(json, "Job", defects);
  const JsonView spec_view = job_view.Get("spec");
  const JsonView pod_template = spec_view.Get("template");
  job.pod.key.ns = meta.key.ns;
  ReadPod(pod_template, options, job.pod);
  job.pod.owner_uid = meta.uid;
  // Where nobody tells of the Job itself, its pods say what it says.
  const JsonView metadata = job_view.Get("metadata");
  cluster::RunTimes times = ReadRunTimes(metadata, spec_view.Get("activeDeadlineSeconds"));
  if (job.pod.run_times != nullptr) times.Tighten(*job.pod.run_times);
  if (!times.none()) job.pod.run_times = std::make_shared<const cluster::RunTimes>(times);
  if (!defects.none()) job.pod.defect = defects.first().ToString();
  return job;
}

Result<Job> DecodeJob(std::string_view json, const DecodeOptions& options) {
  const Result<Json> parsed = Json::Parse(json, options.max_bytes, "Job");
  if (!parsed.ok()) return parsed.error();
  return DecodeJob(parsed->root(), options);
}

}  // namespace muster::kube
