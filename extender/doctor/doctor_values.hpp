// What the doctor is asked, and what its checks find. Plain values.
#pragma once

#include <string>

#include "cluster/base/units.hpp"

namespace muster::extender {

struct Finding {
  enum class Kind {
    kFine,
    kNote,     // works, but somebody should know
    kUnknown,  // could not be found out
    kFault,
  };
  Kind kind = Kind::kFine;
  std::string check;   // "leader"
  std::string what;    // one sentence
  std::string remedy;  // what to do; empty where it is fine
};
const char* ToString(Finding::Kind kind);  // "ok", "note", "unknown", "fault"

struct DoctorOptions {
  std::string ns = "muster-system";  // where Muster is installed
  cluster::Time now;                 // of the wall clock
};

}  // namespace muster::extender
