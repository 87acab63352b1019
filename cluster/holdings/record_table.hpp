// RecordTable: objects that hold no resources, by name. Fed by facts under the rules of
// cluster_state.hpp. Owned by ClusterState; not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/applied.hpp"
#include "cluster/holdings/tombstones.hpp"

namespace muster::cluster {

// Old news: both versions are known, and this one is lower.
inline bool Older(int64_t version, int64_t than) {
  return version != 0 && than != 0 && version < than;
}

// A Record has a `uid`, a `key`, a `resource_version` and ==.
template <typename Record>
class RecordTable {
 public:
  explicit RecordTable(size_t tombstones) : dead_(tombstones) {}

  Applied Upsert(Record record) {
    if (dead_.Contains(record.uid.text())) return {};
    Applied applied;
    const auto known = key_of_.find(record.uid.text());
    if (known != key_of_.end() &&
        Older(record.resource_version, records_.at(known->second).resource_version)) {
      return {};
    }
    const auto rival = records_.find(record.key);
    if (rival != records_.end() && rival->second.uid != record.uid) {
      if (Older(record.resource_version, rival->second.resource_version)) return {};
      applied = {true, rival->second.uid.text()};
      dead_.Add(applied.replaced);
      key_of_.erase(applied.replaced);
      records_.erase(rival);
    }
    if (known != key_of_.end()) {
      const auto old = records_.find(known->second);
      // A record of unknown version does not make older ones news again.
      record.resource_version = std::max(record.resource_version, old->second.resource_version);
      old->second.resource_version = record.resource_version;
      if (old->second == record) return applied;
      records_.erase(old);
    }
    key_of_[record.uid.text()] = record.key;
    const ObjectKey key = record.key;
    records_.insert_or_assign(key, std::move(record));
    return {true, applied.replaced};
  }

  bool Remove(const std::string& uid) {
    dead_.Add(uid);
    return Forget(uid);
  }

  bool Forget(const std::string& uid) {
    const auto known = key_of_.find(uid);
    if (known == key_of_.end()) return false;
    records_.erase(known->second);
    key_of_.erase(known);
    return true;
  }

  const Record* Find(const ObjectKey& key) const {
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : &found->second;
  }

  // In order of key.
  std::vector<const Record*> All() const {
    std::vector<const Record*> all;
    all.reserve(records_.size());
    for (const auto& [key, record] : records_) all.push_back(&record);
    return all;
  }

 private:
  std::map<ObjectKey, Record> records_;
  std::unordered_map<std::string, ObjectKey> key_of_;  // by UID
  Tombstones dead_;
};

}  // namespace muster::cluster
