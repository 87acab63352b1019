#include "policy/gpu_links/device_links.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "topology/links/node_match.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::policy {

using cluster::DeviceAmount;
using topology::GpuMask;
using topology::Machine;
using topology::MachineProfile;
using topology::NodeTopology;
using topology::TopologySource;

namespace {

topology::NumaPolicy PolicyOn(const cluster::Node& node, TopologySource source) {
  return source == TopologySource::kProfile ? topology::NumaPolicy::kNone : node.numa_policy;
}

template <typename Map>
void DropExpired(Map& entries) {
  std::erase_if(entries, [](const auto& entry) { return entry.second.expired(); });
}

// What a profile of one size says of a machine of another: that no link is slower than its slowest.
topology::MachineFacts OfAnotherSize(const MachineProfile& profile, size_t gpus) {
  topology::MachineFacts facts{TopologySource::kProfile, {}, profile.speeds, profile.name, true};
  const topology::Cell* slowest = topology::SlowestLink(profile.machine, profile.speeds);
  facts.machine =
      slowest == nullptr ? topology::FlatMachine(gpus) : topology::FlatMachine(gpus, *slowest);
  facts.machine.tool = profile.machine.tool;
  return facts;
}

// Two of its GPUs have a link that is not PCIe.
bool HasFabric(const Machine& machine) {
  const size_t gpus = machine.gpus.size();
  for (size_t a = 0; a < gpus; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (machine.At(a, b).link.fabric()) return true;
    }
  }
  return false;
}

}  // namespace

DeviceLinks::DeviceLinks(std::shared_ptr<const NodeTopology> topology, std::vector<size_t> places,
                         const cluster::Node& node)
    : topology_(std::move(topology)),
      places_(std::move(places)),
      numa_(topology_->facts.machine, PolicyOn(node, topology_->facts.source)),
      // A device that is left out or cordoned is not free here and free in the kubelet's books.
      // ResourceSlices do not show all that the rule looks at.
      foreseen_(topology_->picks->tabled() && ForeseesPicks(node) &&
                topology_->facts.source != TopologySource::kResourceSlices &&
                std::none_of(node.gpus.begin(), node.gpus.end(), [](const cluster::Gpu& gpu) {
                  return gpu.left_out || gpu.cordoned;
                })) {
  // Where every device of the node is a GPU of the machine, those that are free make a set.
  const auto offered = std::count_if(places_.begin(), places_.end(),
                                     [](size_t place) { return place != topology::kNotOffered; });
  if (!numa_.turns_away() && static_cast<size_t>(offered) == node.gpus.size())
    even_ring_ = topology_->even;
}

std::vector<std::vector<size_t>> DeviceLinks::NumaNodes() const {
  std::vector<std::vector<size_t>> nodes;
  nodes.reserve(numa_.groups().size());
  for (const GpuMask group : numa_.groups()) {
    nodes.push_back(PlacesOf(group));
    std::erase(nodes.back(), topology::kNotOffered);
  }
  return nodes;
}

GpuMask DeviceLinks::MaskOf(std::span<const DeviceAmount> free) const {
  GpuMask mask = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] < free.size() && free[places_[i]] == DeviceAmount::All())
      mask |= GpuMask{1} << i;
  }
  return mask;
}

GpuMask DeviceLinks::MaskOf(const std::vector<cluster::GpuIndex>& gpus) const {
  GpuMask mask = 0;
  const Machine& machine = topology_->facts.machine;
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    if (std::find(gpus.begin(), gpus.end(), cluster::GpuIndex{machine.gpus[i].index}) != gpus.end())
      mask |= GpuMask{1} << i;
  }
  return mask;
}

std::vector<size_t> DeviceLinks::PlacesOf(GpuMask set) const {
  std::vector<size_t> places = topology::PlacesOf(set);
  for (size_t& place : places) place = places_[place];
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<size_t> DeviceLinks::Choose(std::span<const DeviceAmount> free, size_t count) const {
  return PlacesOf(numa_.Choose(*topology_->chooser, MaskOf(free), count));
}

GpuMask DeviceLinks::ChooseOnRails(GpuMask free, size_t count,
                                   const topology::RailOrder& order) const {
  return numa_.Choose(*topology_->chooser, free, count, [&](GpuMask set) {
    return topology::RailMerit(topology_->beside, order, set);
  });
}

std::optional<size_t> DeviceLinks::ChooseOne(std::span<const DeviceAmount> free,
                                             const std::vector<size_t>& those) const {
  const GpuMask mask = MaskOf(free);
  GpuMask among = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (std::find(those.begin(), those.end(), places_[i]) != those.end()) among |= GpuMask{1} << i;
  }
  among &= mask;
  if (among == mask) {
    const std::vector<size_t> chosen = Choose(free, 1);
    return chosen.empty() ? std::nullopt : std::optional(chosen.front());
  }
  const std::optional<size_t> place = topology_->ChooseOne(mask, among);
  return place ? std::optional(places_[*place]) : std::nullopt;
}

uint32_t DeviceLinks::RingOf(std::span<const DeviceAmount> free, size_t count) const {
  if (count < 2) return 0;
  if (even_ring_) return *even_ring_;
  const topology::GpuChooser& chooser = *topology_->chooser;
  return chooser.RingOf(numa_.Choose(chooser, MaskOf(free), count));
}

std::vector<uint32_t> DeviceLinks::RingsOf(std::span<const DeviceAmount> free, size_t count,
                                           size_t sets) const {
  const topology::GpuChooser& chooser = *topology_->chooser;
  if (count < 2 || even_ring_ || sets < 2 || !chooser.exact())
    return std::vector<uint32_t>(sets, RingOf(free, count));
  std::vector<uint32_t> rings;
  rings.reserve(sets);
  GpuMask left = MaskOf(free);
  while (rings.size() < sets) {
    const GpuMask set = numa_.Choose(chooser, left, count);
    rings.push_back(set == 0 ? 0 : chooser.RingOf(set));
    left &= ~set;
  }
  return rings;
}

int32_t DeviceLinks::AstrayOf(std::span<const DeviceAmount> free, size_t count) const {
  if (!foreseen_ || count < 2) return 0;
  const GpuMask mask = MaskOf(free);
  const GpuMask planned = numa_.Choose(*topology_->chooser, mask, count);
  if (planned == 0) return 0;
  const topology::PickForecast forecast = topology_->picks->Of(mask, planned);
  if (forecast.slower) return 2;
  return forecast.outcome == topology::PickOutcome::kDiffers ? 1 : 0;
}

std::optional<uint32_t> DeviceLinks::RingOver(const std::vector<cluster::GpuIndex>& devices) const {
  const GpuMask mask = MaskOf(devices);
  if (static_cast<size_t>(std::popcount(mask)) != devices.size()) return std::nullopt;
  return topology_->chooser->RingOf(mask);
}

bool DeviceLinks::Fits(std::span<const DeviceAmount> free, size_t count) const {
  return numa_.Choose(*topology_->chooser, MaskOf(free), count) != 0;
}

int64_t DeviceLinks::Times(std::span<const DeviceAmount> free, size_t count, int64_t limit) const {
  return numa_.Times(*topology_->chooser, MaskOf(free), count, limit);
}

void LinksMemory::Keep(const Topology& topology) {
  if (most_kept_ == 0 || std::find(kept_.begin(), kept_.end(), topology) != kept_.end()) return;
  if (kept_.size() >= most_kept_) kept_.clear();
  kept_.push_back(topology);
}

LinksMemory::Topology LinksMemory::FromText(const cluster::Node& node,
                                            const MachineProfile* profile) {
  auto& texts = by_text_[{node.topology_source, profile}];
  if (const auto known = texts.find(node.topology); known != texts.end()) {
    if (Topology topology = known->second.lock()) return topology;
  }
  DropExpired(texts);
  auto machine = topology::ParseMachine(node.topology, "");
  if (!machine.ok() || !machine->has_links()) return nullptr;
  topology::MachineFacts facts{node.topology_source, *std::move(machine)};
  if (profile != nullptr) {
    facts.speeds = profile->speeds;
    facts.profile = profile->name;
  }
  Topology topology = cache_.Of(std::move(facts));
  texts[node.topology] = topology;
  return topology;
}

LinksMemory::Topology LinksMemory::FromProfile(const MachineProfile& profile, size_t gpus) {
  std::weak_ptr<const NodeTopology>& known = by_profile_[{&profile, gpus}];
  Topology topology = known.lock();
  if (topology == nullptr) {
    const bool whole = profile.machine.gpus.size() == gpus;
    topology = cache_.Of(whole ? topology::MachineFacts{TopologySource::kProfile, profile.machine,
                                                        profile.speeds, profile.name}
                               : OfAnotherSize(profile, gpus));
    known = topology;
  }
  return topology;
}

bool ForeseesPicks(const cluster::Node& node) {
  return node.plugin == cluster::DevicePlugin::kStock &&
         node.numa_policy == cluster::NumaPolicy::kNone &&
         std::all_of(node.gpus.begin(), node.gpus.end(), [](const cluster::Gpu& gpu) {
           return gpu.sharing == cluster::GpuSharing::Exclusive();
         });
}

std::shared_ptr<const DeviceLinks> LinksMemory::Of(const cluster::Node& node) {
  if (node.gpus.empty()) return nullptr;
  const size_t gpus = topology::GpusOf(node);
  const MachineProfile* profile =
      profiles_ == nullptr ? nullptr : profiles_->Nearest(topology::ProductOf(node), gpus);
  const auto on_node = [&](Topology topology) -> std::shared_ptr<const DeviceLinks> {
    if (topology == nullptr) return nullptr;
    Keep(topology);
    std::optional<std::vector<size_t>> places = topology::PlacesIn(topology->facts.machine, node);
    if (!places) return nullptr;
    return std::make_shared<const DeviceLinks>(std::move(topology), *std::move(places), node);
  };
  // ResourceSlices show no NVLinks, which a profile knows. Who shares a host bridge they know, and
  // a profile of PCIe alone guesses it.
  const bool profiled = profile != nullptr && gpus <= topology::kMostGpus;
  if (profiled && node.topology_source == TopologySource::kResourceSlices) {
    Topology usual = FromProfile(*profile, gpus);
    if (HasFabric(usual->facts.machine)) {
      if (auto links = on_node(std::move(usual))) return links;
    }
  }
  if (!node.topology.empty()) {
    if (auto links = on_node(FromText(node, profile))) return links;
  }
  return profiled ? on_node(FromProfile(*profile, gpus)) : nullptr;
}

}  // namespace muster::policy
