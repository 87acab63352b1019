// LeaseWorld: one Lease on an API server, and replicas that elect a leader by it, in virtual time.
// A call takes time, in which the other replicas go on; nothing runs at the same time, so every run
// of a seed is the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kube/lead/lease.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {

// The Lease with the API's rules: a version per write, 409 for an older one.
class LeaseServer {
 public:
  FakeApi::Answer Answer(const ApiRequest& request);
  void Delete() { metadata_.clear(); }
  bool exists() const { return !metadata_.empty(); }
  // "holder/transitions" as it stands.
  std::string Says() const;
  LeaseRecord record() const;
  void Set(const LeaseRecord& record, const std::string& metadata = {});
  // What somebody else does to it: the version changes, the record does not.
  void Touch() { ++version_; }
  int64_t writes() const { return writes_; }
  std::string Object() const;

 private:
  std::string metadata_;  // members with a comma behind each, without resourceVersion
  std::string spec_;
  int64_t version_ = 100;
  int64_t writes_ = 0;
};

class LeaseWorld;

// One process. Its clocks go their own way.
struct Replica {
  Replica(LeaseWorld& world, const std::string& name);

  Clocks Clock() const;
  void Announce();

  LeaseWorld& world;
  std::string name;
  cluster::Duration offset;  // of its steady clock
  double rate = 1;           // of its steady clock
  cluster::Duration skew;    // of its wall clock
  FakeApi api;
  std::vector<uint64_t> epochs;  // of on_started
  int stopped = 0;               // times of on_stopped
  std::vector<std::string> warnings;
  std::unique_ptr<LeaderElection> election;
  cluster::Time due;  // by the world's time
  bool busy = false;  // in Elect: waits for an answer
  bool alive = true;
};

class LeaseWorld {
 public:
  explicit LeaseWorld(uint64_t seed = 1) : random(seed) {}
  ~LeaseWorld();  // stops every replica; `serve` may look at what is no more, and is not asked
  LeaseWorld(const LeaseWorld&) = delete;
  LeaseWorld& operator=(const LeaseWorld&) = delete;

  Replica& Add(const std::string& name);
  // Lets the time pass; replicas do what is due.
  void Pass(cluster::Duration span);
  // Runs Elect of one now, and what follows from it.
  void Elect(Replica& replica);
  int leaders() const;  // that may write something that takes no time

  cluster::Time now{1'000'000};
  LeaseServer server;
  bool one_term = false;  // of the replicas that are added from now on
  // What happens to a call; the default answers at once.
  std::function<FakeApi::Answer(Replica&, const ApiRequest&)> serve;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Replica>> replicas;
  int most_leaders = 0;          // ever at the same time
  std::vector<uint64_t> epochs;  // of all terms, in order
};

}  // namespace muster::kube
