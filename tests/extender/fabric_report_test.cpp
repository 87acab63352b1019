#include "extender/fabric_report.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace muster::extender {
namespace {

TEST_CASE("a finding of the fabric is told when it comes and when it is gone, not in between",
          "[extender][fabric]") {
  std::string lines;
  LogOptions options;
  options.sink = [&](std::string_view line) { lines += line; };
  options.now = [] { return std::chrono::system_clock::time_point(); };
  const Logger log(options);
  FabricReport report(log);
  const std::string time = "time=1970-01-01T00:00:00.000Z ";

  report.Follow({"rack a is in two blocks", "node n has no rack"});
  CHECK(lines ==
        time + "level=0 msg=\"fabric labels are wrong\" finding=\"node n has no rack\"\n" + time +
            "level=0 msg=\"fabric labels are wrong\" finding=\"rack a is in two blocks\"\n");
  lines.clear();
  report.Follow({"rack a is in two blocks", "node n has no rack"});
  CHECK(lines.empty());
  report.Follow({"rack a is in two blocks"});
  CHECK(lines ==
        time + "level=1 msg=\"finding of the fabric is gone\" finding=\"node n has no rack\"\n");
  lines.clear();
  report.Follow({"rack a is in two blocks", "node n has no rack"});
  CHECK(lines == time + "level=0 msg=\"fabric labels are wrong\" finding=\"node n has no rack\"\n");
}

}  // namespace
}  // namespace muster::extender
