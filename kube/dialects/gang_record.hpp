// The annotation cluster::kGangRecordAnnotation: GangRecord <-> text, and the patch that writes it
// to a PodGroup.
//
//   started=2026-05-01T09:30:00Z whole=8 whole/worker=7 ended=1 ended/worker=1 lost=2
//   lost/worker=2 since=2026-05-01T10:02:11Z evicted=true
//
// Written by Muster alone. A text that makes no sense says nothing: the gang is taken as it is
// found. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/records/gang_record.hpp"
#include "engine/contract/actions.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/dialects/pod_group_flavours.hpp"

namespace muster::kube {

// Of a PodGroup as the API server writes it; one is 1.5 MiB in etcd at most.
inline constexpr size_t kMaxPodGroupBytes = size_t{4} * 1024 * 1024;
// "/apis/…/namespaces/team-a/podgroups/train"; of Grove: "…/podgangs/train"
std::string PodGroupPath(const ServedPodGroups& as, const cluster::ObjectKey& key);

// Empty for an empty record.
std::string FormatGangRecord(const cluster::GangRecord& record);
cluster::Result<cluster::GangRecord> ParseGangRecord(std::string_view text);

// What makes the PodGroup carry gang.record; nothing: it does. `object`: the PodGroup, whole.
// kNotFound: it is another one of that name.
cluster::Result<std::optional<ApiRequest>> PlanGangRecord(const engine::PatchGang& gang,
                                                          const ServedPodGroups& as,
                                                          std::string_view object);

}  // namespace muster::kube
