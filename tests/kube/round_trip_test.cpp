// Decode(Encode(x)) == x for random records of pods and nodes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"
#include "kube/watch/list_stream.hpp"
#include "kube/watch/resource.hpp"
#include "tests/kube/noisy_objects.hpp"
#include "tests/kube/record_dice.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::kube {
namespace {

using cluster::GpuMilli;
using cluster::GpuRequest;
using cluster::GpuSharing;
using cluster::MiB;
using cluster::MilliCpu;
using cluster::Node;
using cluster::Pod;
using cluster::PodSpec;
using cluster::TaintEffect;
using cluster::Time;
using testing::Dice;
using testing::Fattened;

constexpr int kRounds = 2000;

std::vector<cluster::SelectorRequirement> RandomRequirements(Dice& dice) {
  using Op = cluster::SelectorOperator;
  std::vector<cluster::SelectorRequirement> requirements;
  for (int64_t i = dice.From(0, 2); i > 0; --i) {
    requirements.push_back(
        {dice.Word(),
         dice.Pick({Op::kIn, Op::kNotIn, Op::kExists, Op::kDoesNotExist, Op::kGt, Op::kLt}),
         dice.Words()});
  }
  return requirements;
}

TaintEffect RandomEffect(Dice& dice) {
  return dice.Pick(
      {TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule, TaintEffect::kNoExecute});
}

cluster::NodeConstraints RandomConstraints(Dice& dice) {
  using Toleration = cluster::Toleration;
  cluster::NodeConstraints constraints;
  constraints.node_selector = dice.Texts();
  constraints.has_affinity = dice.OneIn(3);
  for (int64_t i = constraints.has_affinity ? dice.From(0, 2) : 0; i > 0; --i) {
    constraints.affinity_terms.push_back({RandomRequirements(dice), RandomRequirements(dice)});
  }
  for (int64_t i = dice.From(0, 2); i > 0; --i) {
    Toleration toleration{dice.WordOrNothing(),
                          dice.Pick({Toleration::Op::kEqual, Toleration::Op::kExists,
                                     Toleration::Op::kGt, Toleration::Op::kLt}),
                          dice.WordOrNothing(), dice.OneIn(2), TaintEffect::kNoSchedule};
    if (!toleration.every_effect) toleration.effect = RandomEffect(dice);
    constraints.tolerations.push_back(toleration);
  }
  return constraints;
}

// Any request that decoding can give.
GpuRequest RandomGpus(Dice& dice) {
  const auto count = static_cast<int32_t>(dice.OneIn(9) ? INT32_MAX : dice.From(1, 16));
  const auto percent = [&](int64_t least) { return GpuMilli(10 * dice.From(least, 99)); };
  switch (dice.From(0, 6)) {
    case 0:
      return {};
    case 1:
      return {count, cluster::kWholeGpu, MiB(0)};
    case 2:
      return {count, GpuMilli(dice.From(1, 999)), MiB(0)};
    case 3:
      return {count, GpuMilli(0), MiB(dice.From(1, 200'000))};
    case 4:  // all of the cores
      return {count, cluster::kWholeGpu, MiB(dice.From(1, 200'000))};
    case 5:
      return {count, {percent(0), percent(1)}, MiB(0)};
    default:
      return {count, {percent(0), percent(0)}, MiB(dice.From(1, 200'000))};
  }
}

// What HAMi's resources ask for, a container asks for; the rest is asked for by annotations, or
// whole.
void NameContainer(PodSpec& spec) {
  const GpuRequest& gpus = spec.gpus;
  const bool memory = gpus.memory_each > MiB(0);
  const bool hami = memory ? !gpus.each.none() : gpus.each.compute() != gpus.each.memory();
  if (gpus.none() || !hami) return;
  cluster::ContainerGpus one;
  one.count = gpus.count;
  one.cores = static_cast<int8_t>(gpus.each.compute().value() / 10);
  one.memory_percent = static_cast<int8_t>(gpus.each.memory().value() / 10);
  one.memory_mib = static_cast<int32_t>(gpus.memory_each.value());
  spec.gpu_containers = {one};
}

// Containers that ask for GPUs, each that does for the same share, and what they come to.
void AddContainers(Dice& dice, PodSpec& spec) {
  using cluster::ContainerGpus;
  using cluster::ContainerKind;
  ContainerGpus share;
  if (dice.OneIn(2)) {
    share.cores = static_cast<int8_t>(dice.From(0, 100));
    share.memory_mib = static_cast<int32_t>(dice.OneIn(2) ? dice.From(1, 200'000) : 0);
    share.memory_percent = static_cast<int8_t>(dice.From(share.memory_mib > 0 ? 0 : 1, 100));
  }
  spec.gpu_containers.clear();
  int32_t running = 0;
  int32_t sidecars = 0;
  int32_t peak = 0;
  const auto add = [&](ContainerKind kind, int64_t least) {
    ContainerGpus one = share;
    one.count = static_cast<int32_t>(dice.From(least, 4));
    if (one.count == 0 && dice.OneIn(2)) one = {};
    one.kind = kind;
    spec.gpu_containers.push_back(one);
    if (kind == ContainerKind::kInit) peak = std::max(peak, sidecars + one.planned());
    if (kind == ContainerKind::kSidecar) sidecars += one.planned();
    if (kind != ContainerKind::kInit) running += one.planned();
  };
  for (int64_t i = dice.From(0, 2); i > 0; --i)
    add(dice.Pick({ContainerKind::kInit, ContainerKind::kSidecar}), 0);
  add(ContainerKind::kMain, 1);
  for (int64_t i = dice.From(0, 2); i > 0; --i) add(ContainerKind::kMain, 0);
  spec.gpus = {std::max(running, peak), cluster::kWholeGpu, MiB(0)};
  if (spec.gpu_containers.size() == 1 && !share.says_share()) spec.gpu_containers.clear();
  if (!share.says_share()) return;
  spec.gpus.each = {GpuMilli(share.cores * 10), GpuMilli(share.memory_percent * 10)};
  spec.gpus.memory_each = MiB(share.memory_mib);
  if (spec.gpus.whole()) spec.gpus.each = cluster::kWholeGpu;
}

// As annotations of pods can say them: one in the other, and one beside both.
std::vector<cluster::TopologySubgroup> RandomSubgroups(Dice& dice) {
  std::vector<cluster::TopologySubgroup> subgroups = {
      {"decode+prefill", {"decode", "prefill"}}, {"prefill", {"prefill"}}, {"router", {"router"}}};
  for (cluster::TopologySubgroup& one : subgroups) {
    one.required = dice.OneIn(2) ? "tree/block" : "";
    if (one.required.empty() || dice.OneIn(2)) one.preferred = "example.com/rack";
  }
  subgroups.resize(static_cast<size_t>(dice.From(1, 3)), {"", {}});
  return subgroups;
}

// As annotations of HAMi can say it.
cluster::GpuChoice RandomChoice(Dice& dice) {
  using Filling = cluster::GpuWords::Filling;
  using cluster::HamiMode;
  const auto list = [&] {
    return dice.OneIn(2) ? std::vector<std::string>() : std::vector<std::string>{"A100", "GPU-7"};
  };
  cluster::GpuWords words;
  words.types = list();
  words.not_types = list();
  words.uuids = list();
  words.not_uuids = list();
  if (dice.OneIn(2)) words.modes = {HamiMode::kHamiCore, HamiMode::kMps};
  words.nodes = dice.Pick({Filling::kUnsaid, Filling::kBinpack, Filling::kSpread});
  words.devices = dice.Pick({Filling::kUnsaid, Filling::kBinpack, Filling::kSpread});
  words.untouched = dice.OneIn(2);
  return cluster::GpuChoice(words);
}

Pod RandomPod(Dice& dice) {
  auto spec = std::make_shared<PodSpec>();
  spec->requests = {MilliCpu(dice.From(0, 200'000)), MiB(dice.From(0, 4'000'000)), 1};
  spec->gpus = RandomGpus(dice);
  NameContainer(*spec);
  if (dice.OneIn(3)) AddContainers(dice, *spec);
  if (!spec->gpus.none() && dice.OneIn(3)) spec->gpus.choice = RandomChoice(dice);
  if (dice.OneIn(8)) spec->unplanned_devices = "nvidia.com/mig-1g.10gb";
  if (spec->gpus.none() && dice.OneIn(8)) spec->unplanned_devices = cluster::kResourceClaims;
  spec->constraints = RandomConstraints(dice);
  spec->priority = static_cast<int32_t>(dice.From(INT32_MIN, INT32_MAX));
  spec->scheduler_name = dice.WordOrNothing();
  if (dice.OneIn(4)) spec->topology = {dice.WordOrNothing(), dice.WordOrNothing()};
  if (dice.OneIn(4)) spec->topology.segments = {{"block", 8, true}, {"rack", 4, dice.OneIn(2)}};
  if (dice.OneIn(4)) spec->topology.subgroups = RandomSubgroups(dice);
  using cluster::Balance;
  if (dice.OneIn(4)) spec->topology.balance = dice.Pick({Balance::kEven, Balance::kPack});
  if (dice.OneIn(4)) spec->topology.spread = dice.Word();
  if (dice.OneIn(4)) spec->topology.spread_group = dice.Word();
  Pod pod;
  pod.spec = spec;
  pod.uid = cluster::PodUid(dice.Word());
  pod.key = {dice.Word(), dice.Word()};
  pod.pod_group = dice.WordOrNothing();
  if (!pod.pod_group.empty() && dice.OneIn(3)) pod.declared_min_member = dice.From(1, 20'000);
  pod.role = dice.WordOrNothing();
  pod.owner_uid = dice.WordOrNothing();
  pod.index = static_cast<int32_t>(dice.From(-1, 9));
  pod.job_index = static_cast<int32_t>(dice.From(-1, 3));
  pod.daemon = dice.OneIn(4);
  using Phase = cluster::PodPhase;
  pod.phase = dice.Pick(
      {Phase::kPending, Phase::kRunning, Phase::kSucceeded, Phase::kFailed, Phase::kUnknown});
  pod.deleting = dice.OneIn(4);
  pod.gates = dice.Words();
  pod.nominated_node = dice.WordOrNothing();
  pod.node_name = dice.WordOrNothing();
  const auto first = static_cast<uint16_t>(dice.From(0, 65'000));
  for (int64_t i = dice.From(0, 8); i > 0; --i) {
    pod.bound_gpus.push_back({static_cast<uint16_t>(first + 3 * i)});
  }
  pod.created = Time(dice.OneIn(5) ? 0 : dice.From(-62'135'596'800'000, 253'402'300'799'999));
  pod.resource_version = dice.OneIn(5) ? 0 : dice.From(1, INT64_MAX);
  pod.defect = dice.OneIn(4) ? dice.Word() : "";
  pod.handed_over = dice.OneIn(3);
  if (dice.OneIn(4)) {
    cluster::PodVolumes volumes;
    for (int64_t i = dice.From(1, 3); i > 0; --i)
      volumes.claims.push_back({dice.Word(), dice.OneIn(3)});
    pod.volumes = std::make_shared<const cluster::PodVolumes>(std::move(volumes));
  }
  if (dice.OneIn(3)) pod.preemptible = dice.OneIn(2);
  if (dice.OneIn(3)) {
    pod.run_times = std::make_shared<const cluster::RunTimes>(
        cluster::RunTimes{.enforced = cluster::Seconds(dice.From(0, 1'000'000)),
                          .declared = cluster::Duration(dice.From(1, 1'000'000'000)),
                          .checkpoints = dice.OneIn(2)});
  }
  using Turn = cluster::HamiTurn;
  if (pod.bound() && pod.phase == Phase::kPending)
    pod.hami_turn = dice.Pick({Turn::kNone, Turn::kAllocating, Turn::kServed});
  if (pod.bound() && dice.OneIn(3)) {
    cluster::Resources resized = spec->requests;
    resized.cpu = MilliCpu(dice.From(200'001, 300'000));
    resized.memory = MiB(dice.From(0, 4'000'000));
    pod.resized = std::make_shared<const cluster::Resources>(resized);
  }
  if (!pod.bound() && dice.OneIn(3))
    pod.unschedulable = std::make_shared<const std::string>(dice.WordOrNothing());
  return pod;
}

bool Same(const Pod& a, const Pod& b) {
  return a.uid == b.uid && a.key == b.key && *a.spec == *b.spec && a.pod_group == b.pod_group &&
         a.declared_min_member == b.declared_min_member && a.role == b.role &&
         a.owner_uid == b.owner_uid && a.index == b.index && a.job_index == b.job_index &&
         a.daemon == b.daemon && a.phase == b.phase && a.deleting == b.deleting &&
         a.gates == b.gates && a.nominated_node == b.nominated_node && a.node_name == b.node_name &&
         a.bound_gpus == b.bound_gpus && a.created == b.created &&
         a.resource_version == b.resource_version && a.defect == b.defect &&
         (a.resized == nullptr) == (b.resized == nullptr) &&
         (a.resized == nullptr || *a.resized == *b.resized) && a.handed_over == b.handed_over &&
         a.preemptible == b.preemptible && a.hami_turn == b.hami_turn &&
         (a.run_times == nullptr) == (b.run_times == nullptr) &&
         (a.run_times == nullptr || *a.run_times == *b.run_times) &&
         (a.unschedulable == nullptr) == (b.unschedulable == nullptr) &&
         (a.unschedulable == nullptr || *a.unschedulable == *b.unschedulable) &&
         (a.volumes == nullptr) == (b.volumes == nullptr) &&
         (a.volumes == nullptr || a.volumes->claims == b.volumes->claims);
}

TEST_CASE("a pod that is written and read again is the same", "[kube][roundtrip]") {
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < kRounds; ++round) {
    const Pod pod = RandomPod(dice);
    const std::string text = EncodePod(pod);
    const cluster::Result<Pod> back = DecodePod(text);
    CAPTURE(text);
    if (!back.ok()) FAIL(back.error().ToString());
    CAPTURE(EncodePod(*back));
    REQUIRE(Same(pod, *back));
  }
}

TEST_CASE("a pod's subgroups are written as the annotations that they came from",
          "[kube][roundtrip]") {
  const std::string annotations =
      R"("muster.dev/topology-roles-required":"block=decode+prefill,rack=router",)"
      R"("muster.dev/topology-roles-preferred":"rack=decode+prefill,host=prefill")";
  const cluster::Result<Pod> pod =
      DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" +
                annotations + R"(}},"spec":{"containers":[]}})");
  REQUIRE(pod.ok());
  REQUIRE(pod->spec->topology.subgroups.size() == 3);
  const std::string text = EncodePod(*pod);
  CHECK(text.find(annotations) != std::string::npos);
  const cluster::Result<Pod> back = DecodePod(text);
  REQUIRE(back.ok());
  CHECK(back->spec->topology == pod->spec->topology);
}

TEST_CASE("a pod of a manifest, without UID, is the same too", "[kube][roundtrip]") {
  Dice dice(1);
  Pod pod = RandomPod(dice);
  pod.uid = {};
  DecodeOptions options;
  options.source = Source::kManifest;
  const cluster::Result<Pod> back = DecodePod(EncodePod(pod), options);
  REQUIRE(back.ok());
  CHECK(back->uid.empty());
}

// Devices as labels describe them, or any others.
std::vector<cluster::Gpu> RandomDevices(Dice& dice, cluster::Labels& labels) {
  std::vector<cluster::Gpu> gpus;
  const bool labelled = dice.OneIn(2);
  const std::string model = dice.WordOrNothing();
  uint16_t index = 0;
  for (int64_t i = dice.From(0, 8); i > 0; --i) {
    cluster::Gpu gpu;
    gpu.index.value = index++;
    gpu.model = model;
    if (!labelled) {
      index = static_cast<uint16_t>(index + dice.From(0, 3));
      gpu.uuid = dice.WordOrNothing();
      gpu.model = dice.WordOrNothing();
      gpu.memory = MiB(dice.From(0, 200'000));
      gpu.healthy = !dice.OneIn(4);
      gpu.cordoned = dice.OneIn(4);
      gpu.sharing = dice.Pick({GpuSharing::Exclusive(), GpuSharing::TimeSliced(), GpuSharing::Mps(),
                               GpuSharing::Fractional(), GpuSharing::Mig()});
      gpu.replicas = static_cast<int32_t>(dice.From(1, 10));
      if (dice.OneIn(5)) gpu.parent.value = static_cast<uint16_t>(dice.From(1'000, 65'534));
    }
    gpus.push_back(gpu);
  }
  if (labelled && !model.empty()) labels["nvidia.com/gpu.product"] = model;
  if (dice.OneIn(5)) labels["nvidia.com/gpu.replicas"] = "2";
  return gpus;
}

// As the node's record has them, read from an annotation of either kind.
void AddLinks(Dice& dice, Node& node) {
  size_t whole = 0;
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    node.gpus[i].uuid = "GPU-" + std::to_string(i);
    if (!node.gpus[i].partition()) ++whole;
  }
  if (whole == 0) return;
  const bool scores = dice.OneIn(2);
  const auto random_link = [&] {
    return topology::LinkOfPairScore(static_cast<int>(
        dice.OneIn(2) ? 10 * dice.From(1, 5) : 100 * dice.From(1, topology::kMostBondedLinks)));
  };
  topology::Machine machine = topology::FlatMachine(whole);
  size_t place = 0;
  for (const cluster::Gpu& gpu : node.gpus) {
    if (gpu.partition()) continue;
    machine.gpus[place].index = gpu.index.value;
    machine.gpus[place++].name = "GPU" + std::to_string(gpu.index.value);
  }
  for (size_t a = 0; a < whole; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const topology::Link link = *random_link();
      const std::string text = link.type == topology::LinkType::kNvLink
                                   ? "NV" + std::to_string(link.count)
                                   : std::string(topology::ToString(link.type));
      machine.cells[a * whole + b] = machine.cells[b * whole + a] = {link, text, 0};
    }
  }
  node.topology = topology::WriteMachine(machine);
  node.topology_source =
      scores ? cluster::TopologySource::kPairScores : cluster::TopologySource::kAnnotation;
}

Node RandomNode(Dice& dice) {
  Node node;
  node.uid = cluster::NodeUid(dice.Word());
  node.name = dice.Word();
  node.labels = dice.Texts();
  for (int64_t i = dice.From(0, 2); i > 0; --i) {
    node.taints.push_back({dice.Word(), dice.WordOrNothing(), RandomEffect(dice)});
  }
  node.unschedulable = dice.OneIn(3);
  node.ready = !dice.OneIn(3);
  node.allocatable = {MilliCpu(dice.From(0, 500'000)), MiB(dice.From(0, 8'000'000)),
                      dice.From(0, 250)};
  node.gpus = RandomDevices(dice, node.labels);
  if (dice.OneIn(3)) {
    node.plugin = cluster::DevicePlugin::kHami;
    node.hami_lock = dice.WordOrNothing();
  }
  if (dice.OneIn(3)) AddLinks(dice, node);
  return node;
}

TEST_CASE("of two defects the first stays the one that is reported", "[kube][roundtrip]") {
  const std::string two =
      R"({"metadata":{"name":"p","namespace":"n","uid":"u",)"
      R"("annotations":{"gpu-fraction-num-devices":"2"}},"spec":{"affinity":{"nodeAffinity":)"
      R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
      R"([{"matchExpressions":[{"operator":"Exists"}]}]}}}}})";
  const cluster::Result<Pod> first = DecodePod(two, {});
  REQUIRE(first.ok());
  CHECK(first->defect.find("gpu-fraction-num-devices") != std::string::npos);
  const cluster::Result<Pod> again = DecodePod(EncodePod(*first), {});
  REQUIRE(again.ok());
  CHECK(again->defect == first->defect);
}

TEST_CASE("a node that is written and read again is the same", "[kube][roundtrip]") {
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < kRounds; ++round) {
    const Node node = RandomNode(dice);
    const std::string text = EncodeNode(node);
    const cluster::Result<DecodedNode> back = DecodeNode(text);
    CAPTURE(text);
    if (!back.ok()) FAIL(back.error().ToString());
    CAPTURE(EncodeNode(back->node));
    REQUIRE(node == back->node);
  }
}

// What comes out of a list of `objects` that arrives in pieces.
template <typename Decode>
void ReadInPieces(const std::vector<std::string>& objects, const Resource& resource, Dice& dice,
                  Decode decode) {
  std::string text = R"({"metadata":{"resourceVersion":"1"},"items":[)";
  for (const std::string& object : objects) text += (&object == objects.data() ? "" : ",") + object;
  text += "]}";
  ListStream page(resource.fields, resource.kind, resource.name, decode);
  for (size_t at = 0; at < text.size();) {
    const auto piece = static_cast<size_t>(dice.OneIn(3) ? dice.From(1, 4) : dice.From(1, 400));
    REQUIRE(page.Feed(std::string_view(text).substr(at, piece)));
    at += piece;
  }
  REQUIRE(page.End().ok());
}

TEST_CASE("records out of a stream are those of the whole text", "[kube][roundtrip][list]") {
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < kRounds / 10; ++round) {
    std::vector<std::string> pods;
    std::vector<std::string> nodes;
    for (int i = 0; i < 4; ++i) pods.push_back(Fattened(EncodePod(RandomPod(dice)), dice));
    for (int i = 0; i < 4; ++i) nodes.push_back(Fattened(EncodeNode(RandomNode(dice)), dice));
    size_t next = 0;
    ReadInPieces(pods, PodResource(), dice, [&](const KeptObject& object) {
      const std::string& text = pods.at(next++);
      CAPTURE(text);
      const cluster::Result<Json> whole = Json::Parse(text, text.size(), "Pod");
      REQUIRE(whole.ok());
      const cluster::Result<Pod> expected = DecodePod(whole->root());
      const cluster::Result<Pod> pod = DecodePod(object.node(), object.With({}));
      REQUIRE((expected.ok() && pod.ok()));
      REQUIRE(Same(*pod, *expected));
    });
    CHECK(next == pods.size());
    next = 0;
    ReadInPieces(nodes, NodeResource(), dice, [&](const KeptObject& object) {
      const std::string& text = nodes.at(next++);
      CAPTURE(text);
      const cluster::Result<Json> whole = Json::Parse(text, text.size(), "Node");
      REQUIRE(whole.ok());
      const cluster::Result<DecodedNode> expected = DecodeNode(whole->root());
      const cluster::Result<DecodedNode> node = DecodeNode(object.node(), object.With({}));
      REQUIRE((expected.ok() && node.ok()));
      REQUIRE(node->node == expected->node);
    });
    CHECK(next == nodes.size());
  }
}

TEST_CASE("a node whose labels say everything needs no list of devices", "[kube][roundtrip]") {
  Node node;
  node.uid = cluster::NodeUid("u");
  node.name = "n";
  node.labels = {{"nvidia.com/gpu.product", "A100"}, {"nvidia.com/gpu.replicas", "4"}};
  node.gpus.resize(1);
  node.gpus[0].model = "A100";
  node.gpus[0].sharing = GpuSharing::TimeSliced();
  node.gpus[0].replicas = 4;
  CHECK(EncodeNode(node) ==
        R"({"metadata":{"name":"n","uid":"u","creationTimestamp":null,"labels":{)"
        R"("nvidia.com/gpu.product":"A100","nvidia.com/gpu.replicas":"4"}},"spec":{},)"
        R"("status":{"allocatable":{"cpu":"0m","memory":"0Mi","nvidia.com/gpu":"4","pods":"0"},)"
        R"("conditions":[{"type":"Ready","status":"True"}]}})");
}

}  // namespace
}  // namespace muster::kube
