#include "config/profiles/topology_profile.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/dns_names.hpp"
#include "config/fields/field_file.hpp"
#include "config/file.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

bool IsLabelValue(std::string_view text) {
  const auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), part);
}

bool IsText(std::string_view text) { return !text.empty(); }

constexpr TextRule kName{"a name (lower-case letters, digits and '-')", IsDnsLabel};
constexpr TextRule kProduct{"the value of a label such as NVIDIA-H100-80GB-HBM3", IsLabelValue};
constexpr TextRule kMatrix{"the output of nvidia-smi topo -m or another vendor's tool", IsText};

// Whole numbers of the file and where they go.
struct Speed {
  FieldInfo info;
  topology::MegabytesPerSecond topology::LinkSpeeds::*member;
};

void VisitSpeeds(topology::LinkSpeeds* speeds, FieldVisitor* visitor) {
  using topology::LinkSpeeds;
  constexpr WholeRange kRange{topology::kLeastSpeed, topology::kMostSpeed};
  for (const Speed& speed : {Speed{{"nvlink", "One NVLink."}, &LinkSpeeds::nvlink},
                             Speed{{"pcie", "A GPU's PCIe slot."}, &LinkSpeeds::pcie},
                             Speed{{"sys", "The link between sockets."}, &LinkSpeeds::sys},
                             Speed{{"xgmi", "One link of AMD."}, &LinkSpeeds::xgmi},
                             Speed{{"hccs", "One link of Huawei."}, &LinkSpeeds::hccs},
                             Speed{{"icn", "One link of T-Head."}, &LinkSpeeds::icn}}) {
    int64_t value = speeds->*speed.member;
    visitor->Whole(speed.info, kRange, &value);
    speeds->*speed.member = static_cast<topology::MegabytesPerSecond>(value);
  }
}

}  // namespace

TopologyProfileReading ReadTopologyProfile(std::string_view text, const std::string& file_name) {
  TopologyProfileReading reading;
  topology::MachineProfile& profile = reading.profile;
  std::string matrix;
  FieldFile file;
  file.what = "a topology profile (apiVersion: muster.dev/v1alpha1, kind: TopologyProfile)";
  file.fields = [&](FieldVisitor* visitor) {
    VisitHead(visitor, "apiVersion", "muster.dev/v1alpha1");
    VisitHead(visitor, "kind", "TopologyProfile");
    visitor->Text({"name", "What messages call it."}, kName, &profile.name);
    visitor->TextList({"products", "Values of the label nvidia.com/gpu.product that it is for."},
                      kProduct, &profile.products);
    visitor->Section({"speeds", "Megabytes (10^6) a second, one way."},
                     [&] { VisitSpeeds(&profile.speeds, visitor); });
    visitor->Text({"matrix", "What the vendor's tool prints."}, kMatrix, &matrix);
  };
  file.contradictions = [&]() -> std::vector<Contradiction> {
    std::vector<Contradiction> wrong;
    if (profile.products.empty()) wrong.push_back({"products", "expected at least one"});
    Result<topology::Machine> machine = topology::ParseMachine(matrix, "the matrix");
    if (!machine.ok()) {
      wrong.push_back({"matrix", machine.error().ToString()});
    } else if (!machine->has_links()) {
      wrong.push_back({"matrix", "expected a matrix of links, found a list of GPUs"});
    } else {
      profile.machine = *std::move(machine);
    }
    return wrong;
  };
  file.max_bytes = topology::kMostTopologyBytes;
  reading.faults = ReadFields(text, file_name, file);
  return reading;
}

Result<topology::MachineProfiles> LoadTopologyProfiles(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".yaml") paths.push_back(entry->path().string());
  }
  if (failed) return Error{Code::kIo, "cannot be listed: " + failed.message(), folder};
  std::sort(paths.begin(), paths.end());
  std::vector<topology::MachineProfile> profiles;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path, topology::kMostTopologyBytes);
    if (!text.ok()) return text.error();
    TopologyProfileReading reading = ReadTopologyProfile(*text, path);
    if (!reading.ok()) return reading.faults.front();
    profiles.push_back(std::move(reading.profile));
  }
  Result<topology::MachineProfiles> all = topology::MachineProfiles::Of(std::move(profiles));
  if (!all.ok()) return all.error().At(folder);
  return all;
}

}  // namespace muster::config
