// What `muster whatif --policy` prints of two answers of the engine.
#include "cli/tables/whatif_text.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/trial/what_if.hpp"
#include "extender/pages/what_if_json.hpp"
#include "tests/support/builders.hpp"

namespace muster::cli::testing {
namespace {

using cluster::Time;
using muster::testing::MakeNode;
using muster::testing::MakePod;

constexpr int64_t kMilli = 1000;

engine::Options WithLimits(const std::vector<std::pair<std::string, int64_t>>& limits) {
  engine::Options options;
  for (const auto& [name, gpus] : limits) {
    queues::QueueSpec queue{.name = name, .parent = ""};
    queue.limit.Set({queues::Resource::Kind::kGpu}, queues::Limit(gpus * kMilli));
    options.queues.push_back(std::move(queue));
  }
  return options;
}

// Of a node of 8 GPUs and three single pods of 4, two of them in queue dev.
engine::WhatIf Question(engine::Options options) {
  engine::WhatIf what;
  what.known.emplace_back(MakeNode("n0").Gpus(8).Build());
  int64_t created = 1;
  for (const auto& [name, queue] : {std::pair("a", "dev"), std::pair("b", "dev"), {"c", "ops"}}) {
    cluster::Pod pod = MakePod(name).Gpus(4).CreatedAt(created++).Gated().Build();
    pod.asked_queue = queue;
    what.known.emplace_back(std::move(pod));
  }
  what.options = std::move(options);
  what.now = Time(1'000);
  return what;
}

TEST_CASE("whatif --policy shows what is so now and what would be then, changes first", "[cli]") {
  const engine::WhatIfAnswer now = engine::TryOut(Question(WithLimits({{"dev", 8}, {"ops", 0}})));
  const engine::WhatIfAnswer then = engine::TryOut(Question(WithLimits({{"dev", 4}, {"ops", 4}})));
  const auto text = WhatIfText(extender::WhatIfJson(then, &now, {}));
  REQUIRE(text.ok());
  CHECK_THAT(*text,
             Catch::StartsWith(
                 "2 of those that wait would start, 0 pods would be evicted, 1 other gang would "
                 "wait\n2 gangs and 2 queues would be as they are not under the policy in force; "
                 "these come first\n"));
  CHECK_THAT(*text,
             Catch::Contains(
                 "QUEUE  RESOURCE   GUARANTEE   LIMIT             SHARE              USED  "
                 "GANGS WAIT\n"
                 "dev    cpu                0       -                 2            2 -> 1      "
                 "0 -> 1\n"
                 "       gpu                0  8 -> 4            8 -> 4            8 -> 4\n"));
  // Changed ones before the one that starts as it does now.
  CHECK_THAT(*text,
             Catch::Contains("#  STARTS     QUEUE  PRIORITY  NOW             THEN     WHERE\n"
                             "2  default/c  ops           0  QueueLimit      at once  n0\n"
                             "1  default/a  dev           0  starts at once  at once  n0\n"));
  CHECK_THAT(*text,
             Catch::Contains("WAITS      QUEUE  PRIORITY  NOW             THEN       WHY\n"
                             "default/b  dev           0  starts at once  not known  QueueLimit:"));
  CHECK(text->find("\ndev ") < text->find("\nroot "));
}

TEST_CASE("whatif --policy names who is evicted under the policy in force alone", "[cli]") {
  engine::WhatIfAnswer now;
  engine::WhatIfEviction eviction;
  eviction.gang = {{"team", "old"}, false};
  eviction.by = {"team", "new"};
  eviction.pods = eviction.pods_in_all = 4;
  now.evictions.push_back(eviction);
  const auto text = WhatIfText(extender::WhatIfJson(engine::WhatIfAnswer(), &now, {}));
  REQUIRE(text.ok());
  CHECK_THAT(*text, Catch::Contains("EVICTED NO MORE  PODS    QUEUE  FOR\n"
                                    "team/old         4 of 4         team/new\n"));
}

TEST_CASE("whatif without a policy tells of no other one", "[cli]") {
  const engine::WhatIfAnswer then = engine::TryOut(Question({}));
  const auto text = WhatIfText(extender::WhatIfJson(then, nullptr, {}));
  REQUIRE(text.ok());
  CHECK_THAT(*text, !Catch::Contains("NOW") && !Catch::Contains("policy in force"));
}

}  // namespace
}  // namespace muster::cli::testing
