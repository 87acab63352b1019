#include "kube/decode/node_devices.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "cluster/base/quantity.hpp"
#include "cluster/base/split.hpp"
#include "kube/decode/cloud_gpus.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Gpu;
using cluster::GpuIndex;
using cluster::GpuSharing;
using cluster::Labels;
using cluster::MiB;
using cluster::Result;

namespace {

constexpr const char* kProductLabel = "nvidia.com/gpu.product";
constexpr const char* kMemoryLabel = "nvidia.com/gpu.memory";
constexpr const char* kReplicasLabel = "nvidia.com/gpu.replicas";
constexpr const char* kStrategyLabel = "nvidia.com/gpu.sharing-strategy";
constexpr const char* kMigStrategyLabel = "nvidia.com/mig.strategy";
// GKE's own device plugin, of which GPU feature discovery knows nothing.
constexpr const char* kGkeReplicasLabel = "cloud.google.com/gke-max-shared-clients-per-gpu";
constexpr const char* kGkeStrategyLabel = "cloud.google.com/gke-gpu-sharing-strategy";
constexpr const char* kGkePartitionLabel = "cloud.google.com/gke-gpu-partition-size";
// What GPU feature discovery appends to the product of a device that is shared in time.
constexpr std::string_view kSharedSuffix = "-SHARED";
constexpr std::string_view kMigMark = "-MIG-";
constexpr size_t kMaxAnnotationBytes = size_t{1} << 20;

// "exclusive, time-slicing, … or mig".
std::string SharingNames() {
  const std::span<const GpuSharing> known = cluster::KnownSharings();
  std::string text;
  for (size_t i = 0; i < known.size(); ++i) {
    if (i > 0) text += i + 1 < known.size() ? ", " : " or ";
    text += known[i]->name();
  }
  return text;
}

std::string_view Find(const Labels& texts, const char* key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

// A positive whole number in a label; `otherwise` when the label is missing or malformed.
int64_t CountLabel(const Labels& labels, const char* key, int64_t otherwise,
                   std::vector<std::string>& warnings) {
  const std::string_view text = Find(labels, key);
  if (text.empty()) return otherwise;
  const Result<int64_t> count = cluster::ParseCount(text);
  if (count.ok() && *count >= 1) return *count;
  warnings.push_back("label " + std::string(key) + " ignored: expected a whole number, at least 1");
  return otherwise;
}

// muster.dev/gpu-sharing, annotation before label.
std::optional<GpuSharing> OperatorsWord(const DeviceSources& sources,
                                        std::vector<std::string>& warnings) {
  std::string_view text = Find(sources.annotations, kGpuSharing);
  if (text.empty()) text = Find(sources.labels, kGpuSharing);
  if (text.empty()) return std::nullopt;
  const std::optional<GpuSharing> sharing = cluster::FindSharing(text);
  if (sharing == GpuSharing::Fractional() || sharing == GpuSharing::Exclusive()) return sharing;
  warnings.push_back(std::string(kGpuSharing) + " ignored: expected fractional or exclusive");
  return std::nullopt;
}

// Leaves out the devices that are given out as partitions; these are as healthy, and cordoned, as
// they are. In order of index.
Result<std::vector<Gpu>> ResolveParents(std::vector<Gpu> gpus) {
  std::set<GpuIndex> parents;
  for (Gpu& gpu : gpus) {
    if (!gpu.partition()) continue;
    parents.insert(gpu.parent);
    const auto parent =
        std::lower_bound(gpus.begin(), gpus.end(), gpu.parent,
                         [](const Gpu& one, GpuIndex wanted) { return one.index < wanted; });
    if (parent == gpus.end() || parent->index != gpu.parent) continue;
    if (parent->partition()) {
      return Error{Code::kInvalidArgument,
                   "device " + std::to_string(gpu.index.value) + " is a partition of device " +
                       std::to_string(parent->index.value) + ", which is a partition itself",
                   kGpuDevicesAnnotation};
    }
    gpu.healthy = gpu.healthy && parent->healthy;
    gpu.cordoned = gpu.cordoned || parent->cordoned;
  }
  std::erase_if(gpus, [&](const Gpu& gpu) { return parents.contains(gpu.index); });
  return gpus;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The devices that HAMi's users cordoned, by UUID.
class Cordon {
 public:
  explicit Cordon(const Labels& annotations) {
    for (const std::string_view part :
         cluster::Split(Find(annotations, kHamiCordonAnnotation), ',')) {
      const std::string_view uuid = Trimmed(part);
      if (!uuid.empty()) found_.try_emplace(std::string(uuid), false);
    }
  }

  void Mark(std::vector<Gpu>& gpus) {
    for (Gpu& gpu : gpus) {
      const auto at = found_.find(gpu.uuid);
      if (at == found_.end()) continue;
      at->second = true;
      gpu.cordoned = true;
    }
  }

  void WarnOfOthers(std::vector<std::string>& warnings) const {
    for (const auto& [uuid, found] : found_) {
      if (found) continue;
      warnings.push_back("annotation " + std::string(kHamiCordonAnnotation) +
                         " names devices that the node does not have, \"" + uuid +
                         "\" for example");
      return;
    }
  }

 private:
  std::map<std::string, bool> found_;  // by UUID: a device of the node has it
};

Result<std::vector<Gpu>> ParseGpuDevices(std::string_view text, Cordon& cordon) {
  const Result<Json> json = Json::Parse(text, kMaxAnnotationBytes, kGpuDevicesAnnotation);
  if (!json.ok()) return json.error().At(kGpuDevicesAnnotation);
  JsonProblems problems;
  const JsonView list(json->root(), kGpuDevicesAnnotation, problems);
  std::vector<Gpu> gpus;
  list.Items([&](const JsonView& item) {
    Gpu gpu;
    const JsonView index = item.Get("index");
    if (!index.present()) index.Problem("is missing");
    gpu.index.value = static_cast<uint16_t>(index.Integer(0, 0, UINT16_MAX));
    gpu.uuid = item.Get("uuid").Text();
    gpu.model = item.Get("model").Text();
    gpu.memory = MiB(item.Get("memory").Integer(0, 0, std::numeric_limits<int64_t>::max()));
    gpu.healthy = item.Get("healthy").Flag(true);
    gpu.cordoned = item.Get("cordoned").Flag(false);
    const JsonView sharing = item.Get("sharing");
    const std::optional<GpuSharing> known =
        sharing.present() ? cluster::FindSharing(sharing.Text()) : GpuSharing::Exclusive();
    if (!known) sharing.Problem("expected " + SharingNames());
    gpu.sharing = known.value_or(GpuSharing::Exclusive());
    gpu.replicas = static_cast<int32_t>(
        item.Get("replicas").Integer(1, 1, std::numeric_limits<int32_t>::max()));
    const JsonView parent = item.Get("parent");
    if (parent.present()) {
      gpu.parent.value =
          static_cast<uint16_t>(parent.Integer(0, 0, Gpu::kNoParent.value - int64_t{1}));
    }
    gpus.push_back(std::move(gpu));
  });
  if (!problems.none()) return problems.first();
  cordon.Mark(gpus);
  Result<std::vector<Gpu>> ordered = OrderByIndex(std::move(gpus));
  return ordered.ok() ? ResolveParents(std::move(*ordered)) : ordered;
}

// Model and memory of each.
Gpu DescribedByLabels(const Labels& labels, std::vector<std::string>& warnings) {
  const char* const cloud = CloudMemoryLabel(labels);
  const bool discovered = cloud == nullptr || labels.contains(kMemoryLabel);
  Gpu gpu;
  gpu.memory = MiB(CountLabel(labels, discovered ? kMemoryLabel : cloud, 0, warnings));
  gpu.model = Find(labels, kProductLabel);
  if (gpu.model.empty()) gpu.model = CloudModel(labels);
  const std::string_view partition = Find(labels, kGkePartitionLabel);
  const bool named = gpu.model.empty() || gpu.model.find(kMigMark) != std::string::npos;
  if (!partition.empty() && !named) (gpu.model += kMigMark) += partition;
  return gpu;
}

// What the node advertises is MIG devices, all of one profile.
bool AllPartitions(const Labels& labels, std::string_view model) {
  if (!Find(labels, kGkePartitionLabel).empty()) return true;
  return Find(labels, kMigStrategyLabel) == "single" &&
         model.find(kMigMark) != std::string_view::npos;
}

std::vector<Gpu> DevicesFromLabels(const DeviceSources& sources,
                                   std::vector<std::string>& warnings) {
  const int64_t offered = std::max<int64_t>(sources.advertised, 0);
  const int64_t all = std::max(sources.capacity, offered);
  if (all == 0) return {};
  Gpu gpu = DescribedByLabels(sources.labels, warnings);
  const std::string_view clients = Find(sources.labels, kGkeReplicasLabel);
  const bool gke = !clients.empty() && clients != "1";
  const char* const replicas_label = gke ? kGkeReplicasLabel : kReplicasLabel;
  const std::string_view strategy = Find(sources.labels, gke ? kGkeStrategyLabel : kStrategyLabel);
  const int64_t replicas = CountLabel(sources.labels, replicas_label, 1, warnings);
  if (replicas > 1 && replicas <= std::numeric_limits<int32_t>::max() && strategy != "none") {
    gpu.replicas = static_cast<int32_t>(replicas);
    gpu.sharing = strategy == "mps" ? GpuSharing::Mps() : GpuSharing::TimeSliced();
    if (gpu.model.ends_with(kSharedSuffix)) {
      gpu.model.resize(gpu.model.size() - kSharedSuffix.size());
    }
  } else if (AllPartitions(sources.labels, gpu.model)) {
    gpu.sharing = GpuSharing::Mig();
  } else if (const std::optional<GpuSharing> sharing = OperatorsWord(sources, warnings)) {
    gpu.sharing = *sharing;
  }
  const int64_t healthy = offered / gpu.replicas;
  int64_t devices = std::max(healthy, all / gpu.replicas);
  if (healthy * gpu.replicas != offered) {
    warnings.push_back("allocatable nvidia.com/gpu is no multiple of label " +
                       std::string(replicas_label) + ": the rest is left unused");
  }
  if (devices > kMaxGpusPerNode) {
    warnings.push_back("allocatable nvidia.com/gpu: more than " + std::to_string(kMaxGpusPerNode) +
                       " devices, the others are left unused");
    devices = kMaxGpusPerNode;
  }
  std::vector<Gpu> gpus(static_cast<size_t>(devices), gpu);
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].index.value = static_cast<uint16_t>(i);
    gpus[i].healthy = std::cmp_less(i, healthy);  // nobody says which ones are
  }
  return gpus;
}

// What HAMi's list leaves open: the name of the product as the labels have it, and whether the
// device plugin offers anything at all just now.
std::vector<Gpu> CompleteHami(std::vector<Gpu> gpus, const DeviceSources& sources,
                              std::vector<std::string>& warnings) {
  const std::string_view product = Find(sources.labels, kProductLabel);
  const bool alike = std::all_of(gpus.begin(), gpus.end(),
                                 [&](const Gpu& gpu) { return gpu.model == gpus[0].model; });
  const std::optional<GpuSharing> sharing = OperatorsWord(sources, warnings);
  for (Gpu& gpu : gpus) {
    if (alike && !product.empty()) gpu.model = product;
    if (sharing) gpu.sharing = *sharing;
    if (sources.advertised <= 0) gpu.healthy = false;
  }
  return gpus;
}

std::vector<Gpu> FromBestSource(const DeviceSources& sources, Cordon& cordon,
                                std::vector<std::string>& warnings) {
  const std::string_view own = Find(sources.annotations, kGpuDevicesAnnotation);
  if (!own.empty()) {
    Result<std::vector<Gpu>> gpus = ParseGpuDevices(own, cordon);
    if (gpus.ok()) return std::move(*gpus);
    warnings.push_back("annotation ignored: " + gpus.error().ToString());
  }
  const std::string_view hami = Find(sources.annotations, kHamiRegisterAnnotation);
  if (!hami.empty()) {
    Result<std::vector<Gpu>> gpus = ParseHamiRegister(hami);
    if (gpus.ok()) cordon.Mark(*gpus);
    if (gpus.ok()) return CompleteHami(std::move(*gpus), sources, warnings);
    warnings.push_back("annotation ignored: " +
                       gpus.error().At(kHamiRegisterAnnotation).ToString());
  }
  return DevicesFromLabels(sources, warnings);
}

}  // namespace

Result<std::vector<Gpu>> OrderByIndex(std::vector<Gpu> gpus) {
  std::sort(gpus.begin(), gpus.end());
  for (size_t i = 1; i < gpus.size(); ++i) {
    if (gpus[i].index == gpus[i - 1].index) {
      return Error{Code::kInvalidArgument,
                   "index " + std::to_string(gpus[i].index.value) + " is given twice", ""};
    }
  }
  return gpus;
}

std::vector<Gpu> ReadNodeDevices(const DeviceSources& sources, std::vector<std::string>& warnings) {
  Cordon cordon(sources.annotations);
  std::vector<Gpu> gpus = FromBestSource(sources, cordon, warnings);
  cordon.WarnOfOthers(warnings);
  return gpus;
}

bool RegisteredByHami(const Labels& annotations) {
  const std::string_view text = Find(annotations, kHamiRegisterAnnotation);
  if (text.empty()) return false;
  const Result<std::vector<Gpu>> gpus = ParseHamiRegister(text);
  return gpus.ok() && !gpus->empty();
}

void AppendGpuDevices(std::string& out, const std::vector<Gpu>& gpus) {
  JsonWriter json(out);
  json.BeginArray();
  for (const Gpu& gpu : gpus) {
    json.BeginObject().Key("index").Integer(gpu.index.value);
    if (!gpu.uuid.empty()) json.Key("uuid").Text(gpu.uuid);
    if (!gpu.model.empty()) json.Key("model").Text(gpu.model);
    if (gpu.memory.value() != 0) json.Key("memory").Integer(gpu.memory.value());
    if (!gpu.healthy) json.Key("healthy").Flag(false);
    if (gpu.cordoned) json.Key("cordoned").Flag(true);
    if (gpu.sharing != GpuSharing::Exclusive()) json.Key("sharing").Text(gpu.sharing->name());
    if (gpu.replicas != 1) json.Key("replicas").Integer(gpu.replicas);
    if (gpu.partition()) json.Key("parent").Integer(gpu.parent.value);
    json.EndObject();
  }
  json.EndArray();
}

int64_t AdvertisedGpus(const std::vector<Gpu>& gpus) {
  int64_t advertised = 0;
  for (const Gpu& gpu : gpus) {
    if (gpu.healthy) advertised += gpu.sharing->ReplicasOf(gpu.size());
  }
  return advertised;
}

}  // namespace muster::kube
