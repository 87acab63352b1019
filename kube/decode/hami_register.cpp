// HAMi's annotation hami.io/node-nvidia-register, as its device plugin writes it:
//   [{"id":"GPU-…","index":0,"devmem":81920,"type":"NVIDIA-…","health":true, …}, …]      today
//   GPU-…,10,81920,100,NVIDIA-…,0,true,0,hami-core:GPU-…                                  before
// In the older form the last two fields of a device may be missing.
// Go leaves out fields with zero values, so a missing "health" is false and a missing "index" 0.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "cluster/base/split.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Gpu;
using cluster::GpuSharing;
using cluster::HamiMode;
using cluster::MiB;
using cluster::Result;
using cluster::Split;

namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

GpuSharing SharingOfMode(std::string_view mode) {
  return mode == "mig" ? GpuSharing::Mig() : GpuSharing::Fractional();
}

HamiMode ModeOf(std::string_view mode) {
  for (const HamiMode one : {HamiMode::kHamiCore, HamiMode::kMig, HamiMode::kMps}) {
    if (mode == cluster::ToString(one)) return one;
  }
  return HamiMode::kNone;
}

Result<int64_t> Number(std::string_view text, int64_t most) {
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0 ||
      value > most) {
    return Error{Code::kInvalidArgument, "expected a whole number", ""};
  }
  return value;
}

Result<Gpu> ParseColonDevice(std::string_view text, size_t position) {
  const std::vector<std::string_view> fields = Split(text, ',');
  if (fields.size() != 7 && fields.size() != 9) {
    return Error{Code::kInvalidArgument, "expected 7 or 9 fields of a device", ""};
  }
  const Result<int64_t> memory = Number(fields[2], std::numeric_limits<int32_t>::max());
  if (!memory.ok()) return memory.error().At("devmem");
  Result<int64_t> index = static_cast<int64_t>(position);
  if (fields.size() == 9) index = Number(fields[7], UINT16_MAX);
  if (!index.ok()) return index.error().At("index");
  if (fields[0].empty() || (fields[6] != "true" && fields[6] != "false")) {
    return Error{Code::kInvalidArgument, "expected a UUID first, and a health of true or false",
                 ""};
  }
  Gpu gpu;
  gpu.uuid = fields[0];
  gpu.memory = MiB(*memory);
  gpu.model = fields[4];
  gpu.healthy = fields[6] == "true";
  gpu.index.value = static_cast<uint16_t>(*index);
  gpu.sharing = SharingOfMode(fields.size() == 9 ? fields[8] : "");
  gpu.hami_mode = ModeOf(fields.size() == 9 ? fields[8] : "");
  return gpu;
}

Result<std::vector<Gpu>> ParseColonForm(std::string_view text) {
  std::vector<Gpu> gpus;
  for (std::string_view device : Split(text, ':')) {
    if (device.empty()) continue;  // each device ends with a colon, so the last part is empty
    if (gpus.size() > UINT16_MAX) return Error{Code::kExhausted, "too many devices", ""};
    Result<Gpu> gpu = ParseColonDevice(device, gpus.size());
    if (!gpu.ok()) return gpu.error().At("[" + std::to_string(gpus.size()) + "]");
    gpus.push_back(std::move(*gpu));
  }
  return OrderByIndex(std::move(gpus));
}

Result<std::vector<Gpu>> ParseJsonForm(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxBytes, "json");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView list(json->root(), "json", problems);
  std::vector<Gpu> gpus;
  list.Items([&](const JsonView& item) {
    Gpu gpu;
    gpu.uuid = item.Get("id").RequiredText();
    gpu.index.value = static_cast<uint16_t>(item.Get("index").Integer(0, 0, UINT16_MAX));
    gpu.memory = MiB(item.Get("devmem").Integer(0, 0, std::numeric_limits<int32_t>::max()));
    gpu.model = item.Get("type").Text();
    gpu.healthy = item.Get("health").Flag(false);
    gpu.sharing = SharingOfMode(item.Get("mode").Text());
    gpu.hami_mode = ModeOf(item.Get("mode").Text());
    gpus.push_back(std::move(gpu));
  });
  if (!problems.none()) return problems.first();
  return OrderByIndex(std::move(gpus));
}

}  // namespace

Result<std::vector<Gpu>> ParseHamiRegister(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '[';
  return json ? ParseJsonForm(text) : ParseColonForm(text);
}

}  // namespace muster::kube
