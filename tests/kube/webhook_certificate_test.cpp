// The webhook's certificate in a Secret and its authorities in the webhook configuration: made,
// served by all, replaced in time, by an API server that the test plays.
#include "kube/admission/webhook_certificate.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "http/messages/base64.hpp"
#include "http/tls/serving_certificate.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::Seconds;
using cluster::Time;
using http::CertificatePair;

constexpr const char* kSecretPath = "/api/v1/namespaces/muster-system/secrets/muster-webhook";
constexpr const char* kHooksPath =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/muster-schedule";
constexpr Duration kDay = Seconds(86'400);

// Both objects, as an API server keeps them: a write that names an old version is refused.
class PlayedObjects {
 public:
  PlayedObjects() {
    api.On(Method::kGet, kSecretPath,
           FakeApi::Handler([this](const ApiRequest&) { return Reply(200, Secret()); }));
    api.On(Method::kGet, kHooksPath,
           FakeApi::Handler([this](const ApiRequest&) { return Reply(200, Hooks()); }));
    api.On(Method::kPatch, kSecretPath,
           FakeApi::Handler([this](const ApiRequest& request) { return PatchSecret(request); }));
    api.On(Method::kPatch, kHooksPath,
           FakeApi::Handler([this](const ApiRequest& request) { return PatchHooks(request); }));
  }

  std::string Data(const std::string& key) const {
    const auto found = data.find(key);
    return found == data.end() ? "" : *http::DecodeBase64(found->second);
  }
  std::string Bundle(const std::string& webhook) const {
    return *http::DecodeBase64(bundles.at(webhook));
  }

  FakeApi api;
  std::map<std::string, std::string> data;  // base64
  std::map<std::string, std::string> bundles = {{"all.schedule.muster.dev", ""},
                                                {"gpu.schedule.muster.dev", ""}};
  std::string client = R"("service":{"namespace":"muster-system","name":"muster-webhook"})";
  int secret_writes = 0;  // also its version
  int hook_writes = 0;    // likewise

 private:
  static std::string Version(int writes) {
    return R"("metadata":{"resourceVersion":")" + std::to_string(writes) + R"("})";
  }
  std::string Secret() const {
    std::string text = "{" + Version(secret_writes) + R"(,"data":{)";
    for (const auto& [key, value] : data)
      text += (text.back() == '{' ? "\"" : ",\"") + key + "\":\"" + value + "\"";
    return text + "}}";
  }
  std::string Hooks() const {
    std::string text = "{" + Version(hook_writes) + R"(,"webhooks":[)";
    for (const auto& [name, bundle] : bundles) {
      text += (text.back() == '[' ? "" : ",") + std::string(R"({"name":")") + name +
              R"(","clientConfig":{)" + client + R"(,"caBundle":")" + bundle + "\"}}";
    }
    return text + "]}";
  }
  static bool Names(const JsonView& patch, int writes) {
    const JsonView metadata = patch.Get("metadata");
    return metadata.Get("resourceVersion").Text() == std::to_string(writes);
  }
  FakeApi::Answer PatchSecret(const ApiRequest& request) {
    REQUIRE(request.content_type == "application/merge-patch+json");
    const auto json = Json::Parse(request.body, request.body.size(), "patch");
    REQUIRE(json.ok());
    JsonProblems problems;
    const JsonView patch(json->root(), "patch", problems);
    if (!Names(patch, secret_writes)) return Refusal(409, "changed");
    const JsonView fields = patch.Get("data");
    fields.Members([&](std::string_view key, const JsonView& value) {
      if (value.present()) data[std::string(key)] = value.Text();
      if (!value.present()) data.erase(std::string(key));
    });
    ++secret_writes;
    return Reply(200);
  }
  FakeApi::Answer PatchHooks(const ApiRequest& request) {
    REQUIRE(request.content_type == "application/strategic-merge-patch+json");
    const auto json = Json::Parse(request.body, request.body.size(), "patch");
    REQUIRE(json.ok());
    JsonProblems problems;
    const JsonView patch(json->root(), "patch", problems);
    if (!Names(patch, hook_writes)) return Refusal(409, "changed");
    const JsonView webhooks = patch.Get("webhooks");
    webhooks.Items([&](const JsonView& webhook) {
      const JsonView to = webhook.Get("clientConfig");
      bundles.at(std::string(webhook.Get("name").Text())) = to.Get("caBundle").Text();
    });
    ++hook_writes;
    return Reply(200);
  }
};

struct WebhookCertificateReplica {
  explicit WebhookCertificateReplica(PlayedObjects& objects, bool leads = true)
      : leading(leads),
        certificate(
            {.api = objects.api,
             .may_write = [this] { return leading; },
             .present = [this](const CertificatePair& pair) { served = pair; },
             .warn = [this](const std::string& what) { warnings.push_back(what); },
             .note = [this](const std::string& what) { notes.push_back(what); }},
            {.secret = {"muster-system", "muster-webhook"}, .configuration = "muster-schedule"}) {}
  Time Step() { return certificate.Step(now); }
  void Pass(Duration time) { now = {now.steady + time, now.wall + time}; }

  bool leading;
  Clocks now{Time(1'000), Time(1'800'000'000'000)};
  CertificatePair served;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  WebhookCertificate certificate;
};

TEST_CASE("the leader makes the certificate, tells the API server, and all serve it",
          "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica follower(objects, false);
  follower.Step();
  CHECK(follower.served == CertificatePair());
  REQUIRE(follower.warnings.size() == 1);
  CHECK_THAT(follower.warnings[0], Catch::Contains("the leader makes it"));
  CHECK(objects.secret_writes + objects.hook_writes == 0);

  WebhookCertificateReplica leader(objects);
  CHECK(leader.Step() == leader.now.steady + Seconds(30));
  CHECK(leader.warnings.empty());
  CHECK(http::Usable(leader.served));
  CHECK(objects.Data("tls.crt") == leader.served.certificate);
  CHECK(objects.Data("tls.key") == leader.served.key);
  CHECK_FALSE(objects.data.contains("next.crt"));
  CHECK(objects.Bundle("gpu.schedule.muster.dev") == objects.Data("ca.crt"));
  CHECK(objects.Bundle("all.schedule.muster.dev") == objects.Data("ca.crt"));
  const auto term = http::ReadCertificateTerm(leader.served.certificate);
  REQUIRE(term.ok());
  CHECK(term->hosts == std::vector<std::string>{"muster-webhook.muster-system.svc"});
  follower.Step();
  CHECK(follower.served == leader.served);

  leader.Pass(kDay);
  leader.Step();
  CHECK(objects.secret_writes == 1);
  CHECK(objects.hook_writes == 1);
}

TEST_CASE("a certificate is replaced at two thirds of its life, when both authorities are trusted",
          "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  leader.Step();
  const CertificatePair old_one = leader.served;
  const std::string old_authority = objects.Data("ca.crt");
  leader.Pass(Seconds(243 * 86'400));
  leader.Step();
  CHECK(objects.secret_writes == 1);

  leader.Pass(kDay);
  leader.Step();
  CHECK(leader.served == old_one);
  const auto authorities = http::SplitCertificates(objects.Data("ca.crt"));
  REQUIRE(authorities.size() == 2);
  CHECK(authorities[0] == old_authority);
  CHECK(objects.Bundle("gpu.schedule.muster.dev") == objects.Data("ca.crt"));
  const std::string next = objects.Data("next.crt");
  CHECK_FALSE(next.empty());

  leader.Pass(Seconds(150));  // API servers may still have the old caBundle
  leader.Step();
  CHECK(leader.served == old_one);
  leader.Pass(Seconds(40));
  leader.Step();
  CHECK(leader.served.certificate == next);
  CHECK(objects.Data("tls.crt") == next);
  CHECK_FALSE(objects.data.contains("next.crt"));
  CHECK(http::SplitCertificates(objects.Data("ca.crt")).size() == 2);

  leader.Pass(Seconds(130 * 86'400));  // the old authority has ended
  leader.Step();
  CHECK(objects.Data("ca.crt") == authorities[1]);
  CHECK(objects.Bundle("all.schedule.muster.dev") == authorities[1]);
}

TEST_CASE("a new leader goes on with a replacement, and waits for itself", "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  leader.Step();
  leader.Pass(Seconds(250 * 86'400));
  leader.Step();
  const std::string next = objects.Data("next.crt");
  WebhookCertificateReplica second(objects);
  second.now = leader.now;
  second.Step();
  CHECK(objects.Data("next.crt") == next);
  second.Pass(Seconds(170));
  second.Step();
  CHECK(second.served == leader.served);
  second.Pass(Seconds(20));
  second.Step();
  CHECK(second.served.certificate == next);
}

TEST_CASE("a caBundle that is lost is written again, and a replacement waits for it",
          "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  leader.Step();
  leader.Pass(Seconds(250 * 86'400));
  leader.Step();
  leader.Pass(Seconds(170));
  objects.bundles.at("gpu.schedule.muster.dev") = "";
  leader.Step();
  CHECK(objects.Bundle("gpu.schedule.muster.dev") == objects.Data("ca.crt"));
  const CertificatePair before = leader.served;
  leader.Pass(Seconds(60));
  leader.Step();
  CHECK(leader.served == before);
  leader.Pass(Seconds(180));
  leader.Step();
  CHECK_FALSE(leader.served == before);
}

TEST_CASE("what the Secret holds is made anew where it cannot be used", "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  leader.Step();
  const CertificatePair first = leader.served;
  SECTION("its key is another one's") { objects.data["tls.key"] = http::EncodeBase64("junk"); }
  SECTION("its authorities are gone") { objects.data.erase("ca.crt"); }
  SECTION("the webhook has another address") {
    objects.client = R"("url":"https://10.0.0.7:8890/admit/gpu")";
  }
  SECTION("it has ended, because nobody led for long") { leader.Pass(Seconds(400 * 86'400)); }
  leader.Step();
  CHECK_FALSE(leader.served == first);
  CHECK(http::Usable(leader.served));
  CHECK(objects.Bundle("gpu.schedule.muster.dev") == objects.Data("ca.crt"));
  const int writes = objects.secret_writes;
  leader.Step();
  CHECK(objects.secret_writes == writes);
}

TEST_CASE("authorities are bounded however often the hosts change", "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  for (int i = 0; i < 9; ++i) {
    objects.client = R"("url":"https://10.0.0.)" + std::to_string(i) + R"(:8890/admit/gpu")";
    leader.Step();
  }
  CHECK(http::SplitCertificates(objects.Data("ca.crt")).size() == 4);
}

TEST_CASE("what goes wrong is reported once, and the certificate stays in use", "[kube][webhook]") {
  PlayedObjects objects;
  WebhookCertificateReplica leader(objects);
  leader.Step();
  const CertificatePair before = leader.served;
  SECTION("nobody may read the Secret") {
    objects.api.On(Method::kGet, kSecretPath, Refusal(403, "no"));
    leader.Step();
    leader.Step();
    REQUIRE(leader.warnings.size() == 1);
    CHECK_THAT(leader.warnings[0], Catch::Contains("Secret muster-system/muster-webhook") &&
                                       Catch::Contains("muster-webhook of the manifests"));
  }
  SECTION("there is no configuration") {
    objects.api.On(Method::kGet, kHooksPath, Refusal(404, "no"));
    CHECK(leader.Step() == leader.now.steady + Seconds(3));
    leader.Step();
    REQUIRE(leader.warnings.size() == 1);
    CHECK_THAT(leader.warnings[0], Catch::Contains("apply manifests/admission/webhook"));
  }
  SECTION("another leader writes at the same time") {
    leader.Pass(Seconds(250 * 86'400));
    objects.api.Once(Method::kPatch, kSecretPath, Refusal(409, "changed"));
    leader.Step();
    CHECK(leader.warnings.size() == 1);
    CHECK_FALSE(objects.data.contains("next.crt"));
    leader.Step();
    CHECK(objects.data.contains("next.crt"));
  }
  CHECK(leader.served == before);
}

}  // namespace
}  // namespace muster::kube
