// Conditions: the list of conditions in a status, of which one writer changes its own and carries
// all others over as they are. Plain value, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/units.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

struct Condition {
  std::string type;
  std::string status;  // True, False, Unknown
  std::string reason;
  std::string message;
  std::string node_pool = {};  // of KAI's schedulingConditions only

  bool is_true() const { return status == "True"; }
};

enum class ConditionForm {
  kStandard,    // metav1.Condition: observedGeneration
  kTransition,  // Volcano, KAI: transitionID
  kScheduling,  // KAI's schedulingConditions: one per node pool, newest last
};

// The part of a message that names a reason: up to the last ": " before its sentence ends; equal
// parts mean that only the sentence differs.
std::string_view CodeOfMessage(std::string_view message);

class Conditions {
 public:
  // `list` may be absent.
  Conditions(ConditionForm form, const JsonView& list);

  // Null: no condition has that type (and node pool). Of several the last counts.
  const Condition* Find(std::string_view type, std::string_view node_pool = {}) const;
  // Adds it, or changes it where it differs. lastTransitionTime moves with the status only.
  void Set(const Condition& wanted, cluster::Time now, int64_t observed_generation);

  bool changed() const { return changed_; }
  // True when all that Set changed is the sentence of messages.
  bool only_sentences() const { return only_sentences_; }
  // The list as JSON, or of it only what Set changed.
  std::string All() const;
  std::string Changed() const;

 private:
  struct Item {
    Condition says;
    std::string transition_time;
    int64_t transition_id = 0;  // 0: none, or no number
    std::string json;
    bool changed = false;
  };
  void Write(Item& item, int64_t observed_generation) const;
  std::string Joined(bool only_changed) const;

  ConditionForm form_;
  std::vector<Item> items_;
  bool changed_ = false;
  bool only_sentences_ = true;
};

}  // namespace muster::kube
