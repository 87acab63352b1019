// Worlds of Jobs without PodGroups, in which pods and nodes come and go, Muster is restarted, or
// its policy reloaded, with gangs by owner and without: judged by the auditor after every event.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "config/policies/grouping_file.hpp"
#include "extender/embedded/fact_reader.hpp"
#include "sim/api_server/random.hpp"
#include "sim/world/cluster.hpp"
#include "tests/support/builders.hpp"

namespace muster::testing {
namespace {

using cluster::Duration;
using cluster::Seconds;
using sim::Actor;

constexpr int kSteps = 60;
constexpr int kNodes = 6;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    sim::Options options;
    options.seed = seed;
    options.audit = true;
    options.muster.writes.latency = Duration(random_.Between(1, 400));
    options.muster.watch.latency = Duration(random_.Between(0, 300));
    options.auditor.node_slack = Seconds(2);  // a Binding may be under way
    options.muster.make_reader = [this] {
      std::optional<kube::GroupingSettings> grouping;
      if (by_owner_) grouping = kube::GroupingSettings{config::ShippedGroupingRules(), {"muster"}};
      reader_ = std::make_shared<extender::FactReader>(std::move(grouping));
      return [facts = reader_](const sim::WatchEvent& event) { return facts->Read(event); };
    };
    by_owner_ = random_.Chance(700);
    cluster_ = std::make_unique<sim::Cluster>(options);
    cluster_->AddNodes("node", kNodes, sim::GpuNode(8));
  }

  void Step() {
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2:
        AddJob();
        break;
      case 3:
      case 4:
        DeletePod();
        break;
      case 5:
        LoseNode();
        break;
      case 6:
        random_.Chance(700) ? Restart(random_.Chance(300)) : Reload();
        break;
      case 7:
        DeleteJob();
        break;
      default:
        Run(Seconds(random_.Between(30, 200)));
        break;
    }
    Run(Seconds(random_.Between(0, 20)));
  }

  // With time and all nodes every Job ends.
  std::string Finish() {
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = "node-" + std::to_string(i);
      if (cluster_->api().FindNode(name) == nullptr) AddNode(name);
    }
    Run(Seconds(40'000));
    for (const sim::JobPtr& job : cluster_->api().Jobs()) {
      if (job->complete || job->gave_up) continue;
      return "Job " + job->key.ToString() + " never ends:\n" +
             cluster_->muster()->scheduler().Dump();
    }
    return {};
  }

  std::string found() {
    std::string text;
    for (const std::string& one : cluster_->auditor()->findings()) text += one + "\n";
    return text.empty() ? text : text + cluster_->muster()->scheduler().Dump();
  }
  int gangs() const { return gangs_; }
  const std::string& story() const { return story_; }

 private:
  void Tell(const std::string& what) {
    story_ += std::to_string(cluster_->loop().now().milliseconds() / 1000) + " s: " + what + "\n";
  }
  void Run(Duration time) { cluster_->loop().RunUntil(cluster_->loop().now() + time); }

  void AddJob() {
    sim::JobRecord job;
    const std::string name = "job-" + std::to_string(made_++);
    job.key = {"default", name};
    job.parallelism = job.completions = random_.Between(1, 5);
    job.backoff_limit = 50;
    std::string metadata = R"("name":")" + name + R"(","namespace":"default")";
    if (random_.Chance(200)) {
      metadata +=
          R"(,"annotations":{"muster.dev/min-member":")" + std::to_string(job.parallelism) + "\"}";
    } else if (random_.Chance(100)) {
      metadata += R"(,"annotations":{"muster.dev/gang":"false"})";
    }
    const std::string count = std::to_string(job.parallelism);
    const bool indexed = random_.Chance(800);
    job.json = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{)" + metadata +
               R"(},"spec":{"completionMode":")" + (indexed ? "Indexed" : "NonIndexed") +
               R"(","parallelism":)" + count + R"(,"completions":)" + count +
               (random_.Chance(100) ? R"(,"backoffLimitPerIndex":1)" : "") +
               R"(,"template":{"spec":{"schedulerName":"muster"}}}})";
    const bool gated = random_.Chance(800);
    cluster::Pod pod = gated ? MakePod("x").Gpus(static_cast<int>(random_.Between(1, 8))).Gated()
                             : MakePod("x").Gpus(static_cast<int>(random_.Between(1, 8)));
    job.pod.pod.spec = pod.spec;
    job.pod.pod.gates = pod.gates;
    job.pod.runs_for = Seconds(random_.Between(20, 2'000));
    Tell("creates " + job.json + (gated ? "" : ", not gated"));
    gangs_ += indexed && job.parallelism > 1 ? 1 : 0;
    REQUIRE(cluster_->api().CreateJob(Actor::kUser, std::move(job)).ok());
  }
  void DeletePod() {
    const auto pods = cluster_->api().Pods();
    if (pods.empty()) return;
    const cluster::Pod& pod = pods[random_.Below(pods.size())]->pod;
    Tell("deletes " + pod.key.name);
    static_cast<void>(cluster_->api().DeletePod(Actor::kUser, {pod.key, pod.uid}));
  }
  void DeleteJob() {
    const auto jobs = cluster_->api().Jobs();
    if (jobs.empty()) return;
    const cluster::ObjectKey key = jobs[random_.Below(jobs.size())]->key;
    Tell("deletes Job " + key.name);
    static_cast<void>(cluster_->api().DeleteJob(Actor::kUser, key));
  }
  void AddNode(const std::string& name) {
    cluster::Node node = sim::GpuNode(8);
    node.name = name;
    REQUIRE(cluster_->api().CreateNode(Actor::kUser, std::move(node)).ok());
  }
  // And adds one that was lost before, if there is any.
  void LoseNode() {
    const std::string name = "node-" + std::to_string(random_.Below(kNodes));
    const bool there = cluster_->api().FindNode(name) != nullptr;
    Tell((there ? "removes " : "adds ") + name);
    if (!there) return AddNode(name);
    static_cast<void>(cluster_->api().DeleteNode(Actor::kUser, name));
  }
  // `switched`: with the flag of gangs by owner the other way round.
  void Restart(bool switched) {
    if (switched) by_owner_ = !by_owner_;
    Tell(std::string("restarts, gangs by owner ") + (by_owner_ ? "on" : "off"));
    cluster_->muster()->Restart();
  }

  // A reload of the policy: gangs by owner are switched while pods wait and run.
  void Reload() {
    by_owner_ = !by_owner_;
    Tell(std::string("reloads, gangs by owner ") + (by_owner_ ? "on" : "off"));
    const kube::GroupingSettings grouping{config::ShippedGroupingRules(), {"muster"}, by_owner_};
    for (const engine::Fact& fact : reader_->SetGrouping(grouping))
      cluster_->muster()->scheduler().Apply(fact, cluster_->loop().now());
    cluster_->muster()->Kick();
  }

  sim::Random random_;
  bool by_owner_ = true;
  std::shared_ptr<extender::FactReader> reader_;
  std::unique_ptr<sim::Cluster> cluster_;
  int made_ = 0;
  int gangs_ = 0;
  std::string story_;
};

TEST_CASE("gangs by owner start whole and lose nothing that they need not, whatever happens",
          "[owner][worlds]") {
  const uint64_t first = FromEnvironment("MUSTER_PROPERTY_SEED", 1);
  // Each takes as long as several of property_test's.
  const uint64_t steps = FromEnvironment("MUSTER_PROPERTY_STEPS", 15'000) / 5;
  int gangs = 0;
  for (uint64_t seed = first; seed < first + steps / kSteps; ++seed) {
    World world(seed);
    std::string finding;
    for (int step = 0; step < kSteps && finding.empty(); ++step) {
      world.Step();
      finding = world.found();
    }
    if (finding.empty()) finding = world.Finish() + world.found();
    INFO("world " << seed << "\n" << world.story() << finding);
    REQUIRE(finding.empty());
    gangs += world.gangs();
  }
  CHECK((gangs > 100 || steps < 1'000));
}

}  // namespace
}  // namespace muster::testing
