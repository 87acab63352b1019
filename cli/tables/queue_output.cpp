#include "cli/tables/queue_output.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/tables/answer.hpp"
#include "queues/queue_spec.hpp"

namespace muster::cli {

using cluster::Result;
namespace {
using Value = rapidjson::Value;
}  // namespace

namespace {

std::string AmountText(const Value& of, const char* name) {
  return Find(of, name) == nullptr ? "-" : Number(Decimal(of, name));
}

// "team-a 4, company 2"
std::string LoansText(const Value& of, const char* name) {
  std::string text;
  const Value* loans = List(of, name);
  if (loans == nullptr) return "-";
  for (const Value& loan : loans->GetArray())
    text += (text.empty() ? "" : ", ") + Text(loan, "queue") + " " + AmountText(loan, "amount");
  return text;
}

// One row for each resource of a queue; queues below others are indented.
Result<std::string> TableOfQueues(std::string_view json, std::vector<Table::Column> columns,
                                  std::vector<std::string> (*row)(const Value& queue,
                                                                  const std::string& name,
                                                                  const Value& of, bool first),
                                  std::size_t width) {
  rapidjson::Document document;
  const Value* queues = ParseList(document, json, "queues");
  if (queues == nullptr) return Unexpected();
  if (queues->Empty()) return std::string("the policy has no queues\n");
  std::map<std::string, std::size_t> depths;
  Table table(std::move(columns));
  const Value none(rapidjson::kObjectType);
  for (const Value& queue : queues->GetArray()) {
    const auto parent = depths.find(Text(queue, "parent"));
    const std::size_t depth = parent == depths.end() ? 0 : parent->second + 1;
    const std::string name = Text(queue, "name");
    depths[name] = depth;
    const std::string shown = std::string(2 * std::min<std::size_t>(depth, 32), ' ') + name;
    const Value* amounts = List(queue, "amounts");
    if (amounts == nullptr) return Unexpected();
    if (amounts->Empty()) table.Add(row(queue, shown, none, true));
    for (rapidjson::SizeType i = 0; i < amounts->Size(); ++i)
      table.Add(row(queue, shown, (*amounts)[i], i == 0));
  }
  return table.ToString(width);
}

double GpusGuaranteed(const Value& queue) {
  const Value* amounts = List(queue, "amounts");
  if (amounts == nullptr) return 0;
  for (const Value& amount : amounts->GetArray()) {
    if (Text(amount, "resource") == "gpu") return Decimal(amount, "guarantee");
  }
  return 0;
}

// "research is guaranteed 3 whole h100 nodes: n0, n4 (1 lent to others), 1 missing"
std::string ShapesText(std::string_view json) {
  rapidjson::Document document;
  const Value* queues = ParseList(document, json, "queues");
  std::string text;
  if (queues == nullptr) return text;
  for (const Value& queue : queues->GetArray()) {
    const Value* shapes = List(queue, "shapes");
    if (shapes == nullptr) continue;
    for (const Value& shape : shapes->GetArray()) {
      std::string nodes;
      if (const Value* names = List(shape, "nodes")) {
        for (const Value& name : names->GetArray()) {
          if (name.IsString()) nodes += (nodes.empty() ? "" : ", ") + std::string(name.GetString());
        }
      }
      const int64_t lent = Integer(shape, "lent");
      const int64_t missing = Integer(shape, "missing");
      text += Text(queue, "name") + " is guaranteed " +
              ToString(queues::Shape{Integer(shape, "wholeNodes"), Text(shape, "model")}) + ": " +
              (nodes.empty() ? "none is there" : nodes) +
              (lent > 0 ? " (" + std::to_string(lent) + " lent to others)" : "") +
              (missing > 0 ? ", " + std::to_string(missing) + " missing" : "") +
              (Decimal(shape, "gpus") > GpusGuaranteed(queue)
                   ? "; they have more GPUs than its guarantee"
                   : "") +
              "\n";
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string StateOf(const Value& queue) {
  const std::string until = Text(queue, "pausedUntil");
  return Text(queue, "state") + (until.empty() ? "" : " until " + until);
}

}  // namespace

void AddTurn(const Value& gang, Table& facts) {
  if (const Value* expected = Find(gang, "expectedStart")) {
    std::string when = "not known";
    if (Find(*expected, "inSeconds") != nullptr)
      when = "in " + Elapsed(Decimal(*expected, "inSeconds")) + ", " + Text(*expected, "class");
    facts.Add({"Start", when + ": " + Text(*expected, "evidence")});
  }
  if (const Value* kept = Find(gang, "keptForRestart")) {
    facts.Add({"Kept", "what " + std::to_string(Integer(*kept, "pods")) + " pods had on " +
                           Text(*kept, "nodes") + ", for " + Elapsed(Decimal(*kept, "forSeconds")) +
                           ": it ended early"});
  }
  if (const Value* changes = List(gang, "wouldStartIf")) {
    for (const Value& change : changes->GetArray())
      facts.Add({"Would start if", Printable(Text(change, "text"))});
  }
  if (const Value* spared = List(gang, "nobodyMakesWay")) {
    for (const Value& why : spared->GetArray()) {
      if (why.IsString())
        facts.Add({"Nobody goes", Printable({why.GetString(), why.GetStringLength()})});
    }
  }
  const Value* turn = Find(gang, "turn");
  if (turn == nullptr) return;
  facts.Add({"Turn", std::to_string(Integer(*turn, "position")) + " of " +
                         std::to_string(Integer(*turn, "of")) + " in its queue"});
  if (Text(*turn, "at").empty()) return;
  facts.Add({"Ahead", Text(*turn, "aheadGang") + ": below " + Text(*turn, "at") + " queue " +
                          Text(*turn, "ahead") + " (" + Text(*turn, "aheadB") +
                          ") goes before queue " + Text(*turn, "own") + " (" + Text(*turn, "ownB") +
                          ")"});
}

void AddPreemption(const Value& gang, Table& facts) {
  const Value* preemption = Find(gang, "preemption");
  if (preemption == nullptr) return;
  facts.Add({"Preempted", Elapsed(Decimal(*preemption, "madeSecondsAgo")) + " ago, for room on " +
                              Text(*preemption, "nodes")});
  if (const Value* victims = List(*preemption, "victims")) {
    for (const Value& victim : victims->GetArray()) {
      facts.Add({"Victim", Text(victim, "gang") + ": " + std::to_string(Integer(victim, "pods")) +
                               " pods, " + Number(Decimal(victim, "gpusMilli") / 1000) +
                               " GPUs, ran for " + Elapsed(Decimal(victim, "ranSeconds")) +
                               "; the gang is " + Text(victim, "right")});
    }
  }
  if (const Value* refused = List(*preemption, "refused")) {
    for (const Value& one : refused->GetArray()) {
      if (one.IsString()) facts.Add({"Spared", {one.GetString(), one.GetStringLength()}});
    }
  }
}

Result<std::string> QueuesTable(std::string_view json, std::size_t width) {
  Result<std::string> table = TableOfQueues(
      json,
      {{"QUEUE"},
       {"STATE"},
       {"WEIGHT", true},
       {"RESOURCE"},
       {"GUARANTEE", true},
       {"LIMIT", true},
       {"SHARE", true},
       {"USED", true},
       {"ASKED", true},
       {"GANGS", true},
       {"NEXT"}},
      [](const Value& queue, const std::string& name, const Value& of, bool first) {
        const auto once = [&](const std::string& text) { return first ? text : std::string(); };
        return std::vector<std::string>{once(name),
                                        once(StateOf(queue)),
                                        once(std::to_string(Integer(queue, "weight"))),
                                        Text(of, "resource"),
                                        AmountText(of, "guarantee"),
                                        AmountText(of, "limit"),
                                        AmountText(of, "share") + (Truth(of, "scaled") ? "!" : ""),
                                        AmountText(of, "used"),
                                        AmountText(of, "pending"),
                                        once(std::to_string(Integer(queue, "pending"))),
                                        once(Text(queue, "next"))};
      },
      width);
  if (!table.ok()) return table;
  return *table + ShapesText(json);
}

Result<std::string> BorrowingTable(std::string_view json, std::size_t width) {
  return TableOfQueues(
      json,
      {{"QUEUE"},
       {"RESOURCE"},
       {"GUARANTEE", true},
       {"USED", true},
       {"BORROWED", true},
       {"IDLE", true},
       {"KEPT", true},
       {"FROM"},
       {"LENT TO"}},
      [](const Value&, const std::string& name, const Value& of, bool first) {
        return std::vector<std::string>{
            first ? name : "",      Text(of, "resource"),          AmountText(of, "guarantee"),
            AmountText(of, "used"), AmountText(of, "borrowed"),    AmountText(of, "idle"),
            AmountText(of, "kept"), LoansText(of, "borrowedFrom"), LoansText(of, "lentTo")};
      },
      width);
}

}  // namespace muster::cli
