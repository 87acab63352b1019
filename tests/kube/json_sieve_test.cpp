#include "kube/json/json_sieve.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {
namespace {

using cluster::Result;

constexpr Kept kTerm[] = {
    {.name = "key"}, {.name = "values", .kind = Kept::Kind::kList}, {.name = "own/*"}};
constexpr Kept kSpec[] = {{.name = "name"},
                          {.name = "map", .kind = Kept::Kind::kMap},
                          {.name = "terms", .kind = Kept::Kind::kList, .members = kTerm}};
constexpr Kept kThing[] = {{.name = "kind"},
                           {.name = "spec", .kind = Kept::Kind::kObject, .members = kSpec}};

std::string KeptOf(const std::string& text) {
  const Result<Sifted> sifted = Sift(text, kThing, "Thing");
  return sifted.ok() ? sifted->text : sifted.error().ToString();
}

TEST_CASE("what is named is kept as it is written, and nothing else", "[kube][sieve]") {
  struct Case {
    const char* name;
    std::string text;
    std::string kept;
  };
  const std::vector<Case> cases = {
      {"nothing", "{}", "{}"},
      {"members", R"({"other":{"spec":[1,{"kind":2}]}, "kind" : "K" ,"more":[]})",
       R"({"kind":"K"})"},
      {"a map", R"({"spec":{"x":0,"map":{"b":"\u00e9\"","a":-1.5e+3,"n":null}}})",
       R"({"spec":{"map":{"b":"\u00e9\"","a":-1.5e+3,"n":null}}})"},
      {"lists", R"({"spec":{"terms":[{"key":"a","no":1,"values":["x",2]},{},{"values":[]}]}})",
       R"({"spec":{"terms":[{"key":"a","values":["x",2]},{},{"values":[]}]}})"},
      {"the front of a name", R"({"spec":{"terms":[{"own/a":1,"owner":2,"own/":3}]}})",
       R"({"spec":{"terms":[{"own/a":1,"own/":3}]}})"},
      {"another kind than expected",
       R"({"kind":{"a":1},"spec":{"name":[[1]],"map":"text","terms":{"key":1}}})",
       R"({"kind":{},"spec":{"name":[],"map":"text","terms":{}}})"},
      {"a text where an object is expected", R"({"spec":"s","kind":true})",
       R"({"spec":"s","kind":true})"},
      {"a name with escapes", R"({"\u006bind":"K","kin\u0064":"L"})",
       R"({"\u006bind":"K","kin\u0064":"L"})"},
      {"a name twice", R"({"kind":1,"kind":2})", R"({"kind":1,"kind":2})"},
      {"no object", "[1]", "[]"},
      {"a number", " 12 ", "12"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      CHECK(KeptOf(c.text) == c.kept);
      CHECK(KeptOf(" \n" + c.text + "\t") == c.kept);
    }
  }
}

constexpr Kept kSize[] = {{.name = "size", .kind = Kept::Kind::kTree}};
constexpr Kept kNamedAndAny[] = {{.name = "named", .kind = Kept::Kind::kTree, .members = kSize},
                                 {.name = "set", .kind = Kept::Kind::kMark},
                                 {.name = "*", .kind = Kept::Kind::kTree, .members = kSize}};
constexpr Kept kTrees[] = {{.name = "any", .kind = Kept::Kind::kTree, .members = kNamedAndAny},
                           {.name = "named", .kind = Kept::Kind::kTree, .members = kSize}};

TEST_CASE("of a tree the places that are named are kept, in lists and in maps", "[kube][sieve]") {
  const auto kept = [](const std::string& text) {
    const Result<Sifted> sifted = Sift(text, kTrees, "Thing");
    return sifted.ok() ? sifted->text : sifted.error().ToString();
  };
  CHECK(kept(R"({"any":[{"size":1,"no":2},{},{"size":{"a":1}},3]})") ==
        R"({"any":[{"size":1},{},{"size":{}},3]})");
  CHECK(kept(R"({"any":{"one":{"size":1,"no":2},"two":[{"size":3}],"named":{"size":"4"}}})") ==
        R"({"any":{"one":{"size":1},"two":[null],"named":{"size":"4"}}})");
  // Of a list of which nothing is read it is known whether it has elements.
  CHECK(kept(R"({"named":[{"size":1},[2],3],"no":1})") == R"({"named":[null]})");
  CHECK(kept(R"({"named":["x"]})") == R"({"named":[null]})");
  CHECK(kept(R"({"named":[]})") == R"({"named":[]})");
  CHECK(kept(R"({"named":{"size":[[]],"no":[]}})") == R"({"named":{"size":[null]}})");
  CHECK(kept(R"({"named":"a text","any":null})") == R"({"named":"a text","any":null})");
}

TEST_CASE("of what is only marked it is kept whether something stands there", "[kube][sieve]") {
  const auto kept = [](const std::string& value) {
    const Result<Sifted> sifted = Sift(R"({"any":{"set":)" + value + "}}", kTrees, "Thing");
    return sifted.ok() && !sifted->left_out ? sifted->text : "not kept";
  };
  const auto marked = [](const std::string& value) { return R"({"any":{"set":)" + value + "}}"; };
  CHECK(kept('"' + std::string(500'000, 'x') + '"') == marked(R"("+")"));
  CHECK(kept(R"("\u00e9")") == marked(R"("+")"));
  CHECK(kept(R"("")") == marked(R"("")"));
  CHECK(kept(R"([{"a":[1]},2])") == marked("[null]"));
  CHECK(kept("[]") == marked("[]"));
  CHECK(kept(R"({"a":1})") == marked("{}"));
  CHECK(kept("7.5") == marked("7.5"));
  CHECK(kept("false") == marked("false"));
}

TEST_CASE("the grammar holds for what is kept and for what is not", "[kube][sieve]") {
  const std::string values[] = {
      "0", "-0", "10", "-1.25", "0.5e-7", "1E+2", "1e5", "true", "false", "null", R"("")",
      R"("a\"\\\/\b\f\n\r\t\u12aF")", "[]", "{}", "[1,[2,{}],\"\"]", R"({"a":{"b":[]}})",
      // No values:
      "", "01", "-", "1.", ".5", "1e", "1e+", "+1", "--1", "1.e1", "tru", "truee", "nul", "NaN",
      "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{a:1}", "{\"a\" 1}",
      "[1}", "{]", "\"a", "\"\\x\"", "\"\\u12g4\"", "\"\\u12\"", "\"a\nb\"", "'a'", "\x01", "1,2",
      "\"\"\"\""};
  for (const std::string& value : values) {
    for (const char* name : {"kind", "other"}) {
      const std::string text = std::string("{\"") + name + "\":" + value + "}";
      CAPTURE(text);
      const bool valid = Json::Parse(text, 1000, "text").ok();
      const Result<Sifted> whole = Sift(text, kThing, "Thing");
      CHECK(whole.ok() == valid);
      if (!whole.ok()) CHECK_THAT(whole.error().place, Catch::StartsWith("byte "));
      for (size_t cut = 0; cut <= text.size(); ++cut) {
        std::string kept;
        JsonSieve sieve({.root = {.kind = Kept::Kind::kElement}, .element = kThing},
                        [&](std::string_view element, const cluster::Error*) {
                          kept = element;
                          return true;
                        });
        std::string_view first = std::string_view(text).substr(0, cut);
        std::string_view second = std::string_view(text).substr(cut);
        REQUIRE((sieve.Feed(first) && sieve.Feed(second) && sieve.End()) == valid);
        if (valid) REQUIRE(kept == whole->text);
      }
    }
  }
}

TEST_CASE("nesting that is left out has its own bound, and costs bits", "[kube][sieve]") {
  const auto nested = [](size_t depth) {
    return R"({"other":)" + std::string(depth, '[') + std::string(depth, ']') + R"(,"kind":1})";
  };
  CHECK(KeptOf(nested(JsonScanner::kMaxNesting - 1)) == R"({"kind":1})");
  CHECK_THAT(KeptOf(nested(JsonScanner::kMaxNesting)), Catch::Contains("nested deeper than 16384"));
}

TEST_CASE("a member beyond its bound is left out, and named", "[kube][sieve]") {
  const std::string many(JsonSieve::kMaxMember, 'x');
  std::string values = "\"\"";
  while (values.size() < JsonSieve::kMaxMember) values += ",\"\"";
  struct Case {
    const char* name;
    std::string text;
    std::string kept;
    std::string left_out;
  };
  const std::vector<Case> cases = {
      {"a long text",
       R"({"kind":"K","spec":{"name":")" + std::string(4097, 'n') + R"(","map":{}}})",
       R"({"kind":"K","spec":{"name":null,"map":{}}})",
       "Thing.spec.name: holds a text of more than 4096 bytes, it is not read"},
      {"a text as long as may be", R"({"kind":")" + std::string(4096, 'n') + R"("})",
       R"({"kind":")" + std::string(4096, 'n') + R"("})", ""},
      {"a text at the top", R"({"kind":")" + many + R"(","spec":{"name":"n"}})",
       R"({"kind":null,"spec":{"name":"n"}})",
       "Thing.kind: holds a text of more than 4096 bytes, it is not read"},
      {"values deep within",
       R"({"spec":{"terms":[{"key":"a"},{"values":[)" + values + R"(]},{"key":"b"}],"name":"n"}})",
       R"({"spec":{"terms":null,"name":"n"}})",
       "Thing.spec.terms: is larger than 262144 bytes, it is not read"},
      {"a name in a map", R"({"spec":{"map":{"a":"b",")" + many + R"(":1,"c":2},"name":"n"}})",
       R"({"spec":{"map":null,"name":"n"}})",
       "Thing.spec.map: holds a name of more than 4096 bytes, it is not read"},
      {"two of them", R"({"spec":{"map":{"a":")" + many + R"("},"name":")" + many + R"("}})",
       R"({"spec":{"map":null,"name":null}})",
       "Thing.spec.map: holds a text of more than 4096 bytes, it is not read"},
      {"what nobody uses", R"({"spec":{"env":")" + many + R"(",")" + many + R"(":1},"kind":2})",
       R"({"spec":{},"kind":2})", ""},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const Result<Sifted> sifted = Sift(c.text, kThing, "Thing");
      if (!sifted.ok()) FAIL(sifted.error().ToString());
      CHECK(sifted->text == c.kept);
      CHECK((sifted->left_out ? sifted->left_out->ToString() : "") == c.left_out);
    }
  }
}

TEST_CASE("names that are given for ever are no object", "[kube][sieve]") {
  std::string text = "{";
  while (text.size() < 2 * JsonSieve::kMaxKept) text += R"("kind":"aaaaaaaaaaaaaaaaaaaaaa",)";
  CHECK_THAT(KeptOf(text + R"("kind":1})"), Catch::Contains("would be kept"));
}

TEST_CASE("what follows the value is left alone", "[kube][sieve]") {
  const std::string text = R"({"kind":1}, "more")";
  const Result<Sifted> sifted = Sift(text, kThing, "Thing");
  REQUIRE(sifted.ok());
  CHECK(text.substr(sifted->end) == R"(, "more")");
}

TEST_CASE("a reader that has enough ends the reading", "[kube][sieve]") {
  int seen = 0;
  JsonSieve sieve({.root = {.kind = Kept::Kind::kElements}, .element = kThing},
                  [&](std::string_view, const cluster::Error*) { return ++seen < 2; });
  std::string_view text = R"([{},{},{},{}])";
  CHECK_FALSE(sieve.Feed(text));
  CHECK(seen == 2);
  CHECK_FALSE(sieve.problem());
}

TEST_CASE("a text of a pod is read as far as pods are used", "[kube][sieve]") {
  const auto pod = [](const std::string& more) {
    return R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{)" + more + "}}";
  };
  const Result<cluster::Pod> deep =
      DecodePod(pod(R"("dnsConfig":)" + std::string(500, '[') + std::string(500, ']')));
  REQUIRE(deep.ok());
  CHECK(deep->defect.empty());
  const Result<cluster::Pod> long_name =
      DecodePod(pod(R"("schedulerName":")" + std::string(5000, 's') + R"(","nodeName":"a")"));
  REQUIRE(long_name.ok());
  CHECK(long_name->defect ==
        "Pod.spec.schedulerName: holds a text of more than 4096 bytes, it is not read");
  CHECK(long_name->node_name == "a");
  CHECK(long_name->spec->scheduler_name.empty());
}

}  // namespace
}  // namespace muster::kube
