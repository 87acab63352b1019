// Claims, volumes and classes as the API server shows them, and how a feed reads them.
#include "kube/watch/storage_kinds.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "kube/decode/kept_object.hpp"
#include "tests/kube/feed_world.hpp"

namespace muster::kube {
namespace {

using cluster::SelectorOperator;
using cluster::StorageKind;

template <typename Record>
Record DecodedStorage(StorageKind kind, const std::string& json) {
  const auto decoded = DecodeStorage(kind, json);
  INFO((decoded.ok() ? "" : decoded.error().ToString()));
  REQUIRE(decoded.ok());
  CHECK(cluster::KindOf(*decoded) == kind);
  return std::get<Record>(*decoded);
}

std::string ClaimText(const std::string& rest, const std::string& meta = "") {
  return R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"data",)"
         R"("namespace":"team","uid":"u","resourceVersion":"7")" +
         meta + "}" + rest + "}";
}

TEST_CASE("a claim says whether it is bound, to what and for whom", "[kube][decode][storage]") {
  const auto claim = DecodedStorage<cluster::VolumeClaim>(
      StorageKind::kClaim,
      ClaimText(R"(,"spec":{"accessModes":["ReadWriteOncePod"],"storageClassName":"fast",
                "volumeName":"pv-1","resources":{"requests":{"storage":"1Gi"}}},
                "status":{"phase":"Bound","capacity":{"storage":"1Gi"}})",
                R"(,"deletionTimestamp":"2026-01-02T03:04:05Z","annotations":{
                "volume.kubernetes.io/selected-node":"n1"},"ownerReferences":[
                {"kind":"StatefulSet","uid":"s","controller":false},
                {"kind":"Pod","uid":"pod-uid","controller":true}])"));
  cluster::VolumeClaim expected{
      {"team", "data"}, "pv-1", "fast", "pod-uid", "n1", true, false, true, true};
  expected.terms = {int64_t{1} << 30, cluster::kOnePod, false, {}};
  CHECK(claim == expected);
  // The controller writes the phase a moment after the binding, which is what kube-scheduler reads.
  const std::string completed = R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})";
  const std::string chosen = R"(,"spec":{"volumeName":"pv-1"},"status":{"phase":"Pending"})";
  CHECK(DecodedStorage<cluster::VolumeClaim>(StorageKind::kClaim, ClaimText(chosen, completed))
            .bound);
  CHECK_FALSE(DecodedStorage<cluster::VolumeClaim>(StorageKind::kClaim, ClaimText(chosen)).bound);
  const auto lost = DecodedStorage<cluster::VolumeClaim>(StorageKind::kClaim,
                                                         ClaimText(R"(,"spec":{"volumeName":"pv-1",
          "accessModes":["ReadWriteOnce","ReadWriteMany"]},"status":{"phase":"Lost"})"));
  CHECK(lost.lost);
  CHECK_FALSE(DecodeStorage(StorageKind::kClaim, std::string_view("{}")).ok());
  CHECK_FALSE(DecodeStorage(StorageKind::kVolume, ClaimText("")).ok());
}

TEST_CASE("a volume says where it is and whose", "[kube][decode][storage]") {
  const auto volume = DecodedStorage<cluster::Volume>(
      StorageKind::kVolume,
      R"({"metadata":{"name":"pv-1","uid":"u"},"spec":{"storageClassName":"fast",
          "csi":{"driver":"csi.example.com","volumeHandle":"h"},
          "claimRef":{"namespace":"team","name":"data","uid":"c"},"nodeAffinity":{"required":{
          "nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In",
          "values":["a","b"]}]}]}}}})");
  CHECK(volume.claim == cluster::ObjectKey{"team", "data"});
  REQUIRE(volume.places.size() == 1);
  CHECK(volume.places[0].match_expressions[0] ==
        cluster::SelectorRequirement{"zone", SelectorOperator::kIn, {"a", "b"}});
  const auto plain = DecodedStorage<cluster::Volume>(
      StorageKind::kVolume, R"({"metadata":{"name":"pv-2","uid":"u"},"spec":{}})");
  CHECK(plain.places.empty());
  CHECK(plain.claim.name.empty());
}

TEST_CASE("a claim says what volume suits it, and a volume what it has",
          "[kube][decode][storage]") {
  const auto claim = DecodedStorage<cluster::VolumeClaim>(
      StorageKind::kClaim,
      ClaimText(R"(,"spec":{"accessModes":["ReadWriteOnce","ReadOnlyMany"],"volumeMode":"Block",
                "volumeAttributesClassName":"gold","resources":{"requests":{"storage":"1.5Gi"}},
                "selector":{"matchLabels":{"disk":"fast"}}})"));
  constexpr int64_t kHalfGibibyte = int64_t{1} << 29;
  CHECK(claim.terms == cluster::VolumeTerms{3 * kHalfGibibyte,
                                            cluster::kOneNode | cluster::kManyRead, true, "gold"});
  CHECK(claim.selector ==
        std::vector<cluster::SelectorRequirement>{{"disk", SelectorOperator::kIn, {"fast"}}});
  using Phase = cluster::Volume::Phase;
  const auto volume = [](const std::string& spec, const std::string& phase,
                         const std::string& meta = "") {
    return DecodedStorage<cluster::Volume>(
        StorageKind::kVolume, R"({"metadata":{"name":"pv-1","uid":"u")" + meta +
                                  R"(},"spec":{"accessModes":["ReadWriteMany"],"csi":{
            "driver":"csi.example.com","volumeHandle":"h"},"capacity":{"storage":"2G"})" +
                                  spec + R"(},"status":{"phase":")" + phase + R"("}})");
  };
  const auto free = volume("", "Available", R"(,"labels":{"disk":"fast"})");
  CHECK(free.terms == cluster::VolumeTerms{2'000'000'000, cluster::kManyWrite, false, {}});
  CHECK(free.labels == cluster::Labels{{"disk", "fast"}});
  CHECK(free.driver == "csi.example.com");
  CHECK(free.handle == "h");
  CHECK(free.phase == Phase::kFree);
  const std::string kept = R"(,"claimRef":{"namespace":"team","name":"data"})";
  CHECK(volume(kept, "Pending").phase == Phase::kFree);
  CHECK(volume("", "Pending").phase == Phase::kSpent);
  CHECK(volume(kept, "Bound").phase == Phase::kBound);
  CHECK(volume(kept, "Released").phase == Phase::kSpent);
  CHECK(volume("", "Available", R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")").phase ==
        Phase::kSpent);
  // Of one that no other pod can use at the same time the handle says nothing.
  CHECK(DecodedStorage<cluster::Volume>(
            StorageKind::kVolume,
            R"({"metadata":{"name":"pv-1","uid":"u"},"spec":{"accessModes":["ReadWriteOnce"],
                "csi":{"driver":"csi.example.com","volumeHandle":"h"}}})")
            .handle.empty());
}

std::vector<std::string> Written(const std::vector<cluster::NodeSelectorTerm>& places) {
  std::vector<std::string> all;
  for (const cluster::NodeSelectorTerm& place : places) {
    std::string& text = all.emplace_back();
    for (const cluster::SelectorRequirement& one : place.match_expressions) {
      text += (one.op == SelectorOperator::kDoesNotExist ? "!" : "") + one.key;
      for (const std::string& value : one.values) text += " " + value;
      text += "; ";
    }
  }
  return all;
}

TEST_CASE("a volume with labels of zones is reached by nodes of these, and by nodes without any",
          "[kube][decode][storage]") {
  const auto volume = [](const std::string& labels, const std::string& spec = "") {
    return DecodedStorage<cluster::Volume>(
        StorageKind::kVolume, R"({"metadata":{"name":"pv-1","uid":"u","labels":{)" + labels +
                                  R"(}},"spec":{)" + spec + "}}");
  };
  const std::string nowhere =
      "!failure-domain.beta.kubernetes.io/zone; !failure-domain.beta.kubernetes.io/region; "
      "!topology.kubernetes.io/zone; !topology.kubernetes.io/region; ";
  CHECK(volume(R"("disk":"fast")").places.empty());
  CHECK(Written(volume(R"("topology.kubernetes.io/zone":"a__b")").places) ==
        std::vector<std::string>{"topology.kubernetes.io/zone a b; ", nowhere});
  const std::string old = R"("failure-domain.beta.kubernetes.io/zone":"a",
                             "failure-domain.beta.kubernetes.io/region":"r")";
  const std::string zone_and_region =
      "topology.kubernetes.io/zone a; topology.kubernetes.io/region r; ";
  CHECK(Written(volume(old).places) == std::vector<std::string>{zone_and_region, nowhere});
  const std::string affinity = R"("nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"rack","operator":"In","values":["1"]}]}]}})";
  CHECK(Written(volume(old, affinity).places) ==
        std::vector<std::string>{"rack 1; " + zone_and_region, "rack 1; " + nowhere});
}

TEST_CASE("volumes of plugins that were in Kubernetes count with the CSI driver that has them now",
          "[kube][decode][storage]") {
  const auto driver = [](const std::string& source) {
    return DecodedStorage<cluster::Volume>(
               StorageKind::kVolume,
               R"({"metadata":{"name":"pv-1","uid":"u"},"spec":{)" + source + "}}")
        .driver;
  };
  CHECK(driver(R"("awsElasticBlockStore":{"volumeID":"v"})") == "ebs.csi.aws.com");
  CHECK(driver(R"("vsphereVolume":{"volumePath":"v"})") == "csi.vsphere.vmware.com");
  CHECK(driver(R"("hostPath":{"path":"/v"})").empty());
  const auto made_by = [](const std::string& provisioner) {
    return DecodedStorage<cluster::StorageClass>(
               StorageKind::kClass,
               R"({"metadata":{"name":"fast","uid":"u"},"provisioner":")" + provisioner + R"("})")
        .provisioner;
  };
  CHECK(made_by("kubernetes.io/gce-pd") == "pd.csi.storage.gke.io");
  CHECK(made_by("kubernetes.io/no-provisioner") == cluster::kNoProvisioner);
  CHECK(made_by("csi.example.com") == "csi.example.com");
}

TEST_CASE("a CSINode says how many volumes of which drivers its node takes",
          "[kube][decode][storage]") {
  const auto drivers = DecodedStorage<cluster::NodeDrivers>(
      StorageKind::kNodeDrivers,
      R"({"metadata":{"name":"n1","uid":"u"},"spec":{"drivers":[
          {"name":"ebs.csi.aws.com","nodeID":"i","allocatable":{"count":25}},
          {"name":"efs.csi.aws.com","nodeID":"i"},
          {"name":"a.example.com","nodeID":"i","allocatable":{"count":0}}]}})");
  CHECK(drivers == cluster::NodeDrivers{"n1", {{"a.example.com", 0}, {"ebs.csi.aws.com", 25}}});
  CHECK(DecodedStorage<cluster::NodeDrivers>(
            StorageKind::kNodeDrivers,
            R"({"metadata":{"name":"n1","uid":"u"},"spec":{"drivers":null}})")
            .limits.empty());
}

TEST_CASE("a class says when and where its volumes are made", "[kube][decode][storage]") {
  const auto late = DecodedStorage<cluster::StorageClass>(
      StorageKind::kClass,
      R"({"metadata":{"name":"late","uid":"u"},"provisioner":"csi.example.com",
          "volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[
          {"matchLabelExpressions":[{"key":"zone","values":["a"]}]},{}]})");
  CHECK(late.waits_for_pod);
  CHECK(late.provisioner == "csi.example.com");
  REQUIRE(late.places.size() == 1);
  CHECK(late.places[0].match_expressions[0].values == std::vector<std::string>{"a"});
  CHECK_FALSE(
      DecodedStorage<cluster::StorageClass>(
          StorageKind::kClass, R"({"metadata":{"name":"fast","uid":"u"},"provisioner":"x"})")
          .waits_for_pod);
}

TEST_CASE("a pod names its claims, and those that are made for it", "[kube][decode][storage]") {
  const auto pod = DecodePod(R"({"metadata":{"name":"p","namespace":"team","uid":"u"},"spec":{
      "containers":[{"name":"main"}],"volumes":[{"name":"kube-api-access","projected":{}},
      {"name":"a","persistentVolumeClaim":{"claimName":"data"}},
      {"name":"scratch","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]}})");
  REQUIRE(pod.ok());
  REQUIRE(pod->volumes != nullptr);
  CHECK(pod->volumes->claims == std::vector<cluster::ClaimUse>{{"data", false}, {"scratch", true}});
  CHECK(pod->volumes->claims[1].Of("p") == "p-scratch");
  CHECK(DecodePod(R"({"metadata":{"name":"p","namespace":"team","uid":"u"},"spec":{
      "containers":[{"name":"main"}],"volumes":[{"name":"config","configMap":{}}]}})")
            ->volumes == nullptr);
}

void ServeStorage(FeedWorld& world) {
  for (const StorageKindNames& names : StorageKinds()) {
    world.api.On(
        Method::kGet, std::string(names.path) + "?limit=500",
        Reply(200, ListOf("List", names.kind == StorageKind::kClaim ? ClaimText("") : "")));
  }
}

TEST_CASE("claims are known by name, and readable before anything starts",
          "[kube][feed][storage]") {
  FeedWorld world;
  ServeStorage(world);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.Told("PersistentVolumeClaim team/data"));
  CHECK(world.LastTold("storage") == "storage readable");
  const std::string claims = "/api/v1/persistentvolumeclaims";
  world.Send(claims, "DELETED", ClaimText(""));
  CHECK(Eventually([&] { return world.Told("PersistentVolumeClaim team/data removed"); }));
  // Deleted and made again while nobody watched: the same name, so it is reported as it is now.
  world.api.On(Method::kGet, claims + "?limit=500", Reply(200, ListOf("List", "")));
  world.Send(claims, "ADDED", ClaimText(""));
  REQUIRE(Eventually([&] {
    return world.LastTold("PersistentVolumeClaim") == "PersistentVolumeClaim team/data";
  }));
  world.Send(claims, "ERROR", R"({"kind":"Status","code":410,"message":"gone"})");
  CHECK(Eventually([&] {
    return world.LastTold("PersistentVolumeClaim") == "PersistentVolumeClaim team/data removed";
  }));
}

TEST_CASE("storage that may not be read holds up nothing, and gangs are planned without it",
          "[kube][feed][storage]") {
  FeedWorld world;
  ServeStorage(world);
  const std::string list = "/api/v1/persistentvolumes?limit=500";
  world.api.On(Method::kGet, list, Refusal(403, "persistentvolumes is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("storage").empty());
  world.api.On(Method::kGet, list, Reply(200, ListOf("List", "")));
  CHECK(Eventually([&] { return world.LastTold("storage") == "storage readable"; }));
}

TEST_CASE("where CSINodes may not be read, claims and volumes count all the same",
          "[kube][feed][storage]") {
  FeedWorld world;
  ServeStorage(world);
  world.api.On(Method::kGet, "/apis/storage.k8s.io/v1/csinodes?limit=500",
               Refusal(403, "csinodes is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(Eventually([&] { return world.LastTold("storage") == "storage readable"; }));
}

}  // namespace
}  // namespace muster::kube
