// ReadKoordinatorGang: what Koordinator's annotations of a pod say of its gang beside its name and
// minimum (apis/extension/coscheduling.go and tryInitByPodConfig in
// pkg/scheduler/plugins/coscheduling/core/gang.go of koordinator-sh/koordinator a7a1b76b):
//
//   gang.scheduling.koordinator.sh/groups        '["NAMESPACE/GANG", …]': they start together
//                                  waiting-time  of a plan, as scheduleTimeoutSeconds of a PodGroup
//                                  mode          Strict, or NonStrict: there what some members
//                                                found is kept while others find nothing. Muster
//                                                places all of a gang at once and keeps nothing for
//                                                a part of it, so both are the same
//                                  match-policy  once-satisfied counts: what has started is
//                                  started;
//                                                also as
//                                                pod-group.scheduling.sigs.k8s.io/match-policy
//
// A pod of a gang by a PodGroup object is none of theirs: there the object says it, in the same
// annotations, and how long a plan is valid in its spec (tryInitByPodGroup).
// Pure, any thread. For the decoders of kube/ only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/records/pod.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

class JsonWriter;

inline constexpr const char* kKoordinatorGang = "gang.scheduling.koordinator.sh/name";
inline constexpr const char* kKoordinatorGroups = "gang.scheduling.koordinator.sh/groups";
inline constexpr const char* kKoordinatorWait = "gang.scheduling.koordinator.sh/waiting-time";
inline constexpr const char* kKoordinatorMode = "gang.scheduling.koordinator.sh/mode";
inline constexpr const char* kKoordinatorMatch = "gang.scheduling.koordinator.sh/match-policy";
inline constexpr const char* kKoordinatorMatchAlias =
    "pod-group.scheduling.sigs.k8s.io/match-policy";

// Of a pod whose pod_group is known; `ns`: its namespace, empty: a manifest does not say it. Groups
// that cannot be planned are a problem of the view.
void ReadKoordinatorGang(const JsonView& labels, const JsonView& annotations, std::string_view ns,
                         cluster::Pod& record, cluster::GangWords& words);

// What of it has no effect, and why: "gang.scheduling.koordinator.sh/mode: …"; of a pod in the gang
// that it names `gang`, and of a PodGroup.
std::vector<std::string> UnheededOfKoordinator(const JsonView& labels, const JsonView& annotations,
                                               std::string_view gang);
std::vector<std::string> UnheededOfKoordinator(const JsonView& annotations);

// Of a PodGroup, whose groups are a problem of the view: gangs with objects of their own
// are planned one by one.
void RefuseKoordinatorGroups(const JsonView& annotations, std::string_view own);

// The annotations, but for what is not heeded; of a pod that has gang_words.
void AppendKoordinatorGang(JsonWriter& json, const cluster::Pod& pod);

}  // namespace muster::kube
