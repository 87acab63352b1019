// What a service starts with and keeps: TLS flags over the policy's section, reloads that change
// less than the file does.
#include "extender/live/start_policy.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "service_test_support.hpp"

namespace muster::extender::testing {
namespace {

const std::string kStartPolicyHead = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";

// A policy file with a tls section of `fields`, and certificates that fit: of the server, and of
// the clients "kube-scheduler" and "somebody".
class MutualTls {
 public:
  MutualTls() {
    authority_.WriteCertificate(File("ca.pem"));
    for (const char* server : {"policy", "flag"}) {
      authority_.Issue({server, {}, true}, File(std::string(server) + ".pem"),
                       File(std::string(server) + "-key.pem"));
    }
    for (const char* client : {"kube-scheduler", "somebody"}) {
      authority_.Issue({client, {}, false}, File(std::string(client) + ".pem"),
                       File(std::string(client) + "-key.pem"));
    }
    options.policy_file = File("policy.yaml");
    std::ofstream(options.policy_file)
        << kStartPolicyHead << "extender:\n  tls: {certFile: " << File("policy.pem")
        << ", keyFile: " << File("policy-key.pem") << ", clientCaFile: " << File("ca.pem") << "}\n";
    options.scheduler_ca_file = File("ca.pem");
    options.scheduler_cert_file = File("kube-scheduler.pem");
    options.scheduler_key_file = File("kube-scheduler-key.pem");
  }

  std::string File(const std::string& name) const { return folder_.File(name); }
  // The status that a caller with this certificate gets; 0: no answer.
  int StatusFor(const TestService& test, const std::string& client) const {
    http::ClientOptions call;
    call.port = test.service.extender_port();
    call.tls = true;
    call.ca_file = File("ca.pem");
    if (!client.empty()) {
      call.cert_file = File(client + ".pem");
      call.key_file = File(client + "-key.pem");
    }
    const auto reply = http::Client(call).Get("/healthz");
    return reply.ok() ? reply->status : 0;
  }

  ServiceOptions options;

 private:
  const TempFolder folder_;
  TestAuthority authority_{"test authority"};
};

std::string Refusal(const config::PolicyReading& read) {
  REQUIRE_FALSE(read.ok());
  return read.faults.front().ToString();
}

}  // namespace

TEST_CASE("a certificate given by flags leaves the policy's client CA in force", "[serve][tls]") {
  MutualTls tls;
  tls.options.tls.cert_file = tls.File("flag.pem");
  tls.options.tls.key_file = tls.File("flag-key.pem");
  const TestService test(tls.options);
  CHECK(tls.StatusFor(test, "") == 0);
  CHECK(tls.StatusFor(test, "somebody") == 200);
  const TlsCaller caller{test.service.extender_port(), tls.File("somebody.pem"),
                         tls.File("somebody-key.pem")};
  CHECK(caller.Get("/healthz").server_name == "flag");
}

TEST_CASE("a client name given by a flag holds with certificates of the policy", "[serve][tls]") {
  MutualTls tls;
  tls.options.tls.allowed_client_names = {"kube-scheduler"};
  const TestService test(tls.options);
  CHECK(tls.StatusFor(test, "") == 0);
  CHECK((tls.StatusFor(test, "somebody") == 0 || tls.StatusFor(test, "somebody") == 403));
  CHECK(tls.StatusFor(test, "kube-scheduler") == 200);
}

TEST_CASE("TLS flags that mean nothing by themselves are refused by name", "[serve][tls]") {
  CHECK(Refusal(ReadStartPolicy("", {"", "", "", {"foo"}})) ==
        "--tls-client: expected --tls-client-ca or extender.tls.clientCaFile beside it: names in "
        "unchecked certificates prove nothing");
  CHECK(Refusal(ReadStartPolicy("", {"a", "b", "", {"foo"}})).rfind("--tls-client: ", 0) == 0);
  CHECK(Refusal(ReadStartPolicy("", {"", "", "ca", {}})).rfind("--tls-client-ca: ", 0) == 0);
  CHECK(Refusal(ReadStartPolicy("", {"a", "", "", {}})).rfind("--tls-key: ", 0) == 0);
  CHECK(Refusal(ReadStartPolicy("", {"", "b", "", {}})).rfind("--tls-cert: ", 0) == 0);
  CHECK(ReadStartPolicy("", {"a", "b", "ca", {"foo"}}).ok());
  CHECK(ReadStartPolicy("", {}).ok());

  ServiceOptions options;
  options.listen = http::HostPort{"127.0.0.1", 0};
  options.scheduler_ca_file = "ca.pem";
  const Logger quiet({.sink = [](std::string_view) {}});
  Service service(options, quiet);
  const cluster::Status started = service.Start();
  REQUIRE_FALSE(started.ok());
  CHECK_THAT(started.error().ToString(), Catch::StartsWith("--scheduler-ca: "));
}

TEST_CASE("a policy may come in the ConfigMap that holds it", "[serve]") {
  const TempFolder folder;
  const std::string file = folder.File("cm.yaml");
  const std::string head =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: muster-policy}\ndata:\n  policy.yaml: |\n"
      "    apiVersion: muster.dev/v1alpha1\n    kind: Policy\n";
  std::ofstream(file) << head << "    schedulerNames: [gpu]\n";
  const config::PolicyReading read = ReadStartPolicy(file, {});
  REQUIRE(read.ok());
  CHECK(read.policy.engine.scheduler_names == std::vector<std::string>{"gpu"});
  std::ofstream(file) << head << "    gangz: {}\n";
  CHECK(Refusal(ReadStartPolicy(file, {})).rfind(file + ":8:5: gangz: ", 0) == 0);
}

TEST_CASE("a TLS file that is not there is named with the reason", "[serve][tls]") {
  const MutualTls tls;
  const auto refusal = [&](const std::function<std::string*(ServiceOptions&)>& file,
                           const std::string& path) {
    ServiceOptions options = tls.options;
    options.listen = http::HostPort{"127.0.0.1", 0};
    options.tls.cert_file = tls.File("flag.pem");
    options.tls.key_file = tls.File("flag-key.pem");
    *file(options) = path;
    const Logger quiet({.sink = [](std::string_view) {}});
    Service service(options, quiet);
    const cluster::Status started = service.Start();
    REQUIRE_FALSE(started.ok());
    return started.error().ToString();
  };
  using File = std::function<std::string*(ServiceOptions&)>;
  const std::vector<File> files = {
      [](ServiceOptions& options) { return &options.tls.cert_file; },
      [](ServiceOptions& options) { return &options.tls.key_file; },
      [](ServiceOptions& options) { return &options.tls.client_ca_file; },
      [](ServiceOptions& options) { return &options.scheduler_ca_file; },
      [](ServiceOptions& options) { return &options.scheduler_cert_file; },
      [](ServiceOptions& options) { return &options.scheduler_key_file; },
  };
  const std::string none = tls.File("none.pem");
  const std::string folder = tls.File("");
  for (const File& file : files) {
    CHECK(refusal(file, none) == none + ": cannot be read: No such file or directory");
    CHECK(refusal(file, folder) == folder + ": cannot be read: Is a directory");
  }
  // One that is there but is no certificate is another error.
  CHECK_THAT(refusal(files[0], tls.File("policy.yaml")), Catch::Contains("expected a PEM"));
}

TEST_CASE("a reload by signal is not done again for the same change", "[serve][policy]") {
  const TempFolder folder;
  ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file) << kStartPolicyHead;
  TestService test(options);
  std::ofstream(options.policy_file)
      << kStartPolicyHead << "schedulerNames: [muster, other]\n"
      << "extender: {httpTimeout: 5s, limits: {body: 2MiB, threads: 100}}\n"
      << "placement: {strategy: spread}\n";
  REQUIRE(test.service.ReloadPolicy().ok());
  test.service.ReloadPolicyIfChanged();
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_policy_reloads_total{result=\"ok\"} 1"));
  CHECK(test.lines.Has("extender.limits.threads: has no effect any more"));
  const std::string page = test.Get("/v1/policy").body;
  CHECK_THAT(page, Catch::Contains("strategy: spread"));
  CHECK_THAT(page, Catch::Contains("body: 2MiB"));
}

TEST_CASE("a reload is judged with the TLS that comes from flags", "[serve][policy][tls]") {
  MutualTls tls;
  tls.options.tls = {tls.File("flag.pem"), tls.File("flag-key.pem"), "", {"kube-scheduler"}};
  TestService test(tls.options);
  REQUIRE(test.service.ReloadPolicy().ok());
  CHECK_FALSE(test.lines.Has("needs a restart"));
  std::ofstream(tls.options.policy_file)
      << kStartPolicyHead
      << "extender:\n  httpTimeout: 5s\n  tls: {certFile: a, keyFile: b, clientCaFile: "
      << tls.File("ca.pem") << "}\n";
  REQUIRE(test.service.ReloadPolicy().ok());
  CHECK(test.lines.Has("was started with it\" field=extender.httpTimeout"));
  CHECK_FALSE(test.lines.Has("field=extender.tls"));
  // Without the client CA the name in the flag would prove nothing.
  std::ofstream(tls.options.policy_file) << kStartPolicyHead;
  CHECK_FALSE(test.service.ReloadPolicy().ok());
  CHECK(test.lines.Has("--tls-client: "));
}

TEST_CASE("a reload without a policy file says that there is none", "[serve][policy]") {
  TestService test;
  CHECK_FALSE(test.service.ReloadPolicy().ok());
  CHECK(test.lines.Has("level=info msg=\"nothing to reload"));
}

}  // namespace muster::extender::testing
