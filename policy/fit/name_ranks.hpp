// NameRanks: numbers that stand for node names in comparisons: of two names, the lesser has the
// smaller number (internal to policy/).
//
// A name that comes or goes leaves the numbers of the others as they are, as long as there is one
// free between its neighbours. When there is none all are renumbered, evenly: between two names
// some 32 others fit then, in the worst order. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace muster::policy {

class NameRanks {
 public:
  // A name that is there already is left as it is.
  void Add(const std::string& name);
  void Drop(const std::string& name) { rank_of_.erase(name); }
  // The name must be there.
  uint64_t Of(const std::string& name) const { return rank_of_.at(name); }
  // All were renumbered since this was asked last.
  bool Renumbered() { return std::exchange(renumbered_, false); }

 private:
  static constexpr uint64_t kStep = uint64_t{1} << 32;

  void Renumber();

  std::map<std::string, uint64_t> rank_of_;
  bool renumbered_ = false;
};

}  // namespace muster::policy
