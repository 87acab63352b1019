#include "kube/json/json_writer.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonText(out, text);
  return out;
}

TEST_CASE("text is escaped as Go's encoding/json escapes it", "[kube][json]") {
  CHECK(Quoted("") == R"("")");
  CHECK(Quoted("node-0001.example") == R"("node-0001.example")");
  CHECK(Quoted("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(Quoted("1\n2\r3\t4\b5\f6\x01") == R"("1\n2\r3\t4\b5\f6\u0001")");
  CHECK(Quoted("<a href='x'>&") == R"("\u003ca href='x'\u003e\u0026")");
  CHECK(Quoted("grün 漢字 🚀") == "\"grün 漢字 🚀\"");
  CHECK(Quoted("\xE2\x80\xA8|\xE2\x80\xA9") == R"("\u2028|\u2029")");
  CHECK(Quoted("\xC2\x9B|\xC2\xA0|\xD8\x9C|\xE2\x80\xAE|\xE2\x81\xA6") ==
        "\"\\u009b|\xC2\xA0|\\u061c|\\u202e|\\u2066\"");
  CHECK(Quoted(std::string(1, '\0') + "\x7f") == "\"\\u0000\x7f\"");
}

TEST_CASE("malformed UTF-8 is never written", "[kube][json]") {
  CHECK(Quoted("a\xFFz") == R"("a\ufffdz")");
  CHECK(Quoted("\xC3") == R"("\ufffd")");
  CHECK(Quoted("\xE2\x80") == R"("\ufffd\ufffd")");
  CHECK(Quoted("\xED\xA0\x80") == R"("\ufffd\ufffd\ufffd")");
  CHECK(Quoted("\xF4\x90\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")");
  CHECK(Quoted("\xF0\x9F\x9A\x80") == "\"\xF0\x9F\x9A\x80\"");
}

TEST_CASE("a special character is found at every position of a word", "[kube][json]") {
  for (size_t length = 0; length < 20; ++length) {
    const std::string plain(length, 'x');
    CHECK(PlainJsonPrefix(plain) == length);
    for (const char special : {'"', '\\', '\n', '\x1f', '\x80', '\xff'}) {
      for (size_t at = 0; at < length; ++at) {
        std::string text = plain;
        text[at] = special;
        CHECK(PlainJsonPrefix(text) == at);
        text.back() = special;  // a second one further on changes nothing
        CHECK(PlainJsonPrefix(text) == at);
      }
    }
    CHECK(PlainJsonPrefix(plain + " ~<>&") == length + 5);
  }
}

TEST_CASE("for people each member has a line of its own", "[kube][json]") {
  std::string out;
  JsonWriter json(out, JsonWriter::Layout::kLines);
  json.BeginObject().Key("a").Integer(1).Key("none").BeginArray().EndArray();
  json.Key("b").BeginArray().Text("x").BeginObject().EndObject().EndArray();
  json.TextKey("c\n").BeginObject().Key("d").Null().EndObject().EndObject();
  CHECK(out == R"({
  "a": 1,
  "none": [],
  "b": [
    "x",
    {}
  ],
  "c\n": {
    "d": null
  }
})");
}

TEST_CASE("decimals are as short as they can be", "[kube][json]") {
  const auto written = [](double value) {
    std::string out;
    JsonWriter(out).Decimal(value);
    return out;
  };
  CHECK(written(0.1) == "0.1");
  CHECK(written(-2.5) == "-2.5");
  CHECK(written(3) == "3");
  CHECK(written(1e300) == "1e+300");
  CHECK(written(std::numeric_limits<double>::infinity()) == "null");
  CHECK(written(std::numeric_limits<double>::quiet_NaN()) == "null");
}

TEST_CASE("every byte comes back from a written text as it was", "[kube][json]") {
  std::string text;
  for (int c = 1; c < 128; ++c) text += static_cast<char>(c);
  const std::string json = Quoted(text);
  const cluster::Result<Json> parsed = Json::Parse(json, json.size(), "text");
  REQUIRE(parsed.ok());
  JsonProblems problems;
  CHECK(JsonView(parsed->root(), "text", problems).Text() == text);
}

TEST_CASE("commas stand where they belong", "[kube][json]") {
  std::string out = "x=";
  JsonWriter json(out);
  json.BeginObject().Key("a").BeginArray().EndArray().Key("b").BeginObject().EndObject();
  json.Key("c").BeginArray().Integer(-5).Flag(true).Null().BeginObject().TextKey("q\"").Text("v");
  json.EndObject().Raw("{}").EndArray().EndObject();
  CHECK(out == R"(x={"a":[],"b":{},"c":[-5,true,null,{"q\"":"v"},{}]})");
}

TEST_CASE("text is cut between characters", "[kube][json]") {
  CHECK(CutText("plain", 5) == "plain");
  CHECK(CutText("plain", 3) == "pla");
  CHECK(CutText("aüb", 2) == "a");
  CHECK(CutText("aüb", 3) == "aü");
  CHECK(CutText("🚀", 3).empty());
  CHECK(CutText("\x80\x80\x80", 2).empty());
}

TEST_CASE("a value that was read is written again as it was", "[kube][json]") {
  const std::string text =
      R"({"a":[1,-2,18446744073709551615,1.5,null,true,false,{}],"b\"":{"c":"ü\n","d":[]}})";
  const cluster::Result<Json> json = Json::Parse(text, 1000, "x");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView view(json->root(), "x", problems);
  std::string out;
  view.AppendTo(out);
  CHECK(out == text);
  out.clear();
  view.Get("none").AppendTo(out);
  CHECK(out == "null");
}

}  // namespace
}  // namespace muster::kube
