#include "kube/watch/watch_stream.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/kept_fields.hpp"

namespace muster::kube {
namespace {

const std::string kAdded =
    R"({"type":"ADDED","object":{"kind":"Node","metadata":{"name":"a","resourceVersion":"7"}}})";
const std::string kBookmark =
    R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"9"}}})";

struct Seen {
  std::vector<WatchKind> kinds;
  std::vector<std::string> versions;
  WatchStream stream{NodeFields(), "Node", [this](const WatchEvent& event) {
                       kinds.push_back(event.kind);
                       versions.push_back(event.resource_version);
                       return true;
                     }};
};

TEST_CASE("events are found wherever the pieces of a watch are cut", "[kube][watch]") {
  const std::string text = kAdded + "\n" + kBookmark + "\r\n\n" + kAdded + "\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Seen seen;
    REQUIRE(seen.stream.Feed(std::string_view(text).substr(0, cut)));
    REQUIRE(seen.stream.Feed(std::string_view(text).substr(cut)));
    CHECK(seen.kinds == std::vector{WatchKind::kAdded, WatchKind::kBookmark, WatchKind::kAdded});
    CHECK(seen.versions == std::vector<std::string>{"7", "9", "7"});
  }
}

TEST_CASE("an event that is not complete is not told", "[kube][watch]") {
  Seen seen;
  CHECK(seen.stream.Feed(kAdded));
  CHECK(seen.kinds.empty());
  CHECK(seen.stream.problem().empty());
}

TEST_CASE("the Status in an ERROR event is read", "[kube][watch]") {
  int64_t code = 0;
  std::string message;
  WatchStream stream(NodeFields(), "Node", [&](const WatchEvent& event) {
    code = event.status_code;
    message = event.message;
    return false;
  });
  CHECK_FALSE(
      stream.Feed(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
                  "\n"));
  CHECK(code == 410);
  CHECK(message == "too old");
  CHECK(stream.problem().empty());
}

TEST_CASE("what is no event ends the stream with a reason", "[kube][watch]") {
  const char* const lines[] = {"{\n",
                               "[]\n",
                               "{}\n",
                               R"({"type":"SHOUT","object":{}})"
                               "\n",
                               R"({"type":"ADDED"})"
                               "\n",
                               R"({"type":"ADDED","object":3})"
                               "\n"};
  for (const char* line : lines) {
    CAPTURE(line);
    Seen seen;
    CHECK_FALSE(seen.stream.Feed(line));
    CHECK_FALSE(seen.stream.problem().empty());
    CHECK(seen.kinds.empty());
    CHECK_FALSE(seen.stream.Feed(kAdded + "\n"));
  }
}

TEST_CASE("a line without end is left, and fills no memory", "[kube][watch]") {
  Seen seen;
  const std::string piece(size_t{1} << 20, ' ');
  size_t taken = 0;
  while (seen.stream.Feed(piece)) taken += piece.size();
  CHECK(taken <= WatchStream::kMaxLineBytes);
  CHECK(seen.stream.most_held() < 1024);
  CHECK_THAT(seen.stream.problem(), Catch::Contains("more than 134217728 bytes"));
}

}  // namespace
}  // namespace muster::kube
