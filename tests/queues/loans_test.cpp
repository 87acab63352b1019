// Who borrows from whom, by hand, in GPUs.
#include "queues/loans.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

// "b from root 2, b from a 3".
std::string Loans(const std::vector<QueueSpec>& queues, int64_t capacity,
                  const std::map<std::string, int64_t>& used) {
  const auto tree = TreeOf(queues);
  Ledger ledger(tree);
  ledger.SetCapacity(Vector(tree->resources().size(), Whole(capacity)));
  for (const auto& [name, gpus] : used) {
    Vector amounts(tree->resources().size());
    amounts[0] = Whole(gpus);
    ledger.Set(*tree->Find(name), amounts);
  }
  std::string text;
  for (const Loan& loan : LoansOf(ledger, 0)) {
    text += (text.empty() ? "" : ", ") + tree->at(loan.borrower).name + " from " +
            tree->at(loan.lender).name + " " + std::to_string(loan.amount / 1000);
  }
  return text;
}

TEST_CASE("a queue borrows what nobody is guaranteed before it borrows from others", "[queues]") {
  const std::vector<QueueSpec> queues = {MakeQueue("a").Guarantee(8), MakeQueue("b").Guarantee(8),
                                         MakeQueue("c")};
  CHECK(Loans(queues, 20, {{"b", 8}}).empty());
  CHECK(Loans(queues, 20, {{"b", 12}}) == "b from root 4");
  CHECK(Loans(queues, 20, {{"b", 15}}) == "b from root 4, b from a 3");
  // b and c borrow from the same: in the order of the policy.
  CHECK(Loans(queues, 20, {{"b", 13}, {"c", 7}}) == "b from root 4, b from a 1, c from a 7");
}

TEST_CASE("a queue that a parent borrows for has that from the parent", "[queues]") {
  // x is guaranteed 10, of which its children have 4 and 4; y lends 6.
  const std::vector<QueueSpec> queues = {MakeQueue("x").Guarantee(10), MakeQueue("y").Guarantee(6),
                                         MakeQueue("x1", "x").Guarantee(4),
                                         MakeQueue("x2", "x").Guarantee(4)};
  // x uses 14: 4 from y. x1 has 2 of x's own, 4 of what x borrows, and x2's 4.
  CHECK(Loans(queues, 16, {{"x1", 14}}) == "x from y 4, x1 from x 6, x1 from x2 4");
}

TEST_CASE("what a queue does not lend is nobody's loan", "[queues]") {
  const std::vector<QueueSpec> queues = {MakeQueue("a").Guarantee(8).Lend(3),
                                         MakeQueue("b").Guarantee(8)};
  CHECK(Loans(queues, 16, {{"b", 11}}) == "b from a 3");
  // a's own 2 are of the 5 that it keeps.
  CHECK(Loans(queues, 16, {{"a", 2}, {"b", 11}}) == "b from a 3");
  // More than there is, because a node has gone: nobody is named for it.
  CHECK(Loans(queues, 12, {{"b", 12}}) == "b from a 3");
}

}  // namespace
}  // namespace muster::queues
