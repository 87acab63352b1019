#include "queues/loans.hpp"

#include <algorithm>

namespace muster::queues {

namespace {

struct Lender {
  QueueIndex queue;
  int64_t left = 0;
};

// Those that the children of `parent` can borrow from: first itself.
std::vector<Lender> LendersOf(const Ledger& ledger, QueueIndex parent, size_t resource) {
  const Tree& tree = ledger.tree();
  const Queue& above = tree.at(parent);
  int64_t guaranteed = 0;
  std::vector<Lender> lenders = {{parent}};
  for (const QueueIndex child : above.children) {
    const Queue& queue = tree.at(child);
    const int64_t used = ledger.used(child)[resource];
    guaranteed += queue.guarantee[resource];
    const int64_t kept = std::max(used, queue.unlent[resource]);
    lenders.push_back({child, std::max<int64_t>(0, queue.guarantee[resource] - kept)});
  }
  const int64_t own = parent == kRootIndex
                          ? ledger.capacity()[resource] - ledger.foreign()[resource]
                          : above.guarantee[resource];
  const int64_t has = std::max(own, ledger.used(parent)[resource]);
  lenders.front().left = std::max<int64_t>(0, has - guaranteed);
  return lenders;
}

}  // namespace

std::vector<Loan> LoansOf(const Ledger& ledger, size_t resource) {
  const Tree& tree = ledger.tree();
  std::vector<Loan> loans;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const QueueIndex parent{i};
    if (tree.at(parent).leaf()) continue;
    std::vector<Lender> lenders = LendersOf(ledger, parent, resource);
    auto lender = lenders.begin();
    for (const QueueIndex child : tree.at(parent).children) {
      int64_t borrows = ledger.used(child)[resource] - tree.at(child).guarantee[resource];
      while (borrows > 0 && lender != lenders.end()) {
        const int64_t amount = std::min(borrows, lender->left);
        if (amount > 0) loans.push_back({lender->queue, child, amount});
        borrows -= amount;
        lender->left -= amount;
        if (lender->left == 0) ++lender;
      }
    }
  }
  return loans;
}

}  // namespace muster::queues
