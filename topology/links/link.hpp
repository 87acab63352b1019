// Link: how two devices of one machine are connected, as the vendor's tool classes it, and its
// bandwidth. Plain values, pure functions, any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::topology {

// Slowest first. The classes of `nvidia-smi topo -m` unless said otherwise.
enum class LinkType : uint8_t {
  kUnknown,  // the tool does not know ("NA" of npu-smi)
  kSys,      // over the link between CPU sockets; SYS, before 2018 SOC
  kNode,     // between host bridges of one NUMA node
  kPhb,      // through a host bridge
  kPxb,      // several PCIe bridges, no host bridge
  kPix,      // at most one PCIe bridge
  kPcie,     // PCIe, and the tool tells no more than the hops (AMD)
  kXgmi,     // AMD Infinity Fabric
  kHccs,     // Huawei
  kHccsSwitch,
  kSio,  // Huawei: two dies of one package
  kIcn,  // T-Head; count = bonded links
  kNvLink,
  kSelf,
};

struct Link {
  LinkType type = LinkType::kUnknown;
  uint8_t count = 1;  // bonded links of kNvLink and kIcn
  uint8_t hops = 1;   // of kPcie and kXgmi
  auto operator<=>(const Link&) const = default;

  // True for links between accelerators that leave PCIe alone.
  bool fabric() const { return type >= LinkType::kXgmi && type != LinkType::kSelf; }
};

// The most bonded links between two devices that a cell may name. Today 18 (NVLink 4 and 5).
inline constexpr int kMostBondedLinks = 36;

// "NV12", "SYS", "HCCS_SW", "X", …: a cell of a matrix of nvidia-smi, npu-smi or ppu-smi. Nothing
// for anything else.
std::optional<Link> ParseLink(std::string_view cell);
// The class alone, for people: "NVLink", "PIX".
std::string_view ToString(LinkType type);

// Megabytes (10^6 bytes) a second, in one direction.
using MegabytesPerSecond = uint32_t;

// What one link of each class carries. The defaults are for machines of which nothing but a matrix
// is known; a machine profile says better.
//
//   nvlink  25,000 a link: NVLink 2 to 4, NVIDIA's V100, A100 and H100 white papers (6, 12 and 18
//           links, 300, 600 and 900 GB/s both ways). NVLink 5: 50,000 (B200: 18 links, 1.8 TB/s).
//           Bridges of GeForce and RTX cards: 14,062, `nvidia-smi nvlink --status`.
//   pcie    12,000 at PIX: what NCCL assumes of PCIe 3.0 x16 (PCI_BW, src/graph/topo.h).
//   sys      6,000: NCCL's BDW_QPI_BW, the slowest socket link it knows.
//   PXB, PHB and NODE share more with others than PIX does, and no vendor gives figures. 11/12,
//   10/12 and 9/12 of PIX are ours: they put the classes in the order of their distance.
//   xgmi    50,000: MI200's link (AMD CDNA 2 white paper), and what amd-smi reports; a second hop
//           halves it. MI300X: 64,000 (CDNA 3 white paper: 7 links, 896 GB/s both ways).
//   hccs    28,000: Atlas 800T A2, 392 GB/s both ways over 7 links.
//   icn     25,000 a link: T-Head publishes no figure; as NVLink.
struct LinkSpeeds {
  MegabytesPerSecond nvlink = 25'000;
  MegabytesPerSecond pcie = 12'000;
  MegabytesPerSecond sys = 6'000;
  MegabytesPerSecond xgmi = 50'000;
  MegabytesPerSecond hccs = 28'000;
  MegabytesPerSecond icn = 25'000;
  auto operator<=>(const LinkSpeeds&) const = default;
};

// What profiles and pages call them.
struct SpeedName {
  const char* name;
  MegabytesPerSecond LinkSpeeds::*member;
};
inline constexpr SpeedName kSpeedNames[] = {
    {"nvlink", &LinkSpeeds::nvlink}, {"pcie", &LinkSpeeds::pcie}, {"sys", &LinkSpeeds::sys},
    {"xgmi", &LinkSpeeds::xgmi},     {"hccs", &LinkSpeeds::hccs}, {"icn", &LinkSpeeds::icn}};
// 100 MB/s to 10 TB/s: what a file or a page may say.
inline constexpr MegabytesPerSecond kLeastSpeed = 100;
inline constexpr MegabytesPerSecond kMostSpeed = 10'000'000;

// 0 for kSelf and kUnknown.
MegabytesPerSecond BandwidthOf(Link link, const LinkSpeeds& speeds);

// A pair's score as go-gpuallocator and HAMi's annotation hami.io/node-nvidia-score have it: 10 to
// 60 for the PCIe relation and 100 for each NVLink, added up. Nothing for sums of no pair.
std::optional<Link> LinkOfPairScore(int score);
// Their score of a pair: both terms, the PCIe relation being `pcie`.
int PairScore(Link link, LinkType pcie);

}  // namespace muster::topology
