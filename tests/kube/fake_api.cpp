#include "tests/kube/fake_api.hpp"

#include <utility>

#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;

namespace {

class DeadStream : public ApiStream {
 public:
  cluster::Result<ApiReply> Run(const std::string&, const std::function<bool(std::string_view)>&,
                                std::chrono::milliseconds) override {
    return NoConnection();
  }
  void Stop() override {}
};

}  // namespace

ApiReply Reply(int status, std::string body) { return {status, std::move(body), {}}; }

ApiReply Refusal(int status, const std::string& message) {
  std::string body;
  JsonWriter(body)
      .BeginObject()
      .Key("kind")
      .Text("Status")
      .Key("apiVersion")
      .Text("v1")
      .Key("status")
      .Text("Failure")
      .Key("message")
      .Text(message)
      .Key("code")
      .Integer(status)
      .EndObject();
  return Reply(status, body);
}

Error NoConnection() { return {Code::kUnavailable, "no connection", ""}; }

void FakeApi::On(Method method, const std::string& path, Answer answer) {
  On(method, path, [answer = std::move(answer)](const ApiRequest&) { return answer; });
}

void FakeApi::On(Method method, const std::string& path, Handler handler) {
  const MutexLock lock(mu_);
  handlers_[{method, path}] = std::move(handler);
}

void FakeApi::Once(Method method, const std::string& path, Answer answer) {
  const MutexLock lock(mu_);
  queued_[{method, path}].push_back(std::move(answer));
}

void FakeApi::Otherwise(Handler handler) {
  const MutexLock lock(mu_);
  otherwise_ = std::move(handler);
}

void FakeApi::OnStream(std::function<std::unique_ptr<ApiStream>()> open) {
  const MutexLock lock(mu_);
  open_ = std::move(open);
}

FakeApi::Handler FakeApi::Find(const ApiRequest& request) {
  const MutexLock lock(mu_);
  requests_.push_back(request);
  const Target target{request.method, request.path};
  const auto queue = queued_.find(target);
  if (queue != queued_.end() && !queue->second.empty()) {
    Answer answer = std::move(queue->second.front());
    queue->second.pop_front();
    return [answer = std::move(answer)](const ApiRequest&) { return answer; };
  }
  const auto found = handlers_.find(target);
  if (found != handlers_.end()) return found->second;
  if (otherwise_) return otherwise_;
  return [](const ApiRequest& asked) -> Answer {
    return Refusal(404, "the test has no " + asked.path);
  };
}

FakeApi::Answer FakeApi::Call(const ApiRequest& request) {
  Answer answer = Find(request)(request);
  if (!answer.ok() || answer->status != 200 || !request.take) return answer;
  const std::string body = std::exchange(answer->body, {});
  // Cut where it hurts: within names, numbers and escapes.
  constexpr size_t kPiece = 4093;
  const size_t piece = body.size() > kPiece ? kPiece : 3;
  for (size_t at = 0; at < body.size(); at += piece) {
    if (!request.take(std::string_view(body).substr(at, piece))) break;
  }
  return answer;
}

std::unique_ptr<ApiStream> FakeApi::OpenStream() {
  std::function<std::unique_ptr<ApiStream>()> open;
  {
    const MutexLock lock(mu_);
    open = open_;
  }
  if (open) return open();
  return std::make_unique<DeadStream>();
}

std::vector<ApiRequest> FakeApi::requests() const {
  const MutexLock lock(mu_);
  return requests_;
}

std::vector<std::string> FakeApi::lines() const {
  std::vector<std::string> lines;
  for (const ApiRequest& request : requests()) {
    lines.push_back(std::string(NameOf(request.method)) + " " + request.path);
  }
  return lines;
}

void FakeApi::ForgetRequests() {
  const MutexLock lock(mu_);
  requests_.clear();
}

std::string_view NameOf(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "?";
}

}  // namespace muster::kube
