#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/flags/cli.hpp"

namespace {

// As programs agreed to (no-color.org), and not where nothing but text is shown.
bool ShowsColours() {
  const char* none = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): before any thread
  const char* kind = std::getenv("TERM");      // NOLINT(concurrency-mt-unsafe)
  return (none == nullptr || *none == '\0') && kind != nullptr && std::string(kind) != "dumb";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace muster::cli;  // NOLINT(google-build-using-namespace): main has no header
  winsize size{};
  const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  const CliStreams streams{std::cout, std::cerr, terminal ? size.ws_col : std::size_t{0},
                           ProgramNamed(argc > 0 ? argv[0] : ""), terminal && ShowsColours()};
  try {
    return RunCli(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), streams);
  } catch (const std::exception& e) {
    // Out of memory or threads: nothing that a command could have answered.
    return Fail(streams, e.what());
  }
}
