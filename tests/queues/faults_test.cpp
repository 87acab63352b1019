#include <catch2/catch.hpp>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kCpu;
using testing::kH100;
using testing::kT4;
using testing::MakeQueue;

std::string Faults(const std::vector<QueueSpec>& queues) {
  std::string text;
  for (const Fault& fault : FindFaults(queues)) {
    text += "[" + std::to_string(fault.queue) + "]." + fault.field + ": " + fault.message + "\n";
  }
  return text;
}

TEST_CASE("a list of queues in any order is a tree", "[queues][faults]") {
  CHECK(Faults({}).empty());
  CHECK(Faults({MakeQueue("research", "company").Guarantee(64).Guarantee(32, kH100).AtMost(128),
                MakeQueue("company", "root").Guarantee(96).Guarantee(32, kH100),
                MakeQueue("prod", "company").Guarantee(32).Lend(16), MakeQueue("root").AtMost(200)})
            .empty());
}

TEST_CASE("all faults of a list of queues are reported at once", "[queues][faults]") {
  struct Case {
    const char* name;
    std::vector<QueueSpec> queues;
    const char* want;
  };
  const auto c = GENERATE(values<Case>({
      {"a name twice",
       {MakeQueue("a"), MakeQueue("a"), MakeQueue("_orphan")},
       "[1].name: expected a name that no other queue has, found \"a\" again (first as [0])\n"
       "[2].name: expected a name, found \"_orphan\"\n"},
      {"an unknown parent",
       {MakeQueue("a", "b"), MakeQueue("c", "root")},
       "[0].parent: expected the name of a queue, found \"b\"\n"},
      {"cycles, each once, and a queue below one",
       {MakeQueue("x", "a"), MakeQueue("a", "c"), MakeQueue("b", "a"), MakeQueue("c", "b"),
        MakeQueue("self", "self")},
       "[1].parent: expected a queue that is not below this one, found the cycle a → c → b → a\n"
       "[4].parent: expected a queue that is not below this one, found the cycle self → self\n"},
      {"sums of guarantees over the parent's",
       {MakeQueue("p").Guarantee(10), MakeQueue("a", "p").Guarantee(8),
        MakeQueue("b", "p").Guarantee(4).Guarantee(2, kCpu)},
       "[0].guarantee.gpu: expected at least 12, which queues below are guaranteed (a 8, b 4), "
       "found 10\n"
       "[0].guarantee.cpu: expected at least 2, which queues below are guaranteed (b 2), found "
       "nothing\n"},
      {"models count as GPUs where nothing is said of GPUs",
       {MakeQueue("p").Guarantee(10).Guarantee(9, kH100),
        MakeQueue("a", "p").Guarantee(9, kH100).Guarantee(3, kT4)},
       "[0].guarantee.gpu: expected at least 12, which queues below are guaranteed (a 12), found "
       "10\n"
       "[0].guarantee.gpu/t4: expected at least 3, which queues below are guaranteed (a 3), found "
       "nothing\n"},
      {"fewer GPUs than models",
       {MakeQueue("a").Guarantee(10).Guarantee(9, kH100).Guarantee(3, kT4)},
       "[0].guarantee.gpu: expected at least 12, which is guaranteed by model, found 10\n"},
      {"a limit below the guarantee, lending more than there is",
       {MakeQueue("a").Guarantee(10).AtMost(9).Lend(11).Lend(1, kCpu)},
       "[0].limit.gpu: expected at least the guarantee of 10, found 9\n"
       "[0].lend.gpu: expected at most the guarantee of 10, found 11\n"
       "[0].lend.cpu: expected at most the guarantee of 0, found 1\n"},
      {"a limit below what is guaranteed by model",
       {MakeQueue("a").Guarantee(6, kH100).Guarantee(2, kT4).AtMost(7)},
       "[0].limit.gpu: expected at least the guarantee of 8, found 7\n"},
      {"a limit of the root below the guarantees",
       {MakeQueue("root").AtMost(9).AtMost(5, kCpu), MakeQueue("a").Guarantee(6, kH100),
        MakeQueue("b").Guarantee(4).Guarantee(5, kCpu), MakeQueue("c", "b").Guarantee(4)},
       "[0].limit.gpu: expected at least 10, which queues below are guaranteed (a 6, b 4), found "
       "9\n"},
      {"the guarantee of a queue that is fair by namespace over its parent's",
       {MakeQueue("p"), MakeQueue("a", "p").Guarantee(4).FairByNamespace()},
       "[0].guarantee.gpu: expected at least 4, which queues below are guaranteed (a 4), found "
       "nothing\n"},
      {"namespaces beside other queues",
       {MakeQueue("a").FairByNamespace(), MakeQueue("b", "a")},
       "[0].fairBy: expected none in a queue that has others below it (\"b\"), found namespace\n"},
      {"more GPUs by model than can be counted",
       {MakeQueue("a").Guarantee(kMostAmount / 1000, kH100).Guarantee(1, kT4)},
       "[0].guarantee: expected at most 1125899906842.624 GPUs of all models, found "
       "1125899906843\n"},
      {"the same model in two shapes",
       {MakeQueue("a").Guarantee(64).Shape(1, "h100").Shape(2).Shape(3, "h100").Shape(1)},
       "[0].guarantee.shapes[2].model: expected a model that no other shape of the queue has, "
       "found \"h100\" again (first as [0])\n"
       "[0].guarantee.shapes[3].model: expected a model that no other shape of the queue has, "
       "found \"\" again (first as [1])\n"},
      {"shapes without the GPUs of their nodes",
       {MakeQueue("a").Shape(1), MakeQueue("b").Guarantee(2).Shape(2).Shape(1, "h100"),
        MakeQueue("c").Guarantee(8).Guarantee(1, kH100).Shape(2, "h100")},
       "[0].guarantee.shapes: expected gpu beside it in the guarantee, with the GPUs of its 1 "
       "node, 1 at least, found none\n"
       "[1].guarantee.shapes: expected gpu beside it in the guarantee, with the GPUs of its 3 "
       "nodes, 3 at least, found 2\n"
       "[2].guarantee.gpu/h100: expected the GPUs of 2 whole h100 nodes, 2 at least, found 1\n"},
      {"shapes over the parent's",
       {MakeQueue("p").Guarantee(64).Shape(3, "h100"),
        MakeQueue("a", "p").Guarantee(32).Shape(2, "h100").Shape(1, "t4"),
        MakeQueue("b", "p").Guarantee(32).Shape(2, "h100")},
       "[0].guarantee.shapes[0].wholeNodes: expected at least 4, which queues below are guaranteed "
       "(a 2, b 2), found 3\n"},
      {"what the root cannot have",
       {MakeQueue("root", "a").Guarantee(1).Weight(2), MakeQueue("a")},
       "[0].parent: expected nothing here in queue \"root\", which is above all others\n"
       "[0].guarantee: expected nothing here in queue \"root\", which has the whole cluster\n"
       "[0].weight: expected nothing here in queue \"root\", which has no siblings\n"},
      {"strict order where no gang is",
       {MakeQueue("p").In(Order::kStrictFifo), MakeQueue("a", "p").In(Order::kStrictFifo)},
       "[0].order: expected fair or fifo in a queue that has others below it (\"a\"), found "
       "strict-fifo\n"},
      {"namespaces by which nobody comes",
       {MakeQueue("p").For({"team"}), MakeQueue("a", "p").For({"x"}),
        MakeQueue("b", "p").ForLabels({{"team", "b"}}), MakeQueue("q").For({"team"}),
        MakeQueue("c", "q")},
       "[0].namespaces: expected none, because every queue below names its own: no gang comes this "
       "way\n"},
  }));
  DYNAMIC_SECTION(c.name) { CHECK(Faults(c.queues) == c.want); }
}

TEST_CASE("a queue that says nothing of a model's nodes covers those below by its GPUs",
          "[queues][faults][R14]") {
  CHECK(Faults({MakeQueue("p").Guarantee(24).Shape(1, "t4"),
                MakeQueue("a", "p").Guarantee(16).Shape(2, "h100")})
            .empty());
}

TEST_CASE("a tree has a depth that shares can be reckoned with", "[queues][faults]") {
  std::vector<QueueSpec> queues = {MakeQueue("q1")};
  for (int i = 2; i <= 12; ++i)
    queues.push_back(MakeQueue("q" + std::to_string(i), "q" + std::to_string(i - 1)));
  CHECK(Faults(queues).empty());
  queues.push_back(MakeQueue("root"));
  CHECK(Faults(queues).empty());
  queues[11].fair_by = FairBy::kNamespace;
  CHECK(Faults(queues) == "[11].parent: expected at most 12 levels below the root, found 13\n");
  queues[11].fair_by = FairBy::kNone;
  queues.push_back(MakeQueue("q13", "q12"));
  CHECK(Faults(queues) == "[13].parent: expected at most 12 levels below the root, found 13\n");
}

}  // namespace
}  // namespace muster::queues
