// ReadOwner: what an API server says of one owner. One GET, in Lane::kOwner; any thread. Of the
// object that comes only the fields of the request are held (json_sieve.hpp), whatever its size.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/api/api_caller.hpp"
#include "kube/owners/owner_table.hpp"

namespace muster::kube {

// Bytes of an owner that are kept at most, of a member of its spec or metadata, and that are read
// at all: an object of an API server is at most 1.5 MiB in etcd, unless its operator allows more.
inline constexpr size_t kMostKeptOfOwner = size_t{1} << 20;
inline constexpr size_t kMostKeptOfMember = size_t{512} << 10;
inline constexpr size_t kMostReadOfOwner = size_t{4} << 20;

OwnerAnswer ReadOwner(ApiCaller& api, const OwnerRequest& request);

// What such an object says.
OwnerAnswer SiftOwner(std::string_view text, const OwnerFields& fields, std::string_view kind);

}  // namespace muster::kube
