// OwnerStore: what is kept of owners of pods: as text, for of most of them nobody reads anything
// for minutes, and within bounds, of which one namespace has no more than a quarter: nobody takes
// the room of all others by making large owners. One for which there is no room waits for it.
// Owner: OwnerTable; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/owners/owner_answer.hpp"

namespace muster::kube {

class OwnerStore {
 public:
  static constexpr size_t kShares = 4;  // one namespace has one of so many

  explicit OwnerStore(size_t most) : most_(most) {}

  // In place of what was kept of it. False: there is no room, nothing is kept, and it waits.
  bool Keep(const OwnerKey& key, OwnerObject object);
  // It is nothing to keep of any more, and does not wait.
  void Drop(const OwnerKey& key);
  // As it was parsed, and what was worked out of it.
  struct Found {
    std::shared_ptr<const Json> json;    // null: nothing is kept
    std::shared_ptr<OwnersTerms> terms;  // likewise
  };
  Found Find(const OwnerKey& key);
  // Rules have changed.
  void ForgetTerms();
  // One that waits and for which there is room now, of the namespace that has the least; it waits
  // no more.
  std::optional<OwnerKey> TakeFitting();
  // Which bound has no room for an owner of this namespace, for people.
  std::string WhyNot(const OwnerKey& key) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::string text;
    Found found;  // of those that are in parsed_
  };
  using Texts = std::map<OwnerKey, Kept>;
  struct Namespace {
    size_t bytes = 0;
    std::set<std::pair<size_t, OwnerKey>> waiting;  // the smallest first
  };

  bool Fits(const Namespace& ns, size_t bytes) const;
  void Forget(Texts::iterator at);
  void StopWaiting(const OwnerKey& key);
  void Note(const OwnerKey& key, const Kept& kept);

  const size_t most_;  // bytes
  size_t bytes_ = 0;
  Texts texts_;
  std::map<std::string, Namespace> namespaces_;
  std::map<OwnerKey, size_t> waiting_;
  std::vector<const OwnerKey*> parsed_;  // that were asked for last, the latest at the end
};

}  // namespace muster::kube
