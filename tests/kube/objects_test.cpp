#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

using cluster::Pod;
using cluster::PodGroup;

TEST_CASE("a list of one kind, whose items do not say what they are", "[kube][list]") {
  const cluster::Result<Objects> objects = DecodeObjects(R"({"kind":"PodList","apiVersion":"v1",
    "metadata":{"resourceVersion":"4711","continue":"abc"},"items":[
      {"metadata":{"name":"a","namespace":"n","uid":"1"},"spec":{}},
      {"metadata":{"name":"b","namespace":"n"},"spec":{}},
      {"metadata":{"name":"c","namespace":"n","uid":"3"},"spec":{}}]})");
  REQUIRE(objects.ok());
  CHECK(objects->resource_version == "4711");
  CHECK(objects->continue_token == "abc");
  REQUIRE(objects->items.size() == 2);
  CHECK(std::get<Pod>(objects->items[0]).key.name == "a");
  CHECK(std::get<Pod>(objects->items[1]).key.name == "c");
  REQUIRE(objects->refused.size() == 1);
  CHECK(objects->refused[0].ToString() == "PodList.items[1].Pod.metadata.uid: is missing");
}

TEST_CASE("a list of PodGroups gives its items their flavour", "[kube][list]") {
  const cluster::Result<Objects> objects = DecodeObjects(
      R"({"kind":"PodGroupList","apiVersion":"scheduling.k8s.io/v1beta1","items":[
      {"metadata":{"name":"a","namespace":"n","uid":"1"},
       "spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}]})");
  REQUIRE(objects.ok());
  REQUIRE(objects->items.size() == 1);
  CHECK(std::get<PodGroup>(objects->items[0]).min_member == 3);
}

TEST_CASE("a mixed list, as kubectl writes it", "[kube][list]") {
  DecodeOptions options;
  options.source = Source::kManifest;
  const cluster::Result<Objects> objects =
      DecodeObjects(R"({"kind":"List","apiVersion":"v1","items":[
      {"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}},
      {"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{}},
      {"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j"},"spec":{"template":{"spec":{}}}},
      {"kind":"PodGroup","apiVersion":"scheduling.volcano.sh/v1beta1","metadata":{"name":"g"},"spec":{}},
      {"kind":"Service","apiVersion":"v1","metadata":{"name":"s"}},
      null]})",
                    options);
  CHECK_FALSE(objects.ok());  // null is no object
  CHECK(objects.error().ToString() == "List.items[5]: is missing");
}

TEST_CASE("a kind that Muster has no use for is refused, the others are read", "[kube][list]") {
  DecodeOptions options;
  options.source = Source::kManifest;
  const cluster::Result<Objects> objects = DecodeObjects(R"({"kind":"List","items":[
      {"kind":"Service","metadata":{"name":"s"}},
      {"kind":"Node","metadata":{"name":"n"}},
      {"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j"},"spec":{"template":{"spec":{}}}},
      {"metadata":{"name":"nameless"}}]})",
                                                         options);
  REQUIRE(objects.ok());
  CHECK(objects->items.size() == 2);
  CHECK(std::holds_alternative<DecodedNode>(objects->items[0]));
  CHECK(std::holds_alternative<Job>(objects->items[1]));
  REQUIRE(objects->refused.size() == 2);
  CHECK(objects->refused[0].ToString() ==
        "List.items[0].kind: expected a Node, Pod, PodGroup, PodGang or Job");
}

TEST_CASE("one object is a list of one", "[kube][list]") {
  DecodeOptions options;
  options.source = Source::kManifest;
  const cluster::Result<Objects> one =
      DecodeObjects(R"({"kind":"Node","metadata":{"name":"n"}})", options);
  REQUIRE(one.ok());
  CHECK(one->items.size() == 1);
  CHECK_FALSE(DecodeObjects(R"({"metadata":{"name":"n"}})", options).ok());
  CHECK_FALSE(DecodeObjects("[]", options).ok());
  CHECK_FALSE(DecodeObjects(R"({"kind":5})", options).ok());
  CHECK_FALSE(DecodeObjects(R"({"kind":"PodList","items":{}})", options).ok());
}

}  // namespace
}  // namespace muster::kube
