// VolumePools: the volumes to which claims may still be bound, by class, and which of them suit a
// claim, as kube-scheduler's VolumeBinding finds it (internal to engine/). Part of VolumeTable.
//
// 1. A volume is in the pool of one class, or in none.
// 2. Claims that ask for the same share one list, as long as it stays the same.
// 3. A volume that is kept for a claim is for that one alone, and if it suits, the claim takes no
//    other.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records/storage.hpp"
#include "cluster/records/volume_demand.hpp"

namespace muster::engine {

class VolumePools {
 public:
  struct Offer {
    cluster::VolumeTerms terms;
    cluster::Labels labels;
    std::string claim;  // "namespace/name", for which it is kept; empty: for any
    std::shared_ptr<const std::vector<cluster::NodeSelectorTerm>> places;
    bool operator==(const Offer& other) const;
  };
  // What a claim asks of a volume.
  struct Wish {
    cluster::VolumeTerms terms;
    std::vector<cluster::SelectorRequirement> selector;
    auto operator<=>(const Wish&) const = default;
  };

  // Each is true when the pool is another one now.
  bool Put(const std::string& storage_class, const std::string& volume, Offer offer);
  bool Remove(const std::string& storage_class, const std::string& volume);

  const Offer* Find(const std::string& storage_class, const std::string& volume) const;
  // Some volume of the class is for any claim, suitable or not.
  bool HasAny(const std::string& storage_class) const;
  // Not null; those of the least size first, of equal ones by name.
  std::shared_ptr<const cluster::FreeVolumes> For(const std::string& claim,
                                                  const std::string& storage_class,
                                                  const Wish& wish);

 private:
  struct Found {
    uint64_t version = 0;  // of the pool
    std::shared_ptr<const cluster::FreeVolumes> list;
  };
  struct Pool {
    uint64_t version = 1;
    std::map<std::string, Offer> offers;      // by name
    std::map<std::string, std::string> kept;  // volumes, by claim
    std::map<Wish, Found> found;
  };
  static std::vector<cluster::FreeVolume> Suitable(const Pool& pool, const Wish& wish);

  std::map<std::string, Pool> pools_;  // by class
  uint64_t lists_ = 0;                 // made so far
};

}  // namespace muster::engine
