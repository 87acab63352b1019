#include "sim/replay/trace.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "sim/replay/csv.hpp"
#include "sim/replay/job_owners.hpp"
#include "sim/replay/trace_parts.hpp"

namespace muster::sim {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

constexpr int64_t kMostMilli = 1'000'000'000;
// The published openb protocol lets a node run at most 1001 pods.
constexpr int64_t kOpenbPodSlots = 1001;
constexpr const char* kModelLabel = "nvidia.com/gpu.product";

// "A|B" → affinity to nodes of one of these models.
void AllowModels(std::string_view models, cluster::PodSpec& spec) {
  if (models.empty()) return;
  cluster::SelectorRequirement requirement{kModelLabel, cluster::SelectorOperator::kIn, {}};
  while (!models.empty()) {
    const size_t bar = models.find('|');
    requirement.values.emplace_back(models.substr(0, bar));
    models.remove_prefix(bar == std::string_view::npos ? models.size() : bar + 1);
  }
  spec.constraints.has_affinity = true;
  spec.constraints.affinity_terms.push_back({{std::move(requirement)}, {}});
}

}  // namespace

Result<std::vector<cluster::Node>> ReadOpenbNodes(std::string_view text,
                                                  const std::string& file_name) {
  enum Column { kName, kCpu, kMemory, kGpus, kModel };
  const Result<CsvFile> csv =
      CsvFile::Parse(text, file_name, {"sn", "cpu_milli", "memory_mib", "gpu", "model"});
  if (!csv.ok()) return csv.error();
  std::vector<cluster::Node> nodes;
  std::set<std::string> names;
  for (size_t row = 0; row < csv->rows(); ++row) {
    const Result<int64_t> cpu = csv->Integer(row, kCpu, 0, kMostMilli);
    if (!cpu.ok()) return cpu.error();
    const Result<int64_t> memory = csv->Integer(row, kMemory, 0, kMostMilli);
    if (!memory.ok()) return memory.error();
    const Result<int64_t> gpus = csv->Integer(row, kGpus, 0, 128);
    if (!gpus.ok()) return gpus.error();
    cluster::Node node;
    node.name = std::string(csv->Text(row, kName));
    if (node.name.empty() || !names.insert(node.name).second) {
      return csv->ErrorAt(row, kName, "expected a name of its own, found \"" + node.name + "\"");
    }
    node.labels[kModelLabel] = std::string(csv->Text(row, kModel));
    node.allocatable = {cluster::MilliCpu(*cpu), cluster::MiB(*memory), kOpenbPodSlots};
    for (int64_t i = 0; i < *gpus; ++i) {
      cluster::Gpu gpu;
      gpu.index = cluster::GpuIndex{static_cast<uint16_t>(i)};
      gpu.model = node.labels[kModelLabel];
      gpu.sharing = cluster::GpuSharing::Fractional();
      node.gpus.push_back(std::move(gpu));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<TraceJob>> ReadOpenbPods(std::string_view text, const std::string& file_name) {
  // The multigpu* variants of the trace have the first five columns only.
  const std::string_view header = text.substr(0, text.find('\n'));
  std::vector<std::string> columns = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  const bool full = header.find("gpu_spec") != std::string_view::npos;
  if (full) columns.insert(columns.end(), {"gpu_spec", "creation_time", "deletion_time"});
  enum Column { kName, kCpu, kMemory, kGpus, kMilli, kModels, kCreated, kDeleted };
  const Result<CsvFile> csv = CsvFile::Parse(text, file_name, columns, OwnerColumns());
  if (!csv.ok()) return csv.error();
  std::vector<TraceJob> jobs;
  std::set<std::string> names;
  for (size_t row = 0; row < csv->rows(); ++row) {
    int64_t numbers[8] = {};
    for (size_t column = kCpu; column < columns.size(); ++column) {
      if (column == kModels) continue;
      const int64_t most = column == kGpus      ? 128
                           : column == kMilli   ? 1000
                           : column >= kCreated ? kMostTraceSeconds
                                                : kMostMilli;
      const Result<int64_t> number = csv->Integer(row, column, 0, most);
      if (!number.ok()) return number.error();
      numbers[column] = *number;
    }
    TraceJob job;
    job.name = std::string(csv->Text(row, kName));
    if (job.name.empty() || !names.insert(job.name).second) {
      return csv->ErrorAt(row, kName, "expected a name of its own, found \"" + job.name + "\"");
    }
    cluster::PodSpec spec;
    spec.requests.cpu = cluster::MilliCpu(numbers[kCpu]);
    spec.requests.memory = cluster::MiB(numbers[kMemory]);
    if (numbers[kGpus] > 0) {
      if (numbers[kMilli] == 0)
        return csv->ErrorAt(row, kMilli, "a pod with GPUs asks for 1 to 1000 of each, found 0");
      spec.gpus.count = static_cast<int32_t>(numbers[kGpus]);
      spec.gpus.each = cluster::GpuMilli(numbers[kMilli]);
    }
    if (full) AllowModels(csv->Text(row, kModels), spec);
    job.submitted = cluster::Time() + cluster::Seconds(numbers[kCreated]);
    if (numbers[kDeleted] > 0) job.deleted = cluster::Time() + cluster::Seconds(numbers[kDeleted]);
    job.pods.push_back(PodOfTrace(job.name, std::move(spec)));
    if (Status read = ReadOwner(*csv, row, columns.size(), job); !read.ok()) return read.error();
    jobs.push_back(std::move(job));
  }
  SortBySubmission(jobs);
  return jobs;
}

}  // namespace muster::sim
