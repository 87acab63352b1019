#include "kube/watch/reflector.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::Result;

std::string Node(const std::string& name, const std::string& uid, int version) {
  return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name + R"(","uid":")" + uid +
         R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

std::string List(int version, const std::vector<std::string>& items,
                 const std::string& token = "") {
  std::string text = R"({"kind":"NodeList","metadata":{"resourceVersion":")" +
                     std::to_string(version) + R"(","continue":")" + token + R"("},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + items[i];
  return text + "]}";
}

std::string ReflectorEvent(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

// What one watch brings, and how it ends; without an end it stays open until Stop.
struct Script {
  std::string body;
  std::optional<Result<ApiReply>> end;
};

// An API server of nodes, or of another resource: lists come from FakeApi, watches from scripts, in
// order; after the last one a watch stays open and brings nothing.
class Server {
 public:
  Server() {
    api.OnStream([this] { return std::make_unique<Stream>(*this); });
  }

  // What the reflector told, as "+name/uid" and "-uid"; "~uid" is not served any more.
  std::vector<std::string> told() {
    const MutexLock lock(mu_);
    return told_;
  }
  // The queries of watches, in order.
  std::vector<std::string> watches() {
    const MutexLock lock(mu_);
    return watches_;
  }
  void Watch(Script script) {
    const MutexLock lock(mu_);
    scripts_.push_back(std::move(script));
  }
  // Runs a reflector until the last script has been played and a watch waits.
  void Play() {
    Reflector reflector(resource,
                        {.api = api,
                         .apply = [this](const News& news) { Told(std::get<engine::Fact>(news)); },
                         .synced = [this] { ++synced; },
                         .warn = [this](const std::string& line) { warned.push_back(line); }},
                        {.page = 2,
                         .watch_for = std::chrono::seconds(300),
                         .silence = silence,
                         .backoff_first = std::chrono::milliseconds(1),
                         .backoff_max = backoff_max,
                         .unserved_after = unserved_after},
                        1);
    std::thread thread([&] { reflector.Run(); });
    {
      const MutexLock lock(mu_);
      while (!waiting_) changed_.Wait(mu_);
    }
    if (refresh) {
      const uint64_t asked = reflector.Refresh();
      while (!reflector.Fresh(asked)) std::this_thread::yield();
    }
    reflector.Stop();
    thread.join();
    lists = reflector.lists();
  }

  FakeApi api;
  Resource resource = NodeResource();
  std::chrono::seconds silence{90};
  std::chrono::milliseconds backoff_max{2};
  std::chrono::milliseconds unserved_after{60'000};
  std::atomic<int> synced{0};
  int64_t lists = 0;
  bool refresh = false;             // in the end
  std::vector<std::string> warned;  // by the thread of Run: to be read after Play

 private:
  class Stream final : public ApiStream {
   public:
    explicit Stream(Server& server) : server_(server) {}
    Result<ApiReply> Run(const std::string& path, const std::function<bool(std::string_view)>& take,
                         std::chrono::milliseconds /*silence*/) override {
      Script script;
      {
        const MutexLock lock(server_.mu_);
        server_.watches_.push_back(path.substr(path.find("resourceVersion=")));
        if (!server_.scripts_.empty()) {
          script = std::move(server_.scripts_.front());
          server_.scripts_.pop_front();
        }
      }
      const bool go_on = script.body.empty() || take(script.body);
      if (script.end) return *script.end;
      if (!go_on) return ApiReply{.status = 200};
      const MutexLock lock(server_.mu_);
      server_.waiting_ = true;
      server_.changed_.NotifyAll();
      while (!stopped_) server_.changed_.Wait(server_.mu_);
      return ApiReply{.status = 200};
    }
    void Stop() override {
      const MutexLock lock(server_.mu_);
      stopped_ = true;
      server_.changed_.NotifyAll();
    }

   private:
    Server& server_;
    bool stopped_ = false;
  };

  void Told(const engine::Fact& fact) {
    const MutexLock lock(mu_);
    if (const auto* node = std::get_if<cluster::Node>(&fact)) {
      told_.push_back("+" + node->name + "/" + node->uid.text());
    } else if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) {
      told_.push_back("+" + group->key.ToString() + "/" + group->uid.text());
    } else if (const auto* unserved = std::get_if<engine::PodGroupUnserved>(&fact)) {
      told_.push_back("~" + unserved->uid.text());
    } else if (const auto* removed = std::get_if<engine::PodGroupRemoved>(&fact)) {
      told_.push_back("-" + removed->uid.text());
    } else {
      told_.push_back("-" + std::get<engine::NodeRemoved>(fact).uid.text());
    }
  }

  cluster::Mutex mu_;
  cluster::CondVar changed_;
  std::vector<std::string> told_;
  std::vector<std::string> watches_;
  std::deque<Script> scripts_;
  bool waiting_ = false;
};

const ApiReply kEnded{.status = 200};
using Texts = std::vector<std::string>;

TEST_CASE("a list is read page by page and then watched from its version", "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2",
                Reply(200, List(10, {Node("a", "1", 3), Node("b", "2", 4)}, "x/y=")));
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2&continue=x%2Fy%3D",
                Reply(200, List(10, {Node("c", "3", 5)})));
  server.Watch({ReflectorEvent("ADDED", Node("d", "4", 11)) +
                    ReflectorEvent("MODIFIED", Node("a", "1", 12)) +
                    ReflectorEvent("DELETED", Node("b", "2", 13)),
                kEnded});
  server.Play();
  CHECK(server.told() == Texts{"+a/1", "+b/2", "+c/3", "+d/4", "+a/1", "-2"});
  CHECK(server.synced == 1);
  REQUIRE(server.watches().size() == 2);
  CHECK_THAT(server.watches()[0], Catch::StartsWith("resourceVersion=10&"));
  CHECK_THAT(server.watches()[1], Catch::StartsWith("resourceVersion=13&"));
}

TEST_CASE("a watch broken off is resumed where it was, also from a bookmark", "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.Watch({ReflectorEvent("BOOKMARK", Node("", "", 40)), NoConnection()});
  server.Watch({"", Result<ApiReply>(Refusal(500, "not now"))});
  server.Play();
  CHECK(server.told().empty());
  CHECK(server.lists == 1);
  REQUIRE(server.watches().size() == 3);
  CHECK_THAT(server.watches()[1], Catch::StartsWith("resourceVersion=40&"));
  CHECK_THAT(server.watches()[2], Catch::StartsWith("resourceVersion=40&"));
}

TEST_CASE("after 410 the list is read again and what has gone is reported", "[kube][reflector]") {
  const Script by_event{
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
      "\n",
      kEnded};
  const Script by_status{"", Result<ApiReply>(Refusal(410, "too old"))};
  for (const Script& gone : {by_event, by_status}) {
    Server server;
    server.api.Once(Method::kGet, "/api/v1/nodes?limit=2",
                    Reply(200, List(10, {Node("a", "1", 3), Node("b", "2", 4)})));
    server.api.On(Method::kGet, "/api/v1/nodes?limit=2",
                  Reply(200, List(90, {Node("b", "9", 80)})));
    server.Watch(gone);
    server.Play();
    // b was deleted and recreated meanwhile: the old one goes before the new one comes.
    CHECK(server.told() == Texts{"+a/1", "+b/2", "-2", "+b/9", "-1"});
    CHECK(server.lists == 2);
    CHECK_THAT(server.watches().back(), Catch::StartsWith("resourceVersion=90&"));
    CHECK(server.synced == 1);
  }
}

TEST_CASE("an object recreated within one MODIFIED is first removed", "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {Node("a", "1", 3)})));
  server.Watch({ReflectorEvent("MODIFIED", Node("a", "2", 11)) +
                    ReflectorEvent("DELETED", Node("a", "1", 12)),
                kEnded});
  server.Play();
  CHECK(server.told() == Texts{"+a/1", "-1", "+a/2", "-1"});
}

TEST_CASE("a continuation that is too old starts the list again in one piece",
          "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2",
                Reply(200, List(10, {Node("a", "1", 3), Node("b", "2", 4)}, "t")));
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2&continue=t", Refusal(410, "expired"));
  server.api.On(Method::kGet, "/api/v1/nodes?",
                Reply(200, List(20, {Node("b", "2", 4), Node("c", "3", 15)})));
  server.Play();
  CHECK(server.told() == Texts{"+a/1", "+b/2", "+b/2", "+c/3", "-1"});
  CHECK_THAT(server.watches().at(0), Catch::StartsWith("resourceVersion=20&"));
}

TEST_CASE("watches that bring nothing three times over make the list be read again",
          "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  for (int i = 0; i < 3; ++i) server.Watch({"", kEnded});
  server.Play();
  CHECK(server.lists == 2);
}

TEST_CASE("a watch on which nothing came for long makes the list be read again",
          "[kube][reflector]") {
  Server server;
  server.silence = std::chrono::seconds(0);
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.Watch({"", NoConnection()});
  server.Play();
  CHECK(server.lists == 2);
}

TEST_CASE("a list that fails is tried again, and nothing is synced before", "[kube][reflector]") {
  Server server;
  server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", NoConnection());
  server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", Refusal(429, "slowly"));
  server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, "{\"kind\":"));
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {Node("a", "1", 3)})));
  server.Play();
  CHECK(server.told() == Texts{"+a/1"});
  CHECK(server.synced == 1);
  for (const std::string& line : server.api.lines()) {
    CHECK(line.find("resourceVersion=0") == std::string::npos);
  }
}

TEST_CASE("one object that makes no sense does not hide the others", "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2",
                Reply(200, List(10, {R"({"kind":"Node","metadata":{}})", Node("b", "2", 4)})));
  server.Watch({ReflectorEvent("ADDED", R"({"kind":"Node","metadata":{"name":"c"}})") +
                    ReflectorEvent("ADDED", Node("d", "4", 11)),
                kEnded});
  server.Play();
  CHECK(server.told() == Texts{"+b/2", "+d/4"});
}

const char* const kGroups = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=2";
const char* const kGroup =
    R"({"metadata":{"name":"g","namespace":"team","uid":"1","resourceVersion":"3"},)"
    R"("spec":{"minMember":2}})";

TEST_CASE("when a resource itself goes for long, so do all its objects, and they may come back",
          "[kube][reflector]") {
  Server server;
  server.resource = PodGroupResource("scheduling.x-k8s.io/v1alpha1");
  const bool for_long = GENERATE(false, true);
  if (for_long) server.unserved_after = std::chrono::milliseconds(0);
  server.api.Once(Method::kGet, kGroups, Reply(200, List(10, {kGroup})));
  for (int i = 0; i < 5; ++i) {
    server.api.Once(Method::kGet, kGroups, Refusal(404, "no such resource"));
  }
  server.api.On(Method::kGet, kGroups, Reply(200, List(30, {kGroup})));
  server.Watch({"", Result<ApiReply>(Refusal(404, "no such resource"))});
  server.Play();
  // For a moment it may be that an API server does not know it yet.
  CHECK(server.told() ==
        (for_long ? Texts{"+team/g/1", "~1", "+team/g/1"} : Texts{"+team/g/1", "+team/g/1"}));
}

TEST_CASE("an API server that says 404 is not asked again over the same connection",
          "[kube][reflector]") {
  Server server;
  server.resource = PodGroupResource("scheduling.x-k8s.io/v1alpha1");
  server.api.Once(Method::kGet, kGroups, Refusal(404, "no such resource"));
  server.api.Once(Method::kGet, kGroups, Refusal(404, "no such resource"));
  server.api.On(Method::kGet, kGroups, Reply(200, List(10, {kGroup})));
  server.Play();
  std::vector<bool> fresh;
  for (const ApiRequest& request : server.api.requests()) fresh.push_back(request.fresh);
  CHECK(fresh == std::vector<bool>{false, true, true});
}

TEST_CASE("what every API server serves is not forgotten for answers 404", "[kube][reflector]") {
  Server server;
  server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {Node("a", "1", 3)})));
  for (int i = 0; i < 5; ++i) {
    server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", Refusal(404, "no backend"));
  }
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(30, {Node("a", "1", 3)})));
  server.Watch({"", Result<ApiReply>(Refusal(404, "no backend"))});
  server.Play();
  CHECK(server.told() == Texts{"+a/1", "+a/1"});
  CHECK(server.lists == 2);
}

TEST_CASE("what every API server serves is not synced by answers 404", "[kube][reflector]") {
  Server server;
  int synced_before = -1;
  for (int i = 0; i < 5; ++i) {
    server.api.Once(Method::kGet, "/api/v1/nodes?limit=2", Refusal(404, "no backend"));
  }
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", [&](const ApiRequest&) {
    synced_before = server.synced;
    return Reply(200, List(30, {Node("a", "1", 3)}));
  });
  server.Play();
  CHECK(synced_before == 0);
  CHECK(server.synced == 1);
}

TEST_CASE("a resource that was never served holds nobody up", "[kube][reflector]") {
  Server server;
  server.resource = PodGroupResource("scheduling.x-k8s.io/v1alpha1");
  server.unserved_after = std::chrono::milliseconds(0);
  for (int i = 0; i < 3; ++i) {
    server.api.Once(Method::kGet, kGroups, Refusal(404, "no such resource"));
  }
  server.api.On(Method::kGet, kGroups, Reply(200, List(30, {})));
  server.Play();
  CHECK(server.synced == 1);
}

TEST_CASE("a PodGroup that is missing from a list may come back", "[kube][reflector]") {
  Server server;
  server.resource = PodGroupResource("scheduling.x-k8s.io/v1alpha1");
  server.api.Once(Method::kGet, kGroups, Reply(200, List(10, {kGroup})));
  server.api.On(Method::kGet, kGroups, Reply(200, List(90, {})));
  server.Watch({"", Result<ApiReply>(Refusal(410, "too old"))});
  server.Play();
  CHECK(server.told() == Texts{"+team/g/1", "~1"});
}

// An answer that refuses a watch, or an event that does.
Script Refuse(int status, bool within) {
  if (!within) return {"", Result<ApiReply>(Refusal(status, "no"))};
  return {R"({"type":"ERROR","object":{"kind":"Status","code":)" + std::to_string(status) +
              R"(,"message":"no"}})"
              "\n",
          kEnded};
}

TEST_CASE("a watch that is refused is resumed where it was, and the list is not read again",
          "[kube][reflector]") {
  const int status = GENERATE(401, 403, 429, 500, 503);
  const bool within = GENERATE(false, true);
  CAPTURE(status, within);
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  for (int i = 0; i < 20; ++i) server.Watch(Refuse(status, within));
  server.Play();
  CHECK(server.lists == 1);
  REQUIRE(server.watches().size() == 21);
  CHECK_THAT(server.watches().back(), Catch::StartsWith("resourceVersion=10&"));
}

TEST_CASE("a watch of which the version is no good makes the list be read again",
          "[kube][reflector]") {
  const int status = GENERATE(400, 404, 410);
  const bool within = GENERATE(false, true);
  CAPTURE(status, within);
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.Watch(Refuse(status, within));
  server.Play();
  CHECK(server.lists == 2);
}

// As where its connection breaks off; the picture would be as old as the refusals for ever.
TEST_CASE("a watch that was refused for as long as it may be silent makes the list be read again",
          "[kube][reflector]") {
  Server server;
  server.silence = std::chrono::seconds(0);
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.Watch(Refuse(403, GENERATE(false, true)));
  server.Play();
  CHECK(server.lists == 2);
}

TEST_CASE("lists that no watch follows come more and more slowly", "[kube][reflector]") {
  const Script useless =
      GENERATE(Refuse(410, false), Refuse(410, true), Script{"this is no event\n", kEnded});
  Server server;
  server.backoff_max = std::chrono::milliseconds(20);
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  for (int i = 0; i < 40; ++i) server.Watch(useless);
  const auto began = std::chrono::steady_clock::now();
  server.Play();
  CHECK(server.lists == 41);
  // On average half of the longest wait.
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(150));
}

TEST_CASE("what is ignored of a node is said once, and again when it changes",
          "[kube][reflector]") {
  const auto shared = [](const std::string& word, int version) {
    std::string node = Node("a", "1", version);
    node.insert(node.size() - 2, R"(,"annotations":{"muster.dev/gpu-sharing":")" + word + R"("})");
    node.insert(node.size() - 1, R"(,"status":{"allocatable":{"nvidia.com/gpu":"8"}})");
    return ReflectorEvent("MODIFIED", node);
  };
  const std::string wrong =
      "nodes: a: muster.dev/gpu-sharing ignored: expected fractional or exclusive";
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.Watch({shared("fractionl", 11) + shared("fractionl", 12), kEnded});
  SECTION("the same") {
    server.Play();
    CHECK(server.warned == Texts{wrong});
  }
  SECTION("fixed, and wrong again") {
    server.Watch({shared("fractional", 13) + shared("fractionl", 14), kEnded});
    server.Play();
    CHECK(server.warned == Texts{wrong, wrong});
  }
  SECTION("deleted, and recreated") {
    server.Watch({ReflectorEvent("DELETED", Node("a", "1", 13)) + shared("fractionl", 14), kEnded});
    server.Play();
    CHECK(server.warned == Texts{wrong, wrong});
  }
}

TEST_CASE("a refresh lists again although the watch is open", "[kube][reflector]") {
  Server server;
  server.api.On(Method::kGet, "/api/v1/nodes?limit=2", Reply(200, List(10, {})));
  server.refresh = true;
  server.Play();
  CHECK(server.lists == 2);
}

}  // namespace
}  // namespace muster::kube
