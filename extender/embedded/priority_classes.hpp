// PriorityClasses of the embedded cluster: what pods name that are handed in, and what PodGroups
// name. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/priority_class.hpp"
#include "config/documents/manifest.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/records.hpp"

namespace muster::extender {

inline constexpr const char* kPriorityClass = "PriorityClass";

// By name. Beside these are the two that every cluster has.
using PriorityClasses = std::map<std::string, int32_t>;

// `uid`: what the API server has made; a manifest has none.
cluster::Result<cluster::PriorityClass> ReadPriorityClass(std::string_view json,
                                                          const std::string& uid = "manifest");
// As the API server keeps it.
cluster::Result<sim::OtherRecord> PriorityClassRecord(std::string_view json);
// Of the documents, wherever in them. What cannot be read is left out.
void AddClasses(const std::vector<config::ManifestDocument>& documents, PriorityClasses& classes);
// That exist.
PriorityClasses ClassesIn(const sim::ApiServer& api);

}  // namespace muster::extender
