// The command line: which subcommands there are, and what each needs.
//
// A command reads its Args and returns an exit status: 0 done, 1 failed (one line on `err` says
// why), 2 wrong usage. Results go to `out`, everything else to `err`.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/flags/args.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

inline constexpr const char* kDefaultExtenderAddress = "127.0.0.1:8888";
inline constexpr const char* kDefaultApiAddress = "127.0.0.1:8889";

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

inline constexpr const char* kProgram = "muster";
// As kubectl calls it: a program named kubectl-muster in its PATH.
inline constexpr const char* kPlugin = "kubectl muster";

struct CliStreams {
  std::ostream& out;
  std::ostream& err;
  std::size_t width = 0;           // of the terminal that `out` is, in characters; 0: it is none
  std::string program = kProgram;  // what people type before a command; kPlugin: kubectl called it
  bool colours = false;            // `out` is a terminal that shows them
};

struct Command {
  std::string name;       // "get"
  std::string arguments;  // "gangs|nodes", as help shows them
  std::string summary;
  std::vector<Flag> flags;
  std::function<int(const Args&, const CliStreams&)> run;
  std::vector<std::string> examples;  // "muster get gangs -n team"
};

// All of them, in the order of help.
std::vector<Command> Commands();
// `words` without the program's name.
int RunCli(const std::vector<std::string>& words, const CliStreams& streams);

// kProgram or kPlugin, by the path that it was started with.
std::string ProgramNamed(const std::string& path);

// "muster <command>: message" on err; the status for it.
int Fail(const CliStreams& streams, const std::string& message);
int Misused(const CliStreams& streams, const std::string& command, const std::string& message);

// The commands, each in the source of its name.
Command ServeCommand();
Command SimulateCommand();
Command CheckCommand();
Command CheckPolicyCommand();
Command SubmitCommand();
Command GetCommand();
Command ExplainCommand();
Command PriorityCommand();
Command QueueCommand();
Command CancelCommand();
Command WhatIfCommand();
Command TopologyCommand();
Command DiscoverCommand();
Command DoctorCommand();

}  // namespace muster::cli
