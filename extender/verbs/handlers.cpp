#include "extender/verbs/handlers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "extender/wire/wire.hpp"

namespace muster::extender {
namespace {

using cluster::Result;
using SteadyClock = std::chrono::steady_clock;

// Why nothing is answered; empty: it is.
const char* Unavailable(Availability availability) {
  switch (availability) {
    case Availability::kNotSynced:
      return "muster: not synced with the cluster yet, try again";
    case Availability::kNotLeader:
      return "muster: not the leader, another replica answers";
    case Availability::kStopped:
      return "muster: shutting down, try again";
    case Availability::kReady:
    case Availability::kDraining:
      break;
  }
  return "";
}

}  // namespace

HandlerReply ExtenderHandlers::Reply(std::string body) const {
  return {.body = std::move(body), .close = availability_ != Availability::kReady};
}

void ExtenderHandlers::Count(ExtenderVerb verb, VerbResult result, SteadyClock::time_point begin) {
  if (ports_.metrics != nullptr) {
    ports_.metrics->Called(verb, result, SteadyClock::now() - begin);
  }
}

void ExtenderHandlers::Told() const {
  if (ports_.told) ports_.told();
}

bool ExtenderHandlers::PlansFor(const cluster::Pod& pod) const {
  const std::vector<std::string> names = ports_.scheduler().options().scheduler_names;
  return std::find(names.begin(), names.end(), pod.spec->scheduler_name) != names.end();
}

HandlerReply ExtenderHandlers::Filter(std::string_view body) {
  const auto begin = SteadyClock::now();
  const auto fail = [&](std::string_view error) {
    Count(ExtenderVerb::kFilter, VerbResult::kError, begin);
    return Reply(EncodeFilterError(error));
  };
  if (const char* why = Unavailable(availability_); *why != '\0') return fail(why);
  Result<ExtenderArgs> args = DecodeArgs(body);
  if (!args.ok()) return fail("muster: " + args.error().ToString());
  engine::FilterAnswer answer;
  if (ports_.group) answer.refusal = ports_.group(args->question.pod);
  if (answer.refusal.empty()) {
    answer = ports_.scheduler().Filter(args->question, ports_.now());
    Told();
  } else {
    answer.refusal.insert(0, "muster: ");
    // A pod of Muster's is woken when it has a plan. Another one becomes Muster's by being asked
    // about: kube-scheduler has to come again by itself.
    if (!PlansFor(args->question.pod)) return fail(answer.refusal + ", try again");
  }
  HandlerReply reply = Reply(EncodeFilterReply(*args, answer));
  Count(ExtenderVerb::kFilter,
        !answer.error.empty() ? VerbResult::kError
        : answer.node.empty() ? VerbResult::kRefused
                              : VerbResult::kOk,
        begin);
  return reply;
}

HandlerReply ExtenderHandlers::Prioritize(std::string_view body) {
  const auto begin = SteadyClock::now();
  const bool available = *Unavailable(availability_) == '\0';
  std::optional<ExtenderArgs> args;
  if (available) {
    if (Result<ExtenderArgs> decoded = DecodeArgs(body); decoded.ok()) args = *std::move(decoded);
  }
  if (!args) {
    Count(ExtenderVerb::kPrioritize, VerbResult::kError, begin);
    return Reply("[]");
  }
  HandlerReply reply =
      Reply(EncodePrioritizeReply(*args, ports_.scheduler().Prioritize(args->question)));
  Count(ExtenderVerb::kPrioritize, VerbResult::kOk, begin);
  return reply;
}

HandlerReply ExtenderHandlers::Preempt(std::string_view body) {
  const auto begin = SteadyClock::now();
  const auto fail = [&](ReplyKind kind, std::string error) {
    Count(ExtenderVerb::kPreempt, VerbResult::kError, begin);
    HandlerReply reply = Reply(std::move(error));
    reply.kind = kind;
    return reply;
  };
  if (const char* why = Unavailable(availability_); *why != '\0') {
    return fail(ReplyKind::kUnavailable, why);
  }
  const Result<PreemptionArgs> args = DecodePreemptionArgs(body);
  if (!args.ok()) return fail(ReplyKind::kMalformed, args.error().ToString());
  Count(ExtenderVerb::kPreempt, VerbResult::kOk, begin);
  return Reply(EncodePreemptionReply({}));
}

void ExtenderHandlers::Bind(std::string_view body, BindDone done) {
  const auto begin = SteadyClock::now();
  // `done` is shared: whether a ticket could be had is known only after it was handed over.
  const auto answer = std::make_shared<BindDone>(std::move(done));
  const auto reply = [this, begin, answer](const std::string& error, VerbResult failure) {
    Count(ExtenderVerb::kBind, error.empty() ? VerbResult::kOk : failure, begin);
    (*answer)(Reply(EncodeBindReply(error)));
  };
  if (const char* why = Unavailable(availability_); *why != '\0') {
    return reply(why, VerbResult::kError);
  }
  const Result<engine::BindCall> call = DecodeBindRequest(body);
  if (!call.ok()) return reply("muster: " + call.error().ToString(), VerbResult::kError);

  const std::optional<uint64_t> ticket =
      tickets_.Open([reply](const std::string& error) { reply(error, VerbResult::kRefused); });
  if (!ticket) return reply("muster: too many bind calls are held, try again", VerbResult::kError);
  const engine::Scheduler::BindReceipt receipt =
      ports_.scheduler().Bind(*call, *ticket, ports_.now());
  if (!receipt.held) tickets_.Answer(*ticket, receipt.error);
  Told();
}

void ExtenderHandlers::Deliver(const engine::AnswerBind& answer) {
  tickets_.Answer(answer.ticket, answer.error);
}

void ExtenderHandlers::RefuseOpenBinds(const std::string& error) { tickets_.AnswerAll(error); }

}  // namespace muster::extender
