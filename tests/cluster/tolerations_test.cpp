#include <catch2/catch.hpp>

#include "cluster/records/selector.hpp"

namespace muster::cluster {
namespace {

using Effect = TaintEffect;
using TolerationsOp = Toleration::Op;

TEST_CASE("a toleration covers a taint by effect, key and value", "[cluster][tolerations]") {
  const Taint taint{"gpu", "h100", Effect::kNoSchedule};
  struct Case {
    const char* name;
    Toleration toleration;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"Equal", {"gpu", TolerationsOp::kEqual, "h100", true, Effect::kNoSchedule}, true},
      {"Equal, another value",
       {"gpu", TolerationsOp::kEqual, "a100", true, Effect::kNoSchedule},
       false},
      {"Equal, no value", {"gpu", TolerationsOp::kEqual, "", true, Effect::kNoSchedule}, false},
      {"Equal, another key",
       {"cpu", TolerationsOp::kEqual, "h100", true, Effect::kNoSchedule},
       false},
      {"Exists", {"gpu", TolerationsOp::kExists, "", true, Effect::kNoSchedule}, true},
      {"Exists, another key",
       {"cpu", TolerationsOp::kExists, "", true, Effect::kNoSchedule},
       false},
      {"Exists, every key", {"", TolerationsOp::kExists, "", true, Effect::kNoSchedule}, true},
      {"the same effect", {"gpu", TolerationsOp::kExists, "", false, Effect::kNoSchedule}, true},
      {"another effect", {"gpu", TolerationsOp::kExists, "", false, Effect::kNoExecute}, false},
      {"every key, one effect", {"", TolerationsOp::kExists, "", false, Effect::kNoSchedule}, true},
      {"every key, another effect",
       {"", TolerationsOp::kExists, "", false, Effect::kPreferNoSchedule},
       false},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(Tolerates(c.toleration, taint) == c.want); }
}

TEST_CASE("a toleration with Gt or Lt compares the number that the taint's value is",
          "[cluster][tolerations]") {
  struct Case {
    const char* name;
    TolerationsOp op;
    const char* bound;
    const char* taint;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"more", TolerationsOp::kGt, "100", "950", true},
      {"as text it would be less", TolerationsOp::kGt, "99", "100", true},
      {"the same is not more", TolerationsOp::kGt, "950", "950", false},
      {"less is not more", TolerationsOp::kGt, "950", "100", false},
      {"less", TolerationsOp::kLt, "100", "-7", true},
      {"the same is not less", TolerationsOp::kLt, "0", "0", false},
      {"more is not less", TolerationsOp::kLt, "9", "10", false},
      {"no number in the taint", TolerationsOp::kGt, "1", "high", false},
      {"no value in the taint", TolerationsOp::kLt, "1", "", false},
      {"zeros in front", TolerationsOp::kGt, "1", "007", false},
      {"a plus", TolerationsOp::kGt, "1", "+7", false},
      {"minus zero", TolerationsOp::kLt, "1", "-0", false},
      {"no number in the toleration", TolerationsOp::kLt, "9.5", "1", false},
      {"more than 64 bits", TolerationsOp::kGt, "1", "9223372036854775808", false},
  }));
  DYNAMIC_SECTION(c.name) {
    const Toleration toleration{"sla", c.op, c.bound, true, Effect::kNoSchedule};
    CHECK(Tolerates(toleration, {"sla", c.taint, Effect::kNoSchedule}) == c.want);
    CHECK_FALSE(Tolerates(toleration, {"other", c.taint, Effect::kNoSchedule}));
  }
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
  const Toleration of_hard{"hard", TolerationsOp::kExists, "", true, Effect::kNoSchedule};
  const Toleration of_lost{"lost", TolerationsOp::kEqual, "", false, Effect::kNoExecute};
  CHECK(ToleratesAll({of_hard}, {soft, hard}));
  CHECK_FALSE(ToleratesAll({of_hard}, {hard, lost}));
  CHECK(ToleratesAll({of_hard, of_lost}, {hard, soft, lost}));
  CHECK(ToleratesAll({{"", TolerationsOp::kExists, "", true, Effect::kNoSchedule}},
                     {hard, soft, lost}));
}

}  // namespace
}  // namespace muster::cluster
