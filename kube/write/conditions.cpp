#include "kube/write/conditions.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Time;

namespace {

int64_t NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number > 0 && number < INT32_MAX ? number : 0;
}

bool SameCode(const Condition& a, const Condition& b) {
  return a.status == b.status && a.reason == b.reason &&
         CodeOfMessage(a.message) == CodeOfMessage(b.message);
}

}  // namespace

std::string_view CodeOfMessage(std::string_view message) {
  // "muster: NotEnoughGpus: not enough …" or "NotEnoughGpus: not enough …": words without spaces,
  // each followed by ": ".
  size_t end = 0;
  while (true) {
    const size_t space = message.find(' ', end);
    if (space == std::string_view::npos || space == end || message[space - 1] != ':') break;
    end = space + 1;
  }
  return message.substr(0, end);
}

Conditions::Conditions(ConditionForm form, const JsonView& list) : form_(form) {
  list.Items([&](const JsonView& item) {
    Item read;
    item.AppendTo(read.json);
    if (item.ExpectObject()) {
      const auto text = [&](std::string_view key) {
        const JsonView member = item.Get(key);
        return std::string(member.Text());
      };
      read.says = {text("type"), text("status"), text("reason"), text("message"), {}};
      if (form_ == ConditionForm::kScheduling) read.says.node_pool = text("nodePool");
      read.transition_time = text("lastTransitionTime");
      read.transition_id = NumberOf(text("transitionID"));
    }
    items_.push_back(std::move(read));
  });
}

const Condition* Conditions::Find(std::string_view type, std::string_view node_pool) const {
  const auto found = std::find_if(items_.rbegin(), items_.rend(), [&](const Item& item) {
    return item.says.type == type && item.says.node_pool == node_pool;
  });
  return found == items_.rend() ? nullptr : &found->says;
}

void Conditions::Set(const Condition& wanted, Time now, int64_t observed_generation) {
  auto at = std::find_if(items_.rbegin(), items_.rend(), [&](const Item& item) {
    return item.says.type == wanted.type && item.says.node_pool == wanted.node_pool;
  });
  Item item;
  int64_t last_id = 0;
  for (const Item& other : items_) last_id = std::max(last_id, other.transition_id);
  const bool known = at != items_.rend();
  if (known) {
    const Condition& says = at->says;
    if (says.status == wanted.status && says.reason == wanted.reason &&
        says.message == wanted.message) {
      return;
    }
    only_sentences_ = only_sentences_ && SameCode(says, wanted);
    item = *at;
  } else {
    only_sentences_ = false;
  }
  changed_ = true;
  if (!known || item.says.status != wanted.status || item.transition_time.empty()) {
    item.transition_time = FormatSeconds(now);
    item.transition_id = last_id + 1;
  }
  item.says = wanted;
  item.changed = true;
  Write(item, observed_generation);
  if (known && form_ != ConditionForm::kScheduling) {
    *at = std::move(item);
    return;
  }
  // Who reads schedulingConditions takes the last one for the newest.
  if (known) items_.erase(std::next(at).base());
  items_.push_back(std::move(item));
}

void Conditions::Write(Item& item, int64_t observed_generation) const {
  item.json.clear();
  JsonWriter json(item.json);
  json.BeginObject().Key("type").Text(item.says.type);
  if (form_ == ConditionForm::kScheduling) json.Key("nodePool").Text(item.says.node_pool);
  json.Key("status").Text(item.says.status);
  if (form_ == ConditionForm::kStandard) {
    if (observed_generation > 0) json.Key("observedGeneration").Integer(observed_generation);
  } else {
    json.Key("transitionID").Text(std::to_string(item.transition_id));
  }
  json.Key("lastTransitionTime").Text(item.transition_time);
  json.Key("reason").Text(item.says.reason);
  json.Key("message").Text(item.says.message);
  if (form_ == ConditionForm::kScheduling) {
    std::string_view code = CodeOfMessage(item.says.message);
    if (!code.empty()) code.remove_suffix(2);
    json.Key("reasons").BeginArray();
    if (item.says.is_true()) {
      json.BeginObject();
      json.Key("reason").Text(code.empty() ? std::string_view(item.says.reason) : code);
      json.Key("message").Text(item.says.message).EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

std::string Conditions::Joined(bool only_changed) const {
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  for (const Item& item : items_) {
    if (item.changed || !only_changed) json.Raw(item.json);
  }
  json.EndArray();
  return out;
}

std::string Conditions::All() const { return Joined(false); }
std::string Conditions::Changed() const { return Joined(true); }

}  // namespace muster::kube
