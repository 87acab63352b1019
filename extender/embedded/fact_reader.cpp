#include "extender/embedded/fact_reader.hpp"

#include <string>
#include <utility>
#include <variant>

#include "cluster/check.hpp"
#include "kube/optional_kinds.hpp"
#include "sim/muster_link.hpp"

namespace muster::extender {
namespace {

kube::News GoneNews(kube::OptionalKind kind, const std::string& uid) {
  switch (kind) {
    case kube::OptionalKind::kComputeDomains:
      return kube::ComputeDomainRemoved{uid};
    case kube::OptionalKind::kResourceSlices:
      return kube::ResourceSliceRemoved{uid};
    case kube::OptionalKind::kNodeResourceTopologies:
      break;
  }
  return kube::NodeTopologyRemoved{uid};
}

// As the API server would show the object: with its UID.
kube::News OtherNews(const sim::OtherRecord& record, sim::Change change) {
  const kube::OptionalKindNames* names = kube::FindOptionalKind(record.kind);
  MUSTER_CHECK(names != nullptr);
  if (change == sim::Change::kDeleted) return GoneNews(names->kind, record.uid);
  auto decoded =
      kube::DecodeOptional(names->kind, record.json, {.source = kube::Source::kManifest});
  MUSTER_CHECK(decoded.ok());  // it was read before it was created
  std::visit(
      [&](auto& news) {
        if constexpr (requires { news.uid = record.uid; }) news.uid = record.uid;
      },
      decoded->news);
  return std::move(decoded->news);
}

kube::News NewsOf(const sim::WatchEvent& event) {
  if (const auto* other = std::get_if<sim::OtherPtr>(&event.object)) {
    return OtherNews(**other, event.change);
  }
  if (event.change == sim::Change::kDeleted) return sim::FactOf(event);
  const auto* node = std::get_if<sim::NodePtr>(&event.object);
  if (node != nullptr && (*node)->own_numa_policy) return kube::NodeOfOwnPolicy{(*node)->node};
  const auto* pod = std::get_if<sim::PodPtr>(&event.object);
  if (pod != nullptr && !(*pod)->claim_templates.empty()) {
    return kube::PodOfClaims{(*pod)->pod, (*pod)->claim_templates};
  }
  return sim::FactOf(event);
}

}  // namespace

std::vector<engine::Fact> FactReader::Read(const sim::WatchEvent& event) {
  kube::NewsJoiner::Joined joined = joiner_.Join(NewsOf(event), cluster::Time());
  if (warn_) {
    for (const std::string& warning : joined.warnings) warn_(warning);
  }
  return std::move(joined.facts);
}

}  // namespace muster::extender
