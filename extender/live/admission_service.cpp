#include "extender/live/admission_service.hpp"

#include <chrono>
#include <utility>

namespace muster::extender {
namespace {

using cluster::Result;
using cluster::Status;
using kube::TakenPods;

constexpr std::chrono::milliseconds kLastReviews{1'000};
// Whoever reaches the port may ask, so it gets less than kube-scheduler's.
constexpr std::size_t kMostConnections = 256;
constexpr std::size_t kMostBuffered = std::size_t{32} << 20U;  // of calls, and of connections
constexpr std::size_t kWorkers = 2;

http::ServerOptions OptionsOf(const http::HostPort& listen,
                              std::shared_ptr<const http::HeldCertificate> held,
                              const std::function<void(const std::string&)>& note) {
  http::ServerOptions options;
  options.host = listen.host;
  options.port = listen.port;
  options.max_connections = kMostConnections;
  options.max_buffered_bytes = kMostBuffered;
  options.max_connection_bytes = kMostBuffered;
  options.workers = kWorkers;
  options.tls.emplace();
  options.tls->held = std::move(held);
  options.on_event = [note](const std::string& event) { note("webhook: " + event); };
  return options;
}

}  // namespace

AdmissionService::AdmissionService(Ports ports, AdmissionSettings settings,
                                   std::string own_namespace)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      own_namespace_(std::move(own_namespace)),
      certificate_({.api = ports_.api,
                    .may_write = ports_.may_write,
                    .present = [this](const http::CertificatePair& pair) { Present(pair); },
                    .warn = ports_.warn,
                    .note = ports_.note},
                   {.secret = settings_.secret, .configuration = settings_.configuration}) {}

AdmissionService::~AdmissionService() { Stop(); }

void AdmissionService::Start() {
  thread_ = std::make_unique<kube::StepThread>(
      [this](const kube::Clocks& now) { return certificate_.Step(now); });
}

void AdmissionService::Stop() {
  if (thread_) thread_->Stop();
  if (!server_) return;
  server_->Drain(kLastReviews);
  server_->Stop();
}

// A port that is in use now may be free at the next look.
void AdmissionService::Present(const http::CertificatePair& pair) {
  if (held_) held_->Set(pair);
  if (server_) return;
  held_ = std::make_shared<http::HeldCertificate>(pair);
  auto server = std::make_unique<http::Server>(OptionsOf(*settings_.listen, held_, ports_.note));
  for (const auto& [path, taken] :
       {std::pair("/admit/gpu", TakenPods::kGpu), std::pair("/admit/all", TakenPods::kAll)}) {
    server->Handle("POST", path, [this, taken = taken](const http::Request& request) {
      return Answer(request, taken);
    });
  }
  const Status started = server->Start();
  const std::string why = started.ok() ? "" : started.error().ToString();
  if (!started.ok() && why != refused_) ports_.warn("the webhook does not start: " + why);
  refused_ = why;
  if (!started.ok()) return;
  server_ = std::move(server);
  port_ = server_->port();
  ports_.note("the webhook serves port " + std::to_string(port_));
}

http::Response AdmissionService::Answer(const http::Request& request, TakenPods taken) {
  Result<kube::AdmissionAnswer> answer = kube::AnswerReview(
      request.body,
      {.taken = taken, .scheduler_name = ports_.scheduler_name(), .own_namespace = own_namespace_});
  if (!answer.ok()) {
    ++malformed_;
    return http::ErrorResponse(400, answer.error().ToString());
  }
  ++(answer->changed ? changed_ : unchanged_);
  return {.body = std::move(answer->body)};
}

}  // namespace muster::extender
