#include "config/yaml/yaml_parser.hpp"

#include <catch2/catch.hpp>

#include "config/yaml/yaml_json.hpp"

namespace muster::config {
namespace {

// The documents as JSON, one a line, or the error.
std::string Parsed(const std::string& text, const YamlRules& rules) {
  const auto documents = ParseYaml(text, "f", rules);
  if (!documents.ok()) return documents.error().ToString();
  std::string json;
  for (const YamlNode& document : *documents) {
    const auto written = ToJson(document, "f");
    if (!json.empty()) json += '\n';
    json += written.ok() ? *written : written.error().ToString();
  }
  return json;
}

YamlRules WithAliases() {
  YamlRules rules;
  rules.aliases = true;
  rules.typed_keys = true;
  return rules;
}

struct YamlParserCase {
  std::string text;
  std::string want;
};

TEST_CASE("what is no YAML is refused with its place", "[config][yaml]") {
  const YamlParserCase c = GENERATE(values<YamlParserCase>({
      {"a: 1\na: 2\n", "f:2:1: expected each key once, found \"a\" again (first on line 1)"},
      {"{\"a\": 1, 'a': 2}", "f:1:10: expected each key once, found \"a\" again (first on line 1)"},
      {"a: \"x\nb: 1\n", "f:1:4: expected a closing \", found the end of the document"},
      {"a: 'it''s\n", "f:1:4: expected a closing ', found the end of the document"},
      {"a: 1\nfoo\n", "f:2:1: expected ':' after \"foo\""},
      {"a: 1\n-c\n", "f:2:1: expected ':' after \"-c\""},
      {"a: 1\n%b: 2\n", "f:2:1: expected no directive: a line must not begin with '%'"},
      {"%YAML 1.2\n---\na: 1\n", "f:1:1: expected no directive: a line must not begin with '%'"},
      {",", "f:1:1: expected the end of the document, found more text"},
      {"{a: 1} {b: 2}", "f:1:8: expected the end of the document, found more text"},
      {"a: 1\n...\nb: 2\n", "f:3:1: expected the end of the document, found more text"},
      {" a: 1\nb: 2\n", "f:2:1: expected the end of the document, found more text"},
      {"[1,,2]", "f:1:4: expected an item before this"},
      {"{,a: 1}", "f:1:2: expected a key before this"},
      {"{a:,b: 1}", "f:1:2: expected a space after the ':' of \"a\""},
      {"a:\n\tb: 1\n",
       "f:2:2: expected spaces before this, found a tab: YAML is indented with spaces only"},
      {"a:\n\tb\n",
       "f:2:2: expected spaces before this, found a tab: YAML is indented with spaces only"},
      {": x\n", "f:1:1: expected a key, found nothing"},
      {"~: x\n", "f:1:1: expected a key, found nothing"},
      {"? [a]\n: b\n",
       "f:1:3: expected a key, found a map or a sequence (is a bracket not closed?)"},
      {"<<: {a: 1}\n", "f:1:1: expected a key, found '<<': merge keys are not supported"},
      {"a: !!str 1\n", "f:1:4: expected a value, found a tag ('!'): tags are not supported"},
      {"a: ! 1\n", "f:1:4: expected a value, found a tag ('!'): tags are not supported"},
      {"!foo", "f:1:1: expected a value, found a tag ('!'): tags are not supported"},
      {"a: ![b]\n", "f:1:4: expected a value, found a tag ('!'): tags are not supported"},
      {"a: &x 1\n",
       "f:1:4: expected a value, found an anchor ('&'): anchors and aliases are not supported"},
      {"a: b: c\n",
       "f:1:5: expected no ': ' here (is the line indented too far, or are quotes missing?)"},
      {"é: ü: x\n",
       "f:1:5: expected no ': ' here (is the line indented too far, or are quotes missing?)"},
      {"a:\n    b: 1\n  c: 2\n", "f:3:3: expected \"key: value\", indented as the lines above"},
      {"a: - b\n", "f:1:4: expected a value, found '-': begin the list on the next line"},
      {"a: [1, 2\n", "f:2:1: expected ',' or ']'"},
      {"a: {b: 1\n", "f:2:1: expected ',' or '}'"},
      {"a: ]\n", "f:1:4: expected no ']' or '}' here: none is open"},
      {"a: @x\n",
       "f:1:4: expected a value, found a character that cannot begin one without quotes"},
      {"a: \"\\q\"\n", "f:1:7: expected an escape that YAML knows after '\\'"},
      {"a: \"\\_\"\n", "f:1:4: expected text without the escapes \\N and \\_, found one"},
      {"a: \xFF\n", "f:1:4: expected UTF-8 text, found the byte 0xFF"},
      {"a: \xC0\xAF\n", "f:1:4: expected UTF-8 text, found the byte 0xC0"},
      {"a: \xED\xA0\x80\n", "f:1:4: expected UTF-8 text, found the byte 0xED"},
      {"a: \xE2\x82", "f:1:4: expected UTF-8 text, found the byte 0xE2"},
      {"a: b\x07\n", "f:1:5: expected printable text, found the control character U+0007"},
      {"a: b\rc: d\n", "f:1:5: expected printable text, found the control character U+000D"},
      {std::string("a\0b", 3),
       "f:1:2: expected printable text, found the control character U+0000"},
      {"a: \xEF\xBB\xBF\n", "f:1:4: expected printable text, found the control character U+FEFF"},
  }));
  CAPTURE(c.text);
  CHECK(Parsed(c.text, YamlRules{}) == c.want);
}

TEST_CASE("documents are parsed with kubectl's types", "[config][yaml]") {
  const YamlParserCase c = GENERATE(values<YamlParserCase>({
      {"", ""},
      {"# nothing\n---\n\n---\n# more\n", ""},
      {"a: 1\n---\nb: 2\n---\n- c\n", "{\"a\":1}\n{\"b\":2}\n[\"c\"]"},
      {"--- {a: 1}\n", "{\"a\":1}"},
      {"a: |\n  ---\n  b: c\n", "{\"a\":\"---\\nb: c\\n\"}"},
      {"a: >-\n  one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\"}"},
      {"a: |\n  \tx\n", "{\"a\":\"\\tx\\n\"}"},
      {"gangs:", "{\"gangs\":null}"},
      {"a:\nb: ~\n", "{\"a\":null,\"b\":null}"},
      {"a : 1\n\"b\" : 2\n", "{\"a\":1,\"b\":2}"},
      {"? a\n? b\n: 1\n", "{\"a\":null,\"b\":1}"},
      {"{a, b: 1}", "{\"a\":null,\"b\":1}"},
      {"a: yes\nb: \"yes\"\nc: 'no'\n", "{\"a\":true,\"b\":\"yes\",\"c\":\"no\"}"},
      {"a: \"\\x41\\u00e9\\U0001F600\\0\"\n", "{\"a\":\"Aé😀\\u0000\"}"},
      {"a: b\r\nc: d\r\n", "{\"a\":\"b\",\"c\":\"d\"}"},
      {"{\n\t\"a\": [\n\t\t1\n\t]\n}", "{\"a\":[1]}"},
      {"1: a\nyes: b\n0x10: c\n\"2\": d\n",
       "{\"1\":\"a\",\"true\":\"b\",\"16\":\"c\",\"2\":\"d\"}"},
      {"1: a\n0x1: b\n", "f:2:1: expected each key once, found \"1\" again (first on line 1)"},
      {"1.5: a\n", "f:1:1: expected a key in quotes, found the number 1.5"},
      {"18446744073709551615: a\n",
       "f:1:1: expected a key in quotes, found the number 18446744073709551615"},
      {"a: [.inf]\n", "f:1:5: expected a number that JSON can hold, found \".inf\""},
  }));
  CAPTURE(c.text);
  CHECK(Parsed(c.text, WithAliases()) == c.want);
}

TEST_CASE("anchors and aliases are resolved exactly or refused", "[config][yaml]") {
  const YamlParserCase c = GENERATE(values<YamlParserCase>({
      {"a: &x {b: [1]}\nc: *x\n", "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]}}"},
      {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
      {"a: &x \"1\"\nb: [*x, *x]\n", "{\"a\":\"1\",\"b\":[\"1\",\"1\"]}"},
      {"a: *x\n", "f:1:4: expected an anchor ('&') of this name before the alias"},
      {"a: &x 1\n---\nb: *x\n", "f:3:4: expected an anchor ('&') of this name before the alias"},
      {"&a [*a]", "f:1:5: expected no alias inside the value that it names"},
      {"&a b: 1\n", "f:1:1: expected a key, found an anchor ('&')"},
      {"a: &x b\n*x : 1\n", "f:2:1: expected a key, found an alias ('*')"},
      {"a: &x\nb: 1\n", "f:1:4: expected a value after the anchor ('&')"},
      {"a: &x:y 1\n",
       "f:1:4: expected letters, digits, '-' and '_' in the name of an anchor, found \"x:y\""},
  }));
  CAPTURE(c.text);
  CHECK(Parsed(c.text, WithAliases()) == c.want);
}

TEST_CASE("bombs are refused without delay", "[config][yaml]") {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string number = std::to_string(i);
    std::string before = "*a";
    before += std::to_string(i - 1);
    laughs.append("a").append(number).append(": &a").append(number).append(" [").append(before);
    for (int j = 1; j < 10; ++j) laughs += ", " + before;
    laughs += "]\n";
  }
  CHECK(Parsed(laughs, WithAliases()) == "f:5:40: expected at most 100000 values, found more");

  for (const char bracket : {'[', '{'}) {
    CHECK(Parsed(std::string(500'000, bracket), YamlRules{}) ==
          "f:1:1: expected a key, found a map or a sequence (is a bracket not closed?)");
  }
  const std::string nested_lists = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(Parsed(nested_lists, YamlRules{}) == "f:1:65: expected at most 64 levels, found more");
  std::string dashes;
  std::string questions;
  for (int i = 0; i < 200'000; ++i) {
    dashes += "- ";
    questions += "? ";
  }
  CHECK(Parsed(dashes, YamlRules{}) == "f:1:129: expected at most 64 levels, found more");
  CHECK(Parsed(questions, YamlRules{}) ==
        "f:1:3: expected a key, found a map or a sequence (is a bracket not closed?)");
  std::string nested = "a: &x [[[[]]]]\nb: ";
  nested += std::string(62, '[') + "*x" + std::string(62, ']');
  CHECK(Parsed(nested, WithAliases()) == "f:2:66: expected at most 64 levels, found more");

  std::string many = "[";
  for (int i = 0; i < 100'001; ++i) many += "1,";
  CHECK(Parsed(many + "]", YamlRules{}) ==
        "f:1:200000: expected at most 100000 values, found more");
  CHECK(Parsed(std::string((1U << 20U) + 1, ' '), YamlRules{}) ==
        "f: expected at most 1048576 bytes, found 1048577");
}

TEST_CASE("as deep as allowed is allowed", "[config][yaml]") {
  const std::string nested = std::string(64, '[') + std::string(64, ']');
  CHECK(Parsed(nested, YamlRules{}) == nested);
}

TEST_CASE("values know their place in the file", "[config][yaml]") {
  const auto documents =
      ParseYaml("# é\n---\na: x\n---\nü: {ö: [1, \"é\", 2]}\n", "f", YamlRules{});
  REQUIRE(documents.ok());
  REQUIRE(documents->size() == 2);
  const YamlNode& second = (*documents)[1];
  CHECK(second.mark == Mark{5, 1});
  CHECK(second.entries[0].mark == Mark{5, 1});
  const YamlNode& list = *second.Find("ü")->Find("ö");
  CHECK(list.mark == Mark{5, 8});
  CHECK(list.items[1].mark == Mark{5, 12});
  CHECK(list.items[2].mark == Mark{5, 17});
}

TEST_CASE("places on long lines count characters", "[config][yaml]") {
  for (const size_t count : {1U, 21U, 31U, 32U, 33U, 63U, 64U, 65U, 1000U}) {
    INFO(count);
    std::string text = "ü: 1\nlong: [";
    for (size_t i = 0; i < count; ++i) text += "é,";
    const auto documents = ParseYaml(text + "]\n", "f", YamlRules{});
    REQUIRE(documents.ok());
    const YamlNode& list = *documents->front().Find("long");
    REQUIRE(list.items.size() == count);
    for (size_t i = 0; i < count; ++i)
      REQUIRE(list.items[i].mark == Mark{2, 8 + 2 * static_cast<int64_t>(i)});
  }
}

TEST_CASE("shown text stays on one line and is cut", "[config][yaml]") {
  CHECK(Quoted("a\"b\\c\nd\te") == "\"a\\\"b\\\\c\\nd\\te\"");
  CHECK(Quoted("\xFFx") == "\"\\xFFx\"");
  CHECK(Quoted(std::string("\0", 1)) == "\"\\x00\"");
  std::string long_text;
  for (int i = 0; i < 61; ++i) long_text += "é";
  std::string want = "\"";
  for (int i = 0; i < 60; ++i) want += "é";
  CHECK(Quoted(long_text) == want + "…\"");
}

}  // namespace
}  // namespace muster::config
