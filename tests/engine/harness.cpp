#include "tests/engine/harness.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

namespace muster::testing {

using engine::OutcomeKind;

Harness::Harness(engine::Options options, engine::Rules rules)
    : options_(std::move(options)),
      rules_(std::move(rules)),
      engine_(std::make_unique<engine::Scheduler>(options_, rules_)) {}

void Harness::Add(const cluster::Node& node) {
  nodes_[node.name] = node;
  engine_->Apply(node, now_);
}

void Harness::RemoveNode(const std::string& name) {
  engine_->Apply(engine::NodeRemoved{nodes_.at(name).uid}, now_);
  nodes_.erase(name);
}

void Harness::Add(cluster::Pod pod) {
  const std::string name = pod.key.name;
  pods_[name] = std::move(pod);
  Tell(name);
}

void Harness::Tell(const std::string& pod) {
  pods_.at(pod).resource_version = ++version_;
  engine_->Apply(pods_.at(pod), now_);
}

void Harness::Change(const std::string& name, const std::function<void(cluster::Pod&)>& change) {
  change(pods_.at(name));
  Tell(name);
}

void Harness::RemovePod(const std::string& name) {
  engine_->Apply(engine::PodRemoved{pods_.at(name).uid}, now_);
  pods_.erase(name);
}

void Harness::Succeed(const std::string& name) {
  Change(name, [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
}

void Harness::LosePod(const std::string& name) { pods_.erase(name); }

int Harness::Evictions() const {
  return static_cast<int>(std::count_if(log.begin(), log.end(), [](const engine::Action& action) {
    return std::holds_alternative<engine::EvictPod>(action);
  }));
}

void Harness::ChangeGroup(const std::string& name,
                          const std::function<void(cluster::PodGroup&)>& change) {
  cluster::PodGroup group = groups_.at(name);
  change(group);
  Add(group);
}

void Harness::Add(const cluster::PodGroup& group) {
  groups_[group.key.name] = group;
  groups_[group.key.name].resource_version = ++version_;
  engine_->Apply(groups_[group.key.name], now_);
}

void Harness::RemoveGroup(const std::string& name) {
  engine_->Apply(engine::PodGroupRemoved{groups_.at(name).uid}, now_);
  groups_.erase(name);
}

void Harness::AddGang(const std::string& group, int count, int gpus, int min) {
  Add(MakePodGroup(group).MinMember(min).CreatedAt(now_.milliseconds()));
  for (int i = 0; i < count; ++i) {
    Add(MakePod(group + "-" + std::to_string(i)).Gpus(gpus).InGroup(group).Gated());
  }
}

void Harness::Settle() {
  for (int round = 0; round < 1000; ++round) {
    const std::vector<std::string> untold = std::exchange(untold_, {});
    const engine::Progress progress = engine_->Advance(now_);
    for (const std::string& pod : untold) {
      if (pods_.contains(pod)) Tell(pod);
    }
    waits.insert(waits.end(), progress.waits.begin(), progress.waits.end());
    for (const engine::Action& action : progress.actions) Perform(action);
    for (const std::string& broken : engine_->Audit(now_)) FAIL_CHECK(broken);
    if (progress.actions.empty() && untold.empty() && engine_->NextWake() > now_) return;
  }
  FAIL("the engine does not come to rest");
}

void Harness::Pass(cluster::Duration duration) {
  const cluster::Time until = now_ + duration;
  Settle();
  while (engine_->NextWake() <= until) {
    now_ = std::max(now_, engine_->NextWake());
    Settle();
  }
  now_ = until;
}

template <typename A>
bool Harness::Faulty(const A& action) {
  ++writes;
  if (!fault) return false;
  std::optional<engine::Outcome> outcome = fault(action);
  if (!outcome) return false;
  outcome->id = action.id;
  engine_->Report(*outcome, now_);
  return true;
}

void Harness::Make(const engine::AskForNodes& ask) {
  engine_->Report({ask.id, OutcomeKind::kDone, ""}, now_);
  if (requests_.contains(ask.key.name)) return;
  cluster::ProvisioningRequest request;
  request.uid = cluster::ProvisioningRequestUid("request-" + std::to_string(++version_));
  request.key = ask.key;
  request.gang = ask.gang;
  request.fingerprint = ask.fingerprint;
  request.attempt = ask.attempt;
  request.pod_sets = static_cast<int64_t>(ask.sets.size());
  request.class_name = ask.class_name;
  request.since = now_;
  Add(request);
}

void Harness::Withdraw(const engine::WithdrawAsk& withdraw) {
  engine_->Report({withdraw.id, OutcomeKind::kDone, ""}, now_);
  if (requests_.contains(withdraw.key.name)) RemoveRequest(withdraw.key.name);
}

void Harness::Add(const cluster::ProvisioningRequest& request) {
  cluster::ProvisioningRequest& kept = requests_[request.key.name];
  kept = request;
  kept.resource_version = ++version_;
  engine_->Apply(kept, now_);
}

void Harness::ChangeRequest(const std::string& name,
                            const std::function<void(cluster::ProvisioningRequest&)>& change) {
  cluster::ProvisioningRequest request = requests_.at(name);
  request.since = now_;
  change(request);
  Add(request);
}

void Harness::RemoveRequest(const std::string& name) {
  const cluster::ProvisioningRequestUid uid = requests_.at(name).uid;
  requests_.erase(name);
  engine_->Apply(engine::ProvisioningRequestRemoved{uid}, now_);
}

void Harness::Perform(const engine::Action& action) {
  log.push_back(action);
  const auto done = [&](engine::ActionId id, const engine::PodRef& ref, auto&& change) {
    const auto pod = pods_.find(ref.key.name);
    if (pod == pods_.end() || pod->second.uid != ref.uid) {
      engine_->Report({id, OutcomeKind::kGone, "not found"}, now_);
      return;
    }
    change(pod->second);
    engine_->Report({id, OutcomeKind::kDone, ""}, now_);
    if (late_news) return untold_.push_back(ref.key.name);
    if (pods_.contains(ref.key.name)) Tell(ref.key.name);
  };
  if (const auto* nominate = std::get_if<engine::Nominate>(&action)) {
    if (Faulty(*nominate)) return;
    done(nominate->id, nominate->pod, [&](cluster::Pod& pod) {
      pod.nominated_node = nominate->node;
      pod.handed_over = pod.handed_over || nominate->hands_over;
    });
  } else if (const auto* gate = std::get_if<engine::RemoveGate>(&action)) {
    if (Faulty(*gate)) return;
    done(gate->id, gate->pod, [&](cluster::Pod& pod) {
      std::erase(pod.gates, cluster::kGangGate);
      pod.handed_over = true;
    });
  } else if (const auto* wake = std::get_if<engine::WakePod>(&action)) {
    if (Faulty(*wake)) return;
    done(wake->id, wake->pod, [](cluster::Pod& pod) { pod.handed_over = true; });
  } else if (const auto* bind = std::get_if<engine::BindPod>(&action)) {
    if (Faulty(*bind)) return;
    done(bind->id, bind->pod, [&](cluster::Pod& pod) {
      CHECK(pod.gates.empty());
      CHECK_FALSE(pod.bound());
      CHECK(pod.handed_over);  // or a leader that takes over would not know whom to fence
      pod.node_name = bind->node;
      pod.bound_gpus = bind->gpus;
      pod.bound_by_muster = true;
      pod.bound_in = bind->gang;
      pod.bound_at = now_;
      pod.nominated_node.clear();
      pod.says_disruption = pod.says_disruption || bind->keeps_node;
      if (!bind->hami_devices.empty()) pod.hami_turn = cluster::HamiTurn::kAllocating;
    });
  } else if (const auto* turn = std::get_if<engine::EndHamiTurn>(&action)) {
    if (Faulty(*turn)) return;
    done(turn->id, turn->pod, [](cluster::Pod& pod) { pod.hami_turn = cluster::HamiTurn::kNone; });
  } else if (const auto* record = std::get_if<engine::RecordPod>(&action)) {
    if (Faulty(*record)) return;
    done(record->id, record->pod, [&](cluster::Pod& pod) {
      pod.gang_record = std::make_shared<const cluster::GangRecord>(record->record);
    });
  } else if (const auto* evict = std::get_if<engine::EvictPod>(&action)) {
    if (Faulty(*evict)) return;
    done(evict->id, evict->pod, [](cluster::Pod& pod) { pod.deleting = true; });
  } else if (const auto* ask = std::get_if<engine::AskForNodes>(&action)) {
    if (!Faulty(*ask)) Make(*ask);
  } else if (const auto* withdraw = std::get_if<engine::WithdrawAsk>(&action)) {
    if (!Faulty(*withdraw)) Withdraw(*withdraw);
  } else if (const auto* tell = std::get_if<engine::TellPod>(&action)) {
    CHECK(tell->message.size() <= engine::kMessageBytes);
    if (!Faulty(*tell)) engine_->Report({tell->id, OutcomeKind::kDone, ""}, now_);
  } else if (const auto* answer = std::get_if<engine::AnswerBind>(&action)) {
    CHECK_FALSE(bind_answers.contains(answer->ticket));
    bind_answers[answer->ticket] = answer->error;
  } else {
    ++writes;  // status and events
    const auto* patch = std::get_if<engine::PatchGang>(&action);
    if (patch == nullptr || !groups_.contains(patch->key.name)) return;
    cluster::PodGroup& group = groups_.at(patch->key.name);
    if (group.uid != patch->uid || group.record == patch->record) return;
    group.record = patch->record;
    group.resource_version = ++version_;
    engine_->Apply(group, now_);
  }
}

engine::FilterAnswer Harness::Filter(const std::string& pod) {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return Filter(pod, names);
}

engine::FilterAnswer Harness::Filter(const std::string& pod,
                                     const std::vector<std::string>& nodes) {
  return engine_->Filter({pods_.at(pod), nodes}, now_);
}

uint64_t Harness::Bind(const std::string& pod, const std::string& node) {
  const cluster::Pod& record = pods_.at(pod);
  std::string target = node;
  if (target.empty()) target = Filter(pod).node;
  const uint64_t ticket = ticket_++;
  const engine::Scheduler::BindReceipt receipt =
      engine_->Bind({record.key, record.uid, target}, ticket, now_);
  if (!receipt.held) bind_answers[ticket] = receipt.error;
  return ticket;
}

void Harness::ScheduleAll(const std::string& group) {
  Settle();
  for (const auto& [name, pod] : pods_) {
    if (pod.pod_group == group && pod.gates.empty() && !pod.bound()) Bind(name);
  }
  Settle();
}

engine::GangView Harness::Gang(const std::string& name) const {
  const std::optional<engine::GangView> view = engine_->FindGang({"default", name});
  REQUIRE(view.has_value());
  return *view;
}

int Harness::BoundIn(const std::string& group) const {
  return static_cast<int>(std::count_if(pods_.begin(), pods_.end(), [&](const auto& entry) {
    return entry.second.pod_group == group && entry.second.bound() && !entry.second.terminal();
  }));
}

void Harness::Restart(cluster::Duration away) {
  now_ = now_ + away;
  engine_ = std::make_unique<engine::Scheduler>(options_, rules_);
  for (const auto& [name, request] : requests_) engine_->Apply(request, now_);
  for (const auto& [name, node] : nodes_) engine_->Apply(node, now_);
  for (const auto& [name, group] : groups_) engine_->Apply(group, now_);
  for (const auto& [name, pod] : pods_) engine_->Apply(pod, now_);
}

std::function<std::optional<engine::Outcome>(const engine::Action&)> KeptByBudget(std::string who) {
  return [who = std::move(who)](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr) return std::nullopt;
    const bool it = evict->pod.key.name == who;
    if (it) return engine::Outcome{{}, OutcomeKind::kConflict, "a budget"};
    return engine::Outcome{{}, OutcomeKind::kRetry, "a budget", true};
  };
}

}  // namespace muster::testing
