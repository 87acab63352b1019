#include "kube/admission/muster_keys.hpp"

#include <array>

#include "cluster/records/gang_record.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "cluster/records/run_times.hpp"
#include "cluster/records/topology_terms.hpp"
#include "kube/admission/admission_review.hpp"
#include "kube/decode/decode.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/lead/takeover.hpp"
#include "kube/write/pod_writes.hpp"

namespace muster::kube {

// tests/house finds a name that is missing here.
constexpr std::array<std::string_view, 36> kKeys = {cluster::kTopologyRequiredAnnotation,
                                                    cluster::kTopologyPreferredAnnotation,
                                                    cluster::kSegmentsRequiredAnnotation,
                                                    cluster::kSegmentsPreferredAnnotation,
                                                    cluster::kRolesRequiredAnnotation,
                                                    cluster::kRolesPreferredAnnotation,
                                                    cluster::kTopologyBalanceAnnotation,
                                                    cluster::kTopologySpreadAnnotation,
                                                    cluster::kSpreadGroupAnnotation,
                                                    cluster::kAskedForAnnotation,
                                                    cluster::kAskAnnotation,
                                                    cluster::kAttemptAnnotation,
                                                    cluster::kGangGate,
                                                    cluster::kGpusAnnotation,
                                                    cluster::kGpuUuidsAnnotation,
                                                    cluster::kRankAnnotation,
                                                    cluster::kTopologyPathAnnotation,
                                                    cluster::kBoundByAnnotation,
                                                    cluster::kBoundInAnnotation,
                                                    cluster::kEpochAnnotation,
                                                    cluster::kGangRecordAnnotation,
                                                    cluster::kQueueName,
                                                    cluster::kPreemptible,
                                                    cluster::kExpectedDuration,
                                                    cluster::kCheckpoint,
                                                    kComputeDomainAnnotation,
                                                    kDefectAnnotation,
                                                    kGpuDevicesAnnotation,
                                                    kGpuSharing,
                                                    kGpuTopologyAnnotation,
                                                    kLeaderLabel,
                                                    kMinMemberAnnotation,
                                                    kNumaPolicyAnnotation,
                                                    kRoleLabel,
                                                    kScheduleLabel,
                                                    kWakeAnnotation};

std::span<const std::string_view> MusterKeys() { return kKeys; }

}  // namespace muster::kube
