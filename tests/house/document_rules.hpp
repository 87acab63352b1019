// The rules for what people read: READMEs, links, the commands that the front page promises, marks
// of unfinished work.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. The top and every folder of the repository layout have a README.md.
// 2. No text has a word that marks unfinished work, nor a path that exists on one machine only.
// 3. A relative link in a .md leads to something in the tree.
// 4. A `make target` that a .md names is a target of the Makefile.
std::vector<Finding> CheckDocuments(const SourceTree& tree);

}  // namespace muster::house
