// Storage kinds: PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSINodes, which
// every API server serves, and what Muster may be forbidden to read. Pure functions, for any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cluster/base/result.hpp"
#include "cluster/records/storage.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {

struct StorageKindNames {
  cluster::StorageKind kind;
  std::string_view object;    // "PersistentVolumeClaim"
  std::string_view resource;  // "persistentvolumeclaims"
  std::string_view path;      // "/api/v1/persistentvolumeclaims"
};

std::span<const StorageKindNames> StorageKinds();
// Nothing: objects that call their kind so are of none of these.
std::optional<cluster::StorageKind> FindStorageKind(std::string_view object);

Resource StorageResource(cluster::StorageKind kind);
cluster::ObjectKey KeyOf(const cluster::StorageRecord& record);
// What is malformed is an Error.
cluster::Result<cluster::StorageRecord> DecodeStorage(cluster::StorageKind kind,
                                                      const JsonNode& json,
                                                      const DecodeOptions& options = {});
cluster::Result<cluster::StorageRecord> DecodeStorage(cluster::StorageKind kind,
                                                      std::string_view json,
                                                      const DecodeOptions& options = {});

}  // namespace muster::kube
