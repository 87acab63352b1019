// LoansOf: who borrows from whom, of one resource. Pure function.
//
// A child borrows what it uses beyond its guarantee. It has that from its parent, as far as the
// parent has more than it guarantees its children (of the root: the capacity that queues use; or
// what the parent itself borrows), and then from siblings whose guarantees are idle. One GPU is
// like another, so who has whose is a convention: borrowers and lenders meet in the order of the
// policy.
#pragma once

#include <cstdint>
#include <vector>

#include "queues/ledger.hpp"

namespace muster::queues {

struct Loan {
  QueueIndex lender;  // a sibling of the borrower, or its parent
  QueueIndex borrower;
  int64_t amount = 0;
  bool operator==(const Loan&) const = default;
};

// In the order of the borrowers' parents, then of the borrowers, then of the lenders.
std::vector<Loan> LoansOf(const Ledger& ledger, size_t resource);

}  // namespace muster::queues
