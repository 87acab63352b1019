// SignalInbox: SIGTERM, SIGINT and SIGHUP as values that the main thread takes when it has time.
//
// Blocks them for the calling thread and every thread it starts later, so make it first in main. No
// handler runs anywhere.
#pragma once

#include <chrono>

namespace muster::cli {

enum class SignalEvent { kNone, kReload, kStop };

class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();  // as it was before
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // The next signal, or kNone when none came in time.
  SignalEvent Wait(std::chrono::milliseconds timeout);
};

}  // namespace muster::cli
