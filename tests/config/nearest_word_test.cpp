#include "config/nearest_word.hpp"

#include <catch2/catch.hpp>

namespace muster::config {
namespace {

TEST_CASE("the nearest word is found when it is near enough", "[config][nearest]") {
  const std::vector<std::string> known = {"partialTimeout", "partialGang", "backoff", "first",
                                          "max"};
  CHECK(NearestWord("partialTimout", known) == "partialTimeout");
  CHECK(NearestWord("partialtimeout", known) == "partialTimeout");
  CHECK(NearestWord("PARTIALGANG", known) == "partialGang");
  CHECK(NearestWord("backof", known) == "backoff");
  CHECK(NearestWord("fist", known) == "first");
  CHECK(NearestWord("frist", known) == "first");
  CHECK(NearestWord("mxa", known) == "max");
  CHECK(NearestWord("mux", known) == "max");
  CHECK(NearestWord("retry", known) == std::nullopt);
  CHECK(NearestWord("", known) == std::nullopt);
  CHECK(NearestWord(std::string(65, 'x'), {std::string(65, 'x')}) == std::nullopt);
  CHECK(NearestWord("anything", {}) == std::nullopt);
}

TEST_CASE("of words that are equally near the first wins", "[config][nearest]") {
  CHECK(NearestWord("bat", {"bar", "baz"}) == "bar");
  CHECK(NearestWord("bat", {"baz", "bar"}) == "baz");
}

}  // namespace
}  // namespace muster::config
