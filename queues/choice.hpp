// Choose: the queue of a gang, by what it names and by its namespace. Pure function.
//
// 1. A gang that names a queue waits there, if its namespace may use it.
// 2. Else the queues that list its namespace decide, else those that select it by its labels, else
//    those that are open to all. Exactly one there must be.
#pragma once

#include <string>

#include "cluster/records/selector.hpp"
#include "queues/tree.hpp"

namespace muster::queues {

struct Choice {
  enum class Kind {
    kChosen,
    kUnknown,    // no queue has the name that it asks for
    kForbidden,  // its namespace may not use that queue, or it may use none or several
  };
  Kind kind = Kind::kChosen;
  std::string queue;  // kOrphan unless chosen
  std::string why;    // for people, unless chosen
  bool operator==(const Choice&) const = default;
};

// `asked`: the name; empty: none. `labels`: of the namespace.
Choice Choose(const Tree& tree, const std::string& asked, const std::string& ns,
              const cluster::Labels& labels);

}  // namespace muster::queues
