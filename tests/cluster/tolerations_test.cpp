#include <catch2/catch.hpp>

#include "cluster/selector.hpp"

namespace muster::cluster {
namespace {

using Effect = TaintEffect;
using Op = Toleration::Op;

TEST_CASE("a toleration covers a taint by effect, key and value", "[cluster][tolerations]") {
  const Taint taint{"gpu", "h100", Effect::kNoSchedule};
  struct Case {
    const char* name;
    Toleration toleration;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"Equal", {"gpu", Op::kEqual, "h100", true, Effect::kNoSchedule}, true},
      {"Equal, another value", {"gpu", Op::kEqual, "a100", true, Effect::kNoSchedule}, false},
      {"Equal, no value", {"gpu", Op::kEqual, "", true, Effect::kNoSchedule}, false},
      {"Equal, another key", {"cpu", Op::kEqual, "h100", true, Effect::kNoSchedule}, false},
      {"Exists", {"gpu", Op::kExists, "", true, Effect::kNoSchedule}, true},
      {"Exists, another key", {"cpu", Op::kExists, "", true, Effect::kNoSchedule}, false},
      {"Exists, every key", {"", Op::kExists, "", true, Effect::kNoSchedule}, true},
      {"the same effect", {"gpu", Op::kExists, "", false, Effect::kNoSchedule}, true},
      {"another effect", {"gpu", Op::kExists, "", false, Effect::kNoExecute}, false},
      {"every key, one effect", {"", Op::kExists, "", false, Effect::kNoSchedule}, true},
      {"every key, another effect", {"", Op::kExists, "", false, Effect::kPreferNoSchedule}, false},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(Tolerates(c.toleration, taint) == c.want); }
}

TEST_CASE("NoSchedule and NoExecute taints must be tolerated, PreferNoSchedule need not",
          "[cluster][tolerations]") {
  const Taint soft{"soft", "", Effect::kPreferNoSchedule};
  const Taint hard{"hard", "", Effect::kNoSchedule};
  const Taint lost{"lost", "", Effect::kNoExecute};
  CHECK(ToleratesAll({}, {}));
  CHECK(ToleratesAll({}, {soft}));
  CHECK_FALSE(ToleratesAll({}, {soft, hard}));
  CHECK_FALSE(ToleratesAll({}, {lost}));
  const Toleration of_hard{"hard", Op::kExists, "", true, Effect::kNoSchedule};
  const Toleration of_lost{"lost", Op::kEqual, "", false, Effect::kNoExecute};
  CHECK(ToleratesAll({of_hard}, {soft, hard}));
  CHECK_FALSE(ToleratesAll({of_hard}, {hard, lost}));
  CHECK(ToleratesAll({of_hard, of_lost}, {hard, soft, lost}));
  CHECK(ToleratesAll({{"", Op::kExists, "", true, Effect::kNoSchedule}}, {hard, soft, lost}));
}

}  // namespace
}  // namespace muster::cluster
