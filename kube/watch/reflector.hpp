// Reflector: keeps its reader's picture of one resource equal to the API server's.
//
//   LIST (pages, as they arrive) ──▶ facts, removals of what is not there any more ──▶ synced
//   WATCH from the list's version ──▶ facts as they come; ended or broken: resumed where it was
//   410 Gone, 400, 404, a line that is no event, three watches in a row that bring nothing,
//     silence, Refresh ──▶ LIST again
//   429, 401, 403, 5xx to a watch ──▶ resumed where it was, more and more slowly; after `silence`
//     LIST again
//   nothing but 404 for `unserved_after` (a CRD was deleted) ──▶ its objects are not served any
//   more
//
// What every API server serves is not forgotten for a 404: a proxy without a backend says it, too.
//
// Waits grow until a watch brings something, and a list that no watch has followed waits as well:
// who refuses watches is asked for one list in `silence`, not for one each second. That is below
// ClusterFeedOptions::stale_after, so the picture is never too old to plan on.
//
// It never asks for resourceVersion=0: that may be answered from a cache older than what this
// process has seen or done. It remembers the UID of each name, so that an object that was deleted
// and recreated between two looks is reported as removed first. What comes twice is reported twice:
// facts are idempotent.
//
// Run belongs to one thread; everything else may be called from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/watch/page_limit.hpp"
#include "kube/watch/resource.hpp"
#include "kube/watch/watch_stream.hpp"

namespace muster::kube {

struct ReflectorOptions {
  int64_t page = 500;  // objects of one LIST call, at most
  // A watch is asked to end after this to twice this, so that watches do not end together.
  std::chrono::seconds watch_for{300};
  // A stream on which nothing comes for so long, not even a bookmark, is dead: those come
  // every minute (defaultBookmarkFrequency of k8s.io/apiserver/pkg/storage/cacher).
  std::chrono::seconds silence{90};
  // After a failure: first × 2^(failures - 1), at most `backoff_max`, of it a random part. A watch
  // that lasted for `backoff_max` is none, however it ends.
  std::chrono::milliseconds backoff_first{500};
  std::chrono::milliseconds backoff_max{30'000};
  // What may not be served at all counts as such when lists were answered 404 for so long, and
  // nothing else: while a control plane is upgraded some of its API servers know a kind, and some
  // do not, and what /apis lists is no better, for it comes from the same server.
  std::chrono::milliseconds unserved_after{60'000};
};

class Reflector {
 public:
  struct Ports {
    ApiCaller& api;
    // Called on the thread of Run, in order.
    std::function<void(const News&)> apply;
    // Said when the picture is whole for the first time.
    std::function<void()> synced;
    // One line for the log: what went wrong and what is done about it.
    std::function<void(const std::string&)> warn;
  };

  Reflector(Resource resource, Ports ports, ReflectorOptions options, uint64_t seed);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Goes on from what `stopped`, whose Run has ended, knew of the same objects. Before Run.
  void Succeed(Reflector& stopped) {
    known_ = std::move(stopped.known_);
    listing_ = stopped.listing_;
  }
  // Returns after Stop.
  void Run();
  void Stop();
  // Lists again at once, whatever the watch does. Fresh says whether a list that began after the
  // call has been read.
  uint64_t Refresh();
  bool Fresh(uint64_t refresh) const { return fresh_ >= refresh; }

  const Resource& resource() const { return resource_; }
  bool synced() const { return synced_; }
  int64_t lists() const { return lists_; }
  // How long ago the API server last told anything of this resource (a refusal tells nothing); 0
  // before it ever did.
  std::chrono::milliseconds age() const;

 private:
  enum class Next { kWatch, kWatchAgain, kList };
  using Clock = std::chrono::steady_clock;

  bool Relist();
  bool List();
  // Why a page did not come.
  enum class PageFault { kNone, kGone, kTooLarge, kOther };  // kGone: the continuation is too old
  // One page; the token of the next one, or an error.
  cluster::Result<std::string> ListPage(const std::string& query, PageFault& fault);
  void ForgetUnseen();
  News Missing(const std::string& uid) const;
  bool Unserved() const;
  void ForgetUnserved();
  void Upsert(const KeptObject& object);
  void Remove(const KeptObject& object);
  void TellIgnored(const Observed& observed);

  Next Watch();
  // What one watch brought.
  struct Watched {
    bool any = false;            // an event or a bookmark
    std::optional<int> refused;  // the code of the event ERROR
    bool lasted = false;         // for `backoff_max`
  };
  bool TakeEvent(const WatchEvent& event, Watched& watched);
  Next AfterWatch(const cluster::Result<ApiReply>& end, const std::string& problem,
                  const Watched& watched);
  Next AfterRefusal(int status);
  Next ResumeOrList();
  // It was of use, so what fails next is a first failure.
  static bool Worked(const cluster::Result<ApiReply>& end, const Watched& watched, Next next);

  void Heard() { heard_ = Clock::now().time_since_epoch().count(); }
  void Warn(const std::string& what);
  // How long to wait after one more failure in a row.
  std::chrono::milliseconds NextWait();
  // What the server asked for, and a wait, but a list is not made late by it.
  Clock::time_point WatchAgainAt();
  // Or until stopped or asked to refresh.
  void PauseUntil(Clock::time_point until);
  bool stopping();
  bool refresh_asked();
  bool refresh_wanted() MUSTER_REQUIRES(mu_) { return wanted_ > serving_; }

  struct Known {
    std::string uid;
    uint32_t listing = 0;  // in which it was told last, or after which
  };

  const Resource resource_;
  const Ports ports_;
  const ReflectorOptions options_;

  std::atomic<bool> synced_{false};
  std::atomic<int64_t> lists_{0};
  std::atomic<Clock::rep> heard_{0};
  std::atomic<uint64_t> fresh_{0};

  cluster::Mutex mu_;
  cluster::CondVar stopped_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::shared_ptr<ApiStream> stream_ MUSTER_GUARDED_BY(mu_);
  uint64_t wanted_ MUSTER_GUARDED_BY(mu_) = 0;   // calls of Refresh
  uint64_t serving_ MUSTER_GUARDED_BY(mu_) = 0;  // of them, those before the last list began

  // The thread of Run's.
  std::mt19937_64 random_;
  std::string version_;                           // where to watch from
  uint32_t listing_ = 0;                          // the number of the last list
  std::unordered_map<std::string, Known> known_;  // by name; looked up, swept, never ordered
  std::unordered_map<std::string, std::vector<std::string>> ignored_;  // warnings by name, as said
  PageLimit page_limit_;
  int failures_ = 0;                                  // in a row
  Clock::time_point list_ended_{};                    // the last one
  bool unproven_ = false;                             // no watch has brought anything since
  int vain_watches_ = 0;                              // in a row: ended in order, and nothing came
  std::optional<Clock::time_point> not_found_since_;  // lists were answered 404, and nothing else
  std::chrono::milliseconds retry_after_{0};          // what the server asked for last
};

}  // namespace muster::kube
