#include "kube/watch/list_stream.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/kept_fields.hpp"
#include "kube/watch/page_limit.hpp"
#include "kube/watch/watch_stream.hpp"

namespace muster::kube {
namespace {

using cluster::Result;
using Texts = std::vector<std::string>;

std::string PodText(const std::string& name, const std::string& more = "") {
  return R"({"metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u","resourceVersion":"7"},)" + R"("spec":{)" + more +
         R"("schedulerName":"muster"}})";
}

std::string PageOf(const std::string& items) {
  return R"({"kind":"PodList","metadata":{"resourceVersion":"12","continue":"c"},"items":[)" +
         items + "]}";
}

// A reader of pages of pods: who came, with what left out of them.
struct Reader {
  Texts seen;
  ListStream page{
      PodFields(), "Pod", "pods", [this](const KeptObject& object) {
        const Result<cluster::Pod> pod = DecodePod(object.node(), object.With({}));
        seen.push_back(pod.ok() ? pod->key.name + " " + pod->defect : pod.error().ToString());
      }};
};

TEST_CASE("objects of a page are told as they come, wherever it is cut", "[kube][list]") {
  const std::string text = PageOf(PodText("a") + ",\n" + PodText("b"));
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Reader reader;
    REQUIRE(reader.page.Feed(text.substr(0, cut)));
    const bool first_whole = cut > text.find(R"("}},)") + 2;
    REQUIRE(reader.seen.size() >= (first_whole ? 1 : 0));
    REQUIRE(reader.page.Feed(text.substr(cut)));
    const Result<ListStream::Page> page = reader.page.End();
    REQUIRE(page.ok());
    CHECK(page->resource_version == "12");
    CHECK(page->continue_token == "c");
    CHECK(reader.seen == Texts{"a ", "b "});
  }
}

TEST_CASE("what is no page says so", "[kube][list]") {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {"", "expected more, found the end"},
      {R"({"metadata":{"resourceVersion":"1"},"items":[)" + PodText("a"), "found the end"},
      {"{}", "pods.metadata.resourceVersion: is missing"},
      {"[]", "expected an object"},
      {"<html>", "byte 0: not valid JSON"},
      {PageOf("3"), "pods.items[0]: expected an object"},
      {PageOf(PodText("a") + ",null"), "pods.items[1]: is missing"},
      {R"({"metadata":{"resourceVersion":"1"},"items":{}})", "pods.items: expected a list"},
      {R"({"items":[],"items":[],"metadata":{"resourceVersion":"1"}})", "items: is given twice"},
      {PageOf("") + "x", "expected nothing after the JSON value"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    Reader reader;
    static_cast<void>(reader.page.Feed(c.text));
    const Result<ListStream::Page> page = reader.page.End();
    REQUIRE_FALSE(page.ok());
    CHECK_THAT(page.error().ToString(), Catch::Contains(c.problem));
  }
}

TEST_CASE("an object that cannot be taken as it is keeps its name", "[kube][list]") {
  Reader reader;
  const std::string twice = R"("nodeName":"x","nodeName":"y",)";
  const std::string large = R"("priority":123456789012345678901234567890,)";
  REQUIRE(reader.page.Feed(PageOf(PodText("a", twice) + "," + PodText("b", large) + "," +
                                  PodText("c", "\"priority\":\"\xff\",") + "," + PodText("d"))));
  REQUIRE(reader.page.End().ok());
  REQUIRE(reader.seen.size() == 4);
  CHECK_THAT(reader.seen[0], Catch::StartsWith("a pods.items[0].spec.nodeName: is given twice"));
  CHECK_THAT(reader.seen[1], Catch::StartsWith("b pods.items[1]: an integer beyond 64 bits"));
  CHECK_THAT(reader.seen[2], Catch::StartsWith("c pods.items[2]: not valid JSON"));
  CHECK(reader.seen[3] == "d ");
}

// 5,000 pods with an environment of 50 KB each, every fiftieth with one of 1.4 MB.
TEST_CASE("what is held of fat pods is what is held of thin ones", "[kube][list][fat]") {
  const std::string value(10'000, 'v');
  const auto held = [&](int values, int fattest) {
    Reader reader;
    size_t bytes = 0;
    const auto feed = [&](std::string_view text) {
      bytes += text.size();
      REQUIRE(reader.page.Feed(text));
    };
    feed(R"({"metadata":{"resourceVersion":"1"},"items":[)");
    for (int i = 0; i < 5'000; ++i) {
      feed(i == 0 ? "" : ",");
      feed(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"containers":[{"env":[)");
      for (int v = 0; v < (i % 50 == 0 ? fattest : values); ++v) {
        feed(v == 0 ? R"({"name":"E","value":")" : R"(,{"name":"E","value":")");
        feed(value);
        feed(R"("})");
      }
      feed(R"(]}]}})");
    }
    feed("]}");
    REQUIRE(reader.page.End().ok());
    CHECK(reader.seen.size() == 5'000);
    CHECK(bytes > static_cast<size_t>(values) * 49'000'000);
    return reader.page.most_held();
  };
  const size_t thin = held(0, 0);
  CHECK(held(5, 140) == thin);
  CHECK(thin < 1024);
}

TEST_CASE("what is held of a watch does not grow with its events", "[kube][watch][fat]") {
  const auto held = [](size_t bytes) {
    int seen = 0;
    WatchStream stream(PodFields(), "Pod", [&](const WatchEvent& event) {
      CHECK(event.object->left_out() == nullptr);
      CHECK(event.resource_version == "7");
      return ++seen > 0;
    });
    const std::string value(bytes, 'v');
    for (int i = 0; i < 20; ++i) {
      REQUIRE(stream.Feed(R"({"type":"MODIFIED","object":)" +
                          PodText("p", R"("volumes":[{"v":")" + value + R"("}],)") + "}\n"));
    }
    CHECK(seen == 20);
    return stream.most_held();
  };
  CHECK(held(3'000'000) == held(10));
}

TEST_CASE("a page becomes small at once and large again by and by", "[kube][list]") {
  PageLimit limit(500);
  std::vector<int64_t> asked;
  while (limit.TooLarge()) asked.push_back(limit.now());
  CHECK(asked == std::vector<int64_t>{250, 125, 62, 31, 15, 7, 3, 1});
  CHECK(limit.now() == 1);
  int pages = 0;
  for (; limit.now() < 500; ++pages) limit.Good();
  CHECK(pages == 9 * PageLimit::kGoodPages);
  for (int i = 0; i < 100; ++i) limit.Good();
  CHECK(limit.now() == 500);
  // One that is too large again is no reason to count on.
  for (int i = 1; i < PageLimit::kGoodPages; ++i) limit.Good();
  CHECK(limit.TooLarge());
  limit.Good();
  CHECK(limit.now() == 250);
}

}  // namespace
}  // namespace muster::kube
