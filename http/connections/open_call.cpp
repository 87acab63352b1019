#include "http/connections/open_call.hpp"

#include <utility>

namespace muster::http {

OpenCall::OpenCall(std::shared_ptr<OpenCalls> open_calls, ConnectionTable::Id connection,
                   std::shared_ptr<AnswerBox> box, IncomingRequest& request)
    : open_calls_(std::move(open_calls)),
      connection_(connection),
      box_(std::move(box)),
      stream_(request.stream),
      kept_(std::move(request.kept)) {
  ++open_calls_->open;
}

OpenCall::~OpenCall() { Answer(ErrorResponse(500, "internal error")); }

void OpenCall::Answer(Response response) {
  bool left = false;
  {
    const cluster::MutexLock lock(mu_);
    if (state_ == State::kAnswered) return;
    left = state_ == State::kLeft;
    box_->Put({stream_, std::move(response)});
    state_ = State::kAnswered;
    kept_.Release();
  }
  --open_calls_->open;
  if (left) open_calls_->table.Nudge(connection_);
}

bool OpenCall::LeaveHandler() {
  const cluster::MutexLock lock(mu_);
  if (state_ == State::kAnswered) return true;
  state_ = State::kLeft;
  return false;
}

}  // namespace muster::http
