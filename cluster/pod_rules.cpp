#include "cluster/pod_rules.hpp"

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

const PodLabels::List& PodLabels::list() const {
  static const List kNone;
  return list_ == nullptr ? kNone : *list_;
}

const std::string* PodLabels::Of(const std::string& key) const {
  const List& all = list();
  const auto found =
      std::lower_bound(all.begin(), all.end(), key,
                       [](const std::shared_ptr<const PodLabel>& one, const std::string& wanted) {
                         return one->first < wanted;
                       });
  return found == all.end() || (*found)->first != key ? nullptr : &(*found)->second;
}

bool PodLabels::operator==(const PodLabels& other) const {
  if (list_ == other.list_) return true;
  return std::equal(list().begin(), list().end(), other.list().begin(), other.list().end(),
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
  static const Labels kNone;
  const Labels& given = ns_labels == nullptr ? kNone : *ns_labels;
  return std::all_of(term.namespace_labels.begin(), term.namespace_labels.end(),
                     [&](const SelectorRequirement& one) { return Matches(one, given); });
}

}  // namespace muster::cluster
