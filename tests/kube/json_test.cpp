#include "kube/json/json.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "kube/json/json_view.hpp"

namespace muster::kube {
namespace {

constexpr size_t kPlenty = size_t{64} << 20;

std::string Repeat(const std::string& text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string ErrorOf(const std::string& text, size_t max_bytes = kPlenty) {
  const cluster::Result<Json> json = Json::Parse(text, max_bytes, "Thing");
  return json.ok() ? "" : json.error().ToString();
}

TEST_CASE("what is no JSON is refused with its place", "[kube][json]") {
  struct Case {
    std::string text;
    std::string want;  // a part of the error; empty: it is taken
  };
  const Case c = GENERATE(values<Case>({
      {R"({"a":[1,-2,3.5,true,false,null,"x\u00e9"]} )", ""},
      {"", "expected JSON, found the end"},
      {"   ", "byte 3"},
      {"{", "byte 1"},
      {R"({"a":1)", "byte 6"},
      {R"({"a":1}})", "byte 7: expected nothing after the JSON value"},
      {std::string("{}\0x", 4), "byte 2: expected nothing after the JSON value"},
      {R"({"a":1 "b":2})", "not valid JSON"},
      {R"({'a':1})", "not valid JSON"},
      {R"({"a":01})", "not valid JSON"},
      {R"({"a":NaN})", "not valid JSON"},
      {"\xEF\xBB\xBF{}", "not valid JSON"},
      {"\"\xC3\x28\"", "not valid JSON"},      // malformed UTF-8
      {"\"\xED\xA0\x80\"", "not valid JSON"},  // a surrogate in UTF-8
      {"\"\xC0\x80\"", "not valid JSON"},      // overlong
      {R"("\ud800")", "not valid JSON"},       // half a pair
      {R"({"a":1e400})", "not valid JSON"},    // beyond a double
      {R"({"a":18446744073709551616})", "an integer beyond 64 bits"},
      {R"({"a":-9223372036854775809})", "an integer beyond 64 bits"},
      {R"({"a":18446744073709551615,"b":-9223372036854775808})", ""},
      {R"({"a":123456789012345678901234567890})", "an integer beyond 64 bits"},
      {R"({"a":1234567890123456789012.5,"b":1e30,"c":1E30})", ""},
  }));
  CAPTURE(c.text);
  if (c.want.empty()) {
    CHECK(ErrorOf(c.text).empty());
  } else {
    CHECK_THAT(ErrorOf(c.text), Catch::Contains(c.want));
  }
}

TEST_CASE("a key given twice is refused at any depth", "[kube][json]") {
  CHECK(ErrorOf(R"({"a":1,"b":2,"a":3})") == "Thing.a: is given twice");
  CHECK(ErrorOf(R"({"a":[{},{"nvidia.com/gpu":1,"nvidia.com/gpu":1}]})") ==
        R"(Thing.a[1]["nvidia.com/gpu"]: is given twice)");
  CHECK(ErrorOf(R"({"a":1,"\u0061":1})") == "Thing.a: is given twice");
  CHECK(ErrorOf(R"({"a":{"x":1},"b":{"x":1}})").empty());
}

TEST_CASE("nesting is limited, and however deep costs no stack", "[kube][json]") {
  CHECK(ErrorOf(Repeat("[", 64) + Repeat("]", 64)).empty());
  CHECK_THAT(ErrorOf(Repeat("[", 65) + Repeat("]", 65)), Catch::Contains("nested deeper than 64"));
  CHECK_THAT(ErrorOf(Repeat(R"({"a":)", 1'000'000)), Catch::Contains("nested deeper than 64"));
  CHECK_THAT(ErrorOf(Repeat("[", 1'000'000)), Catch::Contains("nested deeper than 64"));
}

TEST_CASE("text longer than allowed is not even looked at", "[kube][json]") {
  CHECK(ErrorOf("[1]", 3).empty());
  CHECK(ErrorOf("[1] ", 3) == "Thing: JSON of 4 bytes, at most 3 are taken");
}

TEST_CASE("looking for a key given twice takes no quadratic time", "[kube][json]") {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text += "\"k199999\":0}";
  const auto begin = std::chrono::steady_clock::now();
  CHECK(ErrorOf(text) == "Thing.k199999: is given twice");
  // Pairwise it would be 2·10^10 comparisons: minutes.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a value may be read out of the middle of a text", "[kube][json]") {
  const std::string text = R"(xx{"a":1},{"b":1e999})";
  const cluster::Result<Json> first = Json::ParseAt(text, 2, "First");
  REQUIRE(first.ok());
  CHECK(first->end() == 9);
  const cluster::Result<Json> second = Json::ParseAt(text, 10, "Second");
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().place == "byte 15");
  CHECK_FALSE(Json::ParseAt(text, text.size(), "End").ok());
}

TEST_CASE("numbers with a fraction or an exponent are read to the nearest double", "[kube][json]") {
  const std::pair<const char*, const char*> numbers[] = {
      {"0e80", "0"},
      {"0e-80", "0"},
      {"-0.0e5", "-0"},
      {"0.1", "0.1"},
      {"1e23", "1e+23"},
      {"8.5e-10", "8.5e-10"},
      {"9007199254740993.0", "9007199254740992"},
      {"2.2250738585072011e-308", "2.225073858507201e-308"}};
  for (const auto& [text, value] : numbers) {
    CAPTURE(text);
    const cluster::Result<Json> json = Json::Parse(text, kPlenty, "Number");
    REQUIRE(json.ok());
    JsonProblems problems;
    CHECK(JsonView(json->root(), "Number", problems).QuantityText() == value);
  }
}

TEST_CASE("a view notes the first thing that is not as expected, with its path", "[kube][json]") {
  const cluster::Result<Json> json =
      Json::Parse(R"({"a":{"b":[{"c":1},{"c":"x"}]},"n":5.0,"big":18446744073709551615,"t":true})",
                  kPlenty, "");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView root(json->root(), "Root", problems);
  const JsonView a = root.Get("a");

  SECTION("wrong kinds") {
    CHECK(a.Text().empty());
    REQUIRE_FALSE(problems.none());
    CHECK(problems.first().ToString() == "Root.a: expected a text, found an object");
    CHECK(root.Get("t").Integer(7, 0, 9) == 7);  // later problems do not replace the first
    CHECK(problems.first().place == "Root.a");
  }
  SECTION("inside a list") {
    const JsonView b = a.Get("b");
    b.Items([](const JsonView& item) { CHECK(item.Get("c").Integer(3, 0, 9) <= 3); });
    REQUIRE_FALSE(problems.none());
    CHECK(problems.first().ToString() == "Root.a.b[1].c: expected a whole number, found a text");
  }
  SECTION("numbers") {
    CHECK(root.Get("n").Integer(3, 0, 9) == 3);
    CHECK(problems.first().ToString() == "Root.n: expected a whole number, found a number");
  }
  SECTION("numbers out of range") {
    CHECK(root.Get("big").Integer(3, 0, 9) == 3);
    CHECK(problems.first().ToString() == "Root.big: expected a whole number from 0 to 9");
  }
  SECTION("what is absent is no problem unless it is required") {
    const JsonView none = root.Get("none");
    CHECK_FALSE(none.present());
    CHECK(none.Get("more").Text().empty());
    CHECK(problems.none());
    CHECK(none.RequiredText().empty());
    CHECK(problems.first().ToString() == "Root.none: is missing");
  }
}

TEST_CASE("upper and lower case are alike where Go takes them alike", "[kube][json]") {
  const cluster::Result<Json> json =
      Json::Parse(R"({"PODNAME":"a","node":"x","Node":"y"})", 99, "");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView root(json->root(), "Args", problems);
  CHECK(root.GetAnyCase("PodName").Text() == "a");
  CHECK_FALSE(root.Get("PodName").present());
  CHECK(problems.none());
  CHECK(root.GetAnyCase("Node").present());
  CHECK(problems.first().ToString() == "Args.Node: is given twice");
}

}  // namespace
}  // namespace muster::kube
