#include "cli/whatif_text.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "cli/output.hpp"
#include "cli/table.hpp"
#include "kube/json.hpp"
#include "kube/json_view.hpp"

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

struct Page {
  Table starts{{{"#", true}, {"STARTS"}, {"QUEUE"}, {"PRIORITY", true}, {"WHEN"}, {"WHERE"}}};
  Table waits{{{"WAITS"}, {"QUEUE"}, {"PRIORITY", true}, {"START"}, {"WHY"}}};
  Table evicted{
      {{"EVICTED"}, {"PODS"}, {"QUEUE"}, {"PRIORITY", true}, {"FOR"}, {"WHEN"}, {"RIGHT"}}};
  int64_t asked = 0;
  int64_t asked_start = 0;
  int64_t others_start = 0;
};

void AddEviction(const JsonView& eviction, Page& page) {
  page.evicted.Add({Named(eviction),
                    std::to_string(Whole(eviction, "pods")) + " of " +
                        std::to_string(Whole(eviction, "podsInAll")),
                    Text(eviction, "queue"), std::to_string(Signed(eviction, "priority")),
                    Text(eviction, "for"), After(eviction),
                    Text(eviction, "right").empty() ? "it moves" : Text(eviction, "right")});
}

void AddEvictions(const JsonView& of, Page& page) {
  const JsonView evictions = of.Get("evictions");
  evictions.Items([&](const JsonView& eviction) { AddEviction(eviction, page); });
}

void AddGang(const JsonView& gang, Page& page) {
  const bool starts = Truth(gang, "starts");
  const bool asked = Truth(gang, "asked");
  page.asked += asked ? 1 : 0;
  page.asked_start += asked && starts ? 1 : 0;
  page.others_start += !asked && starts ? 1 : 0;
  const std::string queue = Text(gang, "queue");
  const std::string priority = std::to_string(Signed(gang, "priority"));
  if (starts) {
    page.starts.Add({std::to_string(page.starts.rows() + 1), Named(gang), queue, priority,
                     After(gang), Places(gang)});
  } else {
    page.waits.Add({Named(gang), queue, priority, Expected(gang), Why(gang)});
    const JsonView later = gang.Get("later");
    if (later.present()) AddEvictions(later, page);
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
  Page page;
  if (root.ExpectObject()) {
    const JsonView gangs = root.Get("gangs");
    gangs.Items([&](const JsonView& gang) { AddGang(gang, page); });
    AddEvictions(root, page);
  }
  std::string text = Summary(root, page);
  for (const Table* table : {&page.starts, &page.evicted, &page.waits}) {
    if (table->rows() == 0) continue;
    text += "\n";
    text += table->ToString();
  }
  if (!problems.none())
    return Error{Code::kInternal, "the server's answer is not what a muster server sends", ""};
  return text;
}

}  // namespace muster::cli
