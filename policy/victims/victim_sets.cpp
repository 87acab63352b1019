#include "policy/victims/victim_sets.hpp"

namespace muster::policy {

std::vector<bool> SetsOfSome::OfAll(const std::vector<bool>& chosen) const {
  std::vector<bool> of_all(candidates_, false);
  for (size_t i = 0; i < those_.size(); ++i) of_all[those_[i]] = chosen[i];
  return of_all;
}

std::vector<bool> SetsOfSome::AllowsInOrder(const std::vector<size_t>& order) {
  std::vector<size_t> of_all;
  of_all.reserve(order.size());
  for (const size_t i : order) of_all.push_back(those_[i]);
  return all_.AllowsInOrder(of_all);
}

}  // namespace muster::policy
