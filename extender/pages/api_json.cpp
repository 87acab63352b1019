#include "extender/pages/api_json.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/reasons/cause_words.hpp"
#include "extender/wire/json_text.hpp"

namespace muster::extender {
namespace {

using cluster::Duration;
using cluster::Time;

// Of what the member asks for, where a cause counts it; memory is in MiB, what has but a name in
// its own unit, all else in thousandths.
void AddAmounts(JsonText& json, const policy::Cause& cause) {
  using What = policy::Cause::What;
  const auto add = [&](const std::string& name, int64_t amount) {
    if (cause.what == What::kMemory || cause.what == What::kNamed) {
      json.Add(name, amount);
    } else {
      json.AddMilli(name, amount);
    }
  };
  const bool gpus =
      cause.what == What::kGpus || cause.what == What::kGpuDevices || cause.what == What::kNuma;
  const char* unit = gpus                          ? "gpus"
                     : cause.what == What::kCpu    ? "cores"
                     : cause.what == What::kMemory ? "mebibytes"
                     : cause.what == What::kNamed  ? "amount"
                                                   : nullptr;
  if (unit == nullptr) return;
  add(std::string(unit) + "Wanted", cause.wants);
  add(std::string(unit) + "FreeLeast", cause.least_free);
  add(std::string(unit) + "FreeMost", cause.most_free);
  if (cause.of > 0) add(std::string(unit) + "PerNode", cause.of);
  json.Add("bestNode", cause.best);
}

// What the sentence of the reason counts.
void AddRoom(JsonText& json, const policy::Shortage& shortage) {
  json.BeginObject("room");
  if (!shortage.subgroup.empty()) json.Add("subgroup", shortage.subgroup);
  if (!shortage.limit.empty()) json.Add("level", shortage.limit);
  if (!shortage.domain.empty()) json.Add("domain", shortage.domain);
  json.Add("nodes", shortage.nodes);
  json.Add("nodesWithRoom", shortage.with_room);
  json.AddMilli("gpusWanted", shortage.need_gpu_milli);
  json.AddMilli("gpusFree", shortage.free_gpu_milli);
  json.Add("gpuNodes", shortage.gpu_nodes);
  json.AddMilli("gpusInCluster", shortage.all_gpu_milli);
  json.Add("membersThatFit", shortage.fits);
  json.Add("membersCounted", shortage.fits_of);
  json.BeginArray("causes");
  for (const policy::Cause& cause : shortage.causes) {
    json.BeginObject();
    json.Add("kind", engine::ToString(cause.what));
    json.Add("nodes", cause.nodes);
    if (!cause.name.empty()) json.Add("name", cause.name);
    AddAmounts(json, cause);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void AddReason(JsonText& json, const engine::Reason& reason) {
  if (reason.code == engine::ReasonCode::kNone) return;
  json.BeginObject("reason");
  json.Add("code", engine::ToString(reason.code));
  if (const char* former = engine::FormerName(reason.code)) json.Add("formerCode", former);
  json.Add("message", engine::Describe(reason));
  json.Add("have", reason.have);
  json.Add("need", reason.need);
  if (!reason.detail.empty()) json.Add("detail", reason.detail);
  if (reason.shortage.get() != nullptr) AddRoom(json, *reason.shortage.get());
  json.EndObject();
}

void AddExpected(JsonText& json, const engine::ExpectedStart& expected, Time now) {
  json.BeginObject("expectedStart");
  if (expected.at != Time::Never()) json.AddSeconds("inSeconds", expected.at - now);
  json.Add("class", engine::ToString(expected.by));
  json.Add("evidence", expected.why);
  json.EndObject();
}

void AddKept(JsonText& json, const engine::KeptForRestart& kept, Time now) {
  json.BeginObject("keptForRestart");
  json.AddSeconds("forSeconds", kept.until - now);
  json.Add("pods", kept.pods);
  json.Add("nodes", kept.nodes);
  json.EndObject();
}

void AddGang(JsonText& json, const engine::GangView& gang, Time now) {
  json.Add("namespace", gang.id.key.ns);
  json.Add("name", gang.id.key.name);
  json.Add("kind", gang.id.solo ? "Pod" : "PodGroup");
  json.Add("state", engine::ToString(gang.state));
  AddReason(json, gang.reason);
  if (!gang.apart.empty()) json.Add("apart", gang.apart);
  if (!gang.remainder.empty()) json.Add("remainder", gang.remainder);
  if (!gang.scale_up.empty()) json.Add("scaleUp", gang.scale_up);
  if (!gang.not_honoured.empty()) json.AddNames("notHonoured", gang.not_honoured);
  if (!gang.queue.empty()) json.Add("queue", gang.queue);
  json.Add("priority", gang.priority);
  if (gang.ordered) json.Add("priorityOrdered", true);
  if (gang.non_preemptible) json.Add("nonPreemptible", true);
  json.Add("minMember", gang.min_member);
  json.AddMilli("gpus", gang.gpus.value());
  json.Add("pods", static_cast<int64_t>(gang.members.size()));
  json.Add("bound", gang.bound);
  json.Add("succeeded", gang.succeeded);
  json.Add("failed", gang.failed);
  json.Add("attempts", gang.attempts);
  if (gang.created) json.AddSeconds("ageSeconds", std::max(now - *gang.created, Duration(0)));
  // A gang that is not complete yet has not begun to wait for the cluster.
  if (gang.queued_at) {
    json.AddSeconds("waitedSeconds", gang.started_at.value_or(now) - *gang.queued_at);
  }
  if (gang.started_at) json.AddSeconds("startedSecondsAgo", now - *gang.started_at);
  if (gang.deadline) json.AddSeconds("deadlineInSeconds", *gang.deadline - now);
  if (gang.ends_at) json.AddSeconds("endsInSeconds", std::max(*gang.ends_at - now, Duration(0)));
  if (gang.expected) AddExpected(json, *gang.expected, now);
  if (gang.kept) AddKept(json, *gang.kept, now);
}

void AddTurn(JsonText& json, const engine::TurnView& turn) {
  json.BeginObject("turn");
  json.Add("queue", turn.queue);
  json.Add("position", turn.position);
  json.Add("of", turn.of);
  if (!turn.at.empty()) {
    json.Add("at", turn.at);
    json.Add("ahead", turn.ahead);
    json.Add("aheadGang", turn.ahead_gang);
    json.Add("aheadB", turn.ahead_b);
    json.Add("own", turn.own);
    json.Add("ownB", turn.own_b);
  }
  json.EndObject();
}

void AddShares(JsonText& json, const std::vector<engine::NodeShare>& nodes) {
  json.BeginArray("nodes");
  for (const engine::NodeShare& share : nodes) {
    json.BeginObject();
    json.Add("name", share.node);
    if (share.gpus > 0) json.Add("gpus", share.gpus);
    json.EndObject();
  }
  json.EndArray();
}

void AddChanges(JsonText& json, const std::vector<engine::LeastChange>& changes) {
  json.BeginArray("wouldStartIf");
  for (const engine::LeastChange& change : changes) {
    json.BeginObject();
    json.Add("what", engine::ToString(change.what));
    json.Add("text", change.text);
    if (change.pods > 0) json.Add("pods", change.pods);
    if (change.gpu_milli > 0) json.AddMilli("gpus", change.gpu_milli);
    if (!change.nodes.empty()) AddShares(json, change.nodes);
    if (!change.taints.empty()) json.AddNames("taints", change.taints);
    if (!change.gangs.empty()) json.AddNames("gangs", change.gangs);
    json.EndObject();
  }
  json.EndArray();
}

// "gpus" of the member are the planned ones.
void AddPick(JsonText& json, const policy::KubeletPick& pick) {
  json.BeginObject("kubelet");
  json.Add("outcome", topology::ToString(pick.outcome));
  if (pick.outcome == topology::PickOutcome::kDiffers) {
    json.BeginArray("predicted");
    for (const cluster::GpuIndex gpu : pick.gpus) json.Number(gpu.value);
    json.EndArray();
  }
  if (pick.choices > 1) json.Add("choices", int64_t{pick.choices});
  json.EndObject();
}

void AddRing(JsonText& json, const engine::MemberRing& ring) {
  json.AddMilli("ringGigabytesPerSecond", ring.megabytes);
}

void AddMember(JsonText& json, const engine::MemberView& member, const engine::MemberRing* ring) {
  json.BeginObject();
  json.Add("pod", member.pod.name);
  json.Add("uid", member.uid.text());
  if (!member.role.empty()) json.Add("role", member.role);
  json.Add("phase", ToString(member.phase));
  json.Add("gated", member.gated);
  json.Add("required", member.required);
  if (!member.planned_node.empty()) json.Add("plannedNode", member.planned_node);
  if (!member.bound_node.empty()) json.Add("boundNode", member.bound_node);
  json.BeginArray("gpus");
  for (const cluster::GpuIndex gpu : member.gpus) json.Number(gpu.value);
  json.EndArray();
  if (member.kubelet_pick) AddPick(json, *member.kubelet_pick);
  if (ring != nullptr) AddRing(json, *ring);
  json.Add("bindHeld", member.bind_held);
  json.EndObject();
}

void AddShares(JsonText& json, const char* name, const std::vector<engine::DomainShare>& shares) {
  json.BeginArray(name);
  for (const engine::DomainShare& share : shares) {
    json.BeginObject();
    json.Add("name", share.name);
    json.Add("members", share.members);
    json.EndObject();
  }
  json.EndArray();
}

void AddOffers(JsonText& json, const engine::OfferedDomains& offered) {
  json.Add("level", offered.level);
  json.Add("wanted", offered.wanted);
  json.Add("domains", offered.domains);
  json.BeginArray("offers");
  for (const engine::DomainOffer& offer : offered.offers) {
    json.BeginObject();
    json.Add("name", offer.name);
    json.Add("members", offer.members);
    json.Add("why", offer.why);
    json.EndObject();
  }
  json.EndArray();
}

void AddDomainInUse(JsonText& json, const engine::DomainInUse& domain) {
  json.BeginObject("cheapestToFree");
  json.Add("name", domain.name);
  json.Add("missing", domain.missing);
  json.Add("blocked", domain.blocked);
  json.AddNames("gangs", domain.gangs);
  json.Add("gangsInAll", domain.gangs_in_all);
  json.AddMilli("gpus", domain.gpu_milli);
  json.AddNames("pods", domain.pods);
  json.Add("podsInAll", domain.pods_in_all);
  json.EndObject();
}

void AddGangFabric(JsonText& json, const engine::GangFabric& fabric) {
  json.BeginObject("fabric");
  json.BeginArray("levels");
  for (const engine::GangLevel& level : fabric.levels) {
    json.BeginObject();
    json.Add("tree", level.tree);
    json.Add("level", level.level);
    AddShares(json, "domains", level.domains);
    json.Add("crossings", level.crossings);
    json.EndObject();
  }
  json.EndArray();
  json.Add("links", fabric.links);
  json.BeginArray("crossed");
  for (const engine::Crossing& link : fabric.crossed) {
    json.BeginObject();
    json.Add("tree", link.tree);
    json.Add("level", link.level);
    json.Add("from", link.from);
    json.Add("to", link.to);
    json.Add("fromDomain", link.from_domain);
    json.Add("toDomain", link.to_domain);
    json.EndObject();
  }
  json.EndArray();
  json.Add("crossings", fabric.crossings);
  if (!fabric.offers.offers.empty()) AddOffers(json, fabric.offers);
  if (!fabric.others.offers.empty()) {
    json.BeginObject("others");
    AddOffers(json, fabric.others);
    json.EndObject();
  }
  if (fabric.cheapest) AddDomainInUse(json, *fabric.cheapest);
  json.EndObject();
}

// The slowest ring holds the others up: it is the bottleneck of the gang.
void AddRings(JsonText& json, const std::vector<engine::MemberRing>& rings) {
  const auto [slowest, fastest] = std::minmax_element(
      rings.begin(), rings.end(), [](const engine::MemberRing& a, const engine::MemberRing& b) {
        return a.megabytes < b.megabytes;
      });
  json.BeginObject("rings");
  json.Add("members", static_cast<int64_t>(rings.size()));
  for (const auto& [name, ring] : {std::pair("slowest", slowest), std::pair("fastest", fastest)}) {
    json.BeginObject(name);
    json.Add("pod", ring->pod);
    json.Add("node", ring->node);
    AddRing(json, *ring);
    json.EndObject();
  }
  json.EndObject();
}

void AddGpus(JsonText& json, const engine::NodeView& view) {
  json.BeginArray("gpus");
  for (std::size_t i = 0; i < view.node.gpus.size(); ++i) {
    const cluster::Gpu& gpu = view.node.gpus[i];
    json.BeginObject();
    json.Add("index", static_cast<int64_t>(gpu.index.value));
    if (!gpu.model.empty()) json.Add("model", gpu.model);
    if (!gpu.uuid.empty()) json.Add("uuid", gpu.uuid);
    json.Add("healthy", gpu.healthy);
    json.Add("cordoned", gpu.cordoned);
    json.AddMilli("freeGpus", i < view.gpu_free.size() ? view.gpu_free[i] : 0);
    json.EndObject();
  }
  json.EndArray();
}

void AddLeftOut(JsonText& json, const engine::LeftOut& left_out, Time now) {
  json.BeginObject("leftOut");
  json.AddSeconds("endsInSeconds", left_out.until - now);
  json.Add("why", left_out.why);
  json.BeginArray("gpus");
  for (const cluster::GpuIndex gpu : left_out.gpus) json.Number(gpu.value);
  json.EndArray();
  json.EndObject();
}

void AddNode(JsonText& json, const engine::NodeView& view, Time now) {
  json.BeginObject();
  json.Add("name", view.node.name);
  json.Add("ready", view.node.ready);
  json.Add("schedulable", view.node.schedulable());
  json.Add("cordoned", view.node.unschedulable);
  json.Add("overcommitted", view.overcommitted);
  if (view.left_out) AddLeftOut(json, *view.left_out, now);
  json.Add("cpuMilli", view.node.allocatable.cpu.value());
  json.Add("cpuMilliFree", view.free.cpu.value());
  json.Add("memoryMiB", view.node.allocatable.memory.value());
  json.Add("memoryMiBFree", view.free.memory.value());
  json.Add("podSlots", view.node.allocatable.pods);
  json.Add("podSlotsFree", view.free.pods);
  json.Add("holders", static_cast<int64_t>(view.holders.size()));
  AddGpus(json, view);
  json.EndObject();
}

}  // namespace

void AddPreemption(JsonText& json, const engine::Certificate& certificate, Time now) {
  json.BeginObject("preemption");
  json.AddSeconds("madeSecondsAgo", now - certificate.made_at);
  json.Add("nodes", certificate.where);
  json.Add("gpusMilliAsked", certificate.asked_milli);
  json.BeginArray("victims");
  for (const engine::VictimGang& victim : certificate.victims) {
    json.BeginObject();
    json.Add("gang", victim.gang.key.ToString());
    json.Add("pods", victim.pods);
    json.Add("gpusMilli", victim.gpu_milli);
    json.AddSeconds("ranSeconds", victim.ran);
    json.Add("right", victim.right);
    json.EndObject();
  }
  json.EndArray();
  json.BeginArray("refused");
  for (const std::string& refused : certificate.refused) json.Text(refused);
  json.EndArray();
  json.EndObject();
}

std::string GangsJson(const std::vector<engine::GangView>& gangs, Time now) {
  JsonText json;
  json.BeginObject();
  json.BeginArray("gangs");
  for (const engine::GangView& gang : gangs) {
    json.BeginObject();
    AddGang(json, gang, now);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string GangJson(const engine::GangView& gang, const engine::GangFabric& fabric, Time now,
                     const std::optional<engine::TurnView>& turn,
                     const std::vector<engine::LeastChange>& changes,
                     const std::vector<std::string>& nobody_goes) {
  JsonText json;
  json.BeginObject();
  AddGang(json, gang, now);
  if (turn) AddTurn(json, *turn);
  if (!changes.empty()) AddChanges(json, changes);
  if (!nobody_goes.empty()) json.AddNames("nobodyMakesWay", nobody_goes);
  if (gang.certificate) AddPreemption(json, *gang.certificate, now);
  json.BeginArray("members");
  std::map<std::string_view, const engine::MemberRing*> rings;  // by pod
  for (const engine::MemberRing& ring : fabric.rings) rings.emplace(ring.pod, &ring);
  for (const engine::MemberView& member : gang.members) {
    const auto ring = rings.find(member.pod.name);
    AddMember(json, member, ring == rings.end() ? nullptr : ring->second);
  }
  json.EndArray();
  if (!fabric.rings.empty()) AddRings(json, fabric.rings);
  if (!fabric.levels.empty() || !fabric.offers.offers.empty()) AddGangFabric(json, fabric);
  json.EndObject();
  return json.Take();
}

std::string NodesJson(const std::vector<engine::NodeView>& nodes, Time now) {
  JsonText json;
  json.BeginObject();
  json.BeginArray("nodes");
  for (const engine::NodeView& node : nodes) AddNode(json, node, now);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string FabricJson(const engine::FabricView& fabric) {
  JsonText json;
  json.BeginObject();
  json.BeginArray("domains");
  for (const engine::DomainView& domain : fabric.domains) {
    json.BeginObject();
    json.Add("tree", domain.tree);
    json.Add("level", domain.level);
    json.Add("name", domain.name);
    json.Add("depth", domain.depth);
    json.Add("nodes", domain.nodes);
    json.Add("freeNodes", domain.free_nodes);
    json.Add("keptNodes", domain.kept_nodes);
    json.Add("gpus", domain.gpus);
    json.Add("freeGpus", domain.free_gpus);
    json.Add("slots", domain.slots);
    json.EndObject();
  }
  json.EndArray();
  json.BeginArray("findings");
  for (const std::string& finding : fabric.findings) json.Text(finding);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string LinksJson(const topology::MachineFacts& facts) {
  JsonText json;
  json.BeginObject();
  json.Add("source", topology::ToString(facts.source));
  if (!facts.profile.empty()) json.Add("profile", facts.profile);
  if (facts.another_size) json.Add("anotherSize", true);
  json.Add("matrix", topology::WriteMachine(facts.machine));
  json.BeginObject("megabytesPerSecond");
  for (const topology::SpeedName& speed : topology::kSpeedNames)
    json.Add(speed.name, int64_t{facts.speeds.*speed.member});
  json.EndObject();
  json.EndObject();
  return json.Take();
}

std::string ErrorJson(const cluster::Error& error) {
  JsonText json;
  json.BeginObject();
  json.Add("error", error.message);
  if (!error.place.empty()) json.Add("place", error.place);
  json.EndObject();
  return json.Take();
}

}  // namespace muster::extender
