#include "cli/flags/signals.hpp"

#include <csignal>
#include <ctime>

namespace muster::cli {
namespace {

sigset_t Taken() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

SignalInbox::SignalInbox() {
  const sigset_t set = Taken();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalInbox::~SignalInbox() {
  const sigset_t set = Taken();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SignalEvent SignalInbox::Wait(std::chrono::milliseconds timeout) {
  const sigset_t set = Taken();
  timespec left{};
  left.tv_sec = timeout.count() / 1000;
  left.tv_nsec = (timeout.count() % 1000) * 1'000'000;
  switch (::sigtimedwait(&set, nullptr, &left)) {
    case SIGHUP:
      return SignalEvent::kReload;
    case SIGTERM:
    case SIGINT:
      return SignalEvent::kStop;
    default:
      return SignalEvent::kNone;
  }
}

}  // namespace muster::cli
