// ResourceSlice of resource.k8s.io, as NVIDIA's DRA driver (gpu.nvidia.com) publishes it for the
// GPUs of a node. v1 and v1beta2 have a device's attributes in devices[].attributes, v1beta1 in
// devices[].basic.attributes. A name without a domain belongs to the driver's own.
//
//   type                               "gpu"; anything else ("mig", "vfio") is no whole GPU
//   uuid                               as NVML has it: "GPU-…"
//   resource.kubernetes.io/pcieRoot    "pci<domain>:<bus>" of the PCIe root complex
//   resource.kubernetes.io/pciBusID    "<domain>:<bus>:<device>.<function>"; older drivers call it
//                                      pciBusID or pcieBusID
//   resource.kubernetes.io/numaNode    a number, or a list that begins with the device's own node
// The standard ones: kubernetes.io/docs/reference/node/dra-standard-device-attributes.
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

constexpr std::string_view kGpuDriver = "gpu.nvidia.com";
constexpr size_t kShownAddress = 64;  // bytes, in a warning

// The first of these attributes that is there and a text; empty: none is.
std::string_view TextOf(const JsonView& attributes, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const JsonView attribute = attributes.Get(name);
    if (!attribute.present()) continue;
    const std::string_view text = attribute.Get("string").Text();
    if (!text.empty()) return text;
  }
  return {};
}

// Domain, bus, device and function of "0000:17:00.0" in one number.
std::optional<uint64_t> ReadPciAddress(std::string_view text) {
  struct Part {
    unsigned bits;
    char behind;  // 0: the end
  };
  constexpr Part kParts[] = {{32, ':'}, {8, ':'}, {5, '.'}, {3, '\0'}};
  const char* at = text.data();
  const char* const end = at + text.size();
  uint64_t address = 0;
  for (const Part& part : kParts) {
    uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number, 16);
    if (error != std::errc() || number >> part.bits != 0) return std::nullopt;
    const bool last = part.behind == '\0';
    if (last ? next != end : next == end || *next != part.behind) return std::nullopt;
    address = (address << part.bits) | number;
    at = last ? next : next + 1;
  }
  return address;
}

std::optional<int> ReadNumaNode(const JsonView& attributes) {
  const JsonView attribute = attributes.Get("resource.kubernetes.io/numaNode");
  if (!attribute.present()) return std::nullopt;
  std::optional<int64_t> node;
  const auto take = [&](const JsonView& number) {
    if (!node && number.present()) node = number.Integer(-1, INT32_MIN, INT32_MAX);
  };
  const JsonView one = attribute.Get("int");
  take(one);
  const JsonView several = attribute.Get("ints");
  several.Items(take);
  // sysfs has -1 where the kernel does not know it.
  return node && *node >= 0 ? std::optional(static_cast<int>(*node)) : std::nullopt;
}

void ReadGpu(const JsonView& device, const JsonView& attributes, DecodedResourceSlice& decoded) {
  if (!attributes.present() || TextOf(attributes, {"gpu.nvidia.com/type", "type"}) != "gpu") return;
  SliceGpu gpu;
  gpu.uuid = TextOf(attributes, {"gpu.nvidia.com/uuid", "uuid"});
  gpu.pcie_root = TextOf(attributes, {"resource.kubernetes.io/pcieRoot"});
  gpu.numa = ReadNumaNode(attributes);
  const std::string_view address =
      TextOf(attributes, {"resource.kubernetes.io/pciBusID", "gpu.nvidia.com/pciBusID", "pciBusID",
                          "gpu.nvidia.com/pcieBusID", "pcieBusID"});
  gpu.pci_address = ReadPciAddress(address);
  if (!address.empty() && !gpu.pci_address) {
    decoded.ignored.push_back({cluster::Code::kInvalidArgument,
                               "expected a PCI address like 0000:17:00.0, found \"" +
                                   std::string(address.substr(0, kShownAddress)) + "\"",
                               device.Place()});
  }
  decoded.slice.gpus.push_back(std::move(gpu));
}

}  // namespace

Result<DecodedResourceSlice> DecodeResourceSlice(const JsonNode& json,
                                                 const DecodeOptions& options) {
  JsonProblems problems;
  const JsonView object(json, "ResourceSlice", problems);
  const ObjectMeta meta = ReadObjectMeta(object, "ResourceSlice", Scope::kCluster, options.source);
  DecodedResourceSlice decoded;
  decoded.name = meta.key.name;
  ResourceSlice& slice = decoded.slice;
  slice.uid = meta.uid;
  const JsonView spec = object.Get("spec");
  const JsonView node = spec.Get("nodeName");
  if (spec.Get("driver").Text() == kGpuDriver && !node.Text().empty()) {
    slice.node = node.Text();
    const JsonView pool = spec.Get("pool");
    slice.pool = pool.Get("name").RequiredText();
    slice.generation = pool.Get("generation").Integer(0, 0, INT64_MAX);
    slice.slices = pool.Get("resourceSliceCount").Integer(1, 1, INT64_MAX);
    const JsonView devices = spec.Get("devices");
    devices.Items([&](const JsonView& device) {
      const JsonView basic = device.Get("basic");
      const JsonView attributes =
          basic.present() ? basic.Get("attributes") : device.Get("attributes");
      ReadGpu(device, attributes, decoded);
    });
  }
  if (!problems.none()) return problems.first();
  return decoded;
}

}  // namespace muster::kube
