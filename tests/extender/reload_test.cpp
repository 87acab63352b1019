// A hot reload changes the servers as well; on the embedded cluster, what its kube-scheduler was
// started with waits for a restart. What a reload changes in the engine: tests/scenario.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "config/policies/policy_fields.hpp"
#include "extender/live/start_policy.hpp"
#include "extender/server_options.hpp"
#include "service_test_support.hpp"

namespace muster::extender::testing {
namespace {

using config::Policy;

const std::string kHead = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";

// Gives one field another value that it may have.
class Changer : public config::FieldVisitor {
 public:
  explicit Changer(std::string field) : field_(std::move(field)) {}

  void Section(const config::FieldInfo& info, const std::function<void()>& fields) override {
    const std::string outer = prefix_;
    prefix_ += std::string(info.name) + ".";
    fields();
    prefix_ = outer;
  }
  void List(const config::FieldInfo&, config::Elements*) override {}
  void Named(const config::TextRule&, config::Elements*) override {}
  void Duration(const config::FieldInfo& info, config::DurationRange range,
                cluster::Duration* value) override {
    if (Is(info)) *value = *value == range.least ? range.most : range.least;
  }
  void Whole(const config::FieldInfo& info, config::WholeRange range, int64_t* value) override {
    if (Is(info)) *value = *value == range.least ? range.most : range.least;
  }
  void Size(const config::FieldInfo& info, config::WholeRange range, int64_t* bytes) override {
    Whole(info, range, bytes);
  }
  void Flag(const config::FieldInfo& info, bool* value) override {
    if (Is(info)) *value = !*value;
  }
  void Text(const config::FieldInfo& info, const config::TextRule& rule,
            std::string* value) override {
    if (Is(info)) *value = rule.accepts("127.0.0.1:1") ? "127.0.0.1:1" : "other";
  }
  void TextList(const config::FieldInfo& info, const config::TextRule&,
                std::vector<std::string>* values) override {
    if (Is(info)) values->emplace_back("other");
  }
  void Choice(const config::FieldInfo& info, const config::Words& words,
              std::size_t* chosen) override {
    if (Is(info)) *chosen = (*chosen + 1) % words.size();
  }

  bool found = false;

 private:
  bool Is(const config::FieldInfo& info) {
    const bool is = prefix_ + std::string(info.name) == field_;
    found = found || is;
    return is;
  }

  const std::string field_;
  std::string prefix_;
};

// All that servers made for this policy would do in another way than others. Breaks when their
// options gain a member: give it a word here.
std::string Shown(const http::ServerOptions& options) {
  const auto& [host, port, header, lines, body, buffered, connections, places, streams, workers,
               turns, first_byte, header_time, body_time, write_time, idle_time, tls, on_event] =
      options;
  std::ostringstream text;
  text << host << ' ' << port << ' ' << header << ' ' << lines << ' ' << body << ' ' << buffered
       << ' ' << connections << ' ' << places << ' ' << streams << ' ' << workers << ' '
       << turns.threads << ' ' << turns.each << ' ' << turns.waiting_each << ' '
       << turns.waiting_all << ' ' << first_byte.count() << ' ' << header_time.count() << ' '
       << body_time.count() << ' ' << write_time.count() << ' ' << idle_time.count();
  if (tls) {
    text << ' ' << tls->cert_file << ' ' << tls->key_file << ' ' << tls->client_ca_file;
    for (const std::string& client : tls->allowed_clients) text << ' ' << client;
  }
  return text.str();
}

std::string ServersOf(const Policy& policy) {
  const auto extender = ExtenderServerOptions(policy.extender);
  const auto api = ApiServerOptions(policy.metrics);
  REQUIRE(extender.ok());
  REQUIRE(api.ok());
  return Shown(*extender) + " | " + Shown(*api);
}

bool IsSection(const std::string& field) {
  for (const std::string& other : config::ListPolicyFields()) {
    if (other.rfind(field + ".", 0) == 0) return true;
  }
  return false;
}

class Reloadable {
 public:
  explicit Reloadable(ServiceOptions options = {}) {
    options.policy_file = folder.File("policy.yaml");
    Write("");
    service = std::make_unique<Service>(options, log);
    const cluster::Status started = service->Start();
    if (!started.ok()) FAIL(started.error().ToString());
  }
  void Write(const std::string& fields) {
    std::ofstream(folder.File("policy.yaml")) << kHead << Section("extender", fields) << "\n"
                                              << Section("metrics", fields) << "\n";
  }
  bool Reload(const std::string& fields) {
    Write(fields);
    return service->ReloadPolicy().ok();
  }
  int Status(std::uint16_t port, std::size_t body = 0) const {
    http::ClientOptions client;
    client.port = port;
    const auto reply = body == 0 ? http::Client(client).Get("/healthz")
                                 : http::Client(client).Post("/filter", std::string(body, ' '));
    return reply.ok() ? reply->status : 0;
  }

  TempFolder folder;
  LogLines lines;
  Logger log{
      {.level = LogLevel::kDebug, .sink = [this](std::string_view line) { lines.Add(line); }}};
  std::unique_ptr<Service> service;

 private:
  // "extender: {…}" as `fields` has it, on free ports if nothing else is said.
  static std::string Section(const std::string& name, const std::string& fields) {
    std::istringstream all(fields);
    for (std::string line; std::getline(all, line);) {
      if (line.rfind(name + ":", 0) == 0) return line;
    }
    return name + ": {address: \"127.0.0.1:0\"}";
  }
};

}  // namespace

TEST_CASE("every field of the servers changes a server's options", "[serve][reload]") {
  Policy before;
  before.extender.tls = {"cert", "key", "ca", {}};
  before.metrics.tls = {"cert", "key", "ca", {}};
  int changed = 0;
  for (const std::string& field : config::ListPolicyFields()) {
    const bool of_servers = field.rfind("extender.", 0) == 0 || field.rfind("metrics.", 0) == 0;
    if (!of_servers || IsSection(field) || field == "extender.httpTimeout") continue;
    // Who may read is looked up with every request.
    if (field == "metrics.publicPages") continue;
    CAPTURE(field);
    Policy policy = before;
    Changer changer(field);
    config::VisitPolicy(&policy, &changer);
    CHECK(changer.found);
    CHECK(ServersOf(policy) != ServersOf(before));
    // Which is what RenewServers looks at.
    CHECK((policy.extender != before.extender || policy.metrics != before.metrics));
    ++changed;
  }
  CHECK(changed > 10);
}

TEST_CASE("on a real cluster a reload changes the servers while they serve", "[serve][reload]") {
  const TempFolder access;
  Reloadable test(OnCluster(access, 1));
  const std::uint16_t port = test.service->extender_port();
  const std::uint16_t api = test.service->api_port();
  CHECK(test.Status(port, 2000) == 200);

  // On the same socket.
  REQUIRE(test.Reload("extender: {address: \"127.0.0.1:0\", limits: {body: 1KiB}}"));
  CHECK(test.service->extender_port() == port);
  CHECK(test.Status(port, 2000) == 413);
  CHECK(test.service->api_port() == api);

  // TLS.
  TestAuthority authority("test authority");
  const std::string cert = access.File("cert.pem");
  const std::string key = access.File("key.pem");
  authority.Issue({"renewed", {}, true}, cert, key);
  REQUIRE(test.Reload("extender: {address: \"127.0.0.1:0\", tls: {certFile: " + cert +
                      ", keyFile: " + key + "}}"));
  CHECK(test.Status(port) == 400);  // plain HTTP
  CHECK(TlsCaller{port, "", ""}.Get("/healthz").server_name == "renewed");
  REQUIRE(test.Reload(""));
  CHECK(test.Status(port) == 200);

  // Both addresses.
  REQUIRE(test.Reload("extender: {address: \"localhost:0\"}\nmetrics: {address: \":0\"}"));
  CHECK(test.service->extender_port() != port);
  CHECK(test.service->api_port() != api);
  CHECK(test.Status(test.service->extender_port()) == 200);
  CHECK(test.Status(test.service->api_port()) == 200);
  CHECK(Eventually([&] { return test.Status(port) == 0 && test.Status(api) == 0; }));
  CHECK_FALSE(test.lines.Has("restart"));
}

TEST_CASE("a reload takes default-scheduler only where the file says that it is meant",
          "[serve][reload]") {
  const TempFolder access;
  Reloadable test(OnCluster(access, 1));
  const auto reload = [&](const std::string& more) {
    test.Write("");
    std::ofstream(test.folder.File("policy.yaml"), std::ios::app)
        << "schedulerNames: [muster, default-scheduler]\n"
        << more << "\n";
    return test.service->ReloadPolicy().ok();
  };
  CHECK_FALSE(reload(""));
  CHECK(test.lines.Has("policy not reloaded, the last good one stays"));
  CHECK(reload("allowDefaultScheduler: true"));
  CHECK_FALSE(reload("allowDefaultScheduler: false"));
}

TEST_CASE("a reload whose servers cannot start changes nothing", "[serve][reload]") {
  const TempFolder access;
  Reloadable test(OnCluster(access, 1));
  const Reloadable other(OnCluster(access, 1));
  const std::uint16_t port = test.service->extender_port();
  const std::string taken = "127.0.0.1:" + std::to_string(other.service->api_port());
  CHECK_FALSE(
      test.Reload("extender: {address: \"127.0.0.1:0\", limits: {body: 1KiB}}\nmetrics: "
                  "{address: \"" +
                  taken + "\"}"));
  CHECK(test.lines.Has("policy not reloaded, the last good one stays"));
  CHECK(test.lines.Has(taken + ": cannot listen: Address already in use"));
  CHECK(test.service->extender_port() == port);
  CHECK(Eventually([&] { return test.Status(port, 2000) == 200; }));
  CHECK(test.Status(test.service->api_port()) == 200);
  CHECK_FALSE(
      test.Reload("extender: {address: \"127.0.0.1:0\", tls: {certFile: /none, keyFile: "
                  "/none}}"));
  CHECK(test.lines.Has("/none: cannot be read"));
  CHECK(test.Status(port) == 200);
}

TEST_CASE("a policy whose servers could not start is tried again until they can",
          "[serve][reload]") {
  const TempFolder access;
  ServiceOptions options = OnCluster(access, 1);
  options.reload_retry = std::chrono::milliseconds(1);
  Reloadable test(options);
  auto other = std::make_unique<Reloadable>(OnCluster(access, 1));
  const std::uint16_t taken = other->service->api_port();
  CHECK_FALSE(test.Reload("metrics: {address: \"127.0.0.1:" + std::to_string(taken) + "\"}"));
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    test.service->ReloadPolicyIfChanged();
  }
  CHECK(test.lines.Count("policy not reloaded") == 1);
  CHECK(test.service->api_port() != taken);
  other.reset();
  CHECK(Eventually([&] {
    test.service->ReloadPolicyIfChanged();
    return test.service->api_port() == taken;
  }));
  CHECK(test.Status(taken) == 200);
  CHECK(test.lines.Has("policy reloaded"));
}

TEST_CASE("what the embedded cluster was started with waits for a restart", "[serve][reload]") {
  Policy started;
  started.engine.bind_hold_timeout = cluster::Seconds(48);
  for (const std::string& field : config::ListPolicyFields()) {
    if (IsSection(field)) continue;
    CAPTURE(field);
    Policy policy = started;
    Changer changer(field);
    config::VisitPolicy(&policy, &changer);
    policy.engine.bind_hold_timeout = cluster::Seconds(4);
    const std::string wanted = config::WritePolicy(policy);
    const std::vector<std::string> waiting = KeepForEmbedded(started, &policy);
    CHECK(policy.engine.bind_hold_timeout == cluster::Seconds(48));
    // Either it is in force, or it is named.
    if (waiting.empty()) {
      CHECK(config::WritePolicy(policy) == wanted);
    } else {
      CHECK(config::WritePolicy(policy) == config::WritePolicy(started));
      CHECK(waiting.size() == 1);
      CHECK((field == waiting.front() || field.rfind(waiting.front() + ".", 0) == 0));
    }
  }

  Reloadable test;
  const std::uint16_t port = test.service->extender_port();
  REQUIRE(
      test.Reload("extender: {address: \"127.0.0.1:1\", httpTimeout: 5s, limits: {body: 1KiB}}"));
  CHECK(
      test.lines.Has("needs a restart: the embedded cluster was started with it\" "
                     "field=extender.address"));
  CHECK(test.lines.Has("field=extender.httpTimeout"));
  CHECK(test.service->extender_port() == port);
  CHECK(test.Status(port, 2000) == 413);
}

TEST_CASE("a reload of grouping rules reaches pods that wait", "[serve][reload][grouping]") {
  const TempFolder folder;
  ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file) << kHead;
  TestService test(options);
  // More pods than there are nodes.
  test.Submit(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  completionMode: "
      "Indexed\n  parallelism: 20\n  completions: 20\n  template:\n    spec:\n      "
      "schedulerName: muster\n      containers: [{name: main, resources: {limits: "
      "{nvidia.com/gpu: 8}}}]\n");
  const auto gangs = [&] { return test.Get("/v1/gangs").body; };
  REQUIRE(Eventually([&] { return gangs().find("job:train~") != std::string::npos; }));
  CHECK(test.StateOf("train-0").empty());
  std::ofstream(options.policy_file)
      << kHead << "grouping:\n- {kind: Job, group: batch, resource: jobs, "
      << "cases: [{gang: alone, because: its pods need not wait for each other}]}\n";
  REQUIRE(test.service.ReloadPolicy().ok());
  CHECK(test.Reaches("train-0", "Running"));
  CHECK(gangs().find("job:train~") == std::string::npos);
  CHECK(gangs().find("Job train: its pods need not wait for each other") != std::string::npos);
}

}  // namespace muster::extender::testing
