#include "extender/pages/what_if_json.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "extender/pages/api_json.hpp"
#include "extender/pages/queue_pages.hpp"
#include "extender/wire/json_text.hpp"

namespace muster::extender {
namespace {

using engine::GangId;
using engine::QueueView;
using engine::WhatIfAnswer;
using engine::WhatIfEviction;
using engine::WhatIfLater;
using engine::WhatIfStart;
using engine::WhatIfWait;

// Of gangs that nobody asked about and that do not start.
constexpr std::size_t kMostOthers = 1000;

// Rounded up.
int64_t InSeconds(cluster::Duration time) { return (time.value() + 999) / 1000; }

// What becomes of a gang: it starts, or waits. Neither: it runs.
struct Fate {
  const WhatIfStart* start = nullptr;
  const WhatIfWait* wait = nullptr;

  const engine::GangView* gang() const {
    if (start != nullptr) return &start->gang;
    return wait != nullptr ? &wait->gang : nullptr;
  }
  // Equal ones are told as equal.
  auto Told() const {
    const auto* one = gang();
    const WhatIfLater* later = wait != nullptr && wait->later ? &*wait->later : nullptr;
    return std::tuple(
        start != nullptr, wait != nullptr, start != nullptr ? InSeconds(start->after) : 0,
        later != nullptr ? InSeconds(later->after) : -1,
        wait != nullptr ? one->reason.code : engine::ReasonCode::kNone,
        one != nullptr ? one->state : engine::GangState::kRunning,
        one != nullptr ? one->queue : std::string(), one != nullptr ? one->priority : 0);
  }
};

class Fates {
 public:
  explicit Fates(const WhatIfAnswer& answer) {
    for (const WhatIfStart& start : answer.starts) all_[start.gang.id].start = &start;
    for (const WhatIfWait& wait : answer.waits) all_[wait.gang.id].wait = &wait;
  }
  Fate Of(const GangId& gang) const {
    const auto found = all_.find(gang);
    return found == all_.end() ? Fate{} : found->second;
  }

 private:
  std::map<GangId, Fate> all_;
};

std::set<GangId> Evicted(const WhatIfAnswer& answer) {
  std::set<GangId> gangs;
  for (const WhatIfEviction& one : answer.evictions) gangs.insert(one.gang);
  return gangs;
}

void AddReason(JsonText& json, const engine::GangView& gang) {
  if (gang.reason.code == engine::ReasonCode::kNone) return;
  json.BeginObject("reason");
  json.Add("code", engine::ToString(gang.reason.code));
  json.Add("message", engine::Describe(gang.reason));
  json.EndObject();
}

void AddPlaces(JsonText& json, const engine::GangView& gang) {
  json.BeginArray("placed");
  for (const engine::MemberView& member : gang.members) {
    if (member.bound_node.empty()) continue;
    json.BeginObject();
    json.Add("pod", member.pod.name);
    json.Add("node", member.bound_node);
    json.BeginArray("gpus");
    for (const cluster::GpuIndex gpu : member.gpus) json.Number(gpu.value);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void AddPlaceInQueue(JsonText& json, const engine::GangView& gang) {
  if (!gang.queue.empty()) json.Add("queue", gang.queue);
  json.Add("priority", gang.priority);
}

void AddEviction(JsonText& json, const WhatIfEviction& eviction) {
  json.Add("namespace", eviction.gang.key.ns);
  json.Add("name", eviction.gang.key.name);
  json.Add("for", eviction.by.ns + "/" + eviction.by.name);
  json.Add("pods", eviction.pods);
  json.Add("podsInAll", eviction.pods_in_all);
  json.Add("priority", eviction.priority);
  if (!eviction.queue.empty()) json.Add("queue", eviction.queue);
  if (!eviction.right.empty()) json.Add("right", eviction.right);
  json.Add("afterSeconds", InSeconds(eviction.after));
}

void AddLater(JsonText& json, const WhatIfLater& later) {
  json.BeginObject("later");
  json.Add("afterSeconds", InSeconds(later.after));
  json.Add("class", engine::ToString(later.by));
  json.Add("evidence", later.by == queues::Trust::kNone
                           ? "nothing but time is missing"
                           : "the end of gang " + later.last.key.ToString());
  json.BeginArray("evictions");
  for (const WhatIfEviction& eviction : later.evictions) {
    json.BeginObject();
    AddEviction(json, eviction);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void AddFate(JsonText& json, const Fate& fate) {
  json.Add("starts", fate.start != nullptr);
  if (const engine::GangView* gang = fate.gang()) AddPlaceInQueue(json, *gang);
  if (fate.start != nullptr) json.Add("afterSeconds", InSeconds(fate.start->after));
  if (fate.wait == nullptr) return;
  json.Add("state", engine::ToString(fate.wait->gang.state));
  AddReason(json, fate.wait->gang);
  if (fate.wait->later) AddLater(json, *fate.wait->later);
}

// One answer, beside the one under the policy in force if there is one.
class Page {
 public:
  Page(const WhatIfAnswer& then, const WhatIfAnswer* now) : then_(then), now_(now) {
    if (now == nullptr) return;
    before_.emplace(*now);
    evicted_now_ = Evicted(*now);
  }

  std::string Text(const std::vector<std::string>& warnings) {
    json_.BeginObject();
    json_.BeginArray("gangs");
    AddStarts();
    const std::size_t others = AddWaits();
    json_.EndArray();
    AddEvictions();
    if (now_ != nullptr) AddQueues();
    json_.Add("waiting", static_cast<int64_t>(others));
    json_.Add("complete", then_.complete && (now_ == nullptr || now_->complete));
    json_.Add("lookedAheadSeconds", InSeconds(then_.looked_ahead));
    json_.Add("lookedAtAll", then_.looked_at_all && (now_ == nullptr || now_->looked_at_all));
    json_.AddNames("warnings", warnings);
    json_.EndObject();
    return json_.Take();
  }

 private:
  bool Asked(const engine::GangView& gang) const {
    return std::binary_search(then_.workload.begin(), then_.workload.end(), gang.id);
  }
  bool Changed(const Fate& fate) const {
    return before_ && before_->Of(fate.gang()->id).Told() != fate.Told();
  }
  // Those that changed first; else as they were.
  void Order(std::vector<Fate>& fates) const {
    std::stable_partition(fates.begin(), fates.end(),
                          [this](const Fate& fate) { return Changed(fate); });
  }

  void BeginGang(const engine::GangView& gang) {
    json_.BeginObject();
    json_.Add("namespace", gang.id.key.ns);
    json_.Add("name", gang.id.key.name);
    json_.Add("kind", gang.id.solo ? "Pod" : "PodGroup");
    json_.Add("asked", Asked(gang));
    json_.Add("minMember", gang.min_member);
    json_.Add("pods", static_cast<int64_t>(gang.members.size()));
  }
  void EndGang(const Fate& fate) {
    if (before_) {
      json_.Add("changed", Changed(fate));
      const Fate before = before_->Of(fate.gang()->id);
      if (before.gang() != nullptr) {
        json_.BeginObject("now");
        AddFate(json_, before);
        json_.EndObject();
      }
    }
    json_.EndObject();
  }

  void AddStarts() {
    std::vector<Fate> fates;
    for (const WhatIfStart& start : then_.starts) fates.push_back({&start, nullptr});
    Order(fates);
    for (const Fate& fate : fates) {
      const engine::GangView& gang = fate.start->gang;
      BeginGang(gang);
      json_.Add("order", static_cast<int64_t>(fate.start - then_.starts.data()) + 1);
      AddFate(json_, fate);
      AddPlaces(json_, gang);
      if (gang.certificate) AddPreemption(json_, *gang.certificate, gang.certificate->made_at);
      EndGang(fate);
    }
  }

  void AddWait(const Fate& fate) {
    BeginGang(fate.wait->gang);
    AddFate(json_, fate);
    if (const auto& turn = fate.wait->turn) {
      json_.BeginObject("turn");
      json_.Add("queue", turn->queue);
      json_.Add("position", turn->position);
      json_.Add("of", turn->of);
      json_.EndObject();
    }
    EndGang(fate);
  }
  // How many of them nobody asked about.
  std::size_t AddWaits() {
    std::vector<Fate> asked;
    std::vector<Fate> others;
    for (const WhatIfWait& wait : then_.waits) {
      if (Asked(wait.gang)) {
        asked.push_back({nullptr, &wait});
      } else if (!wait.gang.members.empty()) {
        others.push_back({nullptr, &wait});
      }
    }
    for (std::vector<Fate>* fates : {&asked, &others}) Order(*fates);
    for (const Fate& fate : asked) AddWait(fate);
    const std::size_t shown = now_ == nullptr ? 0 : std::min(others.size(), kMostOthers);
    for (std::size_t i = 0; i < shown; ++i) AddWait(others[i]);
    return others.size();
  }

  void AddEvictions() {
    int64_t pods = 0;
    const auto changed = [&](const WhatIfEviction& one) {
      return now_ != nullptr && !evicted_now_.contains(one.gang);
    };
    std::vector<WhatIfEviction> evictions = then_.evictions;
    std::stable_partition(evictions.begin(), evictions.end(), changed);
    json_.BeginArray("evictions");
    for (const WhatIfEviction& eviction : evictions) {
      pods += eviction.pods;
      json_.BeginObject();
      AddEviction(json_, eviction);
      if (now_ != nullptr) json_.Add("changed", changed(eviction));
      json_.EndObject();
    }
    json_.EndArray();
    json_.Add("evictedPods", pods);
    if (now_ == nullptr) return;
    const std::set<GangId> evicted = Evicted(then_);
    json_.BeginArray("spared");
    for (const WhatIfEviction& eviction : now_->evictions) {
      if (evicted.contains(eviction.gang)) continue;
      json_.BeginObject();
      AddEviction(json_, eviction);
      json_.EndObject();
    }
    json_.EndArray();
  }

  struct Queue {
    const QueueView* now = nullptr;
    const QueueView* then = nullptr;
    bool changed() const {
      return now == nullptr || then == nullptr ||
             QueuesJson({Plain(*now)}) != QueuesJson({Plain(*then)});
    }
    // Who is next, how it is compared and who lends what follows from the rest of all queues.
    static QueueView Plain(QueueView queue) {
      queue.next.clear();
      queue.b.clear();
      queue.booked_idle = 0;
      for (engine::QueueAmounts& amounts : queue.amounts) {
        amounts.borrowed_from.clear();
        amounts.lent_to.clear();
      }
      return queue;
    }
  };
  void AddQueues() {
    std::vector<std::pair<std::string, Queue>> queues;
    for (const QueueView& queue : then_.queues) queues.push_back({queue.name, {nullptr, &queue}});
    for (const QueueView& queue : now_->queues) {
      const auto found = std::find_if(queues.begin(), queues.end(),
                                      [&](const auto& one) { return one.first == queue.name; });
      if (found == queues.end()) {
        queues.push_back({queue.name, {&queue, nullptr}});
      } else {
        found->second.now = &queue;
      }
    }
    std::stable_partition(queues.begin(), queues.end(),
                          [](const auto& one) { return one.second.changed(); });
    json_.BeginArray("queues");
    for (const auto& [name, queue] : queues) {
      json_.BeginObject();
      json_.Add("name", name);
      json_.Add("changed", queue.changed());
      for (const auto& [key, view] : {std::pair("now", queue.now), std::pair("then", queue.then)}) {
        if (view == nullptr) continue;
        json_.BeginObject(key);
        AddQueue(json_, *view);
        json_.EndObject();
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  const WhatIfAnswer& then_;
  const WhatIfAnswer* const now_;
  std::optional<Fates> before_;
  std::set<GangId> evicted_now_;
  JsonText json_;
};

}  // namespace

std::string WhatIfJson(const WhatIfAnswer& then, const WhatIfAnswer* now,
                       const std::vector<std::string>& warnings) {
  return Page(then, now).Text(warnings);
}

}  // namespace muster::extender
