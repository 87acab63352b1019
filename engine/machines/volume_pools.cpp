#include "engine/machines/volume_pools.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::engine {

using cluster::FreeVolume;
using cluster::FreeVolumes;
using cluster::SelectorRequirement;

bool VolumePools::Offer::operator==(const Offer& other) const {
  return terms == other.terms && labels == other.labels && claim == other.claim &&
         (places == other.places || *places == *other.places);
}

bool VolumePools::Put(const std::string& storage_class, const std::string& volume, Offer offer) {
  const Offer* known = Find(storage_class, volume);
  if (known != nullptr && *known == offer) return false;
  Remove(storage_class, volume);
  Pool& pool = pools_[storage_class];
  ++pool.version;
  if (!offer.claim.empty()) pool.kept[offer.claim] = volume;
  pool.offers[volume] = std::move(offer);
  return true;
}

bool VolumePools::Remove(const std::string& storage_class, const std::string& volume) {
  const auto found = pools_.find(storage_class);
  if (found == pools_.end()) return false;
  Pool& pool = found->second;
  const auto offer = pool.offers.find(volume);
  if (offer == pool.offers.end()) return false;
  const auto kept = pool.kept.find(offer->second.claim);
  if (kept != pool.kept.end() && kept->second == volume) pool.kept.erase(kept);
  pool.offers.erase(offer);
  ++pool.version;
  if (pool.offers.empty()) pools_.erase(found);
  return true;
}

const VolumePools::Offer* VolumePools::Find(const std::string& storage_class,
                                            const std::string& volume) const {
  const auto pool = pools_.find(storage_class);
  if (pool == pools_.end()) return nullptr;
  const auto offer = pool->second.offers.find(volume);
  return offer == pool->second.offers.end() ? nullptr : &offer->second;
}

bool VolumePools::HasAny(const std::string& storage_class) const {
  const auto pool = pools_.find(storage_class);
  return pool != pools_.end() &&
         std::any_of(pool->second.offers.begin(), pool->second.offers.end(),
                     [](const auto& entry) { return entry.second.claim.empty(); });
}

std::vector<FreeVolume> VolumePools::Suitable(const Pool& pool, const Wish& wish) {
  std::vector<std::pair<int64_t, FreeVolume>> sized;
  for (const auto& [name, offer] : pool.offers) {
    const cluster::Labels& labels = offer.labels;
    const bool suits =
        offer.claim.empty() && offer.terms.Suit(wish.terms) &&
        std::all_of(wish.selector.begin(), wish.selector.end(),
                    [&](const SelectorRequirement& one) { return Matches(one, labels); });
    if (suits) sized.push_back({offer.terms.bytes, {name, offer.places}});
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FreeVolume> volumes;
  volumes.reserve(sized.size());
  for (auto& [bytes, volume] : sized) volumes.push_back(std::move(volume));
  return volumes;
}

std::shared_ptr<const FreeVolumes> VolumePools::For(const std::string& claim,
                                                    const std::string& storage_class,
                                                    const Wish& wish) {
  const auto at = pools_.find(storage_class);
  if (at == pools_.end()) return std::make_shared<const FreeVolumes>();
  Pool& pool = at->second;
  if (const auto kept = pool.kept.find(claim); kept != pool.kept.end()) {
    const Offer& offer = pool.offers.at(kept->second);
    // Whoever keeps it for the claim answers for its modes and labels.
    cluster::VolumeTerms wanted = wish.terms;
    wanted.modes = 0;
    if (offer.terms.Suit(wanted)) {
      return std::make_shared<const FreeVolumes>(
          FreeVolumes{"volume " + kept->second, {{kept->second, offer.places}}});
    }
  }
  Found& found = pool.found[wish];
  if (found.version == pool.version) return found.list;
  std::vector<FreeVolume> volumes = Suitable(pool, wish);
  found.version = pool.version;
  if (found.list == nullptr || found.list->volumes != volumes) {
    found.list = std::make_shared<const FreeVolumes>(
        FreeVolumes{storage_class + " " + std::to_string(++lists_), std::move(volumes)});
  }
  std::shared_ptr<const FreeVolumes> list = found.list;
  // Those that nobody has any more.
  std::erase_if(pool.found, [&](const auto& entry) {
    return entry.second.version != pool.version && entry.second.list.use_count() == 1;
  });
  return list;
}

}  // namespace muster::engine
