// Any bytes as any message of the extender protocol: decoded or refused, and what is decoded can be
// answered with JSON that decodes again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "extender/embedded/caller_wire.hpp"
#include "extender/wire/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace extender = muster::extender;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto args = extender::DecodeArgs(body); args.ok()) {
    muster::engine::FilterAnswer answer;
    answer.refusal = "refused";
    if (!args->question.nodes.empty()) answer.node = args->question.nodes.back();
    const std::string reply = extender::EncodeFilterReply(*args, answer);
    const auto read = extender::DecodeFilterReply(reply, args->form);
    MUSTER_CHECK(read.ok());
    MUSTER_CHECK(read->passed.size() == (args->question.nodes.empty() ? 0 : 1));
    MUSTER_CHECK(extender::DecodeFilterReply(
                     extender::EncodeFilterReply(*args, {"", "no", false, ""}), args->form)
                     .ok());
    const auto scores =
        extender::DecodePrioritizeReply(extender::EncodePrioritizeReply(*args, {answer.node}));
    MUSTER_CHECK(scores.ok() && scores->scores.size() == (args->question.nodes.empty() ? 0 : 1));
    MUSTER_CHECK(extender::DecodeArgs(extender::EncodeArgs(args->question)).ok());
  }
  if (const auto call = extender::DecodeBindRequest(body); call.ok()) {
    MUSTER_CHECK(extender::DecodeBindRequest(extender::EncodeBindRequest(*call)).ok());
  }
  if (const auto args = extender::DecodePreemptionArgs(body); args.ok()) {
    const auto back = extender::DecodePreemptionReply(extender::EncodePreemptionReply(args->nodes));
    MUSTER_CHECK(back.ok() && *back == args->nodes);
  }
  for (const auto form : {extender::NodesForm::kNames, extender::NodesForm::kObjects}) {
    static_cast<void>(extender::DecodeFilterReply(body, form));
  }
  static_cast<void>(extender::DecodePrioritizeReply(body));
  static_cast<void>(extender::BindErrorIn(extender::EncodeBindReply(body)));
  return 0;
}
