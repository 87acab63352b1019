// Finding: what a check of the doctor found. Plain values.
#pragma once

#include <string>

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

}  // namespace muster::extender
