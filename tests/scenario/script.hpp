// Script: a scenario as data. One command per line; the objects are Kubernetes YAML beside it, or
// in tests/scenario/shared where several scenarios use them ("shared/nodes-2-of-8.yaml"). Runs on
// the embedded cluster in virtual time and gives the text that its `show` commands print, which is
// compared with expected.txt.
//
//   policy FILE                    the policy (before everything else)
//   option gating none|gangs|all   which pods get Muster's gate when they are created
//   option scheduler-cycle 1s      how long a cycle of kube-scheduler takes
//   option write-latency 1s        how long Muster's writes take
//   option grace-limit 10s         how long a deleted pod runs on, if its own grace is longer
//   pool NAME MOST GPUS            nodes that an autoscaler adds and takes away (before the first
//                                  run)
//   requests answer|fail|ignore    what that autoscaler makes of ProvisioningRequests (after a run)
//   option boot 1m                 how long its nodes take to come
//   apply FILE                     creates the objects
//   run 10s                        lets time pass
//   delete pod|podgroup|job|node NAME
//   delete NodeResourceTopology|ComputeDomain|ResourceSlice NAME
//   delete PersistentVolumeClaim|PersistentVolume|StorageClass NAME
//   kube-scheduler-refuses PODS NODE|all WORDS…   its checks turn pods down whose names begin so
//   kube-scheduler-accepts PODS    no more
//   cordon NODE | uncordon NODE | unready NODE | ready NODE
//   turn-down NODE | admit NODE    its kubelet admits no pod, or pods again
//   replace-policy FILE            hot reload
//   refuse-binds on|off            the API server refuses every Binding
//   refuse-writes on|off           the API server says that Muster may write nothing
//   refuse-deletes on|off          the API server says that Muster may delete no pods
//   lose-writes on|off             every write fails
//   end-namespace NAME             it is being deleted; its pods are still there
//   silence RESOURCES|off          the API server is silent: nothing new is planned
//   unfenced POD NODE | fenced POD a leader before may still bind it there: it cannot be written
//   quota NAME RESOURCE USED HARD  a ResourceQuota of namespace default: pods or gpu
//   budget GANG N                  a PodDisruptionBudget of a gang lets N of its pods be evicted
//   unheard-budget GANG N          the same, and Muster hears nothing of it
//   order priority GANG N|reset    an operator's order; it shows what was and what is
//   order hold|drain|resume QUEUE
//   order reclaim QUEUE N [10m]    with how long the queue pauses
//   order would-reclaim QUEUE N    only says who would go
//   order cancel GANG
//   restart muster|kube-scheduler  standing orders are told again
//   show gangs|pods|nodes|writes|events|requests|scale-up
//
// Names are NAMESPACE/NAME or NAME in namespace default. '#' starts a comment.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "cluster/base/result.hpp"
#include "engine/contract/facts.hpp"
#include "extender/embedded/fact_reader.hpp"
#include "extender/live/start_policy.hpp"
#include "sim/world/autoscaler.hpp"
#include "sim/world/cluster.hpp"

namespace muster::testing {

class Script {
 public:
  explicit Script(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // What the script shows, or its first command that went wrong, "script.txt:LINE: …".
  cluster::Result<std::string> Run();

 private:
  cluster::Status Do(const std::string& line);
  cluster::Status SetOption(const std::string& name, const std::string& value);
  cluster::Status Pool(std::istringstream& words);
  cluster::Status RunFor(const std::string& duration);
  cluster::Status Apply(const std::string& file);
  cluster::Status Delete(const std::string& kind, const std::string& name);
  cluster::Status ChangeNode(const std::string& verb, const std::string& name);
  cluster::Status Tell(const engine::Fact& fact);
  cluster::Status Unfence(const std::string& name, const std::string& node);
  cluster::Status Order(std::istringstream& words);
  cluster::Status Quota(std::istringstream& words);
  cluster::Status Budget(std::istringstream& words, bool heard);
  cluster::Status TurnDown(std::istringstream& words);
  std::string PathOf(const std::string& file) const;
  cluster::Status LoadPolicy(const std::string& file, bool reload);
  void SetFaults();
  cluster::Status Show(const std::string& what);
  void ShowGangs();
  void ShowPods();
  void ShowEvents();
  void ShowRequests();
  void ShowScaleUp();
  sim::Cluster& world();

  std::filesystem::path folder_;
  sim::Options options_;
  sim::WriteFaults faults_;
  kube::GroupingSettings grouping_ = extender::GroupingOf(config::Policy());
  std::shared_ptr<extender::FactReader> reader_;  // of the process that runs
  std::unique_ptr<sim::Cluster> world_;
  sim::AutoscalerOptions autoscaling_;
  std::unique_ptr<sim::Autoscaler> autoscaler_;               // null before the first run
  std::map<std::string, cluster::DisruptionBudget> budgets_;  // told anew after a restart
  std::string shown_;
};

}  // namespace muster::testing
