#include "cli/tables/whatif_text.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "cli/tables/answer.hpp"
#include "cli/tables/table.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using kube::JsonView;

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostNodes = 6;  // named of a gang

std::string Text(const JsonView& object, std::string_view key) {
  const JsonView value = object.Get(key);
  return std::string(value.Text());
}

int64_t Whole(const JsonView& object, std::string_view key) {
  const JsonView value = object.Get(key);
  return value.Integer(0, 0, std::numeric_limits<int64_t>::max());
}

int64_t Signed(const JsonView& object, std::string_view key) {
  const JsonView value = object.Get(key);
  return value.Integer(0, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

bool Truth(const JsonView& object, std::string_view key) {
  const JsonView value = object.Get(key);
  return value.Flag(false);
}

std::string Named(const JsonView& object) {
  return Text(object, "namespace") + "/" + Text(object, "name");
}

std::string Counted(int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// "node-0 (2 pods), node-1, and 3 more".
std::string Places(const JsonView& gang) {
  std::map<std::string, int64_t> pods;
  const JsonView placed = gang.Get("placed");
  placed.Items([&](const JsonView& item) { ++pods[Text(item, "node")]; });
  std::string text;
  std::size_t named = 0;
  for (const auto& [node, count] : pods) {
    if (named++ == kMostNodes)
      return text + ", and " + std::to_string(pods.size() - kMostNodes) + " more";
    text += text.empty() ? "" : ", ";
    text += node;
    if (count > 1) text += " (" + std::to_string(count) + " pods)";
  }
  return text;
}

std::string In(const JsonView& object) {
  return Elapsed(static_cast<double>(Whole(object, "afterSeconds")));
}

std::string After(const JsonView& gang) {
  const int64_t seconds = Whole(gang, "afterSeconds");
  return seconds == 0 ? "at once" : "after " + In(gang);
}

// "in 3 h, declared: the end of gang a/b", what is known to come.
std::string Expected(const JsonView& gang) {
  const JsonView later = gang.Get("later");
  if (!later.present()) return "not known";
  return "in " + In(later) + ", " + Text(later, "class") + ": " + Text(later, "evidence");
}

std::string Why(const JsonView& gang) {
  const JsonView reason = gang.Get("reason");
  std::string why = reason.present() ? Text(reason, "code") + ": " + Text(reason, "message")
                                     : Text(gang, "state");
  const JsonView turn = gang.Get("turn");
  if (turn.present())
    why += " (" + std::to_string(Whole(turn, "position")) + " of " +
           std::to_string(Whole(turn, "of")) + " in queue " + Text(turn, "queue") + ")";
  return why;
}

// "16 -> 32"; one of them alone where they are the same.
std::string Both(const std::string& now, const std::string& then) {
  return now == then ? then : now + " -> " + then;
}

// What becomes of the gang under the policy in force.
std::string Now(const JsonView& gang) {
  const JsonView now = gang.Get("now");
  if (!now.present()) return "runs";
  if (Truth(now, "starts")) return "starts " + After(now);
  const JsonView later = now.Get("later");
  if (later.present()) return "starts in " + In(later);
  const JsonView reason = now.Get("reason");
  return reason.present() ? Text(reason, "code") : Text(now, "state");
}

std::string QueueOf(const JsonView& gang) {
  const std::string then = Text(gang, "queue");
  const JsonView now = gang.Get("now");
  return now.present() ? Both(Text(now, "queue"), then) : then;
}

std::string PriorityOf(const JsonView& gang) {
  const std::string then = std::to_string(Signed(gang, "priority"));
  const JsonView now = gang.Get("now");
  return now.present() ? Both(std::to_string(Signed(now, "priority")), then) : then;
}

// `beside`: with a column for the policy in force, before the one at `at`.
Table Beside(bool beside, std::vector<Table::Column> columns, std::size_t at) {
  if (beside) {
    columns[at].title = "THEN";
    columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(at), {"NOW"});
  }
  return Table(std::move(columns));
}

struct Page {
  explicit Page(bool both)
      : beside(both),
        starts(Beside(both,
                      {{"#", true}, {"STARTS"}, {"QUEUE"}, {"PRIORITY", true}, {"WHEN"}, {"WHERE"}},
                      4)),
        waits(Beside(both, {{"WAITS"}, {"QUEUE"}, {"PRIORITY", true}, {"START"}, {"WHY"}}, 3)),
        evicted(Beside(
            both,
            {{"EVICTED"}, {"PODS"}, {"QUEUE"}, {"PRIORITY", true}, {"FOR"}, {"WHEN"}, {"RIGHT"}},
            5)) {}
  // `now`: the cell at `at`, where there is such a column.
  void Add(Table& table, std::vector<std::string> row, std::size_t at, std::string now) const {
    if (beside) row.insert(row.begin() + static_cast<std::ptrdiff_t>(at), std::move(now));
    table.Add(std::move(row));
  }

  bool beside = false;
  Table queues{{{"QUEUE"},
                {"RESOURCE"},
                {"GUARANTEE", true},
                {"LIMIT", true},
                {"SHARE", true},
                {"USED", true},
                {"GANGS WAIT", true}}};
  Table starts;
  Table waits;
  Table evicted;
  Table spared{{{"EVICTED NO MORE"}, {"PODS"}, {"QUEUE"}, {"FOR"}}};
  int64_t asked = 0;
  int64_t asked_start = 0;
  int64_t others_start = 0;
  int64_t changed = 0;
  int64_t queues_changed = 0;
};

std::string PodsOf(const JsonView& eviction) {
  return std::to_string(Whole(eviction, "pods")) + " of " +
         std::to_string(Whole(eviction, "podsInAll"));
}

void AddEviction(const JsonView& eviction, Page& page) {
  const std::string right = Text(eviction, "right");
  const JsonView changed = eviction.Get("changed");
  page.Add(page.evicted,
           {Named(eviction), PodsOf(eviction), Text(eviction, "queue"),
            std::to_string(Signed(eviction, "priority")), Text(eviction, "for"), After(eviction),
            right.empty() ? "it moves" : right},
           5, changed.present() && !changed.Flag(false) ? "evicted" : "stays");
}

void AddEvictions(const JsonView& of, Page& page) {
  const JsonView evictions = of.Get("evictions");
  evictions.Items([&](const JsonView& eviction) { AddEviction(eviction, page); });
}

void AddSpared(const JsonView& eviction, Page& page) {
  page.spared.Add(
      {Named(eviction), PodsOf(eviction), Text(eviction, "queue"), Text(eviction, "for")});
}

void AddGang(const JsonView& gang, Page& page) {
  const bool starts = Truth(gang, "starts");
  const bool asked = Truth(gang, "asked");
  page.asked += asked ? 1 : 0;
  page.asked_start += asked && starts ? 1 : 0;
  page.others_start += !asked && starts ? 1 : 0;
  page.changed += Truth(gang, "changed") ? 1 : 0;
  if (starts) {
    page.Add(page.starts,
             {std::to_string(Whole(gang, "order")), Named(gang), QueueOf(gang), PriorityOf(gang),
              After(gang), Places(gang)},
             4, Now(gang));
  } else {
    page.Add(page.waits, {Named(gang), QueueOf(gang), PriorityOf(gang), Expected(gang), Why(gang)},
             3, Now(gang));
    const JsonView later = gang.Get("later");
    if (later.present()) AddEvictions(later, page);
  }
}

// An amount of one resource; "-": no limit, or no queue.
using Amounts = std::map<std::string, std::string>;
std::map<std::string, Amounts> AmountsOf(const JsonView& queue) {
  std::map<std::string, Amounts> all;
  if (!queue.present()) return all;
  const JsonView amounts = queue.Get("amounts");
  amounts.Items([&](const JsonView& one) {
    Amounts& of = all[Text(one, "resource")];
    for (const char* name : {"guarantee", "limit", "share", "used"}) {
      const JsonView amount = one.Get(name);
      if (amount.present()) of[name] = amount.ScalarText();
    }
  });
  return all;
}

std::string WaitingOf(const JsonView& queue) {
  return queue.present() ? std::to_string(Whole(queue, "pending")) : "-";
}

void AddQueue(const JsonView& queue, Page& page) {
  page.queues_changed += Truth(queue, "changed") ? 1 : 0;
  const JsonView now = queue.Get("now");
  const JsonView then = queue.Get("then");
  std::map<std::string, Amounts> before = AmountsOf(now);
  std::map<std::string, Amounts> after = AmountsOf(then);
  std::map<std::string, bool> resources;
  for (const auto* all : {&before, &after}) {
    for (const auto& [resource, amounts] : *all) resources[resource] = true;
  }
  std::string waiting = Both(WaitingOf(now), WaitingOf(then));
  if (resources.empty()) resources["-"] = true;
  std::string name = Text(queue, "name");
  for (const auto& [resource, there] : resources) {
    std::vector<std::string> row{std::exchange(name, ""), resource};
    for (const char* amount : {"guarantee", "limit", "share", "used"}) {
      const auto shown = [&](Amounts& of) { return of[amount].empty() ? "-" : of[amount]; };
      row.push_back(Both(shown(before[resource]), shown(after[resource])));
    }
    row.push_back(std::exchange(waiting, ""));
    page.queues.Add(std::move(row));
  }
}

std::string Summary(const JsonView& root, const Page& page) {
  std::string text;
  if (page.asked > 0) {
    text += std::to_string(page.asked_start) + " of " + Counted(page.asked, "gang", "gangs") +
            " would start";
  }
  if (page.others_start > 0 || page.asked == 0) {
    text += text.empty() ? "" : ", ";
    text += std::to_string(page.others_start) +
            (page.asked == 0 ? " of those that wait would start" : " of the others that wait too");
  }
  text += ", " + Counted(Whole(root, "evictedPods"), "pod", "pods") + " would be evicted, " +
          Counted(Whole(root, "waiting"), "other gang", "other gangs") + " would wait\n";
  if (page.beside) {
    text += Counted(page.changed, "gang", "gangs") + " and " +
            Counted(page.queues_changed, "queue", "queues") +
            " would be as they are not under the policy in force; these come first\n";
  }
  if (!Truth(root, "complete"))
    text += "not complete: the time for the answer was over, more may follow\n";
  else if (!Truth(root, "lookedAtAll"))
    text += "starts later than in " +
            Elapsed(static_cast<double>(Whole(root, "lookedAheadSeconds"))) +
            " are not known: the time for the answer was over\n";
  return text;
}

}  // namespace

Result<std::string> WhatIfText(std::string_view json) {
  const Result<kube::Json> parsed = kube::Json::Parse(json, kMostBytes, "answer");
  if (!parsed.ok()) return parsed.error();
  kube::JsonProblems problems;
  const JsonView root(parsed->root(), "answer", problems);
  const JsonView queues = root.Get("queues");
  Page page(queues.present());
  if (root.ExpectObject()) {
    const JsonView gangs = root.Get("gangs");
    gangs.Items([&](const JsonView& gang) { AddGang(gang, page); });
    AddEvictions(root, page);
    queues.Items([&](const JsonView& queue) { AddQueue(queue, page); });
    const JsonView spared = root.Get("spared");
    spared.Items([&](const JsonView& eviction) { AddSpared(eviction, page); });
  }
  std::string text = Summary(root, page);
  for (const Table* table :
       {&page.queues, &page.starts, &page.evicted, &page.spared, &page.waits}) {
    if (table->rows() == 0) continue;
    text += "\n";
    text += table->ToString();
  }
  if (!problems.none())
    return Error{Code::kInternal, "the server's answer is not what a muster server sends", ""};
  return text;
}

}  // namespace muster::cli
