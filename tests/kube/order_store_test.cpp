// The ConfigMap of operators' orders: what is read, what is written, and what is never overwritten.
#include "kube/lead/order_store.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using engine::StandingOrders;

constexpr const char* kObject = "/api/v1/namespaces/muster-system/configmaps/muster-orders";
constexpr const char* kObjects = "/api/v1/namespaces/muster-system/configmaps";

StandingOrders Some() {
  StandingOrders orders;
  orders.queues["research"] = {queues::QueueState::kHold, "ann", cluster::Time(5'000), "bob \"x\""};
  orders.gangs[{"team", "train"}] = {"uid-1", -7, "ann"};
  orders.gangs[{"team", "one"}] = {"uid-2", 7, "ann", "job-uid"};
  return orders;
}

struct OrderStorePlay {
  FakeApi api;
  bool leads = true;
  OrderStore store{{.api = api, .may_write = [this] { return leads; }},
                   {"muster-system", "muster-orders"}};
};

TEST_CASE("what is kept of orders is read back", "[kube][orders]") {
  const StandingOrders orders = Some();
  const auto read = DecodeOrders(EncodeOrders(orders));
  REQUIRE(read.ok());
  CHECK(*read == orders);
  CHECK(*DecodeOrders("{}") == StandingOrders{});
  for (const char* bad :
       {"", "[]", R"({"queues": {"a": {"state": "off"}}})", R"({"gangs": {"a": {"priority": 1}}})",
        R"({"gangs": {"a/b": {"priority": 99999999999}}})"}) {
    INFO(bad);
    CHECK_FALSE(DecodeOrders(bad).ok());
  }
}

TEST_CASE("the first order makes the ConfigMap, the next one replaces what was read",
          "[kube][orders]") {
  OrderStorePlay play;
  REQUIRE(play.store.Read().ok());
  play.api.On(Method::kPost, kObjects,
              Reply(201, R"({"metadata": {"resourceVersion": "7"}, "data": {}})"));
  REQUIRE(play.store.Write(Some()).ok());
  play.api.On(Method::kPut, kObject,
              Reply(200, R"({"metadata": {"resourceVersion": "8"}, "data": {}})"));
  REQUIRE(play.store.Write({}).ok());
  const std::string body = play.api.requests().back().body;
  CHECK_THAT(body, Catch::Contains(R"("resourceVersion":"7")"));
  CHECK_THAT(body, Catch::Contains("orders.json"));
}

TEST_CASE("orders that cannot be read are not overwritten", "[kube][orders]") {
  OrderStorePlay play;
  SECTION("no right") {
    play.api.On(Method::kGet, kObject, Refusal(403, "configmaps is forbidden"));
    const auto read = play.store.Read();
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(read.error().message, Catch::Contains("Role muster-orders"));
  }
  SECTION("malformed") {
    play.api.On(
        Method::kGet, kObject,
        Reply(200, R"({"metadata": {"resourceVersion": "7"}, "data": {"orders.json": "x"}})"));
    CHECK_FALSE(play.store.Read().ok());
  }
  SECTION("nobody answers") {
    play.api.On(Method::kGet, kObject, NoConnection());
    CHECK_FALSE(play.store.Read().ok());
  }
  play.api.ForgetRequests();
  CHECK_FALSE(play.store.Write(Some()).ok());
  CHECK(play.api.lines() == std::vector<std::string>{std::string("GET ") + kObject});
}

TEST_CASE("a ConfigMap that somebody else changed is written all the same, once",
          "[kube][orders]") {
  OrderStorePlay play;
  REQUIRE(play.store.Read().ok());
  play.api.Once(Method::kPost, kObjects, Refusal(409, "already exists"));
  play.api.On(Method::kGet, kObject, Reply(200, R"({"metadata": {"resourceVersion": "9"}})"));
  play.api.On(Method::kPut, kObject, Reply(200, R"({"metadata": {"resourceVersion": "10"}})"));
  REQUIRE(play.store.Write(Some()).ok());
  CHECK_THAT(play.api.requests().back().body, Catch::Contains(R"("resourceVersion":"9")"));
  play.api.On(Method::kPut, kObject, Refusal(409, "the object has been modified"));
  CHECK_FALSE(play.store.Write(Some()).ok());
}

TEST_CASE("who does not lead writes no orders", "[kube][orders]") {
  OrderStorePlay play;
  REQUIRE(play.store.Read().ok());
  play.leads = false;
  play.api.On(Method::kPost, kObjects, FakeApi::Handler([](const ApiRequest& request) {
                return request.permit() ? FakeApi::Answer(Reply(201))
                                        : FakeApi::Answer(cluster::Error{cluster::Code::kForbidden,
                                                                         "not leading", ""});
              }));
  CHECK_FALSE(play.store.Write(Some()).ok());
}

}  // namespace
}  // namespace muster::kube
