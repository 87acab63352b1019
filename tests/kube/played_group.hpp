// PlayedGroup: one PodGroup "team/train" of UID u-1 as an API server would keep it, to which status
// patches are applied.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kube/write/gang_status.hpp"

namespace muster::kube {

class PlayedGroup {
 public:
  // `metadata`: further members, each with a comma behind it.
  explicit PlayedGroup(const std::string& status, std::string metadata = {});

  std::string Object() const;
  // A member of the status as JSON; "null" when there is none.
  std::string Status(const std::string& key) const;
  int64_t version() const { return version_; }

  // The body of what PlanGangStatus would write now; empty: nothing.
  std::string Said(const engine::PatchGang& gang, const ServedPodGroups& as,
                   cluster::Time now) const;
  // Writes it. False: there was nothing to write.
  bool Say(const engine::PatchGang& gang, const ServedPodGroups& as, cluster::Time now);
  const StatusPatch& last_patch() const { return last_patch_; }

  // False when the version in it is not the present one.
  bool Apply(const std::string& content_type, const std::string& body);

 private:
  std::string metadata_;
  std::vector<std::pair<std::string, std::string>> status_;  // members as JSON
  int64_t version_ = 1;
  StatusPatch last_patch_;
};

}  // namespace muster::kube
