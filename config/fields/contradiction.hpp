// What a file says that fields by themselves do not show.
#pragma once

#include <string>

namespace muster::config {

// What is wrong between fields that are each right: the field to change ("queues[2].limit") and
// what is expected of it.
struct Contradiction {
  std::string field;
  std::string message;
  bool doubt = false;  // it may be meant: said, and not refused
};

}  // namespace muster::config
