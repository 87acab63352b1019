#include "kube/api/api_client.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "http/client/client_connection.hpp"
#include "http/client/client_connection_pool.hpp"
#include "http/client/exchange.hpp"
#include "http/messages/url.hpp"
#include "http/tls/client_tls.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Result;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

const char* NameOf(Method method) {
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
  return "GET";
}

std::string HostHeader(const ClientConfig& config) {
  const std::string full = http::HostAndPort(config.host, config.port);
  const bool usual = config.port == (config.tls ? 443 : 80);
  return usual ? full.substr(0, full.rfind(':')) : full;
}

// A pod that starts costs about six events; two in a row often come within it.
constexpr milliseconds kGatherEvents{2};
constexpr const char* kJson = "application/json";
// A server that cannot do it answers the whole object.
constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

ApiReply ToReply(http::Exchanged outcome) {
  return {outcome.status, std::move(outcome.body), outcome.retry_after, outcome.date};
}

Error Stopped() { return {Code::kUnavailable, "stopped", ""}; }

}  // namespace

class ApiClient::Core {
 public:
  Core(const ClientConfig& config, const ApiClientOptions& options)
      : config_(config),
        options_(options),
        host_(HostHeader(config)),
        place_(http::HostAndPort(config.host, config.port)),
        tokens_(config, options.clock),
        tls_(config),
        limiter_(options.lanes),
        pool_(options.max_idle, options.max_idle_age) {}

  cluster::Status CheckCredentials() {
    if (config_.tls) {
      Result<TlsSource::Current> tls = tls_.Get();
      if (!tls.ok()) return tls.error();
    }
    Result<std::string> token = tokens_.Get();
    if (!token.ok()) return token.error();
    return cluster::Ok{};
  }

  Result<ApiReply> Call(const ApiRequest& request);
  Result<ApiReply> Stream(const http::ClientRequest& request, milliseconds silence,
                          const http::Cancel& cancel);
  void Stop();
  ApiClientStats stats() const;

 private:
  struct Opened {
    http::PooledConnection pooled;
    bool reused = false;
  };

  Result<ApiReply> CallInTime(const ApiRequest& request);
  // One exchange, on an idle connection where `reuse` allows one.
  Result<http::Exchanged> Attempt(const http::ClientRequest& request,
                                  const http::CallLimits& limits, bool reuse, bool keep,
                                  bool& reused);
  Result<Opened> Open(const http::CallLimits& limits, bool reuse);
  Result<Opened> OpenFresh(const http::CallLimits& limits, const TlsSource::Current& tls);
  // `request` with the headers that all have, and `token`.
  http::ClientRequest Dress(http::ClientRequest request, const std::string& token) const;
  // Runs `send(request with token)`; once again with a new token when the answer is 401.
  template <typename Send>
  Result<http::Exchanged> WithToken(const http::ClientRequest& request, Send send);
  template <typename Change>
  void Count(Change change) {
    const MutexLock lock(mu_);
    change(stats_);
  }

  const ClientConfig config_;
  const ApiClientOptions options_;
  const std::string host_;   // as header
  const std::string place_;  // for errors
  TokenSource tokens_;
  TlsSource tls_;
  RateLimiter limiter_;
  http::ClientConnectionPool pool_;
  http::Cancel stopped_;
  // The last call of its lane: the next one has no time to try what may be dead as well.
  std::atomic<bool> lease_failed_ = false;
  mutable cluster::Mutex mu_;
  ApiClientStats stats_ MUSTER_GUARDED_BY(mu_);
};

http::ClientRequest ApiClient::Core::Dress(http::ClientRequest request,
                                           const std::string& token) const {
  auto& headers = request.headers;
  headers.emplace_back("Host", host_);
  headers.emplace_back("User-Agent", config_.user_agent);
  if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
  request.target = config_.path_prefix + request.target;
  if (config_.proxy && !config_.tls) {
    request.target = "http://" + place_ + request.target;
    if (const std::string credentials = http::ProxyAuthorization(*config_.proxy);
        !credentials.empty())
      headers.emplace_back("Proxy-Authorization", credentials);
  }
  return request;
}

Result<ApiClient::Core::Opened> ApiClient::Core::OpenFresh(const http::CallLimits& limits,
                                                           const TlsSource::Current& tls) {
  http::Route route{config_.host, config_.port,  tls.context,
                    "",           config_.proxy, options_.connect_timeout};
  route.sni = config_.tls_server_name.empty() ? config_.host : config_.tls_server_name;
  if (http::IsIpAddress(route.sni)) route.sni.clear();
  Result<std::unique_ptr<http::ClientConnection>> connection =
      http::ClientConnection::Open(route, limits);
  if (!connection.ok()) return connection.error();
  Count([](ApiClientStats& stats) { ++stats.connections_opened; });
  return Opened{{*std::move(connection), tls.generation, {}}, false};
}

Result<ApiClient::Core::Opened> ApiClient::Core::Open(const http::CallLimits& limits, bool reuse) {
  TlsSource::Current tls;
  if (config_.tls) {
    Result<TlsSource::Current> current = tls_.Get();
    if (!current.ok()) return current.error();
    tls = *std::move(current);
  }
  if (reuse) {
    http::PooledConnection pooled = pool_.Take(tls.generation);
    if (pooled.connection != nullptr) return Opened{std::move(pooled), true};
  }
  Result<Opened> opened = OpenFresh(limits, tls);
  // The server may have a new certificate by a new CA. Nothing was sent yet.
  if (opened.ok() || opened.error().code != Code::kIo || !tls_.Renew(tls.generation)) return opened;
  Count([](ApiClientStats& stats) { ++stats.tls_renewals; });
  Result<TlsSource::Current> current = tls_.Get();
  if (!current.ok()) return current.error();
  return OpenFresh(limits, *current);
}

Result<http::Exchanged> ApiClient::Core::Attempt(const http::ClientRequest& request,
                                                 const http::CallLimits& limits, bool reuse,
                                                 bool keep, bool& reused) {
  Result<Opened> opened = Open(limits, reuse);
  if (!opened.ok()) return opened.error();
  reused = opened->reused;
  http::Exchanged outcome = http::Exchange(*opened->pooled.connection, request, limits);
  // Its server is gone without a word, and the others' with it: a new connection may find another.
  if (reused && outcome.silent) pool_.Clear();
  if (outcome.reusable && keep && !stopped_.set()) pool_.GiveBack(std::move(opened->pooled));
  return outcome;
}

template <typename Send>
Result<http::Exchanged> ApiClient::Core::WithToken(const http::ClientRequest& request, Send send) {
  Result<std::string> token = tokens_.Get();
  if (!token.ok()) return token.error();
  Result<http::Exchanged> outcome = send(Dress(request, *token));
  const bool refused = outcome.ok() && !outcome->error && outcome->status == 401;
  if (!refused || !tokens_.Renew(*token)) return outcome;
  Count([](ApiClientStats& stats) { ++stats.token_renewals; });
  token = tokens_.Get();
  if (!token.ok()) return token.error();
  return send(Dress(request, *token));
}

Result<ApiReply> ApiClient::Core::CallInTime(const ApiRequest& request) {
  http::CallLimits limits;
  constexpr std::chrono::hours kLongest{24};  // more would not fit the clock
  limits.deadline = steady_clock::now() + std::min<milliseconds>(request.timeout, kLongest);
  limits.cancels = {&stopped_, nullptr};
  http::ClientRequest wire{NameOf(request.method), request.path,      {},
                           request.body,           options_.max_body, request.take};
  wire.headers.emplace_back("Accept", request.metadata_only ? kMetadataOnly : kJson);
  wire.headers.insert(wire.headers.end(), request.headers.begin(), request.headers.end());
  if (!request.body.empty()) wire.headers.emplace_back("Content-Type", request.content_type);
  if (request.lane == Lane::kList && !config_.disable_compression)
    wire.headers.emplace_back("Accept-Encoding", "gzip");

  const bool reuse = !request.fresh && !(request.lane == Lane::kLease && lease_failed_);
  Result<http::Exchanged> outcome = WithToken(wire, [&](const http::ClientRequest& dressed) {
    bool reused = false;
    Result<http::Exchanged> first = Attempt(dressed, limits, reuse, true, reused);
    if (!first.ok() || !first->error || !reused) return first;
    const bool safe =
        request.method == Method::kGet ? first->closed_unanswered : first->nothing_sent;
    if (!safe || stopped_.set()) return first;
    Count([](ApiClientStats& stats) { ++stats.stale_retries; });
    return Attempt(dressed, limits, false, true, reused);
  });
  if (request.lane == Lane::kLease) lease_failed_ = !outcome.ok() || outcome->error;
  if (!outcome.ok()) return outcome.error();
  if (outcome->error) return outcome->error->At(place_);
  return ToReply(*std::move(outcome));
}

Result<ApiReply> ApiClient::Core::Call(const ApiRequest& request) {
  const auto lane = static_cast<std::size_t>(request.lane);
  const std::optional<std::chrono::nanoseconds> waited = limiter_.Wait(request.lane);
  if (!waited) return Stopped();
  if (request.permit && !request.permit()) {
    return Error{Code::kForbidden, "not permitted any more when its turn came", ""};
  }
  Count([&](ApiClientStats& stats) {
    stats.lanes[lane].waited += *waited;
    ++stats.lanes[lane].in_flight;
  });
  Result<ApiReply> reply = CallInTime(request);
  Count([&](ApiClientStats& stats) {
    ApiClientStats::Of& of = stats.lanes[lane];
    --of.in_flight;
    ++of.calls;
    const int status_class = reply.ok() ? reply->status / 100 : 0;
    ++of.by_class[static_cast<std::size_t>(std::clamp(status_class, 0, 5))];
  });
  if (!reply.ok() && stopped_.set()) return Stopped();
  return reply;
}

Result<ApiReply> ApiClient::Core::Stream(const http::ClientRequest& request, milliseconds silence,
                                         const http::Cancel& cancel) {
  http::CallLimits limits;
  limits.silence = silence;
  limits.cancels = {&stopped_, &cancel};
  limits.gather = kGatherEvents;
  Count([](ApiClientStats& stats) { ++stats.streams; });
  Result<http::Exchanged> outcome = WithToken(request, [&](const http::ClientRequest& dressed) {
    bool reused = false;
    return Attempt(dressed, limits, false, false, reused);
  });
  Count([](ApiClientStats& stats) { --stats.streams; });
  if (outcome.ok() && !outcome->error) return ToReply(*std::move(outcome));
  if (stopped_.set() || cancel.set()) return Stopped();
  return outcome.ok() ? outcome->error->At(place_) : outcome.error();
}

void ApiClient::Core::Stop() {
  stopped_.Set();
  limiter_.Stop();
  pool_.Clear();
}

ApiClientStats ApiClient::Core::stats() const {
  ApiClientStats stats;
  {
    const MutexLock lock(mu_);
    stats = stats_;
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    stats.lanes[lane].waiting = limiter_.waiting(static_cast<Lane>(lane));
  stats.idle_connections = pool_.idle();
  return stats;
}

namespace {

class WatchStream final : public ApiStream {
 public:
  explicit WatchStream(std::shared_ptr<ApiClient::Core> core) : core_(std::move(core)) {}

  Result<ApiReply> Run(const std::string& path, const std::function<bool(std::string_view)>& take,
                       milliseconds silence) override {
    constexpr std::size_t kMaxRefusal = std::size_t{1} << 20;  // bytes of an answer that is no 200
    return core_->Stream({"GET", path, {{"Accept", kJson}}, "", kMaxRefusal, take}, silence, stop_);
  }
  void Stop() override { stop_.Set(); }

 private:
  const std::shared_ptr<ApiClient::Core> core_;
  http::Cancel stop_;
};

}  // namespace

ApiClient::ApiClient(std::shared_ptr<Core> core) : core_(std::move(core)) {}
ApiClient::~ApiClient() { Stop(); }

Result<std::unique_ptr<ApiClient>> ApiClient::Create(const ClientConfig& config,
                                                     const ApiClientOptions& options) {
  auto core = std::make_shared<Core>(config, options);
  if (cluster::Status checked = core->CheckCredentials(); !checked.ok()) return checked.error();
  return std::unique_ptr<ApiClient>(new ApiClient(std::move(core)));
}

Result<ApiReply> ApiClient::Call(const ApiRequest& request) { return core_->Call(request); }

std::unique_ptr<ApiStream> ApiClient::OpenStream() { return std::make_unique<WatchStream>(core_); }

void ApiClient::Stop() { core_->Stop(); }

ApiClientStats ApiClient::stats() const { return core_->stats(); }

}  // namespace muster::kube
