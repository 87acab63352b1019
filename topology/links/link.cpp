#include "topology/links/link.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace muster::topology {
namespace {

struct Word {
  std::string_view text;
  LinkType type;
};

constexpr std::array<Word, 12> kWords = {{{"X", LinkType::kSelf},
                                          {"x", LinkType::kSelf},
                                          {"SYS", LinkType::kSys},
                                          {"SOC", LinkType::kSys},
                                          {"NODE", LinkType::kNode},
                                          {"PHB", LinkType::kPhb},
                                          {"PXB", LinkType::kPxb},
                                          {"PIX", LinkType::kPix},
                                          {"HCCS", LinkType::kHccs},
                                          {"HCCS_SW", LinkType::kHccsSwitch},
                                          {"SIO", LinkType::kSio},
                                          {"NA", LinkType::kUnknown}}};

constexpr std::array<std::string_view, 14> kLinkNames = {
    "unknown", "SYS",  "NODE", "PHB", "PXB", "PIX",    "PCIe",
    "XGMI",    "HCCS", "HCCS", "SIO", "ICN", "NVLink", "self"};

// "12" of "NV12"; nothing for "NV", "NV0", "NV012", "NV#".
std::optional<uint8_t> ParseCount(std::string_view digits) {
  if (digits.empty() || digits.size() > 2 || digits.front() == '0') return std::nullopt;
  int count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    count = count * 10 + (c - '0');
  }
  if (count > kMostBondedLinks) return std::nullopt;
  return static_cast<uint8_t>(count);
}

}  // namespace

std::optional<Link> ParseLink(std::string_view cell) {
  const auto* found = std::find_if(kWords.begin(), kWords.end(),
                                   [&](const Word& word) { return word.text == cell; });
  if (found != kWords.end()) return Link{found->type};
  for (const Word& word : {Word{"NV", LinkType::kNvLink}, Word{"ICN", LinkType::kIcn}}) {
    if (!cell.starts_with(word.text)) continue;
    const std::optional<uint8_t> count = ParseCount(cell.substr(word.text.size()));
    if (count) return Link{word.type, *count};
  }
  return std::nullopt;
}

std::string_view ToString(LinkType type) { return kLinkNames.at(static_cast<size_t>(type)); }

MegabytesPerSecond BandwidthOf(Link link, const LinkSpeeds& speeds) {
  const MegabytesPerSecond twelfth = speeds.pcie / 12;
  // Nothing over PCIe is faster than its switch, and all of it is faster than the link between
  // sockets, whatever a profile says of that one.
  const MegabytesPerSecond sys = std::min(speeds.sys, twelfth * 8);
  switch (link.type) {
    case LinkType::kUnknown:
    case LinkType::kSelf:
      return 0;
    case LinkType::kSys:
      return sys;
    case LinkType::kNode:
      return twelfth * 9;
    case LinkType::kPhb:
      return twelfth * 10;
    case LinkType::kPxb:
      return twelfth * 11;
    case LinkType::kPix:
      return speeds.pcie;
    case LinkType::kPcie:
      // AMD counts GPU to host bridge and back as two hops; a third one is between sockets.
      return link.hops <= 1 ? speeds.pcie : link.hops == 2 ? twelfth * 10 : sys;
    case LinkType::kXgmi:
      return speeds.xgmi / std::max<uint8_t>(link.hops, 1);
    case LinkType::kHccs:
    case LinkType::kHccsSwitch:
      return speeds.hccs;
    case LinkType::kSio:
      return speeds.hccs * 2;
    case LinkType::kIcn:
      return speeds.icn * link.count;
    case LinkType::kNvLink:
      return speeds.nvlink * link.count;
  }
  return 0;
}

std::optional<Link> LinkOfPairScore(int score) {
  // Scores of the PCIe relation by tens: none, CrossCPU, SameCPU, HostBridge, MultiSwitch,
  // SingleSwitch, SameBoard.
  constexpr std::array<LinkType, 7> kByTens = {LinkType::kUnknown, LinkType::kSys, LinkType::kNode,
                                               LinkType::kPhb,     LinkType::kPxb, LinkType::kPix,
                                               LinkType::kPix};
  if (score < 0 || score % 10 != 0 || score % 100 > 60) return std::nullopt;
  const int links = score / 100;
  if (links > kMostBondedLinks) return std::nullopt;
  if (links > 0) return Link{LinkType::kNvLink, static_cast<uint8_t>(links)};
  return Link{kByTens.at(static_cast<size_t>(score / 10))};
}

int PairScore(Link link, LinkType pcie) {
  const int links = link.type == LinkType::kNvLink ? link.count * 100 : 0;
  switch (pcie) {
    case LinkType::kSys:
      return links + 10;
    case LinkType::kNode:
      return links + 20;
    case LinkType::kPhb:
    case LinkType::kPcie:
      return links + 30;
    case LinkType::kPxb:
      return links + 40;
    case LinkType::kPix:
      return links + 50;
    default:
      return links;
  }
}

}  // namespace muster::topology
