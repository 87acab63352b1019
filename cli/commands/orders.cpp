// muster priority, queue and cancel: orders of operators to a running `muster serve`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/flags/nearest.hpp"
#include "cli/reach/reach.hpp"
#include "cli/reach/server_pages.hpp"
#include "config/fields/amounts.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::cli {
namespace {

using cluster::Result;

constexpr std::size_t kMaxAnswer = std::size_t{32} << 20U;

// "/v1/gangs/NAMESPACE/NAME/".
Result<std::string> GangPath(const Args& args, const std::string& word,
                             const MusterCaller& muster) {
  const Result<cluster::ObjectKey> gang = GangNamed(args, word, muster.default_namespace());
  if (!gang.ok()) return gang.error();
  return "/v1/gangs/" + gang->ToString() + "/";
}

// As names are, without what a terminal would take for a command.
std::string Plain(std::string_view text) {
  std::string plain(text);
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return plain;
}

// What held before, what holds now, and who is evicted.
Result<std::string> OrderLines(const std::string& answer) {
  const Result<kube::Json> json = kube::Json::Parse(answer, kMaxAnswer, "answer");
  if (!json.ok()) return json.error();
  kube::JsonProblems problems;
  const kube::JsonView order(json->root(), "answer", problems);
  const bool dry_run = order.Get("dryRun").Flag(false);
  std::string lines = Plain(order.Get("is").Text()) +
                      " (before: " + Plain(order.Get("was").Text()) + ")" +
                      (dry_run ? "; nothing was done, this is what would be" : "") + "\n";
  const kube::JsonView evicted = order.Get("evicted");
  evicted.Items([&](const kube::JsonView& one) {
    const int64_t pods = one.Get("pods").Integer(0, 0, INT64_MAX);
    lines += std::string(dry_run ? "would evict " : "evicts ") + Plain(one.Get("gang").Text()) +
             " of queue " + Plain(one.Get("queue").Text()) + ": " + std::to_string(pods) +
             (pods == 1 ? " pod" : " pods") +
             (one.Get("whole").Flag(false) ? ", the whole gang" : " beyond its minimum");
    const std::string_view despite = one.Get("despite").Text();
    lines += (despite.empty() ? "" : "; " + Plain(despite)) + "\n";
  });
  const kube::JsonView kept = order.Get("kept");
  kept.Items([&](const kube::JsonView& one) {
    lines += std::string(dry_run ? "would leave " : "leaves ") + Plain(one.Get("gang").Text()) +
             ": " + Plain(one.Get("why").Text()) + "\n";
  });
  if (!problems.none()) return problems.first();
  return lines;
}

// Posts `body` to `path` and shows what came of it.
int Send(MusterCaller& muster, OutputFormat format, const CliStreams& streams,
         const std::string& path, const std::string& body) {
  const Result<std::string> answer = muster.Post(path, body);
  if (!answer.ok()) return Fail(streams, answer.error().message);
  return Show(streams, format, *answer,
              [](std::string_view json, std::size_t) { return OrderLines(std::string(json)); });
}

// An order about a gang: `verb` of its page.
int SendOfGang(const Args& args, const CliStreams& streams, const std::string& verb,
               const std::string& body) {
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, verb, format.error().message);
  const auto muster = ReachMuster(args, streams, Purpose::kOrder);
  if (!muster.ok()) return Misused(streams, verb, muster.error().ToString());
  const Result<std::string> path = GangPath(args, args.positionals()[0], **muster);
  if (!path.ok()) return Misused(streams, verb, path.error().message);
  return Send(**muster, *format, streams, *path + verb, body);
}

int SendOfQueue(const Args& args, const CliStreams& streams, const std::string& path,
                const std::string& body) {
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "queue", format.error().message);
  const auto muster = ReachMuster(args, streams, Purpose::kOrder);
  if (!muster.ok()) return Misused(streams, "queue", muster.error().ToString());
  return Send(**muster, *format, streams, path, body);
}

int Priority(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& words = args.positionals();
  const bool reset = args.Has("--reset");
  if (words.size() != (reset ? 1U : 2U))
    return Misused(streams, "priority", "give NAMESPACE/NAME and a priority, or --reset");
  if (reset) return SendOfGang(args, streams, "priority", "{\"priority\": null}");
  const std::string& number = words[1];
  const std::size_t digits =
      number.find_first_not_of("0123456789", number.starts_with('-') ? 1 : 0);
  if (number.empty() || number == "-" || digits != std::string::npos || number.size() > 11)
    return Misused(streams, "priority", "\"" + number + "\" is no priority: give a whole number");
  return SendOfGang(args, streams, "priority", "{\"priority\": " + number + "}");
}

int Cancel(const Args& args, const CliStreams& streams) {
  if (args.positionals().size() != 1) return Misused(streams, "cancel", "give NAMESPACE/NAME");
  return SendOfGang(args, streams, "cancel", "{}");
}

int Reclaim(const Args& args, const CliStreams& streams, const std::string& path) {
  if (!args.Has("--gpus")) return Misused(streams, "queue", "reclaim needs --gpus N");
  const Result<int64_t> gpus = args.Number("--gpus", 0, 1, 1'000'000);
  if (!gpus.ok()) return Misused(streams, "queue", gpus.error().message);
  std::string body = "{\"gpus\": " + std::to_string(*gpus);
  if (args.Has("--pause")) {
    const auto pause = config::ParseDuration(args.Text("--pause"));
    if (!pause) {
      return Misused(streams, "queue",
                     "\"" + args.Text("--pause") + "\" is no duration: give one such as 10m");
    }
    body += ", \"pauseSeconds\": " + std::to_string(pause->value() / 1000);
  }
  if (args.Has("--dry-run")) body += ", \"dryRun\": true";
  return SendOfQueue(args, streams, path + "reclaim", body + "}");
}

int Queue(const Args& args, const CliStreams& streams) {
  const std::vector<std::string>& words = args.positionals();
  if (words.size() != 2 || !IsPathText(words[1]))
    return Misused(streams, "queue", "give hold, resume or reclaim, and the name of a queue");
  const std::string& verb = words[0];
  const std::string path = "/v1/queues/" + words[1] + "/";
  for (const char* flag : {"--gpus", "--pause", "--dry-run"}) {
    if (args.Has(flag) && verb != "reclaim")
      return Misused(streams, "queue", std::string(flag) + " is for reclaim");
  }
  if (args.Has("--drain") && verb != "hold")
    return Misused(streams, "queue", "--drain is for hold");
  if (verb == "reclaim") return Reclaim(args, streams, path);
  if (verb != "hold" && verb != "resume")
    return Misused(streams, "queue",
                   "\"" + verb + "\" is unknown: give hold, resume or reclaim" +
                       DidYouMean(verb, {"hold", "resume", "reclaim"}));
  const std::string state = verb == "resume" ? "open" : args.Has("--drain") ? "drain" : "hold";
  return SendOfQueue(args, streams, path + "state", "{\"state\": \"" + state + "\"}");
}

}  // namespace

Command PriorityCommand() {
  return {"priority",
          "NAMESPACE/NAME N | NAMESPACE/NAME --reset",
          "order the priority of a gang, instead of its own",
          WithAccess({{"--reset", "", "its own counts again"}, NamespaceFlag(), OutputFlag()}),
          Priority,
          {"muster priority team/train 1000", "muster priority team/train --reset"}};
}

Command QueueCommand() {
  return {
      "queue",
      "hold|resume|reclaim NAME",
      "start nothing more from a queue, start again, or take GPUs back from it",
      WithAccess({{"--drain", "", "with hold: nor members beyond the minimum of gangs that run"},
                  {"--gpus", "N", "with reclaim: evict gangs that hold at least so many GPUs"},
                  {"--pause", "TIME",
                   "with reclaim: start nothing from the queue for so long (default 10m)"},
                  {"--dry-run", "", "with reclaim: only say who would be evicted"},
                  OutputFlag()}),
      Queue,
      {"muster queue hold research --drain", "muster queue reclaim research --gpus 16 --dry-run",
       "muster queue resume research"}};
}

Command CancelCommand() {
  return {"cancel",
          "NAMESPACE/NAME",
          "give back the plan or the booked room of a gang of which no pod is bound yet",
          WithAccess({NamespaceFlag(), OutputFlag()}),
          Cancel,
          {"muster cancel team/train"}};
}

}  // namespace muster::cli
