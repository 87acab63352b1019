#include "kube/watch/channel_claims.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {
namespace {

News Read(const Resource& resource, const std::string& text) {
  const auto object = KeptObject::Read(text, resource.fields, resource.kind, {});
  REQUIRE(object.ok());
  const auto observed = resource.decode(*object);
  REQUIRE(observed.ok());
  return observed->news;
}

News ReadPod(const std::string& annotations, const std::string& claims) {
  return Read(PodResource(),
              R"({"metadata":{"name":"p","namespace":"t","uid":"u","annotations":{)" + annotations +
                  R"(}},"spec":{"containers":[{}],"resourceClaims":)" + claims + "}}");
}

const char* const kChannelClaim = R"([{"name":"c","resourceClaimTemplateName":"channel"}])";

TEST_CASE("a ComputeDomain names the template of its channel's claims", "[kube][channel]") {
  const Resource resource = ComputeDomainResource("resource.nvidia.com/v1beta1");
  CHECK(resource.path == "/apis/resource.nvidia.com/v1beta1/computedomains");
  const std::string head = R"({"metadata":{"name":"d","namespace":"t","uid":"u"},"spec":)";
  const auto domain = std::get<ComputeDomain>(
      Read(resource, head + R"({"numNodes":4,"channel":{"allocationMode":"All",)"
                            R"("resourceClaimTemplate":{"name":"channel"}},"x":1}})"));
  CHECK(domain.uid == "u");
  CHECK(domain.claim_template == cluster::ObjectKey{"t", "channel"});
  for (const char* none : {"{}", R"({"channel":{}})", R"({"channel":null})"}) {
    CHECK(std::get<ComputeDomain>(Read(resource, head + none + "}")).claim_template.name.empty());
  }
  const auto odd = KeptObject::Read(head + R"({"channel":{"resourceClaimTemplate":{"name":7}}}})",
                                    resource.fields, "x", {});
  REQUIRE(odd.ok());
  CHECK_THAT(resource.decode(*odd).error().ToString(),
             Catch::Contains("ComputeDomain.spec.channel.resourceClaimTemplate.name"));
}

TEST_CASE("a pod shows the templates of its claims, unless its annotation says what they are for",
          "[kube][channel]") {
  const auto pod =
      std::get<PodOfClaims>(ReadPod("", R"([{"name":"a","resourceClaimName":"shared"},)"
                                        R"({"name":"b","resourceClaimTemplateName":"channel"},)"
                                        R"({"name":"c","resourceClaimTemplateName":"nic"}])"));
  CHECK(pod.templates == std::vector<std::string>{"channel", "nic"});
  CHECK(pod.pod.uid == cluster::PodUid("u"));
  CHECK(pod.pod.spec->requests.channels == 0);
  const auto plain = [](const News& news) {
    return std::get<cluster::Pod>(std::get<engine::Fact>(news));
  };
  CHECK(plain(ReadPod(R"("muster.dev/compute-domain":"true")", kChannelClaim))
            .spec->requests.channels == 1);
  CHECK(plain(ReadPod(R"("muster.dev/compute-domain":"false")", kChannelClaim))
            .spec->requests.channels == 0);
  CHECK(plain(ReadPod("", R"([{"name":"a","resourceClaimName":"shared"}])"))
            .spec->requests.channels == 0);
}

PodOfClaims Claiming(const std::string& uid, const std::string& claim_template,
                     const std::string& required = "") {
  auto spec = std::make_shared<cluster::PodSpec>();
  spec->topology.required = required;
  cluster::Pod pod;
  pod.uid = cluster::PodUid(uid);
  pod.key = {"t", uid};
  pod.resource_version = 4;
  pod.spec = std::move(spec);
  return {pod, {"other", claim_template}};
}

ComputeDomain Domain(const std::string& uid, const std::string& ns, const std::string& name) {
  return {uid, {ns, name}};
}

TEST_CASE("a pod that claims a ComputeDomain's template has a channel and wishes for one clique",
          "[kube][channel]") {
  ChannelClaims claims;
  CHECK(claims.Observe(Domain("d", "t", "channel")).empty());
  const auto joined = claims.Join(Claiming("a", "channel"));
  CHECK(joined.corrects);
  CHECK(joined.pod.resource_version == 4);
  CHECK(joined.pod.spec->requests.channels == 1);
  CHECK(joined.pod.spec->topology.preferred == "nvidia.com/gpu.clique");
  CHECK(joined.pod.spec->topology.said_by == "muster.dev/compute-domain");
  const auto again = claims.Join(Claiming("a", "channel"));
  CHECK_FALSE(again.corrects);
  CHECK(*again.pod.spec == *joined.pod.spec);
  // What the pod says of levels comes first.
  const auto rack = claims.Join(Claiming("b", "channel", "rack"));
  CHECK(rack.pod.spec->requests.channels == 1);
  CHECK(rack.pod.spec->topology.preferred.empty());
  CHECK(claims.Join(Claiming("c", "nic")).pod.spec->requests.channels == 0);
  // Of another namespace, by the same name.
  PodOfClaims elsewhere = Claiming("e", "channel");
  elsewhere.pod.key.ns = "u";
  CHECK(claims.Join(elsewhere).pod.spec->requests.channels == 0);
}

TEST_CASE("pods that were there before their ComputeDomain are corrected when it comes",
          "[kube][channel]") {
  ChannelClaims claims;
  for (const char* uid : {"b", "a", "gone", "said", "ended"}) {
    CHECK(claims.Join(Claiming(uid, "channel")).pod.spec->requests.channels == 0);
  }
  claims.Join(Claiming("c", "nic"));
  claims.Forget(cluster::PodUid("gone"));
  claims.Forget(cluster::PodUid("said"));
  PodOfClaims ended = Claiming("ended", "channel");
  ended.pod.phase = cluster::PodPhase::kSucceeded;
  claims.Join(ended);
  CHECK(claims.Observe(Domain("d", "elsewhere", "channel")).empty());
  const auto corrected = claims.Observe(Domain("d2", "t", "channel"));
  REQUIRE(corrected.size() == 2);
  CHECK(corrected[0].uid == cluster::PodUid("a"));
  CHECK(corrected[1].uid == cluster::PodUid("b"));
  for (const cluster::Pod& pod : corrected) CHECK(pod.spec->requests.channels == 1);
  CHECK(claims.Observe(Domain("d2", "t", "channel")).empty());
  CHECK_FALSE(claims.Join(Claiming("a", "channel")).corrects);
}

TEST_CASE("a pod keeps its channel when the ComputeDomain goes, and later pods get none",
          "[kube][channel]") {
  ChannelClaims claims;
  claims.Observe(Domain("d", "t", "channel"));
  claims.Observe(Domain("twin", "t", "channel"));
  claims.Join(Claiming("a", "channel"));
  claims.Observe(ComputeDomainRemoved{"unknown"});
  claims.Observe(ComputeDomainRemoved{"d"});
  CHECK(claims.Join(Claiming("b", "channel")).pod.spec->requests.channels == 1);
  claims.Observe(ComputeDomainRemoved{"twin"});
  CHECK(claims.Join(Claiming("a", "channel")).pod.spec->requests.channels == 1);
  CHECK(claims.Join(Claiming("c", "channel")).pod.spec->requests.channels == 0);
  // Made again, with another template.
  claims.Observe(Domain("d", "t", "old"));
  CHECK(claims.Observe(Domain("d", "t", "channel")).size() == 1);
  CHECK(claims.Join(Claiming("e", "old")).pod.spec->requests.channels == 0);
}

}  // namespace
}  // namespace muster::kube
