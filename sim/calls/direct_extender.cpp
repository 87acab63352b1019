#include "sim/calls/direct_extender.hpp"

#include <utility>

namespace muster::sim {

FilterReply ReplyOf(const engine::NodesQuestion& question, const engine::FilterAnswer& answer) {
  FilterReply reply;
  reply.error = answer.error;
  if (!answer.error.empty()) return reply;
  if (!answer.node.empty()) {
    reply.passed.push_back(answer.node);
  } else if (!question.nodes.empty()) {
    reply.refused[answer.refusal] = static_cast<int64_t>(question.nodes.size());
  }
  return reply;
}

DirectExtender::DirectExtender(EventLoop& loop, MusterLink& link) : loop_(loop), link_(link) {
  link_.OnAnswerBind(
      [this](const engine::AnswerBind& answer) { Answer(answer.ticket, answer.error); });
  link_.OnRestart([this] {
    std::map<uint64_t, BindDone> lost;
    lost.swap(open_);
    for (auto& [ticket, done] : lost) {
      loop_.Post([done = std::move(done)] { done("connection reset by peer"); });
    }
  });
}

FilterReply DirectExtender::Filter(const engine::NodesQuestion& question) {
  const engine::FilterAnswer answer = link_.scheduler().Filter(question, loop_.now());
  // It may have brought a pod that was not known, or broken a plan.
  link_.Kick();
  return ReplyOf(question, answer);
}

PrioritizeReply DirectExtender::Prioritize(const engine::NodesQuestion& question) {
  const engine::PrioritizeAnswer answer = link_.scheduler().Prioritize(question);
  PrioritizeReply reply;
  if (!answer.node.empty()) reply.scores.push_back({answer.node, 10});
  return reply;
}

void DirectExtender::Bind(const engine::BindCall& call, BindDone done) {
  const uint64_t ticket = next_ticket_++;
  const auto receipt = link_.scheduler().Bind(call, ticket, loop_.now());
  link_.Kick();
  if (receipt.held) {
    open_.emplace(ticket, std::move(done));
    return;
  }
  loop_.Post([done = std::move(done), error = receipt.error] { done(error); });
}

void DirectExtender::Answer(uint64_t ticket, const std::string& error) {
  const auto found = open_.find(ticket);
  if (found == open_.end()) return;
  const BindDone done = std::move(found->second);
  open_.erase(found);
  done(error);
}

}  // namespace muster::sim
