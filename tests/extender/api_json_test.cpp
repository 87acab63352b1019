// What the API's pages say, without a service.
#include "extender/api_json.hpp"

#include <catch2/catch.hpp>

#include "engine/reason.hpp"

namespace muster::extender {

TEST_CASE("a reason whose code was renamed keeps its old code on the pages for one release",
          "[api]") {
  engine::GangView gang;
  gang.reason = engine::Because(engine::ReasonCode::kWatchStale);
  for (const std::string& page : {GangsJson({gang}, {}), GangJson(gang, {})}) {
    CHECK_THAT(page, Catch::Contains("\"code\": \"WatchStale\""));
    CHECK_THAT(page, Catch::Contains("\"formerCode\": \"StalePicture\""));
  }
  gang.reason = engine::Because(engine::ReasonCode::kNotTried);
  CHECK_THAT(GangJson(gang, {}), !Catch::Contains("formerCode"));
}

}  // namespace muster::extender
