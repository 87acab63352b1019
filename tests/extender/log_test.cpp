#include "extender/telemetry/log.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>

namespace muster::extender {
namespace {

TEST_CASE("log lines are key=value pairs whose values cannot break out", "[log]") {
  std::string lines;
  const Logger log({.level = LogLevel::kInfo,
                    .sink = [&](std::string_view line) { lines += line; },
                    .now =
                        [] {
                          return std::chrono::system_clock::time_point(
                              std::chrono::milliseconds(1'767'323'045'678));
                        }});
  log.Info("gang started", {{"gang", "a/b"}, {"why", "say \"x\"\nlevel=error"}});
  log.Debug("not shown");
  CHECK(lines ==
        "time=2026-01-02T03:04:05.678Z level=info msg=\"gang started\" gang=a/b "
        "why=\"say \\\"x\\\"\\nlevel=error\"\n");
  CHECK(LogValue("") == "\"\"");
  CHECK(LogValue("a\xC2\x9B"
                 "b\u202Ec\u2066") == R"("a\xc2\x9bb\xe2\x80\xaec\xe2\x81\xa6")");
  CHECK(LogValue("gr\u00F6\u00DFe \xFF") == "\"gr\u00F6\u00DFe \\xff\"");
}

TEST_CASE("a level has a word, and shows what is less as well", "[log]") {
  struct Case {
    std::string word;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {"error", "error "},
      {"info", "error info "},
      {"debug", "error info debug "},
  }));
  const std::optional<LogLevel> level = LogLevelNamed(c.word);
  REQUIRE(level);
  std::string shown;
  const Logger log({.level = *level, .sink = [&](std::string_view line) {
                      const std::size_t at = line.find("level=") + 6;
                      shown += line.substr(at, line.find(' ', at) + 1 - at);
                    }});
  log.Error("a");
  log.Info("b");
  log.Debug("c");
  CHECK(shown == c.want);
  CHECK_FALSE(LogLevelNamed("2"));
}

}  // namespace
}  // namespace muster::extender
