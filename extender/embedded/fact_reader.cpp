#include "extender/embedded/fact_reader.hpp"

#include <string>
#include <utility>
#include <variant>

#include "cluster/base/check.hpp"
#include "extender/embedded/priority_classes.hpp"
#include "kube/decode/optional_kinds.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/owners/owner_reader.hpp"
#include "sim/calls/muster_link.hpp"

namespace muster::extender {
namespace {

kube::News GoneNews(kube::OptionalKind kind, const std::string& uid) {
  switch (kind) {
    case kube::OptionalKind::kProvisioningRequests:
      return engine::Fact(engine::ProvisioningRequestRemoved{cluster::ProvisioningRequestUid(uid)});
    case kube::OptionalKind::kComputeDomains:
      return kube::ComputeDomainRemoved{uid};
    case kube::OptionalKind::kResourceSlices:
      return kube::ResourceSliceRemoved{uid};
    case kube::OptionalKind::kNodeResourceTopologies:
      break;
  }
  return kube::NodeTopologyRemoved{uid};
}

// Its facts are its own; any other kind is read as an owner of pods.
bool IsTold(const std::string& kind) {
  return kind == kPriorityClass || kube::FindOptionalKind(kind) != nullptr;
}

kube::News ClassNews(const sim::OtherRecord& record, sim::Change change) {
  const cluster::PriorityClassUid uid(record.uid);
  if (change == sim::Change::kDeleted) return engine::Fact(engine::PriorityClassRemoved{uid});
  auto read = ReadPriorityClass(record.json, record.uid);
  MUSTER_CHECK(read.ok());  // it was read before it was created
  return engine::Fact(*std::move(read));
}

// As the API server would show the object: with its UID.
kube::News OtherNews(const sim::OtherRecord& record, sim::Change change) {
  if (record.kind == kPriorityClass) return ClassNews(record, change);
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
  if (auto* fact = std::get_if<engine::Fact>(&decoded->news)) {
    if (auto* request = std::get_if<cluster::ProvisioningRequest>(fact))
      request->uid = cluster::ProvisioningRequestUid(record.uid);
  }
  return std::move(decoded->news);
}

// The object as the API server would show it. `succeeded`: of a Job.
std::string Shown(const kube::JsonNode& object, const std::string& ns, const std::string& uid,
                  std::optional<int64_t> succeeded) {
  kube::JsonProblems ignored;
  const kube::JsonView view(object, "object", ignored);
  const kube::JsonView metadata = view.Get("metadata");
  std::string text;
  kube::JsonWriter json(text);
  const auto copy = [&](const kube::JsonView& from, const char* key) {
    const kube::JsonView member = from.Get(key);
    std::string value;
    member.AppendTo(value);
    if (member.present()) json.Key(key).Raw(value);
  };
  json.BeginObject();
  copy(view, "apiVersion");
  copy(view, "kind");
  json.Key("metadata").BeginObject();
  for (const char* key : {"name", "labels", "annotations", "ownerReferences"}) copy(metadata, key);
  const kube::JsonView own = metadata.Get("uid");  // by which others know it
  json.Key("namespace").Text(ns).Key("uid").Text(own.present() ? own.Text() : uid);
  json.Key("resourceVersion").Text(std::to_string(succeeded.value_or(0) + 1)).EndObject();
  copy(view, "spec");
  if (succeeded) {
    json.Key("status").BeginObject().Key("succeeded").Integer(*succeeded).EndObject();
  } else {
    copy(view, "status");
  }
  json.EndObject();
  return text;
}

std::shared_ptr<const kube::Json> Parsed(const std::string& json) {
  cluster::Result<kube::Json> parsed = kube::Json::Parse(json, json.size(), "object");
  return parsed.ok() ? std::make_shared<const kube::Json>(*std::move(parsed)) : nullptr;
}

// Nothing here waits for the time: what is to be read is read at once, and told when it changes.
constexpr cluster::Time kNow{2};

}  // namespace

FactReader::FactReader(std::optional<kube::GroupingSettings> grouping,
                       std::function<void(const std::string&)> warn)
    : warn_(std::move(warn)), joiner_(versions_) {
  if (grouping) SetGrouping(*std::move(grouping));
}

std::string FactReader::GroupingText(const sim::PodRecord& record) const {
  if (!record.pod.pod_group.empty()) return {};
  const auto job = jobs_.find(record.job_uid);
  if (job == jobs_.end()) {
    const auto object = record.json.empty() ? nullptr : Parsed(record.json);
    return object == nullptr ? "" : kube::GroupingText(object->root(), record.pod);
  }
  const Owner& owner = owners_.at(job->second);
  kube::JsonProblems ignored;
  const kube::JsonView view(owner.object->root(), "Job", ignored);
  const kube::JsonView spec = view.Get("spec");
  const kube::JsonView pod_template = spec.Get("template");
  if (!pod_template.present()) return {};
  std::string owners;
  kube::JsonWriter json(owners);
  json.BeginArray().BeginObject().Key("apiVersion").Text(owner.key.api_version);
  json.Key("kind").Text(owner.key.kind).Key("name").Text(owner.key.name);
  json.Key("uid").Text(owner.key.uid).Key("controller").Flag(true).EndObject().EndArray();
  return kube::GroupingText(pod_template.node(), record.pod, owners);
}

kube::News FactReader::NewsOf(const sim::WatchEvent& event) const {
  const auto* other = std::get_if<sim::OtherPtr>(&event.object);
  if (other != nullptr) return OtherNews(**other, event.change);
  if (event.change == sim::Change::kDeleted) return sim::FactOf(event);
  const auto* node = std::get_if<sim::NodePtr>(&event.object);
  if (node != nullptr && (*node)->own_numa_policy) return kube::NodeOfOwnPolicy{(*node)->node};
  const auto* pod = std::get_if<sim::PodPtr>(&event.object);
  if (pod == nullptr) return sim::FactOf(event);
  std::string text = GroupingText(**pod);
  if (!text.empty()) {
    return kube::PodOfOwners{(*pod)->pod, (*pod)->claim_templates,
                             std::make_shared<const std::string>(std::move(text))};
  }
  if ((*pod)->claim_templates.empty()) return sim::FactOf(event);
  return kube::PodOfClaims{(*pod)->pod, (*pod)->claim_templates};
}

std::vector<engine::Fact> FactReader::Read(const sim::WatchEvent& event) {
  Facts facts;
  const bool gone = event.change == sim::Change::kDeleted;
  const auto* job = std::get_if<sim::JobPtr>(&event.object);
  const auto* other = std::get_if<sim::OtherPtr>(&event.object);
  if (job != nullptr) {
    const OwnerName name{"Job", (*job)->key};
    if (!gone) jobs_.insert_or_assign((*job)->uid, name);
    if (gone) jobs_.erase((*job)->uid);
    gone ? ForgetOwner(name, facts)
         : ReadOwner(name, {(*job)->json, (*job)->uid, (*job)->succeeded}, facts);
  } else if (other != nullptr && (*other)->storage != nullptr) {
    ReadStorage(**other, gone, facts);
  } else if (other != nullptr && !IsTold((*other)->kind)) {
    const OwnerName name{(*other)->kind, (*other)->key};
    gone ? ForgetOwner(name, facts) : ReadOwner(name, {(*other)->json, (*other)->uid, {}}, facts);
  } else {
    Tell(joiner_.Join(NewsOf(event), kNow), facts);
  }
  ReadOwners(facts);
  return facts;
}

// Whoever gives this cluster no claims and no volumes need not give them for the pods that name
// some.
void FactReader::ReadStorage(const sim::OtherRecord& record, bool gone, Facts& facts) {
  if (gone) {
    facts.emplace_back(engine::StorageRemoved{cluster::KindOf(*record.storage), record.key});
  } else {
    facts.emplace_back(*record.storage);
  }
  if (!std::exchange(storage_readable_, true)) facts.emplace_back(engine::StorageReadable{true});
}

std::vector<engine::Fact> FactReader::SetGrouping(kube::GroupingSettings grouping) {
  Facts facts;
  Tell(joiner_.Set(std::move(grouping)), facts);
  ReadOwners(facts);
  return facts;
}

void FactReader::Tell(kube::NewsJoiner::Joined joined, Facts& facts) {
  TellSlice(std::move(joined), facts);
  while (joiner_.behind()) TellSlice(joiner_.GoOn(), facts);
}

void FactReader::TellSlice(kube::NewsJoiner::Joined joined, Facts& facts) {
  for (engine::Fact& fact : joined.facts) {
    for (engine::Fact& follows : declared_.Observe(fact, joiner_.GangOf(fact)))
      facts.push_back(std::move(follows));
    facts.push_back(std::move(fact));
  }
  if (!warn_) return;
  for (const std::string& warning : joined.warnings) warn_(warning);
}

void FactReader::ReadOwners(Facts& facts) {
  while (const auto request = joiner_.owners().Take(kNow)) {
    kube::OwnerAnswer answer{kube::OwnerAnswer::Kind::kGone, {}, {}};
    const auto found = owners_.find({request->key.kind, {request->key.ns, request->key.name}});
    if (found != owners_.end() && found->second.key.group() == request->key.group())
      answer = kube::SiftOwner(found->second.text, *request->fields, request->key.kind);
    Tell(joiner_.Learn(request->key, std::move(answer), kNow), facts);
  }
}

void FactReader::ReadOwner(const OwnerName& name, const OwnerText& text, Facts& facts) {
  const auto given = Parsed(text.json.empty() ? "{}" : text.json);
  MUSTER_CHECK(given != nullptr);  // it was read before it was created
  std::string shown = Shown(given->root(), name.second.ns, text.uid, text.succeeded);
  const auto object = Parsed(shown);
  MUSTER_CHECK(object != nullptr);
  kube::JsonProblems ignored;
  const kube::JsonView view(object->root(), "object", ignored);
  const kube::JsonView metadata = view.Get("metadata");
  Owner owner{{std::string(view.Get("apiVersion").Text()), name.first, name.second.ns,
               name.second.name, std::string(metadata.Get("uid").Text())},
              std::move(shown),
              object,
              text.succeeded};
  const auto known = owners_.find(name);
  const bool same = known != owners_.end() && known->second.key == owner.key &&
                    known->second.succeeded == owner.succeeded;
  if (same) return;
  if (const auto fields = joiner_.owners().Wanted(owner.key)) {
    kube::OwnerAnswer answer = kube::SiftOwner(owner.text, *fields, owner.key.kind);
    Tell(joiner_.Learn(owner.key, std::move(answer), kNow), facts);
  }
  owners_.insert_or_assign(name, std::move(owner));
}

void FactReader::ForgetOwner(const OwnerName& name, Facts& facts) {
  const auto found = owners_.find(name);
  if (found == owners_.end()) return;
  const kube::OwnerKey key = found->second.key;
  owners_.erase(found);
  Tell(joiner_.Learn(key, {kube::OwnerAnswer::Kind::kGone, {}, {}}, kNow), facts);
}

}  // namespace muster::extender
