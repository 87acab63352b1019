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
// 5. A page of docs/ has 1,600 words at most, except in docs/reference/.
// 6. The README.md of another folder has 1,600 words at most: what the folder is for, and its
// files.
//    Why they work as they do is in docs/design/.
// 7. Links from docs/README.md lead to every page of docs/, or mkdocs.yml lists it.
std::vector<Finding> CheckDocuments(const SourceTree& tree);

}  // namespace muster::house
