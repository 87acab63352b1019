// What the auditor's parts find: each is shown what Muster must not do, and the same where it may.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/audit/restart_audit.hpp"
#include "sim/audit/shape_audit.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using cluster::Seconds;
using cluster::Time;
using queues::QueueSpec;

constexpr Time kNow(1'000'000);

// Queue research is guaranteed two whole nodes of three.
struct Shapes {
  explicit Shapes(int nodes = 3) {
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      REQUIRE(api.CreateNode(Actor::kUser, MakeNode(name).Gpus(8).Build()).ok());
    }
    QueueSpec research{.name = "research"};
    research.shapes = {{2, ""}};
    queues = {{.name = "root"}, research, {.name = "guests"}};
  }
  // A pod is bound there now.
  std::string Bind(const std::string& name, const std::string& queue, bool kept,
                   const std::string& node, int gpus = 1) {
    auto record = std::make_shared<PodRecord>();
    record->pod = MakePod(name).Gpus(gpus).BoundTo(node).Build();
    record->pod.asked_queue = queue;
    if (kept) record->pod.preemptible = false;
    runs.Runs(record);
    return audit.FaultOf(record->pod, queues, kNow);
  }

  EventLoop loop;
  ApiServer api{loop, {}};
  QueueAudit runs{api};
  ShapeAudit audit{api, runs};
  std::vector<QueueSpec> queues;
};

TEST_CASE("whoever nobody may evict takes no whole node that another queue is guaranteed",
          "[sim][audit]") {
  Shapes shapes;
  CHECK(shapes.Bind("first", "guests", true, "n0").empty());  // two are left
  CHECK(shapes.Bind("second", "guests", true, "n1") ==
        "pod default/second is bound, is not preemptible, and takes one of the 2 whole nodes that "
        "queue research is guaranteed");
}

TEST_CASE("a whole node may be taken by who can be evicted, by the queue itself, and again",
          "[sim][audit]") {
  Shapes shapes;
  CHECK(shapes.Bind("first", "guests", true, "n0").empty());
  CHECK(shapes.Bind("again", "guests", true, "n0").empty());
  CHECK(shapes.Bind("leaves", "guests", false, "n1").empty());
  CHECK(shapes.Bind("own", "research", true, "n2", 8).empty());
}

TEST_CASE("of whole nodes nothing is said soon after something ended", "[sim][audit]") {
  Shapes shapes;
  CHECK(shapes.Bind("first", "guests", true, "n0").empty());
  shapes.audit.Disturbed(kNow);
  CHECK(shapes.Bind("second", "guests", true, "n1").empty());
}

// Gang train ran from 10 s on, on GPU 0 of n0; it had preempted others.
struct Restarts {
  Restarts() {
    QueueSpec research{.name = "research"};
    research.preemption.min_runtime_reclaim = 600'000;
    research.preemption.restart_window = 300'000;
    queues = {{.name = "root"}, research};
    cluster::PodGroup group = MakePodGroup("train").MinMember(1);
    group.queue = "research";
    REQUIRE(api.CreatePodGroup(Actor::kUser, group).ok());
    audit.SeeGroup(Change::kAdded, *api.FindPodGroup({"default", "train"}));
  }
  PodPtr Pod(const std::string& name, const std::string& group) {
    auto record = std::make_shared<PodRecord>();
    record->pod = MakePod(name).Gpus(1).InGroup(group).BoundTo("n0").Build();
    record->pod.bound_by_muster = true;
    record->pod.bound_gpus = {cluster::GpuIndex{0}};
    return record;
  }
  // It runs, and dies so much later.
  void Die(cluster::Duration after, bool paid = true) {
    if (paid) CHECK(Evict("victim", kNow).empty());
    const PodPtr member = Pod("train-0", "train");
    audit.See(member, true, queues, kNow);
    audit.See(member, false, queues, kNow + after);
    died = kNow + after;
  }
  std::string Evict(const std::string& pod, Time at) {
    auto victim = std::make_shared<PodRecord>(*Pod(pod, "guest"));
    victim->evicted_by_muster = true;
    victim->evicted_for = {"default", "train"};
    return audit.See(victim, true, queues, at);
  }
  std::string Fault(const std::string& pod, const std::string& group, cluster::Duration later,
                    int32_t priority = 0) {
    cluster::Pod other = Pod(pod, group)->pod;
    cluster::PodSpec spec = *other.spec;
    other.asked_queue = "research";
    spec.priority = priority;
    other.spec = std::make_shared<const cluster::PodSpec>(spec);
    return audit.Fault(other, died + later);
  }

  EventLoop loop;
  ApiServer api{loop, {}};
  QueueAudit says{api};
  RestartAudit audit{api, says};
  std::vector<QueueSpec> queues;
  Time died;
};

TEST_CASE("nobody else comes to what is kept for the restart of a gang that died early",
          "[sim][audit]") {
  Restarts restarts;
  restarts.Die(Seconds(60));
  CHECK(restarts.Fault("other-0", "other", Seconds(10)) ==
        "pod default/other-0 is bound to devices on n0 that are kept for the restart of gang "
        "default/train");
  CHECK(restarts.Fault("train-1", "train", Seconds(10)).empty());
  CHECK(restarts.Fault("urgent-0", "urgent", Seconds(10), 1).empty());
  CHECK(restarts.Fault("other-0", "other", Seconds(300)).empty());
}

TEST_CASE("nobody is evicted within the hour for a gang that died early", "[sim][audit]") {
  Restarts restarts;
  restarts.Die(Seconds(60));
  CHECK(restarts.Evict("next", restarts.died + Seconds(600)) ==
        "pod default/next is evicted for gang default/train, for which others were evicted within "
        "the hour and which ended early");
  CHECK(restarts.Evict("later", restarts.died + Seconds(3600)).empty());
  Restarts old;
  old.Die(Seconds(600));
  CHECK(old.Evict("next", old.died + Seconds(10)).empty());
}

TEST_CASE("nothing is kept for a gang that had its minRuntime, or for which nobody was evicted",
          "[sim][audit]") {
  Restarts old;
  old.Die(Seconds(600));
  CHECK(old.Fault("other-0", "other", Seconds(10)).empty());
  Restarts free;
  free.Die(Seconds(60), false);
  CHECK(free.Fault("other-0", "other", Seconds(10)).empty());
}

TEST_CASE("whose budget is violated must be of a queue whose budgets give way",
          "[sim][audit][budgets]") {
  EventLoop loop;
  ApiServer api{loop, {}};
  QueueAudit says{api};
  QueueSpec research{.name = "research"};
  research.guarantee.Set({queues::Resource::Kind::kGpu}, queues::Amount(8'000));
  std::vector<QueueSpec> queues = {research, {.name = "guests"}, {.name = "others"}};
  const auto pod = [&](const std::string& name, const std::string& queue) {
    PodRecord record;
    record.pod = MakePod(name).Gpus(1).Build();
    record.pod.asked_queue = queue;
    return record;
  };
  for (const char* queue : {"research", "guests", "others"})
    REQUIRE(api.CreatePod(Actor::kUser, pod(std::string("of-") + queue, queue)).ok());
  PodRecord victim = pod("victim", "guests");
  const auto may = [&](const std::string& claimant) {
    victim.evicted_for = {"default", "of-" + claimant};
    return says.MayViolate(victim, queues);
  };
  CHECK(may("research"));
  CHECK_FALSE(may("others"));  // it is guaranteed nothing
  CHECK_FALSE(may("guests"));
  queues[1].preemption.budgets_guarantee = queues::Budgets::kKeep;
  CHECK_FALSE(may("research"));
  queues[1].preemption.budgets_preempt = queues::Budgets::kPrefer;
  CHECK(may("guests"));
  queues[1].preemption.budgets_fair_share = queues::Budgets::kPrefer;
  CHECK_FALSE(may("others"));
  queues[2].preemption.reclaim = queues::Reclaim::kFairShare;
  CHECK(may("others"));
}

}  // namespace
}  // namespace muster::sim::testing
