#include "tests/scenario/script.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "config/fields/amounts.hpp"
#include "config/policies/policy_file.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "extender/embedded/manifests.hpp"
#include "kube/decode/optional_kinds.hpp"
#include "kube/watch/storage_kinds.hpp"

namespace muster::testing {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

namespace {

Error Wrong(const std::string& message) { return {Code::kInvalidArgument, message, ""}; }

cluster::ObjectKey KeyOf(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {"default", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::string Gpus(const std::vector<cluster::GpuIndex>& gpus) {
  std::string text;
  for (const cluster::GpuIndex gpu : gpus)
    text += (text.empty() ? "" : ",") + std::to_string(gpu.value);
  return text;
}

// Columns as wide as their widest cell, two spaces between them, nothing at line ends.
std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += "  " + line + "\n";
  }
  return text;
}

}  // namespace

Result<std::string> Script::Run() {
  std::ifstream file(folder_ / "script.txt");
  if (!file) return Error{Code::kIo, "cannot be read", (folder_ / "script.txt").string()};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.empty()) continue;
    if (Status done = Do(line); !done.ok())
      return done.error().At("script.txt:" + std::to_string(number));
  }
  for (const std::string& finding : world().auditor()->findings())
    shown_ += "BROKEN: " + finding + "\n";
  return shown_;
}

sim::Cluster& Script::world() {
  if (!world_) {
    options_.audit = true;
    options_.muster.rules = {};  // people read the Events
    config::UseProfiles(&options_.muster.engine.placement);
    options_.muster.make_reader = [this] {
      reader_ = std::make_shared<extender::FactReader>(grouping_);
      return [facts = reader_](const sim::WatchEvent& event) { return facts->Read(event); };
    };
    world_ = std::make_unique<sim::Cluster>(options_);
  }
  return *world_;
}

Status Script::Do(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "order") return Order(words);
  if (verb == "quota") return Quota(words);
  if (verb == "budget" || verb == "unheard-budget") return Budget(words, verb == "budget");
  if (verb == "pool") return Pool(words);
  if (verb == "kube-scheduler-refuses") return TurnDown(words);
  std::string first;
  std::string second;
  words >> first >> second;
  if (verb == "policy") return LoadPolicy(first, false);
  if (verb == "replace-policy") return LoadPolicy(first, true);
  if (verb == "option") return SetOption(first, second);
  if (verb == "apply") return Apply(first);
  if (verb == "delete") return Delete(first, second);
  if (verb == "show") return Show(first);
  if (verb == "run") return RunFor(first);
  if (verb == "refuse-binds" || verb == "refuse-writes" || verb == "lose-writes" ||
      verb == "refuse-deletes") {
    if (verb == "refuse-deletes") faults_.refuse_deletes = first == "on";
    if (verb == "refuse-writes") faults_.refuse_all = first == "on";
    if (verb == "refuse-binds") faults_.refuse_binds = first == "on";
    if (verb == "lose-writes") faults_.lost_per_mille = first == "on" ? 1000 : 0;
    SetFaults();
    return Ok{};
  }
  if (verb == "kube-scheduler-accepts") {
    world().scheduler().TurnDownNoMore(first);
    return Ok{};
  }
  if (verb == "requests") {
    if (autoscaler_ == nullptr) return Wrong("there is no pool, or nothing ran yet");
    autoscaler_->SetRequests(first == "fail"     ? sim::Requests::kFailed
                             : first == "ignore" ? sim::Requests::kIgnored
                                                 : sim::Requests::kAnswered);
    return Ok{};
  }
  if (verb == "silence") return Tell(engine::WatchStale{first == "off" ? "" : first});
  if (verb == "unfenced" || verb == "fenced") return Unfence(first, second);
  if (verb == "end-namespace") {
    cluster::Namespace ns;
    ns.uid = cluster::NamespaceUid("namespace-" + first);
    ns.key.name = first;
    ns.deleting = true;
    return Tell(ns);
  }
  if (verb == "restart") {
    if (first == "muster") {
      const engine::StandingOrders orders = world().muster()->scheduler().Orders();
      const auto usage = world().muster()->scheduler().UsedSoFar();
      world().muster()->Restart();
      if (Status told = usage ? Tell(*usage) : Status(Ok{}); !told.ok()) return told;
      for (const auto& [gang, budget] : budgets_) {
        if (Status told = Tell(budget); !told.ok()) return told;
      }
      return Tell(orders);
    }
    if (first == "kube-scheduler") world().scheduler().Restart();
    return Ok{};
  }
  if (verb == "turn-down" || verb == "admit") {
    world().kubelet().TurnDownAll(first, verb == "turn-down");
    return Ok{};
  }
  return ChangeNode(verb, first);
}

Status Script::Pool(std::istringstream& words) {
  sim::Pool pool;
  int gpus = 0;
  if (!(words >> pool.name >> pool.most >> gpus)) return Wrong("expected pool NAME MOST GPUS");
  pool.node = sim::GpuNode(gpus);
  autoscaling_.pools.push_back(std::move(pool));
  return Ok{};
}

Status Script::TurnDown(std::istringstream& words) {
  sim::OtherCheck check;
  words >> check.pods >> check.node >> std::ws;
  if (!std::getline(words, check.words))
    return Wrong("expected kube-scheduler-refuses PODS NODE|all WORDS");
  if (check.node == "all") check.node.clear();
  world().scheduler().TurnDown(std::move(check));
  return Ok{};
}

Status Script::RunFor(const std::string& text) {
  const auto duration = config::ParseDuration(text);
  if (!duration) return Wrong("expected a duration, found \"" + text + "\"");
  if (!autoscaling_.pools.empty() && autoscaler_ == nullptr) {
    autoscaler_ = std::make_unique<sim::Autoscaler>(world().loop(), world().api(), autoscaling_);
  }
  world().loop().RunUntil(world().loop().now() + *duration);
  return Ok{};
}

// What the embedded API server has no words for.
Status Script::Tell(const engine::Fact& fact) {
  world().muster()->scheduler().Apply(fact, world().loop().now());
  world().muster()->Kick();
  return Ok{};
}

// No watch brings a budget that the embedded API server keeps: the script tells of it.
Status Script::Budget(std::istringstream& words, bool heard) {
  std::string gang;
  cluster::DisruptionBudget budget;
  if (!(words >> gang >> budget.disruptions_allowed)) return Wrong("expected budget GANG N");
  const cluster::ObjectKey key = KeyOf(gang);
  world().api().SetBudget(key, budget.disruptions_allowed);
  if (!heard) return Ok{};
  budget.uid = cluster::DisruptionBudgetUid("budget-" + gang);
  budget.key = key;
  budget.resource_version = world().loop().now().milliseconds();  // newer than the one before
  budget.selector = {{"scheduling.x-k8s.io/pod-group", cluster::SelectorOperator::kIn, {gang}}};
  budgets_[gang] = budget;
  return Tell(budget);
}

// The embedded API server charges no quotas: the script says how much is used.
Status Script::Quota(std::istringstream& words) {
  std::string name;
  std::string resource;
  cluster::QuotaLine line;
  words >> name >> resource >> line.used >> line.hard;
  line.resource = resource == "gpu" ? "requests.nvidia.com/gpu" : resource;
  if (resource == "gpu") {
    line.kind = cluster::QuotaLine::Kind::kGpus;
    line.used *= cluster::kWholeGpu.value();
    line.hard *= cluster::kWholeGpu.value();
  } else if (resource != "pods") {
    return Wrong("expected pods or gpu, found \"" + resource + "\"");
  }
  cluster::ResourceQuota quota;
  quota.uid = cluster::ResourceQuotaUid("quota-" + name);
  quota.key = {"default", name};
  quota.lines = {line};
  return Tell(quota);
}

// By one who is called "ann".
Status Script::Order(std::istringstream& words) {
  std::string verb;
  std::string name;
  std::string rest;
  std::string pause;
  words >> verb >> name >> rest >> pause;
  engine::Order order{"ann", engine::CancelPlan{KeyOf(name)}};
  if (verb == "priority") {
    std::optional<int64_t> priority;
    if (rest != "reset") priority = std::stoll(rest);
    order.what = engine::SetPriority{KeyOf(name), priority};
  } else if (verb == "hold" || verb == "drain" || verb == "resume") {
    order.what = engine::SetQueueState{name, verb == "hold"    ? queues::QueueState::kHold
                                             : verb == "drain" ? queues::QueueState::kDrain
                                                               : queues::QueueState::kOpen};
  } else if (verb == "reclaim" || verb == "would-reclaim") {
    const auto duration = config::ParseDuration(pause);
    order.what =
        engine::ReclaimGpus{name, std::stoll(rest), duration.value_or(engine::kReclaimPause)};
  } else if (verb != "cancel") {
    return Wrong("there is no order " + verb);
  }
  engine::Scheduler& scheduler = world().muster()->scheduler();
  const auto effect = verb == "would-reclaim" ? scheduler.Consider(order, world().loop().now())
                                              : scheduler.Carry(order, world().loop().now());
  world().muster()->Kick();
  shown_ += "order " + verb + " " + name + ": ";
  if (!effect.ok()) {
    shown_ += "refused: " + effect.error().ToString() + "\n";
    return Ok{};
  }
  shown_ += effect->is + " (before: " + effect->was + ")\n";
  for (const engine::OrderEffect::Evicted& one : effect->evicted) {
    shown_ += "  " + one.gang.key.ToString() + " " + std::to_string(one.pods) + " pods, " +
              std::to_string(one.gpu_milli / 1000) + " GPUs" + (one.whole ? ", whole" : "") +
              (one.despite.empty() ? "" : "; " + one.despite) + "\n";
  }
  for (const engine::OrderEffect::Kept& one : effect->kept)
    shown_ += "  " + one.gang.key.ToString() + " stays: " + one.why + "\n";
  return Ok{};
}

// Without a node: it is fenced.
Status Script::Unfence(const std::string& name, const std::string& node) {
  const sim::PodPtr pod = world().api().FindPod(KeyOf(name));
  if (!pod) return Wrong("there is no pod " + name);
  if (node.empty()) return Tell(engine::Fenced{pod->pod.uid});
  return Tell(engine::Unfenced{pod->pod.uid, node, "HTTP 500: failed calling webhook \"down\""});
}

std::string Script::PathOf(const std::string& file) const {
  const bool shared = file.starts_with("shared/");
  return (shared ? folder_ / "../.." / file : folder_ / file).string();
}

Status Script::LoadPolicy(const std::string& file, bool reload) {
  Result<config::Policy> policy = config::LoadPolicyFile(PathOf(file));
  if (!policy.ok()) return policy.error();
  config::UseProfiles(&policy->engine.placement);
  grouping_ = extender::GroupingOf(*policy);
  if (reload) {
    world();
    for (const engine::Fact& fact : reader_->SetGrouping(grouping_)) {
      if (Status told = Tell(fact); !told.ok()) return told;
    }
    world().muster()->SetOptions(policy->engine);
    world().muster()->Kick();
  } else {
    options_.muster.engine = policy->engine;
  }
  return Ok{};
}

Status Script::SetOption(const std::string& name, const std::string& value) {
  if (name == "gating") {
    options_.api.gating = value == "all"     ? sim::Gating::kAll
                          : value == "gangs" ? sim::Gating::kGangs
                                             : sim::Gating::kNone;
    return Ok{};
  }
  const auto duration = config::ParseDuration(value);
  if (!duration) return Wrong("expected a duration, found \"" + value + "\"");
  if (name == "scheduler-cycle") {
    options_.scheduler.cycle_time = *duration;
  } else if (name == "write-latency") {
    faults_.latency = *duration;
    options_.muster.writes.latency = *duration;
  } else if (name == "boot") {
    autoscaling_.boot = *duration;
  } else if (name == "grace-limit") {
    options_.kubelet.grace_limit = *duration;
  } else {
    return Wrong("there is no option " + name);
  }
  return Ok{};
}

void Script::SetFaults() { world().muster()->SetFaults(faults_); }

Status Script::Apply(const std::string& file) {
  const auto manifests = extender::ReadManifestFile(PathOf(file), extender::Malformed::kKept);
  if (!manifests.ok()) return manifests.error();
  return extender::CreateObjects(world().api(), manifests->objects);
}

Status Script::Delete(const std::string& kind, const std::string& name) {
  sim::ApiServer& api = world().api();
  const cluster::ObjectKey key = KeyOf(name);
  if (kind == "node") return api.DeleteNode(sim::Actor::kUser, name);
  if (kind == "podgroup") return api.DeletePodGroup(sim::Actor::kUser, key);
  if (kind == "job") return api.DeleteJob(sim::Actor::kUser, key);
  if (const auto* names = kube::FindOptionalKind(kind)) {
    const bool namespaced = names->kind == kube::OptionalKind::kComputeDomains ||
                            names->kind == kube::OptionalKind::kProvisioningRequests;
    return api.DeleteOther(sim::Actor::kUser, kind,
                           namespaced ? key : cluster::ObjectKey{"", name});
  }
  if (const auto storage = kube::FindStorageKind(kind)) {
    const bool claim = *storage == cluster::StorageKind::kClaim;
    return api.DeleteOther(sim::Actor::kUser, kind, claim ? key : cluster::ObjectKey{"", name});
  }
  if (api.FindOther(kind, key) != nullptr) return api.DeleteOther(sim::Actor::kUser, kind, key);
  const sim::PodPtr pod = api.FindPod(key);
  if (kind != "pod" || !pod) return Wrong("there is no " + kind + " " + name);
  return api.DeletePod(sim::Actor::kUser, {key, pod->pod.uid});
}

Status Script::ChangeNode(const std::string& verb, const std::string& name) {
  const sim::NodePtr found = world().api().FindNode(name);
  if (!found) return Wrong("expected a command with a node, found \"" + verb + " " + name + "\"");
  cluster::Node node = found->node;
  if (verb == "cordon" || verb == "uncordon") {
    node.unschedulable = verb == "cordon";
  } else if (verb == "ready" || verb == "unready") {
    node.ready = verb == "ready";
  } else {
    return Wrong("there is no command " + verb);
  }
  return world().api().UpdateNode(sim::Actor::kUser, node);
}

Status Script::Show(const std::string& what) {
  const auto seconds = static_cast<double>(world().loop().now().milliseconds()) / 1000;
  std::ostringstream time;
  time << seconds;
  shown_ += "after " + time.str() + "s: " + what + "\n";
  if (what == "gangs") {
    ShowGangs();
  } else if (what == "pods") {
    ShowPods();
  } else if (what == "events") {
    ShowEvents();
  } else if (what == "requests") {
    ShowRequests();
  } else if (what == "scale-up") {
    ShowScaleUp();
  } else if (what == "nodes") {
    for (const sim::NodePtr& node : world().api().Nodes()) shown_ += "  " + node->node.name + "\n";
  } else if (what == "writes") {
    shown_ += "  " + std::to_string(world().api().Writes(sim::Actor::kMuster)) + " by muster\n";
  } else {
    return Wrong("there is nothing called " + what + " to show");
  }
  return Ok{};
}

void Script::ShowGangs() {
  std::vector<std::vector<std::string>> rows = {{"GANG", "STATE", "BOUND", "MIN", "REASON", "WHY"}};
  for (const engine::GangView& gang : world().muster()->scheduler().Gangs()) {
    rows.push_back({gang.id.key.ToString(), engine::ToString(gang.state),
                    std::to_string(gang.bound), std::to_string(gang.min_member),
                    engine::ToString(gang.reason.code), engine::Describe(gang.reason)});
  }
  shown_ += Aligned(rows);
}

void Script::ShowPods() {
  std::vector<std::vector<std::string>> rows = {{"POD", "NODE", "GPUS", "PHASE"}};
  const char* const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
  for (const sim::PodPtr& record : world().api().Pods()) {
    const cluster::Pod& pod = record->pod;
    std::string state = phases[static_cast<int>(pod.phase)];
    if (!pod.gates.empty()) state += " gated";
    if (!pod.nominated_node.empty()) state += " nominated " + pod.nominated_node;
    if (pod.deleting) state += " deleting";
    const auto hami = record->annotations.find("hami.io/vgpu-devices-allocated");
    if (hami != record->annotations.end()) {
      if (pod.terminal()) state += " " + record->status_reason;
      state += " hami " + hami->second;
    }
    for (const cluster::HamiDevice& device : record->hami_given) {
      state += &device == record->hami_given.data() ? " gave " : " ";
      state += device.uuid + "," + std::to_string(device.memory);
    }
    rows.push_back({pod.key.ToString(), pod.node_name, Gpus(pod.bound_gpus), state});
  }
  shown_ += Aligned(rows);
}

void Script::ShowEvents() {
  std::vector<std::vector<std::string>> rows;
  for (const sim::EventRecord& event : world().api().Events()) {
    rows.push_back(
        {event.warning ? "Warning" : "Normal", event.reason, event.key.ToString(), event.message});
  }
  shown_ += Aligned(rows);
}

void Script::ShowRequests() {
  std::vector<std::vector<std::string>> rows = {{"REQUEST", "GANG", "TRY", "PODS", "STATE"}};
  for (const sim::RequestPtr& record : world().api().Requests()) {
    const cluster::ProvisioningRequest& request = record->request;
    std::string pods;
    for (const engine::AskedPods& set : record->sets)
      pods += (pods.empty() ? "" : "+") + std::to_string(set.count);
    rows.push_back({request.key.ToString(), request.gang.key.name, std::to_string(request.attempt),
                    pods, cluster::ToString(request.state)});
  }
  shown_ += Aligned(rows);
}

void Script::ShowScaleUp() {
  std::vector<std::vector<std::string>> rows;
  for (const engine::GangView& gang : world().muster()->scheduler().Gangs())
    if (!gang.scale_up.empty()) rows.push_back({gang.id.key.ToString(), gang.scale_up});
  shown_ += Aligned(rows);
}

}  // namespace muster::testing
