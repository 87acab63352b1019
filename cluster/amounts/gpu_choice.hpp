// GpuChoice: which devices a pod may be given, and how they are chosen for it, as annotations of
// HAMi say it. Read in Project-HAMi/HAMi v2.10.0: CheckType and CheckUUID (pkg/device/devices.go),
// checkType and Fit (pkg/device/nvidia/device.go), node_policy.go and gpu_policy.go
// (pkg/scheduler/policy).
//
// Plain values; shared by all copies, immutable.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

// How HAMi's device plugin hands a device out; kNone: nothing says it.
enum class HamiMode : uint8_t { kNone, kHamiCore, kMig, kMps };
// As the annotation of a node writes it.
const char* ToString(HamiMode mode);

struct GpuWords {
  // A device's model has one of `types` in it and none of `not_types`, whatever the case of
  // letters; its UUID is one of `uuids` and none of `not_uuids`. An empty list lets all.
  std::vector<std::string> types;
  std::vector<std::string> not_types;
  std::vector<std::string> uuids;
  std::vector<std::string> not_uuids;
  std::vector<HamiMode> modes;  // of the device; empty: any. One that says none is let, too
  // How nodes, and devices of a node, are filled; kUnsaid: as the policy says.
  enum class Filling : uint8_t { kUnsaid, kBinpack, kSpread };
  Filling nodes = Filling::kUnsaid;
  Filling devices = Filling::kUnsaid;
  bool untouched = false;  // only devices of which nothing is in use ("mutex")
  auto operator<=>(const GpuWords&) const = default;
};

class GpuChoice {
 public:
  GpuChoice() = default;  // any device
  explicit GpuChoice(GpuWords words);

  // Null: nothing is said.
  const GpuWords* words() const { return words_.get(); }
  // A device of that model, UUID and mode.
  bool Allows(std::string_view model, std::string_view uuid, HamiMode mode) const {
    return words_ == nullptr || Among(model, uuid, mode);
  }
  bool untouched() const { return words_ != nullptr && words_->untouched; }
  // Some devices are not let at all.
  bool limits() const;
  // Of what limits it, for people: "use-gputype A100; nouse-gpuuuid GPU-1, GPU-2".
  std::string LimitsText() const;
  // All of it.
  std::string ToText() const;

  bool operator==(const GpuChoice& other) const { return (*this <=> other) == 0; }
  std::strong_ordering operator<=>(const GpuChoice& other) const;

 private:
  bool Among(std::string_view model, std::string_view uuid, HamiMode mode) const;

  std::shared_ptr<const GpuWords> words_;
};

}  // namespace muster::cluster
