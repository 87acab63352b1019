// OwnerAudit: whether Indexed Jobs without a PodGroup start whole where Muster binds their pods as
// gangs, as the API server's objects show it. Part of the Auditor; one thread.
//
//   1. From the first Binding that says its gang on, all pods of the Job are bound within the
//      limit, or none is. It has started then, until none is bound and no pod is there that
//      succeeded; what has succeeded counts.
//   2. Pods of a Job that has started are not taken back for each other, unless the Job says
//      muster.dev/min-member, or the policy moves gangs that lost a member.
//   Where one was bound by itself (before Muster knew of gangs by owner, say) nothing is judged.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

class OwnerAudit {
 public:
  // `slack`: how late Muster may hear of something.
  OwnerAudit(const ApiServer& api, cluster::Duration slack) : api_(api), slack_(slack) {}

  // `live`: it exists, is bound and has not ended.
  void See(Change change, const PodRecord& pod, bool live, cluster::Time at);
  // What has been bound in part for longer than the limit, said once for each time. `since`:
  // nothing before it counts, nor while owners of its namespace cannot be read.
  std::vector<std::string> Overdue(cluster::Time since, cluster::Time now, cluster::Duration limit);
  // Muster comes anew: what became whole since `unwritten` it may never have written down.
  void NoteRestart(cluster::Time unwritten);
  // Its Job has not started, or has lost a pod, of a minimum that somebody wrote or where the
  // policy moves gangs for that (`moves`).
  bool MayBeTakenBack(const PodRecord& pod, bool moves) const;
  // As Auditor::Doubt.
  void Doubt(const std::string& job) { doubted_.insert(job); }

 private:
  struct Job {
    cluster::ObjectKey key;
    int64_t need = 0;
    bool asked = false;  // somebody wrote the minimum
    std::set<cluster::PodUid> bound;
    std::set<cluster::PodUid> alone;  // of these, by themselves
    std::vector<cluster::Time> gone;  // when pods were lost
    std::set<int64_t> succeeded;      // indices
    std::set<cluster::PodUid> shown;  // that succeeded and are there: it runs as long
    bool one_by_one = false;          // until none is bound and none has succeeded
    bool started = false;             // until none is bound or shown
    bool surely = false;              // likewise, whatever Muster heard of first
    bool lost = false;                // a pod, since it started
    cluster::Time whole_at;           // when it became whole, at last
    cluster::Time empty_since;        // when none was bound or shown any more, at last
    cluster::Time partial_since = cluster::Time::Never();
  };

  const ApiServer& api_;
  const cluster::Duration slack_;
  std::map<std::string, Job> jobs_;  // by UID, that are gangs by the grouping rules
  std::set<std::string> doubted_;    // of these
};

}  // namespace muster::sim
