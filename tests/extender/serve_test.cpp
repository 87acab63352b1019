// The whole service over real sockets: many held calls, TLS, policies that change, shutting down.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "extender/embedded/caller_wire.hpp"
#include "extender/verbs/http_verbs.hpp"
#include "service_test_support.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {
namespace {

using muster::testing::MakePod;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

http::ClientOptions ExtenderClient(const TestService& test) {
  http::ClientOptions options;
  options.port = test.service.extender_port();
  return options;
}

// Calls Filter again and again for a pod that fits nowhere, and keeps the time each call took.
class FilterProbe {
 public:
  explicit FilterProbe(const TestService& test)
      : client_(ExtenderClient(test)),
        body_(EncodeArgs({MakePod("probe").Gpus(64).Scheduler("elsewhere"), {"gpu-000"}})) {}

  // False when a call failed.
  bool Call() {
    const auto begin = SteadyClock::now();
    const cluster::Result<http::Reply> reply = client_.Post(kFilterPath, body_);
    took_.push_back(SteadyClock::now() - begin);
    if (!reply.ok() || reply->status != 200) return false;
    const auto filter = DecodeFilterReply(reply->body, NodesForm::kNames);
    return filter.ok() && filter->error.empty() && filter->passed.empty();
  }
  std::size_t calls() const { return took_.size(); }
  double P99Millis() {
    if (took_.empty()) return 0;
    std::sort(took_.begin(), took_.end());
    const auto at = took_[(took_.size() - 1) * 99 / 100];
    return std::chrono::duration<double, std::milli>(at).count();
  }

 private:
  http::Client client_;
  const std::string body_;
  std::vector<SteadyClock::duration> took_;
};

// A gang of two whose pods no embedded kube-scheduler looks at: the test plays it.
class ForeignGang {
 public:
  explicit ForeignGang(TestService& test) : test_(test) {
    std::string yaml = GangYaml("pair", 2, 8);
    const std::string from = "schedulerName: muster";
    for (std::size_t at = yaml.find(from); at != std::string::npos; at = yaml.find(from, at)) {
      yaml.replace(at, from.size(), "schedulerName: foreign");
    }
    test.Submit(yaml);
    const std::string pods = test.Get("/v1/objects/pods").body;
    for (const char* name : {"pair-0", "pair-1"}) {
      uids_.push_back(JsonText(pods.substr(pods.find(name)), "uid"));
    }
  }

  std::string Filter(std::size_t member) {
    const std::string name = "pair-" + std::to_string(member);
    const cluster::Pod pod =
        MakePod(name).Uid(uids_[member]).Gpus(8).InGroup("pair").Scheduler("foreign");
    http::Client client(ExtenderClient(test_));
    std::vector<std::string> nodes;
    for (int i = 0; i < 16; ++i) nodes.push_back((i < 10 ? "node-0" : "node-") + std::to_string(i));
    const auto reply = client.Post(kFilterPath, EncodeArgs({pod, nodes}));
    REQUIRE(reply.ok());
    const auto filter = DecodeFilterReply(reply->body, NodesForm::kNames);
    REQUIRE(filter.ok());
    return filter->passed.empty() ? "" : filter->passed.front();
  }
  // Both members are planned.
  void Plan() {
    // Both are asked about each time: the gang is whole only when Muster has seen both.
    REQUIRE(Eventually([&] {
      const std::string first = Filter(0);
      const std::string second = Filter(1);
      return !first.empty() && !second.empty();
    }));
  }
  std::future<http::Reply> Bind(std::size_t member) {
    const std::string body = EncodeBindRequest({{"default", "pair-" + std::to_string(member)},
                                                cluster::PodUid(uids_[member]),
                                                Filter(member)});
    return std::async(std::launch::async, [options = ExtenderClient(test_), body] {
      const auto reply = http::Client(options).Post(kBindPath, body);
      return reply.ok() ? *reply : http::Reply{};
    });
  }
  bool Held(int calls) {
    return Eventually([&] {
      return test_.Get("/metrics").body.find("muster_held_binds " + std::to_string(calls) + "\n") !=
             std::string::npos;
    });
  }

 private:
  TestService& test_;
  std::vector<std::string> uids_;
};

const std::string kPolicyHead = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";

}  // namespace

// Sanitizers make it many times slower; a quarter of the members still come all at once.
TEST_CASE("1,024 members bind at once over HTTP while Filter goes on answering", "[serve]") {
  const int members = Sanitized() ? 256 : 1024;
  const std::string count = std::to_string(members);
  const TempFolder folder;
  ServiceOptions options;
  options.cluster_file = folder.File("cluster.yaml");
  std::ofstream(options.cluster_file) << NodesYaml("gpu", 128, 8);
  TestService test(options);
  FilterProbe idle(test);
  for (int i = 0; i < 500; ++i) REQUIRE(idle.Call());

  FilterProbe busy(test);
  std::atomic<bool> done = false;
  std::atomic<bool> failed = false;
  std::thread prober([&] {
    while (!done) {
      if (!busy.Call()) failed = true;
    }
  });
  test.Submit(GangYaml("big", members, 1));
  const bool running = test.Reaches("big", "Running");
  done = true;
  prober.join();
  INFO(test.Get("/v1/gangs").body);
  REQUIRE(running);
  CHECK_FALSE(failed);
  CHECK_THAT(test.Get("/v1/gangs").body, Catch::Contains("\"bound\": " + count));
  // The last answers may still be on their way.
  const std::string all =
      "muster_extender_requests_total{result=\"ok\",verb=\"bind\"} " + count + "\n";
  CHECK(Eventually([&] { return test.Get("/metrics").body.find(all) != std::string::npos; }));
  CHECK_THAT(test.Get("/metrics").body, Catch::Contains("muster_held_binds 0\n"));
  WARN("Filter p99 idle " << idle.P99Millis() << " ms, while " << count
                          << " members were scheduled and bound " << busy.P99Millis() << " ms over "
                          << busy.calls() << " calls");
}

TEST_CASE("with mTLS the embedded kube-scheduler gets in by its certificate, others do not",
          "[serve][tls]") {
  const TempFolder folder;
  TestAuthority authority("test authority");
  authority.WriteCertificate(folder.File("ca.pem"));
  authority.Issue({"muster", {}, true}, folder.File("cert.pem"), folder.File("key.pem"));
  authority.Issue({"kube-scheduler", {}, false}, folder.File("ks.pem"), folder.File("ks-key.pem"));
  authority.Issue({"somebody", {}, false}, folder.File("other.pem"), folder.File("other-key.pem"));
  ServiceOptions options;
  options.tls = config::TlsSettings{
      folder.File("cert.pem"), folder.File("key.pem"), folder.File("ca.pem"), {"kube-scheduler"}};
  options.scheduler_ca_file = folder.File("ca.pem");
  {
    const Logger quiet({.sink = [](std::string_view) {}});
    ServiceOptions incomplete = options;
    incomplete.listen = http::HostPort{"127.0.0.1", 0};
    Service service(incomplete, quiet);
    const cluster::Status started = service.Start();
    REQUIRE_FALSE(started.ok());
    CHECK_THAT(started.error().message, Catch::Contains("--scheduler-cert"));
  }
  options.scheduler_cert_file = folder.File("ks.pem");
  options.scheduler_key_file = folder.File("ks-key.pem");
  TestService test(options);
  test.Submit(GangYaml("train", 4, 8));
  CHECK(test.Reaches("train", "Running"));

  http::ClientOptions client = ExtenderClient(test);
  const auto plain = http::Client(client).Get("/healthz");
  CHECK((!plain.ok() || plain->status == 400));
  client.tls = true;
  client.ca_file = folder.File("ca.pem");
  CHECK_FALSE(http::Client(client).Get("/healthz").ok());  // no certificate
  client.cert_file = folder.File("other.pem");
  client.key_file = folder.File("other-key.pem");
  const auto stranger = http::Client(client).Get("/healthz");
  CHECK((!stranger.ok() || stranger->status == 403));
  client.cert_file = folder.File("ks.pem");
  client.key_file = folder.File("ks-key.pem");
  const auto known = http::Client(client).Get("/healthz");
  REQUIRE(known.ok());
  CHECK(known->status == 200);
}

TEST_CASE("a changed policy holds from the next cycle, a bad one changes nothing",
          "[serve][policy]") {
  const TempFolder folder;
  ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file) << kPolicyHead << "namespaces: {deny: [default]}\n";
  TestService test(options);
  test.Submit(GangYaml("train", 2, 8));
  REQUIRE(test.Reaches("train", "Forbidden"));

  std::ofstream(options.policy_file) << kPolicyHead << "namespaces: {deny: default}\n";
  test.service.ReloadPolicyIfChanged();
  CHECK(test.lines.Has("policy not reloaded"));
  CHECK(test.lines.Has("policy.yaml:3:"));
  CHECK(test.StateOf("train") == "Forbidden");
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_policy_reloads_total{result=\"failed\"} 1"));
  test.service.ReloadPolicyIfChanged();  // looked at once per change
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_policy_reloads_total{result=\"failed\"} 1"));

  std::ofstream(options.policy_file) << kPolicyHead << "placement: {strategy: spread}\n";
  REQUIRE(test.service.ReloadPolicy().ok());
  CHECK(test.Reaches("train", "Running"));
  CHECK_THAT(test.Get("/v1/policy").body, Catch::Contains("strategy: spread"));
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_policy_reloads_total{result=\"ok\"} 1"));
}

TEST_CASE("contradictory labels of nodes are in the log once, and counted", "[serve][fabric]") {
  const TempFolder folder;
  ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file)
      << kPolicyHead << "fabric:\n  trees:\n  - name: dc\n    levels:\n"
      << "    - {name: block, labels: [block]}\n    - {name: rack, labels: [rack]}\n";
  TestService test(options);
  for (const std::string block : {"a", "b"}) {
    test.Submit("apiVersion: v1\nkind: Node\nmetadata:\n  name: in-" + block +
                "\n  labels: {block: " + block + ", rack: same}\n" +
                "status:\n  allocatable: {cpu: 8, memory: 8Gi, pods: 20}\n" +
                "  conditions: [{type: Ready, status: \"True\"}]\n");
  }
  REQUIRE(Eventually([&] {
    return test.Get("/v1/topology").body.find("a/same") != std::string::npos &&
           test.Get("/v1/topology").body.find("b/same") != std::string::npos;
  }));
  test.service.FollowFabric();
  CHECK(test.lines.Has("fabric labels are wrong"));
  const std::string page = test.Get("/metrics").body;
  CHECK(page.find("muster_fabric_findings 0\n") == std::string::npos);
  CHECK_THAT(page, Catch::Contains("muster_fabric_findings "));
}

TEST_CASE("what is ignored of a cluster file is logged with its place", "[service]") {
  const TempFolder folder;
  ServiceOptions options;
  options.cluster_file = folder.File("cluster.yaml");
  const std::string items =
      "apiVersion: v1\nkind: List\nitems:\n"
      "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: a\n"
      "    annotations: {muster.dev/gpu-devices: \"{\", muster.dev/gpu-sharing: most}\n"
      "  spec: {taints: [{key: a, effect: Never}]}\n"
      "  status: {allocatable: {nvidia.com/gpu: 8}}\n";
  std::ofstream(options.cluster_file) << items;
  const TestService test(options);
  INFO(test.lines.Text());
  CHECK(test.lines.Has("cluster.yaml:8:43: items[0].metadata.annotations["));
  CHECK(test.lines.Has("Node a: annotation ignored: muster.dev/gpu-devices.byte 1: "));
  CHECK(test.lines.Has("Node a: muster.dev/gpu-sharing ignored: expected fractional or exclusive"));
  CHECK(test.lines.Has("cluster.yaml:9:36: items[0].spec.taints[0].effect: Node a: not known"));
}

TEST_CASE("what is ignored when objects are joined is logged, too", "[service]") {
  const TempFolder folder;
  ServiceOptions options;
  options.cluster_file = folder.File("cluster.yaml");
  std::ofstream(options.cluster_file)
      << "apiVersion: v1\nkind: Node\nmetadata: {name: n0}\n"
         "status: {allocatable: {nvidia.com/gpu: 3}}\n---\n"
         "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: n0-a}\nspec:\n"
         "  driver: gpu.nvidia.com\n  nodeName: n0\n"
         "  pool: {name: n0, generation: 1, resourceSliceCount: 1}\n"
         "  devices:\n  - name: gpu-0\n    attributes:\n      type: {string: gpu}\n"
         "      resource.kubernetes.io/pciBusID: {string: \"0000:17:00.0\"}\n"
         "      resource.kubernetes.io/pcieRoot: {string: \"pci0000:10\"}\n";
  const TestService test(options);
  CHECK(Eventually([&] { return test.lines.Has("msg=\"embedded cluster\" warning="); }));
}

TEST_CASE("a fault that all nodes of a pool share is reported only some times", "[service]") {
  const TempFolder folder;
  ServiceOptions options;
  options.cluster_file = folder.File("cluster.yaml");
  std::ofstream(options.cluster_file)
      << NodesYaml("gpu", 30, 1) << "    metadata: {labels: {muster.dev/gpu-sharing: most}}\n";
  const TestService test(options);
  INFO(test.lines.Text());
  CHECK(test.lines.Count("muster.dev/gpu-sharing ignored") == 20);
  CHECK(test.lines.Has("and 10 more"));
}

TEST_CASE("a service does not start on a policy, cluster or port that is no good", "[serve]") {
  const TempFolder folder;
  const Logger quiet({.sink = [](std::string_view) {}});
  const auto refusal = [&](ServiceOptions options) {
    if (!options.listen) options.listen = http::HostPort{"127.0.0.1", 0};
    options.api = http::HostPort{"127.0.0.1", 0};
    Service service(options, quiet);
    const cluster::Status started = service.Start();
    REQUIRE_FALSE(started.ok());
    return started.error().ToString();
  };
  ServiceOptions options;
  options.policy_file = folder.File("none.yaml");
  CHECK_THAT(refusal(options), Catch::Contains("none.yaml"));
  options = {};
  options.cluster_file = folder.File("cluster.yaml");
  std::ofstream(options.cluster_file) << "apiVersion: v1\nkind: Node\nmetadata: {}\n";
  CHECK_THAT(refusal(options), Catch::Contains("cluster.yaml:"));
  const TestService taken;
  options = {};
  options.listen = http::HostPort{"127.0.0.1", taken.service.extender_port()};
  CHECK_FALSE(refusal(options).empty());
}

TEST_CASE("a replica that waits for the API server says for what, and shows no gangs", "[serve]") {
  const TempFolder folder;
  TestService test(OnCluster(folder, 1));
  const http::Reply ready = test.Get("/readyz");
  CHECK(ready.status == 503);
  CHECK_THAT(ready.body, Catch::Contains("not synced: namespaces, nodes, "));
  CHECK_THAT(test.Get("/metrics").body,
             Catch::Contains("muster_watch_synced{resource=\"nodes\"} 0") &&
                 Catch::Contains("muster_gangs{state=\"Forming\"} 0"));
}

TEST_CASE("shutting down waits for no API server", "[serve][shutdown]") {
  // Connections come about, and nobody accepts them.
  const int mute = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(mute, at, size) == 0);
  REQUIRE(::listen(mute, 64) == 0);
  REQUIRE(::getsockname(mute, at, &size) == 0);
  const TempFolder folder;
  TestService test(OnCluster(folder, ntohs(address.sin_port)));
  CHECK(test.Get("/readyz").status == 503);
  std::this_thread::sleep_for(milliseconds(200));  // lists are under way
  const auto begin = SteadyClock::now();
  test.service.Shutdown();
  CHECK(SteadyClock::now() - begin < std::chrono::seconds(20));  // a list may take 60 s
  ::close(mute);
}

TEST_CASE("shutting down finishes a gang that is at the barrier", "[serve][shutdown]") {
  TestService test;
  ForeignGang gang(test);
  gang.Plan();
  std::future<http::Reply> first = gang.Bind(0);
  REQUIRE(gang.Held(1));
  std::thread stopping([&] { test.service.Shutdown(); });
  REQUIRE(Eventually([&] { return test.Get("/readyz").status == 503; }));
  CHECK(test.Get("/healthz").status == 200);
  std::future<http::Reply> second = gang.Bind(1);
  const http::Reply answer1 = first.get();
  const http::Reply answer2 = second.get();
  stopping.join();
  CHECK(answer1.status == 200);
  CHECK(BindErrorIn(answer1.body).empty());
  CHECK(BindErrorIn(answer2.body).empty());
  CHECK(test.lines.Has("stopped"));
  CHECK_FALSE(http::Client(ExtenderClient(test)).Get("/healthz").ok());
}

TEST_CASE("shutting down refuses what is held for too long", "[serve][shutdown]") {
  ServiceOptions options;
  options.drain_timeout = milliseconds(200);
  TestService test(options);
  ForeignGang gang(test);
  gang.Plan();
  std::future<http::Reply> held = gang.Bind(0);
  REQUIRE(gang.Held(1));
  const auto begin = SteadyClock::now();
  test.service.Shutdown();
  CHECK(SteadyClock::now() - begin < std::chrono::seconds(20));
  const http::Reply answer = held.get();
  CHECK(answer.status == 200);
  CHECK(BindErrorIn(answer.body) == "muster is shutting down");
}

}  // namespace muster::extender::testing
