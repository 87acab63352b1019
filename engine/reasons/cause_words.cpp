#include "engine/reasons/cause_words.hpp"

#include <algorithm>
#include <string_view>

namespace muster::engine {

using policy::Cause;
using policy::RoleWish;
using policy::Shortage;
using What = Cause::What;

namespace {

std::string Amount(const Cause& cause, int64_t amount) {
  if (cause.what == What::kNamed) return std::to_string(amount);
  if (cause.what != What::kMemory) return Thousandths(amount);
  if (amount % 1024 == 0) return std::to_string(amount / 1024) + " GiB";
  return std::to_string(amount) + " MiB";
}

std::string BestOf(const Cause& cause) {
  const bool of_gpus =
      cause.what != What::kCpu && cause.what != What::kMemory && cause.what != What::kNamed;
  if (of_gpus && cause.nodes == 1) return " (" + cause.best + ")";
  if (of_gpus && cause.least_free == cause.most_free) return {};
  return " (best: " + cause.best + ", " + Amount(cause, cause.most_free) + " free)";
}

// "with 0 to 6 of 8 GPUs free (best: n7, 6 free)".
std::string FreeGpus(const Cause& cause) {
  std::string text = "with " + Thousandths(cause.least_free);
  if (cause.most_free != cause.least_free) text += " to " + Thousandths(cause.most_free);
  text += cause.of == 0 ? " GPUs" : " of " + GpuCount(cause.of);
  text += " free";
  if (cause.what == What::kGpuDevices) text += " in pieces that are too small";
  if (cause.what == What::kNuma) text += ", of which the kubelet admits no set";
  return text + BestOf(cause);
}

std::string Words(const Cause& cause) {
  switch (cause.what) {
    case What::kTaint:
      return "with taint " + cause.name + " that it does not tolerate";
    case What::kCordoned:
      return "cordoned";
    case What::kNotReady:
      return "not ready";
    case What::kConstraint:
      return cause.name;
    case What::kLeftOut:
      return "left out because pods failed there at their start";
    case What::kKept:
      return "kept from it";
    case What::kExcluded:
      return "that kube-scheduler turned down for a member";
    case What::kPorts:
      return "node(s) didn't have free ports for the requested pod ports";
    case What::kAttachLimit:
      return "node(s) exceed max volume count";
    case What::kNoVolumeLeft:
      return "node(s) didn't find available persistent volumes to bind";
    case What::kSpread:
      return "node(s) didn't match pod topology spread constraints";
    case What::kNoSpreadLabel:
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    case What::kPodAffinity:
      return "node(s) didn't match pod affinity rules";
    case What::kPodAntiAffinity:
      return "node(s) didn't match pod anti-affinity rules";
    case What::kOthersAntiAffinity:
      return "node(s) didn't satisfy existing pods anti-affinity rules";
    case What::kPodSlots:
      return "with all pod slots in use";
    case What::kChannels:
      return "with a channel of a ComputeDomain in use";
    case What::kCpu:
      return "with less than " + Amount(cause, cause.wants) + " CPU free" + BestOf(cause);
    case What::kMemory:
      return "with less than " + Amount(cause, cause.wants) + " memory free" + BestOf(cause);
    case What::kNamed:
      return "Insufficient " + cause.name + " for " + Amount(cause, cause.wants) + BestOf(cause);
    case What::kNoGpus:
      return "without GPUs";
    case What::kOtherGpus:
      if (!cause.name.empty()) return "without GPUs that its annotations let (" + cause.name + ")";
      return "with GPUs that cannot serve it";
    case What::kGpus:
    case What::kGpuDevices:
    case What::kNuma:
      return FreeGpus(cause);
  }
  return {};
}

bool Named(What what) { return what == What::kTaint || what == What::kConstraint; }

// "3 × 8", "2 × 8 and 1 × 4"; empty for a single pod.
std::string RolesText(const std::vector<RoleWish>& roles) {
  const auto with_gpus = static_cast<size_t>(std::count_if(
      roles.begin(), roles.end(), [](const RoleWish& role) { return role.gpu_milli > 0; }));
  if (with_gpus == 1 && roles.front().pods == 1) return {};
  std::string text;
  const size_t named = std::min(with_gpus, kMostNamed);
  for (size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == with_gpus ? " and " : ", ";
    text += std::to_string(roles[i].pods) + " × " + Thousandths(roles[i].gpu_milli);
  }
  return with_gpus > named ? text + " and others" : text;
}

// " with 8 GPUs" of a member, where members differ.
std::string MemberText(const Shortage& shortage) {
  if (shortage.roles.size() < 2) return {};
  return shortage.pod_gpu_milli == 0 ? " without GPUs"
                                     : " with " + GpuCount(shortage.pod_gpu_milli);
}

std::string NodesOf(const Shortage& shortage, int64_t count) {
  return (count == 1 ? " node" : " nodes") +
         (shortage.domain.empty() ? std::string() : " of " + shortage.domain);
}

// What no number of nodes would help: said first.
std::string HopelessText(const Shortage& shortage) {
  if (shortage.largest_node_gpus == 0 || shortage.roles.empty()) return {};
  const int64_t largest = shortage.roles.front().gpu_milli;
  if (largest > shortage.largest_node_gpus * 1000) {
    return "each pod wants " + GpuCount(largest) + ", the largest" + NodesOf(shortage, 1) +
           " has " + std::to_string(shortage.largest_node_gpus) + "; ";
  }
  int64_t others = 0;
  for (const Cause& cause : shortage.causes) {
    if (cause.what == What::kOtherGpus && cause.name.empty()) others += cause.nodes;
  }
  const bool shares = shortage.pod_gpu_milli % 1000 != 0;
  if (!shares || shortage.with_room > 0 || others == 0 || others != shortage.gpu_nodes) return {};
  return "it asks for a share of a GPU, and no node that it may use shares its GPUs (HAMi, "
         "gpushare or the label muster.dev/gpu-sharing); ";
}

// "it wants 24 GPUs (3 × 8), 20 were free on the 6 nodes that it may use, the cluster has 68".
std::string WantsText(const Shortage& shortage, bool never) {
  const std::string roles = RolesText(shortage.roles);
  std::string text = shortage.subgroup.empty() ? "it" : "subgroup " + shortage.subgroup;
  text += " wants " + GpuCount(shortage.need_gpu_milli);
  if (!roles.empty()) text += " (" + roles + ")";
  if (shortage.free_gpu_milli >= shortage.need_gpu_milli) return text;
  if (shortage.all_gpu_milli == 0) return text + ", the cluster has none";
  const std::string all = Thousandths(shortage.all_gpu_milli);
  if (shortage.gpu_nodes == 0)
    return text + ", none of the cluster's " + all + " are on nodes that it may use";
  const bool one = shortage.gpu_nodes == 1;
  const char* were = shortage.free_gpu_milli == 1000 ? " was" : " were";
  return text + ", " + Thousandths(shortage.free_gpu_milli) + (never ? " would be" : were) +
         " free on the " + (one ? "one" : std::to_string(shortage.gpu_nodes)) +
         NodesOf(shortage, shortage.gpu_nodes) + " that it may use, the cluster has " + all;
}

}  // namespace

const char* ToString(What what) {
  switch (what) {
    case What::kTaint:
      return "taint";
    case What::kCordoned:
      return "cordoned";
    case What::kNotReady:
      return "notReady";
    case What::kConstraint:
      return "constraint";
    case What::kLeftOut:
      return "leftOut";
    case What::kKept:
      return "kept";
    case What::kExcluded:
      return "excluded";
    case What::kPorts:
      return "hostPorts";
    case What::kAttachLimit:
      return "attachLimit";
    case What::kNoVolumeLeft:
      return "volumes";
    case What::kSpread:
      return "topologySpread";
    case What::kNoSpreadLabel:
      return "topologySpreadLabel";
    case What::kPodAffinity:
      return "podAffinity";
    case What::kPodAntiAffinity:
      return "podAntiAffinity";
    case What::kOthersAntiAffinity:
      return "othersPodAntiAffinity";
    case What::kPodSlots:
      return "podSlots";
    case What::kChannels:
      return "channels";
    case What::kCpu:
      return "cpu";
    case What::kMemory:
      return "memory";
    case What::kNamed:
      return "amount";
    case What::kNoGpus:
      return "noGpus";
    case What::kOtherGpus:
      return "otherGpus";
    case What::kGpus:
      return "gpus";
    case What::kGpuDevices:
      return "gpuDevices";
    case What::kNuma:
      return "numa";
  }
  return "";
}

std::string Thousandths(int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 != 0) {
    std::string digits = std::to_string(1000 + milli % 1000).substr(1);
    while (digits.back() == '0') digits.pop_back();
    text += "." + digits;
  }
  return text;
}

std::string GpuCount(int64_t milli) {
  return Thousandths(milli) + (milli == 1000 ? " GPU" : " GPUs");
}

std::string CausesText(const std::vector<Cause>& causes) {
  std::string text;
  const auto add = [&](int64_t nodes, const std::string& words) {
    text += (text.empty() ? "" : ", ") + std::to_string(nodes) + " " + words;
  };
  for (size_t i = 0; i < causes.size();) {
    const What what = causes[i].what;
    const auto end = std::find_if(causes.begin() + static_cast<std::ptrdiff_t>(i), causes.end(),
                                  [&](const Cause& cause) { return cause.what != what; });
    const auto last = static_cast<size_t>(end - causes.begin());
    const size_t named = Named(what) ? std::min(last, i + kMostNamed) : last;
    for (; i < named; ++i) add(causes[i].nodes, Words(causes[i]));
    int64_t others = 0;
    for (; i < last; ++i) others += causes[i].nodes;
    if (others > 0) {
      add(others, what == What::kTaint ? "with other taints that it does not tolerate"
                                       : "outside of its selector and affinity for other reasons");
    }
  }
  return text;
}

std::string NodesText(const Shortage& shortage, const std::string& had) {
  const std::string member = MemberText(shortage);
  const std::string causes = CausesText(shortage.causes);
  return std::to_string(shortage.with_room) + "/" + std::to_string(shortage.nodes) +
         NodesOf(shortage, shortage.nodes) + " " + had +
         (member.empty() ? "" : " for a member" + member) + (causes.empty() ? "" : ": " + causes);
}

std::string CutAtClause(const std::string& text, size_t most) {
  constexpr std::string_view kRest = " …";
  if (text.size() <= most) return text;
  size_t end = most < kRest.size() ? 0 : most - kRest.size();
  for (const char* mark : {"; ", ", "}) {
    const size_t at = text.rfind(mark, end);
    if (at == std::string::npos || at < most / 2) continue;
    return text.substr(0, at + 1) + std::string(kRest);
  }
  // Not within a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + std::string(kRest);
}

std::string LackText(const Shortage& shortage, bool never) {
  std::string text;
  if (shortage.need_gpu_milli > 0)
    text = HopelessText(shortage) + WantsText(shortage, never) + "; ";
  text += NodesText(shortage, never ? "would have room" : "had room at its last try");
  // How many fit in segments was not counted.
  if (shortage.fits == 0 || !shortage.segments.empty()) return text;
  std::string alike = shortage.fits_alike ? MemberText(shortage) : "";
  // Others differ from them, and not by their number of GPUs.
  if (shortage.fits_alike && shortage.roles.size() == 1 &&
      shortage.fits_of < shortage.roles.front().pods)
    alike = " that are alike";
  return text + "; " + std::to_string(shortage.fits) + " of " + std::to_string(shortage.fits_of) +
         " members" + alike + " would fit";
}

}  // namespace muster::engine
