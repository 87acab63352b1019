#include "extender/embedded/workload.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "extender/embedded/fact_reader.hpp"
#include "extender/embedded/manifests.hpp"
#include "sim/job_controller.hpp"

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

}  // namespace

Result<Workload> ReadWorkload(const std::vector<ManifestText>& manifests,
                              const kube::GroupingSettings& grouping, cluster::Time now) {
  Workload workload;
  std::vector<ManifestObject> objects;
  for (const ManifestText& file : manifests) {
    Result<Manifests> read = ReadManifests(file.text, file.name, Malformed::kRefused);
    if (!read.ok()) return read.error();
    if (read->objects.empty())
      return Error{Code::kInvalidArgument, "expected at least one object, found none", file.name};
    std::move(read->objects.begin(), read->objects.end(), std::back_inserter(objects));
    std::move(read->warnings.begin(), read->warnings.end(), std::back_inserter(workload.warnings));
  }
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
