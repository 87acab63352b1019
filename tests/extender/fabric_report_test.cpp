#include "extender/telemetry/fabric_report.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace muster::extender {
namespace {

TEST_CASE("a finding of the fabric is logged when it comes and when it is gone, not in between",
          "[extender][fabric]") {
  std::string lines;
  LogOptions options;
  options.sink = [&](std::string_view line) { lines += line; };
  options.now = [] { return std::chrono::system_clock::time_point(); };
  const Logger log(options);
  FabricReport report(log);
  const std::string time = "time=1970-01-01T00:00:00.000Z ";

  report.Follow({{}, {"rack a is in two blocks", "node n has no rack"}, {}});
  CHECK(lines ==
        time + "level=error msg=\"fabric labels are wrong\" finding=\"node n has no rack\"\n" +
            time +
            "level=error msg=\"fabric labels are wrong\" finding=\"rack a is in two blocks\"\n");
  lines.clear();
  report.Follow({{}, {"rack a is in two blocks", "node n has no rack"}, {}});
  CHECK(lines.empty());
  report.Follow({{}, {"rack a is in two blocks"}, {}});
  CHECK(lines ==
        time + "level=info msg=\"finding of the fabric is gone\" finding=\"node n has no rack\"\n");
  lines.clear();
  report.Follow({{}, {"rack a is in two blocks", "node n has no rack"}, {}});
  CHECK(lines ==
        time + "level=error msg=\"fabric labels are wrong\" finding=\"node n has no rack\"\n");
}

TEST_CASE("a node that moves is logged once, with the level at which it moved",
          "[extender][fabric]") {
  std::string lines;
  LogOptions options;
  options.sink = [&](std::string_view line) { lines += line.substr(line.find("msg=")); };
  const Logger log(options);
  FabricReport report(log);
  engine::FabricView view;
  const auto add = [&](const std::string& level, const std::string& name, int64_t depth) {
    engine::DomainView domain;
    domain.tree = "dc";
    domain.level = level;
    domain.name = name;
    domain.depth = depth;
    view.domains.push_back(domain);
  };
  add("block", "b1", 0);
  add("rack", "b1/r1", 1);
  const auto told = [&](const std::string& domain) {
    lines.clear();
    view.places = {{"dc", "n", domain}};
    report.Follow(view);
    return lines;
  };
  const std::string head = "msg=\"a node is in another domain now\" node=n tree=dc level=";
  CHECK(told("b1/r1").empty());  // a node that is new has not moved
  CHECK(told("b1/r1").empty());
  CHECK(told("b1/r2") == head + "rack from=b1/r1 to=b1/r2\n");
  CHECK(told("b1/r21") == head + "rack from=b1/r2 to=b1/r21\n");
  CHECK(told("b2/r21") == head + "block from=b1/r21 to=b2/r21\n");
  CHECK(told("b2") == head + "rack from=b2/r21 to=b2\n");
  CHECK(told("") == head + "block from=b2 to=-\n");
  CHECK(told("b2/r1") == head + "block from=- to=b2/r1\n");
  report.ForgetPlaces();
  CHECK(told("b1/r1").empty());

  const auto all = [&](const std::string& domain) {
    view.places.clear();
    for (int i = 0; i < 60; ++i) view.places.push_back({"dc", "n" + std::to_string(i), domain});
    lines.clear();
    report.Follow(view);
  };
  all("b1");
  all("b2");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 51);
  CHECK_THAT(lines, Catch::Contains("msg=\"more nodes are in other domains now\" nodes=10\n"));
}

}  // namespace
}  // namespace muster::extender
