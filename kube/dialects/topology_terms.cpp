#include "kube/dialects/topology_terms.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/dialects/label_names.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/topology_level.hpp"
#include "kube/dialects/topology_subgroups.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {

using cluster::TopologySegment;
using cluster::TopologyTerms;

namespace {

constexpr size_t kMaxLayers = 4096;      // bytes of JSON
constexpr size_t kMaxSpreadGroup = 253;  // bytes, as the names of objects

std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return size >= 1 && size <= kMaxSegment ? std::optional(size) : std::nullopt;
}

std::optional<int64_t> ReadSize(const JsonView& annotation) {
  const std::optional<int64_t> size = ParseSize(annotation.Text());
  if (!size) {
    annotation.Problem("expected a number of pods from 1 to " + std::to_string(kMaxSegment) +
                       ", got \"" + std::string(annotation.Text().substr(0, 40)) + "\"");
  }
  return size;
}

// LEVEL=SIZE,LEVEL=SIZE
void ReadList(const JsonView& annotation, bool required, std::vector<TopologySegment>& segments) {
  std::string_view rest = annotation.Text();
  while (!rest.empty()) {
    const std::string_view item = TakeItem(rest, ',');
    const size_t equals = item.find('=');
    const std::optional<int64_t> size =
        equals == std::string_view::npos ? std::nullopt : ParseSize(item.substr(equals + 1));
    if (!size || equals == 0) {
      annotation.Problem("expected LEVEL=SIZE, SIZE from 1 to " + std::to_string(kMaxSegment) +
                         ", separated by commas, got \"" + std::string(item.substr(0, 80)) + "\"");
      return;
    }
    segments.push_back(
        {std::string(item.substr(0, std::min(equals, kMaxLevelName))), *size, required});
  }
}

// The largest first. False after a problem.
bool Arrange(const JsonView& place, std::vector<TopologySegment>& segments) {
  std::stable_sort(
      segments.begin(), segments.end(),
      [](const TopologySegment& a, const TopologySegment& b) { return a.size > b.size; });
  if (segments.size() > TopologyTerms::kMostSegments) {
    place.Problem("more than " + std::to_string(TopologyTerms::kMostSegments) +
                  " layers of segments");
    return false;
  }
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    const int64_t outer = segments[i].size;
    const int64_t inner = segments[i + 1].size;
    if (outer % inner == 0) continue;
    place.Problem("segments of " + std::to_string(outer) + " cannot be cut into segments of " +
                  std::to_string(inner) + ": " + std::to_string(outer) + " = " +
                  std::to_string(outer / inner) + " × " + std::to_string(inner) + " + " +
                  std::to_string(outer % inner));
    return false;
  }
  return true;
}

TopologyTerms ReadMuster(const JsonView& annotations) {
  TopologyTerms terms;
  terms.required = ReadLevel(annotations.Get(cluster::kTopologyRequiredAnnotation));
  terms.preferred = ReadLevel(annotations.Get(cluster::kTopologyPreferredAnnotation));
  const JsonView required = annotations.Get(cluster::kSegmentsRequiredAnnotation);
  const JsonView preferred = annotations.Get(cluster::kSegmentsPreferredAnnotation);
  ReadList(required, true, terms.segments);
  ReadList(preferred, false, terms.segments);
  if (!Arrange(required.present() ? required : preferred, terms.segments)) terms.segments = {};
  terms.subgroups = ReadRoles(annotations);
  return terms;
}

// [{"topology": LEVEL, "size": SIZE}], at most three, as TASMultiLayerTopology has it.
void ReadKueueLayers(const JsonView& annotation, std::vector<TopologySegment>& segments) {
  if (annotation.Text().empty()) return;
  const auto json = Json::Parse(annotation.Text(), kMaxLayers, "layers");
  if (!json.ok()) return annotation.Problem(json.error());
  JsonProblems problems;
  const JsonView list(json->root(), "layers", problems);
  list.Items([&](const JsonView& layer) {
    const JsonView level = layer.Get("topology");
    const JsonView size = layer.Get("size");
    const std::optional<int64_t> pods = ParseSize(size.QuantityText());
    if (!pods) size.Problem("expected a number of pods of at least 1");
    segments.push_back({std::string(level.RequiredText()), pods.value_or(1), true});
  });
  if (problems.none()) return;
  annotation.Problem(problems.first());
  segments.clear();
}

TopologyTerms ReadKueue(const JsonView& annotations) {
  TopologyTerms terms;
  terms.required = ReadLevel(annotations.Get("kueue.x-k8s.io/podset-required-topology"));
  terms.preferred = ReadLevel(annotations.Get("kueue.x-k8s.io/podset-preferred-topology"));
  const JsonView level = annotations.Get("kueue.x-k8s.io/podset-slice-required-topology");
  const JsonView size = annotations.Get("kueue.x-k8s.io/podset-slice-size");
  if (level.present()) {
    if (const auto pods = ReadSize(size)) terms.segments.push_back({ReadLevel(level), *pods});
  }
  const JsonView layers =
      annotations.Get("kueue.x-k8s.io/podset-slice-required-topology-constraints");
  ReadKueueLayers(layers, terms.segments);
  if (!Arrange(layers.present() ? layers : size, terms.segments)) terms.segments = {};
  terms.said_by = "annotations kueue.x-k8s.io/podset-…-topology";
  return terms;
}

TopologyTerms ReadKai(const JsonView& annotations) {
  TopologyTerms terms;
  terms.required = ReadLevel(annotations.Get("kai.scheduler/topology-required-placement"));
  terms.preferred = ReadLevel(annotations.Get("kai.scheduler/topology-preferred-placement"));
  const JsonView required = annotations.Get("kai.scheduler/segment-topology-required-placement");
  const JsonView preferred = annotations.Get("kai.scheduler/segment-topology-preferred-placement");
  const JsonView size = annotations.Get("kai.scheduler/segment-size");
  if (required.present() || preferred.present()) {
    const std::optional<int64_t> pods = ReadSize(size);
    if (pods && required.present()) terms.segments.push_back({ReadLevel(required), *pods, true});
    if (pods && preferred.present()) terms.segments.push_back({ReadLevel(preferred), *pods, false});
  }
  terms.said_by = "annotations kai.scheduler/topology-…";
  return terms;
}

// {"gatherStrategy": [{"layer": LEVEL, "strategy": "MustGather" or "PreferGather"}]}, the
// innermost layer first; of each strategy the first layer counts (NetworkTopologySpec in
// apis/extension/coscheduling.go of koordinator-sh/koordinator).
TopologyTerms ReadKoordinator(const JsonView& annotations) {
  TopologyTerms terms;
  const JsonView annotation = annotations.Get(kKoordinatorTopologyAnnotation);
  if (annotation.Text().empty()) return terms;
  const auto json = Json::Parse(annotation.Text(), kMaxLayers, "spec");
  if (!json.ok()) {
    annotation.Problem(json.error());
    return terms;
  }
  JsonProblems problems;
  const JsonView spec(json->root(), "spec", problems);
  const JsonView strategies = spec.Get("gatherStrategy");
  strategies.Items([&](const JsonView& one) {
    const JsonView strategy = one.Get("strategy");
    const JsonView layer = one.Get("layer");
    const bool must = strategy.Text() == "MustGather";
    if (!must && strategy.Text() != "PreferGather")
      strategy.Problem("expected MustGather or PreferGather");
    std::string& level = must ? terms.required : terms.preferred;
    layer.RequiredText();
    if (level.empty()) level = ReadLevel(layer);
  });
  terms.said_by = std::string("annotation ") + kKoordinatorTopologyAnnotation;
  if (problems.none()) return terms;
  annotation.Problem(problems.first());
  return {};
}

TopologyTerms OfTier(VolcanoTier tier, std::string said_by) {
  TopologyTerms terms;
  (tier.hard ? terms.required : terms.preferred) = std::move(tier.level);
  terms.said_by = std::move(said_by);
  return terms;
}

TopologyTerms ReadVolcano(const JsonView& annotations) {
  const JsonView mode = annotations.Get("volcano.sh/network-topology-mode");
  const JsonView tier = annotations.Get("volcano.sh/network-topology-highest-tier");
  if (mode.Text().empty() && tier.Text().empty()) return {};
  const std::optional<int64_t> number = tier.present() ? ReadSize(tier) : 1;
  if (!number) return {};
  return OfTier({NameOfTier(*number), mode.Text() != "soft"},
                "annotations volcano.sh/network-topology-…");
}

// The kinds of PodGroups differ in the names of these fields.
TopologyTerms ReadVolcanoSpec(const JsonView& spec) {
  const JsonView topology = spec.Get("networkTopology");
  TopologyTerms terms;
  if (topology.present()) terms = OfTier(ReadVolcanoTier(topology), "spec.networkTopology");
  terms.subgroups = ReadVolcanoSubgroups(spec);
  if (terms.said_by.empty()) terms.said_by = "spec.subGroupPolicy[].networkTopology";
  return terms;
}

TopologyTerms ReadKaiSpec(const JsonView& spec) {
  const JsonView constraint = spec.Get("topologyConstraint");
  TopologyTerms terms;
  terms.required = ReadLevel(constraint.Get("requiredTopologyLevel"));
  terms.preferred = ReadLevel(constraint.Get("preferredTopologyLevel"));
  terms.subgroups = ReadKaiSubgroups(spec);
  terms.said_by =
      terms.within() ? "spec.topologyConstraint" : "spec.subGroups[].topologyConstraint";
  return terms;
}

// TopologyConstraint in scheduling.k8s.io: all pods in one domain; one key at most.
TopologyTerms ReadNativeSpec(const JsonView& spec) {
  TopologyTerms terms;
  const JsonView constraints = spec.Get("schedulingConstraints");
  const JsonView topology = constraints.Get("topology");
  topology.Items([&](const JsonView& constraint) {
    if (terms.required.empty()) terms.required = ReadLevel(constraint.Get("key"));
  });
  terms.said_by = "spec.schedulingConstraints.topology";
  return terms;
}

// PodGang of scheduler.grove.io; its levels are label keys.
TopologyTerms ReadGroveSpec(const JsonView& spec) {
  const JsonView constraint = spec.Get("topologyConstraint");
  const JsonView pack = constraint.Get("packConstraint");
  TopologyTerms terms;
  terms.required = ReadLevel(pack.Get("required"));
  terms.preferred = ReadLevel(pack.Get("preferred"));
  terms.subgroups = ReadGroveSubgroups(spec);
  terms.said_by = "packConstraint";
  return terms;
}

// They say where the gang, or a part of it, is to be.
bool SayWhere(const TopologyTerms& terms) { return terms.within() || !terms.subgroups.empty(); }

TopologyTerms ReadComputeDomain(const JsonView& annotations) {
  TopologyTerms terms;
  if (annotations.Get(kComputeDomainAnnotation).Text() == "true") WishForClique(terms);
  return terms;
}

template <typename... Readers>
TopologyTerms FirstOf(const JsonView& from, const Readers&... readers) {
  TopologyTerms terms;
  ((SayWhere(terms) ? void() : void(terms = readers(from))), ...);
  if (!SayWhere(terms)) return {};
  return terms;
}

TopologyTerms ReadSpec(const JsonView& spec) {
  return FirstOf(spec, ReadVolcanoSpec, ReadKaiSpec, ReadGroveSpec, ReadNativeSpec);
}

cluster::Balance ReadBalance(const JsonView& annotation) {
  const std::string_view text = annotation.Text();
  if (text.empty()) return cluster::Balance::kUnsaid;
  if (text == "even") return cluster::Balance::kEven;
  if (text == "pack") return cluster::Balance::kPack;
  annotation.Problem("expected even or pack, got \"" + std::string(text.substr(0, 40)) + "\"");
  return cluster::Balance::kUnsaid;
}

// What only Muster has annotations for, whoever says the rest.
void ReadBesideLevels(const JsonView& metadata, TopologyTerms& terms) {
  const JsonView annotations = metadata.Get("annotations");
  terms.balance = ReadBalance(annotations.Get(cluster::kTopologyBalanceAnnotation));
  terms.spread = ReadLevel(annotations.Get(cluster::kTopologySpreadAnnotation));
  const JsonView group = annotations.Get(cluster::kSpreadGroupAnnotation);
  if (group.Text().size() > kMaxSpreadGroup) {
    group.Problem("expected a name of at most " + std::to_string(kMaxSpreadGroup) + " bytes");
  } else {
    terms.spread_group = group.Text();
  }
  if (terms.spread.empty() || !terms.spread_group.empty()) return;
  const JsonView labels = metadata.Get("labels");
  terms.spread_group = labels.Get(kLeaderWorkerSetLabel).Text();
}

}  // namespace

// Channels reach as far as NVLink does.
void WishForClique(TopologyTerms& terms) {
  if (SayWhere(terms)) return;
  terms.preferred = "nvidia.com/gpu.clique";
  terms.said_by = kComputeDomainAnnotation;
}

TopologyTerms ReadTopologyTerms(const JsonView& metadata) {
  TopologyTerms terms = FirstOf(metadata.Get("annotations"), ReadMuster, ReadKueue, ReadKai,
                                ReadVolcano, ReadKoordinator, ReadComputeDomain);
  ReadBesideLevels(metadata, terms);
  return terms;
}

TopologyTerms ReadTopologyTerms(const JsonView& metadata, const JsonView& spec) {
  const JsonView annotations = metadata.Get("annotations");
  TopologyTerms terms =
      FirstOf(annotations, ReadMuster, ReadKueue, ReadKai, ReadVolcano, ReadKoordinator);
  if (!SayWhere(terms)) {
    terms = ReadSpec(spec);
  } else if (!terms.said_by.empty()) {
    // Of other systems one may say where the gang is to be, and its spec where its subgroups are.
    terms.subgroups = ReadSpec(spec).subgroups;
  }
  if (!SayWhere(terms)) terms = FirstOf(annotations, ReadComputeDomain);
  ReadBesideLevels(metadata, terms);
  return terms;
}

}  // namespace muster::kube
