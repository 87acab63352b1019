#include "extender/log.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>

namespace muster::extender {
namespace {

TEST_CASE("log lines are key=value pairs whose values cannot break out", "[log]") {
  std::string lines;
  const Logger log({.level = 1,
                    .sink = [&](std::string_view line) { lines += line; },
                    .now =
                        [] {
                          return std::chrono::system_clock::time_point(
                              std::chrono::milliseconds(1'767'323'045'678));
                        }});
  log.Info("gang started", {{"gang", "a/b"}, {"why", "say \"x\"\nlevel=0"}});
  log.Write(2, "not shown", {});
  CHECK(lines ==
        "time=2026-01-02T03:04:05.678Z level=1 msg=\"gang started\" gang=a/b "
        "why=\"say \\\"x\\\"\\nlevel=0\"\n");
  CHECK(LogValue("") == "\"\"");
}

}  // namespace
}  // namespace muster::extender
