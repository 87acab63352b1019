#include "kube/write/provisioning_objects.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "cluster/records/provisioning_request.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

constexpr size_t kMaxPodBytes = size_t{4} << 20;
// A PodTemplate with the first two would be of pods that are placed already, or that cluster-
// autoscaler leaves out; the API server takes none with the last.
constexpr std::array<std::string_view, 5> kPodsOwn = {
    "nodeName", "schedulingGates", "schedulingGroup", "workloadRef", "ephemeralContainers"};

// Its controller; nothing: it has none.
AskOwner ControllerOf(const JsonView& metadata) {
  AskOwner owner;
  const JsonView owners = metadata.Get("ownerReferences");
  owners.Items([&](const JsonView& one) {
    if (!one.Get("controller").Flag(false)) return;
    owner = {std::string(one.Get("apiVersion").Text()), std::string(one.Get("kind").Text()),
             std::string(one.Get("name").Text()), std::string(one.Get("uid").Text())};
  });
  return owner;
}

// Its volumes with a claim that a StatefulSet made for this pod alone (VOLUME-POD): all pods of a
// template that named it would be simulated on this pod's disk.
std::set<std::string> OwnVolumes(const JsonView& spec, std::string_view pod) {
  const std::string ending = "-" + std::string(pod);
  std::set<std::string> own;
  const JsonView volumes = spec.Get("volumes");
  volumes.Items([&](const JsonView& volume) {
    const JsonView claim = volume.Get("persistentVolumeClaim");
    const JsonView name = claim.Get("claimName");
    const JsonView known_as = volume.Get("name");
    if (name.Text().ends_with(ending)) own.emplace(known_as.Text());
  });
  return own;
}

void AppendValue(const JsonView& value, JsonWriter& json) {
  std::string text;
  value.AppendTo(text);
  json.Raw(text);
}

// The items whose name is not one of `left_out`.
void AppendOthers(const JsonView& list, const std::set<std::string>& left_out, JsonWriter& json) {
  json.BeginArray();
  list.Items([&](const JsonView& item) {
    const JsonView name = item.Get("name");
    if (!left_out.contains(std::string(name.Text()))) AppendValue(item, json);
  });
  json.EndArray();
}

void AppendContainers(const JsonView& containers, const std::set<std::string>& left_out,
                      JsonWriter& json) {
  json.BeginArray();
  containers.Items([&](const JsonView& container) {
    json.BeginObject();
    container.Members([&](std::string_view name, const JsonView& member) {
      json.TextKey(name);
      if (name == "volumeMounts" || name == "volumeDevices") {
        AppendOthers(member, left_out, json);
      } else {
        AppendValue(member, json);
      }
    });
    json.EndObject();
  });
  json.EndArray();
}

std::string SpecOf(const JsonView& spec, std::string_view pod) {
  const std::set<std::string> own = OwnVolumes(spec, pod);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  spec.Members([&](std::string_view name, const JsonView& member) {
    if (std::find(kPodsOwn.begin(), kPodsOwn.end(), name) != kPodsOwn.end()) return;
    json.TextKey(name);
    if (own.empty()) return AppendValue(member, json);
    if (name == "volumes") return AppendOthers(member, own, json);
    if (name == "containers" || name == "initContainers")
      return AppendContainers(member, own, json);
    AppendValue(member, json);
  });
  json.EndObject();
  return text;
}

void AppendOwner(const AskOwner& owner, JsonWriter& json) {
  json.Key("ownerReferences").BeginArray().BeginObject();
  json.Key("apiVersion").Text(owner.api_version).Key("kind").Text(owner.kind);
  json.Key("name").Text(owner.name).Key("uid").Text(owner.uid).EndObject().EndArray();
}

// Open: the caller ends it.
void BeginMetadata(const std::string& name, const std::string& ns, const AskOwner& owner,
                   JsonWriter& json) {
  json.Key("metadata").BeginObject().Key("name").Text(name).Key("namespace").Text(ns);
  json.Key("labels").BeginObject().TextKey(cluster::kManagedBy).Text("muster").EndObject();
  AppendOwner(owner, json);
}

}  // namespace

Result<PodModel> ReadPodModel(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxPodBytes, "Pod");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), "Pod", problems);
  const JsonView metadata = object.Get("metadata");
  PodModel pod;
  pod.uid = metadata.Get("uid").RequiredText();
  pod.owner = ControllerOf(metadata);
  if (pod.owner.uid.empty())
    pod.owner = {"v1", "Pod", std::string(metadata.Get("name").RequiredText()), pod.uid};
  const JsonView labels = metadata.Get("labels");
  if (labels.present()) labels.AppendTo(pod.labels);
  const JsonView spec = object.Get("spec");
  spec.ExpectObject();
  if (!problems.none()) return problems.first();
  const JsonView name = metadata.Get("name");
  pod.spec = SpecOf(spec, name.Text());
  return pod;
}

std::string PodTemplateBody(const std::string& name, const std::string& ns, const PodModel& pod,
                            const AskOwner& owner) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("apiVersion").Text("v1").Key("kind").Text("PodTemplate");
  BeginMetadata(name, ns, owner, json);
  json.EndObject().Key("template").BeginObject().Key("metadata").BeginObject();
  if (!pod.labels.empty()) json.Key("labels").Raw(pod.labels);
  json.EndObject().Key("spec").Raw(pod.spec).EndObject().EndObject();
  return body;
}

std::string ProvisioningRequestBody(const engine::AskForNodes& ask, const AskOwner& owner,
                                    std::string_view version) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("apiVersion").Text("autoscaling.x-k8s.io/" + std::string(version));
  json.Key("kind").Text("ProvisioningRequest");
  BeginMetadata(ask.key.name, ask.key.ns, owner, json);
  const std::string asked_for = (ask.gang.solo ? "pod/" : "gang/") + ask.gang.key.name;
  json.Key("annotations").BeginObject();
  json.TextKey(cluster::kAskedForAnnotation).Text(asked_for);
  json.TextKey(cluster::kAskAnnotation).Text(ask.fingerprint);
  json.TextKey(cluster::kAttemptAnnotation).Text(std::to_string(ask.attempt)).EndObject();
  json.EndObject().Key("spec").BeginObject();
  json.Key("provisioningClassName").Text(ask.class_name).Key("podSets").BeginArray();
  for (size_t i = 0; i < ask.sets.size(); ++i) {
    json.BeginObject().Key("count").Integer(ask.sets[i].count);
    json.Key("podTemplateRef").BeginObject();
    json.Key("name").Text(engine::PodTemplateName(ask.key.name, i)).EndObject().EndObject();
  }
  json.EndArray().EndObject().EndObject();
  return body;
}

}  // namespace muster::kube
