#include "config/yaml/yaml_scalar.hpp"

#include <catch2/catch.hpp>

namespace muster::config {
namespace {

// The wanted values are what sigs.k8s.io/yaml v1.4.0 makes of `[text]`.
TEST_CASE("scalars without quotes are typed as kubectl types them", "[config][yaml]") {
  struct Case {
    const char* text;
    const char* want;  // null: text
  };
  const Case c = GENERATE(values<Case>({
      {"", "null"},
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"NULL", "null"},
      {"nULL", nullptr},
      {"true", "true"},
      {"True", "true"},
      {"TRUE", "true"},
      {"tRUE", nullptr},
      {"yes", "true"},
      {"Y", "true"},
      {"on", "true"},
      {"false", "false"},
      {"No", "false"},
      {"n", "false"},
      {"OFF", "false"},
      {"12", "12"},
      {"+12", "12"},
      {"-0", "0"},
      {"012", "10"},
      {"08", "8"},
      {"0o17", "15"},
      {"0x1F", "31"},
      {"-0xff", "-255"},
      {"0b11", "3"},
      {"-0b11", "-3"},
      {"0b2", nullptr},
      {"0x", nullptr},
      {"1_000", "1000"},
      {"_1", nullptr},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "18446744073709552000"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"-9223372036854775809", "-9223372036854776000"},
      {"1e3", "1000"},
      {"1.0", "1"},
      {"5.", "5"},
      {".5", "0.5"},
      {"-.5e3", "-500"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"0.000001", "0.000001"},
      {"0.30000000000000004", "0.30000000000000004"},
      {"1e-400", "0"},
      {"1e400", nullptr},
      {"1e", nullptr},
      {"-", nullptr},
      {"+", nullptr},
      {".", nullptr},
      {"1.2.3", nullptr},
      {"100Mi", nullptr},
      {"1500m", nullptr},
      {"2001-01-01", nullptr},
      {"12:30:00", nullptr},
      {"0x1G", nullptr},
      {".5_1", "0.51"},
      {"._5", nullptr},
      {".5_", nullptr},
  }));
  CAPTURE(c.text);
  const Scalar scalar = ResolvePlain(c.text);
  if (c.want == nullptr) {
    CHECK(scalar.type == ScalarType::kText);
  } else {
    CHECK(scalar.json == c.want);
  }
}

TEST_CASE("numbers that JSON cannot hold are told apart", "[config][yaml]") {
  for (const char* text : {".inf", "+.Inf", "-.INF", ".nan", ".NaN", ".NAN"}) {
    CHECK(ResolvePlain(text).type == ScalarType::kNotFinite);
  }
  CHECK(ResolvePlain("inf").type == ScalarType::kText);
  CHECK(ResolvePlain("nan").type == ScalarType::kText);
}

}  // namespace
}  // namespace muster::config
