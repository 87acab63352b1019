// Who has a token and what they may do, asked of the API server, and remembered for a while.
#include "kube/admission/access_review.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "http/messages/base64.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Code;
using cluster::Seconds;

constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kRights = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kAnn =
    R"({"status": {"authenticated": true, "user": {"username": "ann", "uid": "u1",
        "groups": ["ops", "system:authenticated"], "extra": {"scopes": ["a"]}}}})";

struct Play {
  FakeApi api;
  cluster::Time now{1'000};
  cluster::Time wall{1'000'000'000};
  AccessReviewer reviewer{{.api = api, .now = [this] { return Clocks{now, wall}; }}, {}};
  AccessAttributes hold{"", "update", "muster.dev", "queues", "state", "research"};
};

TEST_CASE("a token is somebody's, and RBAC says what they may", "[kube][access]") {
  Play play;
  play.api.On(Method::kPost, kTokens, Reply(201, kAnn));
  play.api.On(Method::kPost, kRights, Reply(201, R"({"status": {"allowed": true}})"));
  const auto user = play.reviewer.WhoHas("secret");
  REQUIRE(user.ok());
  CHECK(user->name == "ann");
  CHECK(user->groups == std::vector<std::string>{"ops", "system:authenticated"});
  REQUIRE(play.reviewer.May(*user, play.hold).ok());
  CHECK(play.api.requests().back().body ==
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
        R"("user":"ann","uid":"u1","groups":["ops","system:authenticated"],)"
        R"("extra":{"scopes":["a"]},"resourceAttributes":{"verb":"update","group":"muster.dev",)"
        R"("resource":"queues","subresource":"state","name":"research"}}})");
}

TEST_CASE("answers are remembered for a short while, refusals too", "[kube][access]") {
  Play play;
  play.api.On(Method::kPost, kTokens, Reply(201, kAnn));
  play.api.On(Method::kPost, kRights, Reply(201, R"({"status": {"allowed": false}})"));
  for (int i = 0; i < 3; ++i) {
    const auto may = play.reviewer.May(*play.reviewer.WhoHas("secret"), play.hold);
    REQUIRE_FALSE(may.ok());
    CHECK(may.error().code == Code::kForbidden);
    CHECK_THAT(may.error().message,
               Catch::Contains("ann may not update queues/state.muster.dev \"research\""));
  }
  CHECK(play.api.requests().size() == 2);
  play.now = play.now + Seconds(11);
  CHECK_FALSE(play.reviewer.May(*play.reviewer.WhoHas("secret"), play.hold).ok());
  CHECK(play.api.requests().size() == 4);
  CHECK_FALSE(play.reviewer
                  .May(*play.reviewer.WhoHas("secret"),
                       {"team", "update", "muster.dev", "gangs", "cancel", "train"})
                  .ok());
  CHECK(play.api.requests().size() == 5);
}

TEST_CASE("without an answer of the API server nothing is allowed, and nothing remembered",
          "[kube][access]") {
  Play play;
  SECTION("nobody answers") { play.api.On(Method::kPost, kTokens, NoConnection()); }
  SECTION("Muster has no right to ask") {
    play.api.On(Method::kPost, kTokens, Refusal(403, "tokenreviews is forbidden"));
  }
  SECTION("it fails") { play.api.On(Method::kPost, kTokens, Refusal(500, "etcd")); }
  const auto user = play.reviewer.WhoHas("secret");
  REQUIRE_FALSE(user.ok());
  CHECK(user.error().code == Code::kUnavailable);
  CHECK_THAT(user.error().ToString(), !Catch::Contains("secret"));
  play.api.On(Method::kPost, kTokens, Reply(201, kAnn));
  CHECK(play.reviewer.WhoHas("secret").ok());
}

TEST_CASE("a token that nobody has is refused", "[kube][access]") {
  Play play;
  for (const char* status : {R"({"status": {}})", R"({"status": {"authenticated": false}})",
                             R"({"status": {"authenticated": true}})"}) {
    play.now = play.now + Seconds(60);
    play.api.On(Method::kPost, kTokens, Reply(201, status));
    const auto user = play.reviewer.WhoHas("secret");
    REQUIRE_FALSE(user.ok());
    CHECK(user.error().code == Code::kForbidden);
  }
}

TEST_CASE("a token for Muster is one for nobody else", "[kube][access]") {
  Play play;
  const auto answered = [&](const std::string& audiences) {
    play.now = play.now + Seconds(60);
    play.api.On(Method::kPost, kTokens,
                Reply(201, R"({"status": {"authenticated": true, "audiences": )" + audiences +
                               R"(, "user": {"username": "ann"}}})"));
    return play.reviewer.WhoHas("secret", kMusterAudience);
  };
  CHECK(answered(R"(["muster.dev"])").ok());
  CHECK(play.api.requests().back().body ==
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{)"
        R"("token":"secret","audiences":["muster.dev"]}})");
  // An API server without audiences has not looked whom it is for.
  for (const char* audiences : {"[]", "null", R"(["https://kubernetes.default.svc"])"}) {
    const auto user = answered(audiences);
    REQUIRE_FALSE(user.ok());
    CHECK(user.error().code == Code::kForbidden);
    CHECK_THAT(user.error().message, Catch::Contains("--audience muster.dev"));
  }
  // What is known of one audience says nothing of another.
  play.api.On(Method::kPost, kTokens, Reply(201, kAnn));
  CHECK(play.reviewer.WhoHas("secret").ok());
}

TEST_CASE("a JSON Web Token says whom it is for", "[kube][access]") {
  CHECK(
      IsMeantFor("e30.eyJhdWQiOlsibXVzdGVyLmRldiJdfQ.s", "muster.dev"));  // {"aud":["muster.dev"]}
  CHECK(IsMeantFor("e30.eyJhdWQiOiJtdXN0ZXIuZGV2In0.s", "muster.dev"));   // {"aud":"muster.dev"}
  CHECK_FALSE(IsMeantFor("e30.eyJhdWQiOlsiaHR0cHM6Ly9rIl19.s", "muster.dev"));  // ["https://k"]
  CHECK_FALSE(IsMeantFor("e30.e30.s", "muster.dev"));
  for (const char* other : {"", "mine", "a.b", "a.%.c", "e30.bnVsbA.s"})
    CHECK_FALSE(IsMeantFor(other, "muster.dev"));
}

// A JSON Web Token that says this.
std::string Says(const std::string& claims) {
  std::string text = http::EncodeBase64(claims);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return "e30." + text + ".s";
}

TEST_CASE("a token that no API server would take is refused without asking", "[kube][access]") {
  Play play;  // the time is a million seconds
  play.api.On(Method::kPost, kTokens, Reply(201, R"({"status": {"authenticated": false}})"));
  const auto asked = [&](const std::string& token, const std::string& audience) {
    play.api.ForgetRequests();
    const auto user = play.reviewer.WhoHas(token, audience);
    REQUIRE_FALSE(user.ok());
    CHECK(user.error().code == Code::kForbidden);
    CHECK_THAT(user.error().message, Catch::Contains("kubectl create token"));
    return !play.api.requests().empty();
  };
  for (const char* audience : {"", kMusterAudience}) {
    CAPTURE(audience);
    CHECK_FALSE(asked(Says(R"({"aud": "muster.dev", "exp": 999699})"), audience));
    CHECK_FALSE(asked(Says(R"({"aud": ["muster.dev"], "exp": 999699.25})"), audience));
    // Clocks may differ by five minutes; a date in another form, and what is no such token, may
    // mean something to somebody else.
    CHECK(asked(Says(R"({"aud": "muster.dev", "exp": 999701})"), audience));
    CHECK(asked(Says(R"({"aud": "muster.dev", "exp": 9e5})"), audience));
    CHECK(asked(Says(R"({"aud": "muster.dev", "exp": "soon"})"), audience));
    CHECK(asked(Says(R"({"sub": "ann"})"), audience));
    CHECK(asked("random", audience));
    CHECK(asked("a.b.c", audience));
    CHECK(asked("e30.eyJleHAiOjF9.s.more", audience));
  }
  CHECK_FALSE(asked(Says(R"({"aud": "https://kubernetes.default.svc"})"), kMusterAudience));
  CHECK_FALSE(asked(Says(R"({"aud": ["a", "b"], "exp": 2000000})"), kMusterAudience));
  // Whom an API server without that takes tokens for is not known here.
  CHECK(asked(Says(R"({"aud": "https://kubernetes.default.svc"})"), ""));
}

TEST_CASE("reviews have a lane of their own, for strangers make them", "[kube][access]") {
  Play play;
  play.api.On(Method::kPost, kTokens, Reply(201, kAnn));
  play.api.On(Method::kPost, kRights, Reply(201, R"({"status": {"allowed": true}})"));
  REQUIRE(play.reviewer.May(*play.reviewer.WhoHas("t"), play.hold).ok());
  REQUIRE(play.api.requests().size() == 2);
  for (const ApiRequest& request : play.api.requests()) CHECK(request.lane == Lane::kReview);
}

TEST_CASE("a right that is denied beats one that is given", "[kube][access]") {
  Play play;
  play.api.On(Method::kPost, kRights,
              Reply(201, R"({"status": {"allowed": true, "denied": true}})"));
  CHECK_FALSE(
      play.reviewer.May({.name = "ann", .uid = "", .groups = {}, .extra = {}}, play.hold).ok());
}

}  // namespace
}  // namespace muster::kube
