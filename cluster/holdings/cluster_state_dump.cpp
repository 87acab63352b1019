// ClusterState::Dump: the whole state as text. One object a line, fields as name=value, text in
// quotes.
#include <string>
#include <string_view>

#include "cluster/holdings/cluster_state_impl.hpp"
#include "cluster/records/provisioning_request.hpp"

namespace muster::cluster {
namespace {

// One line of the dump. Text is escaped so that no value can look like another field or line.
class Line {
 public:
  explicit Line(std::string_view kind) : text_(kind) {}

  Line& Text(std::string_view name, std::string_view value) {
    Name(name);
    Quote(value);
    return *this;
  }
  Line& Number(std::string_view name, int64_t value) {
    Name(name);
    text_ += std::to_string(value);
    return *this;
  }
  Line& Amount(std::string_view name, const DeviceAmount& amount) {
    Name(name);
    Append(amount);
    return *this;
  }
  Line& Flag(std::string_view name, bool value) {
    if (!value) return *this;
    text_ += ' ';
    text_ += name;
    return *this;
  }
  Line& Amounts(const Resources& amounts) {
    Number("cpu", amounts.cpu.value())
        .Number("memory", amounts.memory.value())
        .Number("slots", amounts.pods);
    if (amounts.channels != 0) Number("channels", amounts.channels);
    for (const NamedAmount& one : amounts.named.list()) Number(one.name, one.amount);
    return *this;
  }
  // name=[a,b,…], each element written by `write`, which appends to the line.
  template <typename Range, typename Write>
  Line& List(std::string_view name, const Range& range, Write write) {
    Name(name);
    text_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!first) text_ += ',';
      first = false;
      write(element, *this);
    }
    text_ += ']';
    return *this;
  }
  void Append(int64_t value) { text_ += std::to_string(value); }
  // One number where it is the same part of compute and of memory.
  void Append(const DeviceAmount& amount) {
    Append(amount.compute().value());
    if (amount.compute() == amount.memory()) return;
    Mark('/');
    Append(amount.memory().value());
  }
  void Mark(char mark) { text_ += mark; }
  void Quote(std::string_view value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    text_ += '"';
    for (char c : value) {
      if (c >= ' ' && c != '"' && c != '\\' && c != '\x7f') {
        text_ += c;
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      text_ += "\\x";
      text_ += kHex[byte >> 4U];
      text_ += kHex[byte & 15U];
    }
    text_ += '"';
  }
  void EndTo(std::string& out) {
    text_ += '\n';
    out += text_;
  }

 private:
  void Name(std::string_view name) {
    text_ += ' ';
    text_ += name;
    text_ += '=';
  }
  std::string text_;
};

void WriteText(const std::string& text, Line& line) { line.Quote(text); }

void WriteLabel(const Labels::value_type& label, Line& line) {
  line.Quote(label.first);
  line.Mark(':');
  line.Quote(label.second);
}

void WriteTaint(const Taint& taint, Line& line) {
  line.Quote(taint.key);
  line.Mark(':');
  line.Quote(taint.value);
  line.Mark(':');
  line.Append(static_cast<int>(taint.effect));
}

void WriteAmount(const DeviceAmount& amount, Line& line) { line.Append(amount); }

void WriteShare(const GpuShare& share, Line& line) {
  line.Append(share.index.value);
  line.Mark(':');
  line.Append(share.taken);
}

void WriteRequirement(const SelectorRequirement& requirement, Line& line) {
  line.Quote(requirement.key);
  line.Mark(':');
  line.Append(static_cast<int>(requirement.op));
  line.List("in", requirement.values, WriteText);
}

void WriteTerm(const NodeSelectorTerm& term, Line& line) {
  line.List("expressions", term.match_expressions, WriteRequirement);
  line.List("fields", term.match_fields, WriteRequirement);
}

void WriteToleration(const Toleration& toleration, Line& line) {
  line.Quote(toleration.key);
  line.Mark("=*><"[static_cast<size_t>(toleration.op)]);
  line.Quote(toleration.value);
  line.Mark(':');
  line.Append(toleration.every_effect ? -1 : static_cast<int>(toleration.effect));
}

void WriteLimit(const AttachLimit& limit, Line& line) {
  line.Quote(limit.driver);
  line.Mark(':');
  line.Append(limit.count);
}

void DumpNode(const Node& node, std::string& out) {
  Line line("node");
  line.Text("name", node.name).Text("uid", node.uid.text()).Amounts(node.allocatable);
  line.Flag("cordoned", node.unschedulable).Flag("notready", !node.ready);
  line.Flag("leftout", node.left_out);
  line.List("labels", node.labels, WriteLabel).List("taints", node.taints, WriteTaint);
  if (!node.topology.empty()) line.Text("topology", node.topology);
  if (node.topology_source != cluster::TopologySource::kFlat)
    line.Number("topologysource", static_cast<int>(node.topology_source));
  if (node.numa_policy != cluster::NumaPolicy::kNone)
    line.Number("numapolicy", static_cast<int>(node.numa_policy));
  line.Flag("hami", node.plugin == DevicePlugin::kHami);
  if (!node.hami_lock.empty()) line.Text("hamilock", node.hami_lock);
  if (!node.attach_limits.empty()) line.List("attach", node.attach_limits, WriteLimit);
  line.EndTo(out);
  for (const Gpu& gpu : node.gpus) {
    Line device("gpu");
    device.Text("node", node.name).Number("index", gpu.index.value).Text("uuid", gpu.uuid);
    device.Text("model", gpu.model).Number("memory", gpu.memory.value());
    device.Text("sharing", gpu.sharing->name()).Number("replicas", gpu.replicas);
    if (gpu.partition()) device.Number("parent", gpu.parent.value);
    if (gpu.hami_mode != HamiMode::kNone) device.Text("mode", ToString(gpu.hami_mode));
    device.Flag("unhealthy", !gpu.healthy)
        .Flag("cordoned", gpu.cordoned)
        .Flag("leftout", gpu.left_out)
        .EndTo(out);
  }
}

void DumpFree(const ClusterState& state, const FreeTable& free, const Node& node,
              std::string& out) {
  const NodeIndex index = state.IndexOf(node.name);
  const NodeFree& numbers = free.at(index);
  Line line("free");
  line.Text("node", node.name).Amounts(numbers.resources);
  line.Number("total", numbers.gpu_total()).Number("whole", numbers.gpu_whole);
  line.Amount("most", numbers.gpu_most);
  line.List("gpus", free.gpus(index), WriteAmount);
  line.List("holders", state.HoldersOn(index),
            [](const PodUid& uid, Line& to) { to.Quote(uid.text()); });
  line.List("earmarks", state.EarmarksOn(index),
            [](const PodUid& uid, Line& to) { to.Quote(uid.text()); });
  line.Flag("overcommitted", state.Overcommitted(index)).EndTo(out);
}

std::string TextOf(const TopologySegment& segment) {
  const auto& [level, size, required] = segment;
  return level + "=" + std::to_string(size) + (required ? "" : "?");
}

void WriteSegment(const TopologySegment& segment, Line& line) { line.Quote(TextOf(segment)); }

void WriteSubgroup(const TopologySubgroup& subgroup, Line& line) {
  const auto& [name, roles, required, preferred, segments] = subgroup;
  std::string text = name + ":";
  for (const std::string& role : roles) text += " " + role;
  if (!required.empty()) text += " within " + required;
  if (!preferred.empty()) text += " rather " + preferred;
  for (const TopologySegment& segment : segments) text += " " + TextOf(segment);
  line.Quote(text);
}

// A field that is forgotten here does not compile.
void DumpTopology(const TopologyTerms& terms, Line& line) {
  const auto& [required, preferred, segments, said_by, balance, spread, spread_group, subgroups] =
      terms;
  if (!required.empty()) line.Text("within", required);
  if (!preferred.empty()) line.Text("rather", preferred);
  if (!segments.empty()) line.List("segments", segments, WriteSegment);
  if (!subgroups.empty()) line.List("subgroups", subgroups, WriteSubgroup);
  if (!said_by.empty()) line.Text("said-by", said_by);
  line.Flag("even", balance == Balance::kEven).Flag("pack", balance == Balance::kPack);
  if (!spread.empty()) line.Text("spread", spread);
  if (!spread_group.empty()) line.Text("spread-group", spread_group);
}

// A field that is forgotten here does not compile.
void WriteContainer(const ContainerGpus& container, Line& line) {
  const auto& [kind, cores, memory_percent, count, memory_mib] = container;
  for (const int64_t number : {static_cast<int64_t>(kind), int64_t{count}, int64_t{cores},
                               int64_t{memory_percent}, int64_t{memory_mib}}) {
    line.Append(number);
    line.Mark('/');
  }
}

void DumpSpec(const PodSpec& spec, Line& line) {
  line.Amounts(spec.requests).Number("gpus", spec.gpus.count);
  line.Amount("each", spec.gpus.each).Number("gpumem", spec.gpus.memory_each.value());
  if (spec.gpus.choice.words() != nullptr) line.Text("choice", spec.gpus.choice.ToText());
  if (!spec.gpu_containers.empty()) line.List("containers", spec.gpu_containers, WriteContainer);
  if (!spec.unplanned_devices.empty()) line.Text("unplanned", spec.unplanned_devices);
  line.Number("priority", spec.priority).Flag("never", !spec.preempts);
  if (!spec.gang_class.empty()) line.Text("gangclass", spec.gang_class);
  line.Text("scheduler", spec.scheduler_name);
  line.List("select", spec.constraints.node_selector, WriteLabel);
  line.Flag("affinity", spec.constraints.has_affinity);
  line.List("terms", spec.constraints.affinity_terms, WriteTerm);
  line.List("tolerations", spec.constraints.tolerations, WriteToleration);
  for (const auto& places : spec.constraints.volume_places) line.List("volumes", places, WriteTerm);
  DumpTopology(spec.topology, line);
}

void WriteRole(const std::map<std::string, int64_t>::value_type& role, Line& line) {
  line.Quote(role.first);
  line.Mark(':');
  line.Append(role.second);
}

void DumpRecord(const GangRecord& record, Line& line) {
  if (record.evicted) line.Flag("evicted", true);
  if (!record.has_run) return;
  if (record.started) line.Number("started", record.started->milliseconds());
  line.Number("whole", record.whole.members).List("wholeroles", record.whole.roles, WriteRole);
  line.Number("ended", record.ended.members).List("endedroles", record.ended.roles, WriteRole);
  line.Number("lost", record.lost.members).List("lostroles", record.lost.roles, WriteRole);
  line.Number("lostsince", record.lost_since.milliseconds());
  if (!record.owners.empty()) line.List("owners", record.owners, WriteText);
}

void DumpRunTimes(const RunTimes& times, Line& line) {
  line.Number("enforced", times.enforced.value()).Number("expected", times.declared.value());
  line.Flag("checkpoints", times.checkpoints).Text("timesfault", times.fault);
  if (times.ends_at != Time()) line.Number("endsat", times.ends_at.milliseconds());
}

void DumpGangWords(const GangWords& words, Line& line) {
  const auto& [together, schedule_timeout, unheeded] = words;
  if (!together.empty()) line.List("together", together, WriteText);
  if (schedule_timeout > Duration(0)) line.Number("timeout", schedule_timeout.value());
  if (!unheeded.empty()) line.Text("unheeded", unheeded);
}

void DumpVolumes(const PodVolumes& volumes, Line& line) {
  line.List("claims", volumes.claims,
            [](const ClaimUse& use, Line& to) { to.Quote(use.name + (use.own ? " (own)" : "")); });
  line.Flag("completed", volumes.declared != nullptr);
  if (!volumes.bar.empty()) line.Text("awaits", volumes.bar);
}

// A field that is added to Pod and not named here does not compile; so for PodGroup below.
void DumpPod(const Pod& pod, std::string& out) {
  const auto& [uid, key, spec, resized, pod_group, declared_min_member, alone, queue, role,
               owner_uid, index, job_index, daemon, phase, deleting, leaves_by, grace, gates,
               nominated_node, node_name, bound_gpus, bound_by_muster, bound_in, created, bound_at,
               resource_version, defect, gang_record, start_failure, running_since, handed_over,
               asked_queue, hami_turn, says_disruption, run_times, preemptible, labels, gang_words,
               non_preemptible, unschedulable, volumes] = pod;
  Line line("pod");
  line.Text("uid", uid.text()).Text("ns", key.ns).Text("name", key.name);
  line.Number("version", resource_version).Number("created", created.milliseconds());
  line.Text("group", pod_group).Text("role", role).Text("owner", owner_uid);
  if (index != Pod::kNoIndex) line.Number("index", index);
  if (job_index != Pod::kNoIndex) line.Number("jobindex", job_index);
  if (!queue.empty()) line.Text("queue", queue);
  if (declared_min_member != 0) line.Number("declared", declared_min_member);
  if (!alone.empty()) line.Text("alone", alone);
  line.Flag("daemon", daemon).Number("phase", static_cast<int>(phase));
  line.Flag("deleting", deleting);
  if (leaves_by != Time()) line.Number("leavesby", leaves_by.milliseconds());
  if (grace != Pod().grace) line.Number("grace", grace.value());
  line.List("gates", gates, WriteText);
  line.Text("nominated", nominated_node).Text("node", node_name);
  if (bound_at != Time()) line.Number("boundat", bound_at.milliseconds());
  line.List("annotated", bound_gpus, [](GpuIndex gpu, Line& to) { to.Append(gpu.value); });
  line.Flag("ours", bound_by_muster).Text("defect", defect);
  if (!bound_in.empty()) line.Text("boundin", bound_in);
  if (gang_record) DumpRecord(*gang_record, line);
  line.Number("running", running_since.milliseconds());
  if (start_failure != nullptr) {
    line.Flag("refused", start_failure->admission).Text("failure", start_failure->reason);
    line.Number("at", start_failure->at.milliseconds());
    line.Number("ran", start_failure->ran.value());
  }
  line.Flag("handed_over", handed_over);
  if (!asked_queue.empty()) line.Text("asked", asked_queue);
  if (hami_turn != HamiTurn::kNone) line.Number("hamiturn", static_cast<int>(hami_turn));
  if (says_disruption) line.Flag("disruption", true);
  if (run_times != nullptr) DumpRunTimes(*run_times, line);
  if (preemptible) line.Flag("preemptible", *preemptible);
  for (const auto& label : labels.list()) line.Text("label:" + label->first, label->second);
  if (gang_words != nullptr) DumpGangWords(*gang_words, line);
  if (non_preemptible) line.Flag("nonpreemptible", true);
  if (unschedulable != nullptr) line.Text("unschedulable", *unschedulable);
  if (volumes != nullptr) DumpVolumes(*volumes, line);
  DumpSpec(*spec, line);
  if (resized != nullptr) line.Flag("resized", true).Amounts(*resized);
  line.EndTo(out);
}

void DumpAllocation(const ClusterState& state, const Allocation& held, std::string& out) {
  Line line("holds");
  line.Text("pod", held.placement.pod.text());
  line.Text("node", state.node(held.placement.node)->name).Amounts(held.placement.requests);
  line.List("gpus", held.placement.gpus, WriteShare);
  line.Flag("reserved", held.holding == Holding::kReserved);
  line.Flag("unknown", !held.devices_known).EndTo(out);
}

// Pods of no gang of Muster's are of the one without a name.
void DumpUsage(const std::string& queue, const Usage& usage, std::string& out) {
  if (queue.empty()) return;
  Line line("usage");
  line.Text("queue", queue).Number("pods", usage.pods).Amounts(usage.requests);
  line.Number("gpumilli", usage.gpu_milli).Number("gpumem", usage.gpu_memory.value());
  if (!usage.gpu_milli_by_model.empty()) line.List("models", usage.gpu_milli_by_model, WriteRole);
  line.EndTo(out);
}

void DumpGroup(const PodGroup& group, std::string& out) {
  const auto& [uid, key, min_member, roles, schedule_timeout, created, resource_version, defect,
               declared, by_owner, unreadable, attempts_of, ended, keeps_rest, starts_with,
               first_roles, units, unheeded, gates_together, claimed, topology, record, queue,
               run_times, preemptible, priority, disrupted_whole, not_honoured] = group;
  Line line("group");
  line.Text("ns", key.ns).Text("name", key.name).Text("uid", uid.text());
  line.Number("version", resource_version).Number("created", created.milliseconds());
  line.Number("min", min_member);
  const auto write_role = [](const RoleMinimum& role, Line& to) {
    to.Quote(role.name);
    to.Mark(':');
    to.Append(role.min_member);
  };
  line.List("roles", roles, write_role);
  line.Number("timeout", schedule_timeout.value()).Text("defect", defect);
  line.Flag("declared", declared).Flag("claimed", claimed);
  if (by_owner) line.Flag("byowner", true).Flag("keepsrest", keeps_rest).Number("ended", ended);
  if (!unreadable.empty()) line.Text("unreadable", unreadable);
  if (!attempts_of.empty()) line.Text("attemptsof", attempts_of);
  if (starts_with > 0)
    line.Number("startswith", starts_with).List("firstroles", first_roles, write_role);
  const auto write_unit = [](const RoleUnit& unit, Line& to) {
    to.Quote(unit.name);
    to.Mark(':');
    to.Append(unit.size);
  };
  if (!units.empty()) line.List("units", units, write_unit);
  if (!unheeded.empty()) line.Text("unheeded", unheeded);
  if (gates_together) line.Flag("gatestogether", true);
  if (!queue.empty()) line.Text("queue", queue);
  if (!run_times.none()) DumpRunTimes(run_times, line);
  if (preemptible) line.Flag("preemptible", *preemptible);
  if (priority.value) line.Number("priority", *priority.value);
  if (!priority.class_name.empty()) line.Text("class", priority.class_name);
  if (priority.preempts) line.Flag("preempts", *priority.preempts);
  if (priority.policy_of_class) line.Flag("policyofclass", true);
  if (disrupted_whole) line.Flag("disruptedwhole", true);
  if (!not_honoured.empty()) line.List("nothonoured", not_honoured, WriteText);
  DumpTopology(topology, line);
  DumpRecord(record, line);
  line.EndTo(out);
}

void DumpNamespace(const Namespace& ns, std::string& out) {
  Line line("namespace");
  line.Text("name", ns.key.name).Text("uid", ns.uid.text()).Number("version", ns.resource_version);
  line.List("labels", ns.labels, WriteLabel).Flag("deleting", ns.deleting).EndTo(out);
}

void DumpPriority(const PriorityClass& priority, std::string& out) {
  Line line("priority");
  line.Text("name", priority.key.name).Text("uid", priority.uid.text());
  line.Number("version", priority.resource_version).Number("value", priority.value);
  line.Flag("never", !priority.preempts).Flag("default", priority.global_default).EndTo(out);
}

void DumpBudget(const DisruptionBudget& budget, std::string& out) {
  Line line("budget");
  line.Text("ns", budget.key.ns).Text("name", budget.key.name).Text("uid", budget.uid.text());
  line.Number("version", budget.resource_version).Number("allowed", budget.disruptions_allowed);
  line.Flag("nobody", !budget.selector);
  if (budget.selector) line.List("select", *budget.selector, WriteRequirement);
  line.EndTo(out);
}

}  // namespace

std::string ToText(const PodSpec& spec) {
  Line line("spec");
  DumpSpec(spec, line);
  std::string text;
  line.EndTo(text);
  return text;
}

std::string DumpState(const ClusterState& state, const FreeTable& free) {
  std::string out;
  for (const Node* node : state.Nodes()) {
    DumpNode(*node, out);
    DumpFree(state, free, *node, out);
  }
  for (const Pod* pod : state.Pods()) {
    DumpPod(*pod, out);
    const Allocation* held = state.AllocationOf(pod->uid);
    if (held != nullptr) DumpAllocation(state, *held, out);
  }
  for (const auto& [queue, usage] : state.usage().queues()) DumpUsage(queue, usage, out);
  for (const PodGroup* group : state.PodGroups()) DumpGroup(*group, out);
  for (const Namespace* ns : state.Namespaces()) DumpNamespace(*ns, out);
  for (const PriorityClass* priority : state.PriorityClasses()) DumpPriority(*priority, out);
  for (const DisruptionBudget* budget : state.DisruptionBudgets()) DumpBudget(*budget, out);
  return out;
}

}  // namespace muster::cluster
