#include "extender/embedded/workload.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "config/listed.hpp"
#include "extender/embedded/fact_reader.hpp"
#include "extender/embedded/manifests.hpp"
#include "kube/admission/admission_review.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/world/job_controller.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

namespace {

// Unlike the seed of any embedded cluster, so that no UID is one of a live object.
constexpr uint64_t kSeed = 0x7768'6174'2d69'6621;

// "Pod default/train-0"; empty: the fact is of another kind.
std::string NameOf(const engine::Fact& fact) {
  const auto named = [](const char* kind, const cluster::ObjectKey& key) {
    return std::string(kind) + " " + key.ns + "/" + key.name;
  };
  if (const auto* node = std::get_if<cluster::Node>(&fact)) return "Node " + node->name;
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) return named("Pod", pod->key);
  const auto* group = std::get_if<cluster::PodGroup>(&fact);
  return group == nullptr || group->declared ? "" : named("PodGroup", group->key);
}

// Of manifests, those that their Jobs make at first included.
struct PodCounts {
  int64_t ours = 0;
  int64_t others = 0;  // another scheduler's, without a node
};

PodCounts CountPods(const std::vector<ManifestObject>& objects,
                    const std::vector<std::string>& scheduler_names) {
  PodCounts counts;
  const auto add = [&](const cluster::Pod& pod, int64_t pods) {
    const auto found =
        std::find(scheduler_names.begin(), scheduler_names.end(), pod.spec->scheduler_name);
    if (found != scheduler_names.end()) {
      counts.ours += pods;
    } else if (!pod.bound() && !pod.terminal()) {
      counts.others += pods;
    }
  };
  for (const ManifestObject& object : objects) {
    if (const auto* pod = std::get_if<sim::PodRecord>(&object)) add(pod->pod, 1);
    if (const auto* job = std::get_if<sim::JobRecord>(&object)) add(job->pod.pod, job->parallelism);
  }
  return counts;
}

// What is not Muster's of manifests, and how it would be.
class LeftOut {
 public:
  explicit LeftOut(const std::vector<std::string>& scheduler_names) : names_(scheduler_names) {}

  // The warning; empty: nothing is left out of the file.
  std::string Add(const std::vector<ManifestObject>& objects, const std::string& file) {
    const PodCounts counts = CountPods(objects, names_);
    ours_ += counts.ours;
    others_ += counts.others;
    if (counts.others == 0) return {};
    const std::string pods =
        std::to_string(counts.others) + (counts.others == 1 ? " pod of " : " pods of ") + file;
    files_ += (files_.empty() ? "" : ", ") + pods;
    return Text(pods, counts.others);
  }

  // Where there are pods, and none is Muster's, there is nothing to ask about.
  Status Check() const {
    if (ours_ > 0 || others_ == 0) return Ok{};
    return Error{Code::kInvalidArgument, Text(files_, others_), ""};
  }

 private:
  std::string Text(const std::string& pods, int64_t count) const {
    const bool one = count == 1;
    return pods + (one ? " does" : " do") +
           " not say schedulerName: " + config::Listed(names_, " or ") + " and " +
           (one ? "is" : "are") + " left out (a namespace with label " + kube::kScheduleLabel +
           " has it set)";
  }

  const std::vector<std::string>& names_;
  std::string files_;
  int64_t ours_ = 0;
  int64_t others_ = 0;
};

}  // namespace

Result<Workload> ReadWorkload(const std::vector<ManifestText>& manifests,
                              const kube::GroupingSettings& grouping, cluster::Time now) {
  Workload workload;
  std::vector<ManifestObject> objects;
  LeftOut left_out(grouping.scheduler_names);
  for (const ManifestText& file : manifests) {
    const int64_t number = &file - manifests.data();
    Result<Manifests> read = ReadManifests(file.text, file.name, Malformed::kRefused, {}, number);
    if (!read.ok()) return read.error();
    if (read->objects.empty())
      return Error{Code::kInvalidArgument, "expected at least one object, found none", file.name};
    std::string warning = left_out.Add(read->objects, file.name);
    std::move(read->objects.begin(), read->objects.end(), std::back_inserter(objects));
    std::move(read->warnings.begin(), read->warnings.end(), std::back_inserter(workload.warnings));
    if (!warning.empty()) workload.warnings.push_back(std::move(warning));
  }
  if (Status asked = left_out.Check(); !asked.ok()) return asked.error();
  sim::EventLoop loop(now);
  sim::ApiServerOptions options;
  options.seed = kSeed;
  options.gating = sim::Gating::kAll;
  options.gated_schedulers = grouping.scheduler_names;
  sim::ApiServer api(loop, options);
  FactReader reader(grouping,
                    [&](const std::string& warning) { workload.warnings.push_back(warning); });
  const sim::Informer informer(
      loop, api, FactReader::kWatched, {}, kSeed,
      [&](const sim::WatchEvent& event) {
        for (engine::Fact& fact : reader.Read(event)) workload.facts.push_back(std::move(fact));
      },
      [] {});
  const sim::JobController jobs(loop, api);
  if (Status created = CreateObjects(api, objects); !created.ok()) return created.error();
  loop.RunUntil(now);
  return workload;
}

Status CheckNames(const std::vector<engine::Fact>& known,
                  const std::vector<engine::Fact>& workload) {
  std::set<std::string> names;
  for (const engine::Fact& fact : workload) names.insert(NameOf(fact));
  for (const engine::Fact& fact : known) {
    const std::string name = NameOf(fact);
    if (!name.empty() && names.contains(name))
      return Error{Code::kConflict, name + " exists already: give it another name", ""};
  }
  return Ok{};
}

}  // namespace muster::extender
