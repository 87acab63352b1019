#include "kube/owners/owner_store.hpp"

#include <algorithm>

#include "cluster/base/check.hpp"
#include "kube/owners/owner_terms.hpp"

namespace muster::kube {

namespace {

// A pod has at most kMostOwners, and the next pods have the same.
constexpr size_t kParsed = kMostOwners;

std::string InMiB(size_t bytes) {
  constexpr size_t kMiB = size_t{1} << 20;
  return std::to_string((bytes + kMiB / 2) / kMiB) + " MiB";
}

}  // namespace

bool OwnerStore::Fits(const Namespace& ns, size_t bytes) const {
  return bytes_ + bytes <= most_ && ns.bytes + bytes <= most_ / kShares;
}

void OwnerStore::Forget(Texts::iterator at) {
  std::erase(parsed_, &at->first);
  const auto ns = namespaces_.find(at->first.ns);
  bytes_ -= at->second.text.size();
  ns->second.bytes -= at->second.text.size();
  if (ns->second.bytes == 0 && ns->second.waiting.empty()) namespaces_.erase(ns);
  texts_.erase(at);
}

void OwnerStore::StopWaiting(const OwnerKey& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  const auto ns = namespaces_.find(key.ns);
  ns->second.waiting.erase({found->second, key});
  if (ns->second.bytes == 0 && ns->second.waiting.empty()) namespaces_.erase(ns);
  waiting_.erase(found);
}

void OwnerStore::Drop(const OwnerKey& key) {
  StopWaiting(key);
  if (const auto found = texts_.find(key); found != texts_.end()) Forget(found);
}

bool OwnerStore::Keep(const OwnerKey& key, OwnerObject object) {
  Drop(key);
  const size_t bytes = object.text.size();
  Namespace& ns = namespaces_[key.ns];
  if (!Fits(ns, bytes)) {
    ns.waiting.emplace(bytes, key);
    waiting_.emplace(key, bytes);
    return false;
  }
  bytes_ += bytes;
  ns.bytes += bytes;
  const auto at =
      texts_.emplace(key, Kept{std::move(object.text), {std::move(object.json), nullptr}}).first;
  Note(at->first, at->second);
  return true;
}

void OwnerStore::Note(const OwnerKey& key, const Kept& kept) {
  std::erase(parsed_, &key);
  if (kept.found.json == nullptr) return;
  parsed_.push_back(&key);
  if (parsed_.size() <= kParsed) return;
  texts_.at(*parsed_.front()).found = {};
  parsed_.erase(parsed_.begin());
}

OwnerStore::Found OwnerStore::Find(const OwnerKey& key) {
  const auto at = texts_.find(key);
  if (at == texts_.end()) return {};
  Kept& kept = at->second;
  if (kept.found.json == nullptr) {
    // It was one when it came.
    cluster::Result<Json> json = Json::Parse(kept.text, kept.text.size(), key.kind);
    MUSTER_CHECK(json.ok());
    kept.found.json = std::make_shared<const Json>(*std::move(json));
  }
  if (kept.found.terms == nullptr) kept.found.terms = std::make_shared<OwnersTerms>();
  Found found = kept.found;
  Note(at->first, kept);
  return found;
}

void OwnerStore::ForgetTerms() {
  for (const OwnerKey* key : parsed_) texts_.at(*key).found.terms.reset();
}

std::optional<OwnerKey> OwnerStore::TakeFitting() {
  if (waiting_.empty()) return std::nullopt;
  const Namespace* least = nullptr;
  for (const auto& [name, ns] : namespaces_) {
    if (ns.waiting.empty() || !Fits(ns, ns.waiting.begin()->first)) continue;
    if (least == nullptr || ns.bytes < least->bytes) least = &ns;
  }
  if (least == nullptr) return std::nullopt;
  const OwnerKey key = least->waiting.begin()->second;
  StopWaiting(key);
  return key;
}

std::string OwnerStore::WhyNot(const OwnerKey& key) const {
  const auto ns = namespaces_.find(key.ns);
  const size_t has = ns == namespaces_.end() ? 0 : ns->second.bytes;
  const auto waits = waiting_.find(key);
  const size_t wanted = waits == waiting_.end() ? 0 : waits->second;
  const std::string use = "those of namespace " + key.ns + " have " + InMiB(has);
  const std::string help = "; it is read again when there is room, or give its pods a PodGroup";
  if (has + wanted > most_ / kShares)
    return "Muster keeps at most " + InMiB(most_ / kShares) +
           " of the owners of one namespace: " + use + help;
  return "Muster keeps at most " + InMiB(most_) + " of all owners of pods: " + use + help;
}

}  // namespace muster::kube
