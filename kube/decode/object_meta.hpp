// ObjectMeta: who an API object is. For the decoders of kube/ only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

struct ObjectMeta {
  std::string uid;         // empty in a manifest only
  cluster::ObjectKey key;  // `ns` stays empty for an object of the whole cluster
  cluster::Time created;
  bool deleting = false;
  cluster::Time leaves_by;  // deletionTimestamp
  int64_t resource_version = 0;
};

enum class Scope { kNamespace, kCluster };

// Reads `object`.metadata; what is missing or malformed there is a problem of the view. `kind` must
// be what the object says it is, where it says so; empty: any.
ObjectMeta ReadObjectMeta(const JsonView& object, std::string_view kind, Scope scope,
                          Source source);

// Of an object of any kind, or of its metadata alone; without its namespace.
cluster::Result<ObjectMeta> DecodeObjectMeta(std::string_view json);

}  // namespace muster::kube
