#include "cluster/records/selector.hpp"

#include <catch2/catch.hpp>

namespace muster::cluster {
namespace {

using Op = SelectorOperator;

Labels NodeLabels() {
  return {{"zone", "a"},
          {"gpus", "8"},
          {"empty", ""},
          {"neg", "-3"},
          {"big", "9223372036854775807"},
          {"huge", "9223372036854775808"},
          {"plus", "+4"},
          {"text", "8x"}};
}

TEST_CASE("every operator of a requirement", "[cluster][selector]") {
  struct Case {
    const char* name;
    SelectorRequirement requirement;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"In has it", {"zone", Op::kIn, {"b", "a"}}, true},
      {"In has it not", {"zone", Op::kIn, {"b"}}, false},
      {"In, key missing", {"rack", Op::kIn, {"a"}}, false},
      {"In, key missing, empty value", {"rack", Op::kIn, {""}}, false},
      {"In the empty value", {"empty", Op::kIn, {""}}, true},
      {"In no values", {"zone", Op::kIn, {}}, false},
      {"In is case-sensitive", {"zone", Op::kIn, {"A"}}, false},
      {"NotIn has it", {"zone", Op::kNotIn, {"b", "a"}}, false},
      {"NotIn has it not", {"zone", Op::kNotIn, {"b"}}, true},
      {"NotIn, key missing", {"rack", Op::kNotIn, {"a"}}, true},
      {"NotIn no values", {"zone", Op::kNotIn, {}}, false},
      {"Exists", {"zone", Op::kExists, {}}, true},
      {"Exists, empty value", {"empty", Op::kExists, {}}, true},
      {"Exists, key missing", {"rack", Op::kExists, {}}, false},
      {"Exists takes no values", {"zone", Op::kExists, {"a"}}, false},
      {"DoesNotExist", {"zone", Op::kDoesNotExist, {}}, false},
      {"DoesNotExist, key missing", {"rack", Op::kDoesNotExist, {}}, true},
      {"DoesNotExist takes no values", {"rack", Op::kDoesNotExist, {"a"}}, false},
      {"Gt", {"gpus", Op::kGt, {"7"}}, true},
      {"Gt equal", {"gpus", Op::kGt, {"8"}}, false},
      {"Gt is not textual", {"gpus", Op::kGt, {"10"}}, false},
      {"Gt negative", {"neg", Op::kGt, {"-4"}}, true},
      {"Gt signed", {"plus", Op::kGt, {"+3"}}, true},
      {"Gt, key missing", {"rack", Op::kGt, {"0"}}, false},
      {"Gt, label is no integer", {"text", Op::kGt, {"0"}}, false},
      {"Gt, label is empty", {"empty", Op::kGt, {"-1"}}, false},
      {"Gt, label is too large", {"huge", Op::kGt, {"0"}}, false},
      {"Gt, bound is no integer", {"gpus", Op::kGt, {"7.5"}}, false},
      {"Gt, bound has a blank", {"gpus", Op::kGt, {" 7"}}, false},
      {"Gt, bound with two signs", {"gpus", Op::kGt, {"+-7"}}, false},
      {"Gt no bound", {"gpus", Op::kGt, {}}, false},
      {"Gt two bounds", {"gpus", Op::kGt, {"1", "2"}}, false},
      {"Gt at the end", {"big", Op::kGt, {"9223372036854775806"}}, true},
      {"Lt", {"gpus", Op::kLt, {"9"}}, true},
      {"Lt equal", {"gpus", Op::kLt, {"8"}}, false},
      {"Lt is not textual", {"gpus", Op::kLt, {"10"}}, true},
      {"Lt, key missing", {"rack", Op::kLt, {"9"}}, false},
      {"Lt, label is no integer", {"zone", Op::kLt, {"9"}}, false},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(Matches(c.requirement, NodeLabels()) == c.want); }
}

TEST_CASE("all requirements of a term must hold", "[cluster][selector]") {
  NodeSelectorTerm term;
  CHECK_FALSE(Matches(term, "n0", NodeLabels()));  // an empty term matches nothing
  term.match_expressions = {{"zone", Op::kIn, {"a"}}, {"gpus", Op::kGt, {"4"}}};
  CHECK(Matches(term, "n0", NodeLabels()));
  term.match_expressions.push_back({"rack", Op::kExists, {}});
  CHECK_FALSE(Matches(term, "n0", NodeLabels()));
}

TEST_CASE("matchFields looks at the node's name only", "[cluster][selector]") {
  struct Case {
    const char* name;
    SelectorRequirement field;
    bool want;
  };
  const Case c = GENERATE(values<Case>({
      {"In", {"metadata.name", Op::kIn, {"n0"}}, true},
      {"In another", {"metadata.name", Op::kIn, {"n1"}}, false},
      {"In two names is malformed", {"metadata.name", Op::kIn, {"n0", "n1"}}, false},
      {"NotIn", {"metadata.name", Op::kNotIn, {"n1"}}, true},
      {"NotIn itself", {"metadata.name", Op::kNotIn, {"n0"}}, false},
      {"no such field", {"metadata.uid", Op::kNotIn, {"n1"}}, false},
      {"a label is no field", {"zone", Op::kIn, {"a"}}, false},
      {"Exists is not known", {"metadata.name", Op::kExists, {}}, false},
  }));
  DYNAMIC_SECTION(c.name) {
    NodeSelectorTerm term;
    term.match_fields = {c.field};
    CHECK(Matches(term, "n0", NodeLabels()) == c.want);
    term.match_expressions = {{"zone", Op::kIn, {"b"}}};
    CHECK_FALSE(Matches(term, "n0", NodeLabels()));
  }
}

TEST_CASE("any term of the affinity suffices, and the node selector too must hold",
          "[cluster][selector]") {
  NodeConstraints constraints;
  CHECK(MatchesNode(constraints, "n0", NodeLabels()));
  CHECK(MatchesNode(constraints, "n0", {}));
  constraints.has_affinity = true;
  CHECK_FALSE(MatchesNode(constraints, "n0", NodeLabels()));  // no terms: nothing matches
  constraints.affinity_terms.emplace_back();
  CHECK_FALSE(MatchesNode(constraints, "n0", NodeLabels()));
  constraints.affinity_terms.push_back({{{"zone", Op::kIn, {"b"}}}, {}});
  CHECK_FALSE(MatchesNode(constraints, "n0", NodeLabels()));
  constraints.affinity_terms.push_back({{}, {{"metadata.name", Op::kIn, {"n0"}}}});
  CHECK(MatchesNode(constraints, "n0", NodeLabels()));
  CHECK_FALSE(MatchesNode(constraints, "n1", NodeLabels()));
  constraints.node_selector = {{"zone", "a"}};
  CHECK(MatchesNode(constraints, "n0", NodeLabels()));
  constraints.node_selector = {{"zone", "a"}, {"rack", ""}};
  CHECK_FALSE(MatchesNode(constraints, "n0", NodeLabels()));
}

}  // namespace
}  // namespace muster::cluster
