#include "sim/audit/owner_audit.hpp"

#include <algorithm>

namespace muster::sim {

using cluster::Duration;
using cluster::PodPhase;
using cluster::Time;

namespace {

bool Says(const JobRecord& job, const char* text) {
  return job.json.find(text) != std::string::npos;
}

// How many of its pods start together; 0: they start one by one.
int64_t NeedOf(const JobRecord& job) {
  if (Says(job, "muster.dev/min-member")) return job.parallelism > 1 ? job.parallelism : 0;
  const bool off = Says(job, "muster.dev/gang") || Says(job, "backoffLimitPerIndex");
  const bool indexed = Says(job, "Indexed") && !Says(job, "NonIndexed");
  const bool at_once = job.parallelism > 1 && job.parallelism == job.completions;
  return !off && indexed && at_once ? job.parallelism : 0;
}

}  // namespace

void OwnerAudit::See(Change change, const PodRecord& pod, bool live, Time at) {
  if (pod.job_uid.empty() || !pod.pod.pod_group.empty()) return;
  auto found = jobs_.find(pod.job_uid);
  if (found == jobs_.end()) {
    for (const JobPtr& job : api_.Jobs()) {
      if (job->uid != pod.job_uid || NeedOf(*job) == 0) continue;
      found = jobs_.try_emplace(job->uid).first;
      found->second.key = job->key;
      found->second.need = NeedOf(*job);
      found->second.asked = Says(*job, "muster.dev/min-member");
    }
    if (found == jobs_.end()) return;
  }
  Job& job = found->second;
  const bool counts = live && !pod.pod.deleting && pod.pod.bound_by_muster;
  const bool succeeded = change != Change::kDeleted && pod.pod.phase == PodPhase::kSucceeded;
  if (succeeded) job.succeeded.insert(pod.job_index);
  const bool shown = job.shown.erase(pod.pod.uid) > 0;
  // Muster may not have seen a short while without any.
  if (counts && job.bound.empty() && job.shown.empty() && job.empty_since + slack_ < at) {
    job.started = job.surely = job.lost = false;
    job.one_by_one = job.one_by_one && !job.succeeded.empty();
  }
  const bool fresh = counts && job.bound.insert(pod.pod.uid).second;
  if (fresh && pod.pod.bound_in.empty()) {
    job.one_by_one = true;
    job.alone.insert(pod.pod.uid);
  }
  const bool gone = !counts && job.bound.erase(pod.pod.uid) > 0;
  if (gone) job.alone.erase(pod.pod.uid);
  if (gone && !succeeded) job.gone.push_back(at);
  if (succeeded) job.shown.insert(pod.pod.uid);
  if ((gone || shown) && job.bound.empty() && job.shown.empty()) job.empty_since = at;
  const auto there = static_cast<int64_t>(job.bound.size() + job.succeeded.size());
  // Muster may hear of the last Binding before it hears of those that went: it has started for it.
  std::erase_if(job.gone, [&](Time when) { return when + slack_ < at; });
  const auto unheard = std::ssize(job.gone);
  job.started = job.started || (!job.bound.empty() && there + unheard >= job.need);
  const bool whole = !job.bound.empty() && there >= job.need;
  if (whole && !job.surely) job.whole_at = at;
  job.surely = job.surely || whole;
  job.lost = job.started && !whole && (job.lost || unheard > 0);
  const bool partial = !job.bound.empty() && !job.started && !job.one_by_one;
  if (!partial) job.partial_since = Time::Never();
  if (partial && job.partial_since == Time::Never()) job.partial_since = at;
}

void OwnerAudit::NoteRestart(Time unwritten) {
  for (auto& [uid, job] : jobs_) {
    const auto there = static_cast<int64_t>(job.bound.size() + job.succeeded.size());
    const bool whole = !job.bound.empty() && there >= job.need;
    if (!whole && job.whole_at >= unwritten) job.surely = false;
  }
}

std::vector<std::string> OwnerAudit::Overdue(Time since, Time now, Duration limit) {
  std::vector<std::string> found;
  for (auto& [uid, job] : jobs_) {
    if (job.partial_since == Time::Never() || doubted_.contains(uid)) continue;
    if (api_.owner_reads(job.key.ns) != OwnerReads::kServed) continue;
    const Time from = std::max({job.partial_since, since, api_.owner_reads_since(job.key.ns)});
    if (from + limit >= now) continue;
    found.push_back("Job " + job.key.ToString() + " is bound in part from " +
                    std::to_string(from.milliseconds()) + " to " +
                    std::to_string(now.milliseconds()) + " ms at least");
    job.partial_since = Time::Never();
    job.one_by_one = true;  // once is enough
  }
  return found;
}

bool OwnerAudit::MayBeTakenBack(const PodRecord& pod, bool moves) const {
  const auto found = jobs_.find(pod.job_uid);
  if (found == jobs_.end()) return false;
  if (doubted_.contains(pod.job_uid)) return true;
  const Job& job = found->second;
  return (!job.surely && !job.one_by_one) ||
         (job.lost && (moves || job.asked) && job.alone.empty());
}

}  // namespace muster::sim
