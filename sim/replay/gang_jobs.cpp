// The reader of gang jobs (trace.hpp).
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "sim/replay/csv.hpp"
#include "sim/replay/job_owners.hpp"
#include "sim/replay/trace.hpp"
#include "sim/replay/trace_parts.hpp"

namespace muster::sim {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;
using cluster::TopologySegment;
using cluster::TopologyTerms;

namespace {

constexpr int64_t kGpusPerMember = 8;
constexpr int64_t kMostGpusPerMember = 128;
constexpr int64_t kMostMembers = 16384;
// What a member takes beside its GPUs; the Philly list does not say, and it is meant to be bound by
// GPUs.
constexpr int64_t kMilliCpuPerGpu = 4000;
constexpr int64_t kMiBPerGpu = 32 * 1024;

enum Column {
  kId,
  kSubmitted,
  kGpus,
  kDuration,
  kPerPod,
  kRequired,
  kPreferred,
  kWhole,
  kRather,
  kOwner,  // and those after it
};

// LEVEL=PODS;LEVEL=PODS
Status ReadSegments(const CsvFile& csv, size_t row, Column column, TopologyTerms& terms) {
  std::string_view rest = csv.Text(row, column);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view size = item.substr(std::min(equals + 1, item.size()));
    TopologySegment segment{std::string(item.substr(0, equals)), 0, column == kWhole};
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), segment.size);
    const bool number = error == std::errc() && end == size.data() + size.size();
    if (segment.level.empty() || !number || segment.size < 1 || segment.size > kMostMembers) {
      return csv.ErrorAt(row, column,
                         "expected LEVEL=PODS such as rack=4, several with ';' in between, found "
                         "\"" +
                             std::string(item) + "\"");
    }
    terms.segments.push_back(std::move(segment));
  }
  return cluster::Ok{};
}

// What is wrong with the terms as such; empty: nothing.
std::string DefectIn(const topology::FabricOptions& fabric, const TopologyTerms& terms) {
  const std::string defect = topology::DefectOf(fabric, terms);
  const size_t colon = defect.find(": ");  // before it is an annotation, which nobody wrote
  return colon == std::string::npos ? defect : defect.substr(colon + 2);
}

// The largest first, each in whole pieces of the next one, and the job in whole ones of the first.
std::string ArrangeSegments(std::vector<TopologySegment>& segments, int64_t members) {
  std::stable_sort(
      segments.begin(), segments.end(),
      [](const TopologySegment& a, const TopologySegment& b) { return a.size > b.size; });
  if (segments.size() > TopologyTerms::kMostSegments)
    return "expected at most " + std::to_string(TopologyTerms::kMostSegments) + " segments";
  int64_t whole = members;
  const char* of = " pods of the job";
  for (const TopologySegment& segment : segments) {
    if (whole % segment.size != 0) {
      return "the " + std::to_string(whole) + of + " are not whole segments of " +
             std::to_string(segment.size);
    }
    whole = segment.size;
    of = " pods of a segment";
  }
  return {};
}

Result<TopologyTerms> ReadTerms(const CsvFile& csv, size_t row, int64_t members,
                                const topology::FabricOptions& fabric) {
  TopologyTerms terms;
  terms.required = std::string(csv.Text(row, kRequired));
  terms.preferred = std::string(csv.Text(row, kPreferred));
  for (const Column column : {kWhole, kRather}) {
    if (Status read = ReadSegments(csv, row, column, terms); !read.ok()) return read.error();
  }
  const auto check = [&](Column column, const TopologyTerms& part) -> Status {
    const std::string defect = DefectIn(fabric, part);
    if (!defect.empty()) return csv.ErrorAt(row, column, defect);
    return cluster::Ok{};
  };
  // Each by itself, so that the error is at its cell; then together.
  Status fine = check(kRequired, {terms.required, ""});
  if (fine.ok()) fine = check(kPreferred, {"", terms.preferred});
  for (const TopologySegment& segment : terms.segments) {
    if (fine.ok()) fine = check(segment.required ? kWhole : kRather, {"", "", {segment}});
  }
  const bool some = !terms.segments.empty();
  const Column last = !some ? kPreferred : csv.Text(row, kWhole).empty() ? kRather : kWhole;
  if (fine.ok()) fine = check(last, terms);
  if (!fine.ok()) return fine.error();
  const std::string defect = ArrangeSegments(terms.segments, members);
  if (!defect.empty()) return csv.ErrorAt(row, last, defect);
  return terms;
}

Result<TraceJob> ReadJob(const CsvFile& csv, size_t row, const topology::FabricOptions& fabric) {
  const Result<int64_t> submitted = csv.Integer(row, kSubmitted, 0, kMostTraceSeconds);
  if (!submitted.ok()) return submitted.error();
  Result<int64_t> per_pod = kGpusPerMember;
  if (!csv.Text(row, kPerPod).empty()) per_pod = csv.Integer(row, kPerPod, 1, kMostGpusPerMember);
  if (!per_pod.ok()) return per_pod.error();
  const Result<int64_t> gpus = csv.Integer(row, kGpus, 1, kMostMembers * *per_pod);
  if (!gpus.ok()) return gpus.error();
  const Result<int64_t> duration = csv.Integer(row, kDuration, 0, kMostTraceSeconds);
  if (!duration.ok()) return duration.error();
  TraceJob job;
  job.name = "job-" + std::string(csv.Text(row, kId));
  job.submitted = cluster::Time() + cluster::Seconds(*submitted);
  job.runs_for = cluster::Seconds(*duration);
  const int64_t members = (*gpus + *per_pod - 1) / *per_pod;
  const int64_t each = *gpus % members == 0 ? *gpus / members : *per_pod;
  Result<TopologyTerms> terms = ReadTerms(csv, row, members, fabric);
  if (!terms.ok()) return terms.error();
  job.topology = *std::move(terms);
  for (int64_t left = *gpus; left > 0; left -= each) {
    cluster::PodSpec spec;
    spec.gpus.count = static_cast<int32_t>(std::min(left, each));
    spec.requests.cpu = cluster::MilliCpu(kMilliCpuPerGpu) * spec.gpus.count;
    spec.requests.memory = cluster::MiB(kMiBPerGpu) * spec.gpus.count;
    if (members == 1) spec.topology = job.topology;
    const std::string number = std::to_string(job.pods.size());
    job.pods.push_back(
        PodOfTrace(members == 1 ? job.name : job.name + "-" + number, std::move(spec)));
  }
  if (Status read = ReadOwner(csv, row, kOwner, job); !read.ok()) return read.error();
  return job;
}

}  // namespace

Result<std::vector<TraceJob>> ReadGangJobs(std::string_view text, const std::string& file_name,
                                           const topology::FabricOptions& fabric) {
  std::vector<std::string> optional = {"gpus_per_pod", "topology_required", "topology_preferred",
                                       "segments_required", "segments_preferred"};
  const std::vector<std::string> owner = OwnerColumns();
  optional.insert(optional.end(), owner.begin(), owner.end());
  const Result<CsvFile> csv =
      CsvFile::Parse(text, file_name, {"job_id", "submit_s", "gpus", "duration_s"}, optional);
  if (!csv.ok()) return csv.error();
  std::vector<TraceJob> jobs;
  std::set<std::string> names;
  for (size_t row = 0; row < csv->rows(); ++row) {
    Result<TraceJob> job = ReadJob(*csv, row, fabric);
    if (!job.ok()) return job.error();
    if (!names.insert(job->name).second)
      return csv->ErrorAt(row, kId, "expected an id of its own, found it twice");
    jobs.push_back(*std::move(job));
  }
  SortBySubmission(jobs);
  return jobs;
}

}  // namespace muster::sim
