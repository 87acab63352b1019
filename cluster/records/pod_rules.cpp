#include "cluster/records/pod_rules.hpp"

#include <algorithm>

namespace muster::cluster {

PodLabels::PodLabels(const Labels& labels) {
  List list;
  list.reserve(labels.size());
  for (const auto& label : labels) list.push_back(std::make_shared<const PodLabel>(label));
  if (!list.empty()) list_ = std::make_shared<const List>(std::move(list));
}

PodLabels::PodLabels(List list) {
  if (!list.empty()) list_ = std::make_shared<const List>(std::move(list));
}

std::span<const std::shared_ptr<const PodLabel>> PodLabels::list() const {
  if (list_ == nullptr) return {};
  return *list_;
}

const std::string* PodLabels::Of(const std::string& key) const {
  const auto all = list();
  const auto found =
      std::lower_bound(all.begin(), all.end(), key,
                       [](const std::shared_ptr<const PodLabel>& one, const std::string& wanted) {
                         return one->first < wanted;
                       });
  return found == all.end() || (*found)->first != key ? nullptr : &(*found)->second;
}

bool PodLabels::operator==(const PodLabels& other) const {
  if (list_ == other.list_) return true;
  const auto mine = list();
  const auto theirs = other.list();
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

bool Matches(const SelectorRequirement& requirement, const PodLabels& labels) {
  return Matches(requirement, labels.Of(requirement.key));
}

bool PodSelector::Matches(const PodLabels& labels) const {
  return !nobody &&
         std::all_of(requirements.begin(), requirements.end(),
                     [&](const SelectorRequirement& one) { return cluster::Matches(one, labels); });
}

bool Means(const PodTerm& term, const std::string& ns, const PodLabels& labels,
           const Labels* ns_labels) {
  if (!term.pods.Matches(labels)) return false;
  const bool named = std::binary_search(term.namespaces.begin(), term.namespaces.end(), ns);
  if (named || !term.by_namespace_labels) return named;
  return std::all_of(term.namespace_labels.begin(), term.namespace_labels.end(),
                     [&](const SelectorRequirement& one) {
                       const std::string* none = nullptr;
                       return ns_labels == nullptr ? Matches(one, none) : Matches(one, *ns_labels);
                     });
}

}  // namespace muster::cluster
