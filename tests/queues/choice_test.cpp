#include "queues/choice.hpp"

#include <catch2/catch.hpp>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::MakeQueue;

std::string Chosen(const Tree& tree, const std::string& asked, const std::string& ns,
                   const cluster::Labels& labels = {}) {
  const Choice choice = Choose(tree, asked, ns, labels);
  if (choice.kind == Choice::Kind::kChosen) return choice.queue;
  CHECK(choice.queue == kOrphan);
  return (choice.kind == Choice::Kind::kUnknown ? "unknown: " : "forbidden: ") + choice.why;
}

TEST_CASE("a gang's queue is the one that it names, if its namespace may use it",
          "[queues][choice]") {
  const Tree tree({MakeQueue("company"), MakeQueue("research", "company").For({"lab", "shared"}),
                   MakeQueue("prod", "company").ForLabels({{"team", "prod"}}), MakeQueue("edu")});
  CHECK(Chosen(tree, "research", "lab") == "research");
  CHECK(Chosen(tree, "prod", "any", {{"team", "prod"}, {"x", "y"}}) == "prod");
  CHECK(Chosen(tree, "edu", "lab") == "edu");
  CHECK(Chosen(tree, "research", "edu") == "forbidden: namespace edu may not use queue research");
  CHECK(Chosen(tree, "prod", "any", {{"team", "lab"}}) ==
        "forbidden: namespace any may not use queue prod");
  CHECK(Chosen(tree, "reserch", "lab") ==
        "unknown: there is no queue reserch, did you mean research?");
  CHECK(Chosen(tree, "quite-another", "lab") == "unknown: there is no queue quite-another");
  CHECK(Chosen(tree, "_orphan", "lab") == "unknown: there is no queue _orphan");
  CHECK(Chosen(tree, "company", "lab") ==
        "forbidden: queue company has no gangs of its own, only the queues below it: research, "
        "prod");
}

TEST_CASE("where the root is the only queue its namespaces count, and no name",
          "[queues][choice]") {
  const Tree open(OneQueue());
  CHECK(Chosen(open, "", "any") == "root");
  CHECK(Chosen(open, "of-another-system", "any") == "root");
  const Tree closed({MakeQueue("root").For({"lab"})});
  CHECK(Chosen(closed, "of-another-system", "lab") == "root");
  for (const char* asked : {"", "root", "of-another-system"})
    CHECK(Chosen(closed, asked, "any") == "forbidden: no queue is for namespace any");
}

TEST_CASE("a gang that names none has the queue of its namespace", "[queues][choice]") {
  const Tree tree({MakeQueue("a").For({"lab", "both"}), MakeQueue("b").For({"both"}),
                   MakeQueue("c").ForLabels({{"team", "c"}}), MakeQueue("d")});
  CHECK(Chosen(tree, "", "lab", {{"team", "c"}}) == "a");
  CHECK(Chosen(tree, "", "x", {{"team", "c"}}) == "c");
  CHECK(Chosen(tree, "", "x") == "d");
  CHECK(Chosen(tree, "", "both") ==
        "forbidden: namespace both may use several queues (a, b): name one with muster.dev/queue");
  CHECK(Chosen(tree, "b", "both") == "b");
  const Tree closed({MakeQueue("a").For({"lab"})});
  CHECK(Chosen(closed, "", "x") == "forbidden: no queue is for namespace x");
  CHECK(Chosen(Tree({}), "", "x") == "root");
}

}  // namespace
}  // namespace muster::queues
