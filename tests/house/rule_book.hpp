// The rules for the rule book, docs/reference/rules.md.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. Every rule that code or a document cites ("R5", "I1") is a heading of the rule book.
// 2. Every rule of the book names a test, and that test is there.
std::vector<Finding> CheckRuleBook(const SourceTree& tree);

}  // namespace muster::house
