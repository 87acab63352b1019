#include "cli/flags/cli.hpp"

#include <algorithm>

#include "cli/flags/nearest.hpp"
#include "extender/version.hpp"

namespace muster::cli {
namespace {

std::string Synopsis(const Command& command, const std::string& program) {
  std::string text = program + " " + command.name;
  if (!command.arguments.empty()) text += " " + command.arguments;
  return text;
}

// An example as it is typed: each command of it by the program's name.
std::string TypedAs(const std::string& program, std::string example) {
  const std::string word = std::string(kProgram) + " ";
  for (std::size_t at = example.find(word); at != std::string::npos;
       at = example.find(word, at + program.size() + 1)) {
    if (at == 0 || example[at - 1] == ' ') example.replace(at, word.size(), program + " ");
  }
  return example;
}

void PrintOverview(std::ostream& out, const std::vector<Command>& commands,
                   const std::string& program) {
  out << "muster: gang scheduling of GPU pods for kube-scheduler\n\n"
      << "usage: " << program << " COMMAND [flags]\n\ncommands:\n";
  std::size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  for (const Command& command : commands) {
    out << "  " << command.name << std::string(width - command.name.size() + 2, ' ')
        << command.summary << "\n";
  }
  out << "\n\"" << program << " help COMMAND\" shows the flags of a command\n";
}

void PrintHelp(std::ostream& out, const Command& command, const std::string& program) {
  out << command.summary << "\n\nusage: " << Synopsis(command, program)
      << (command.flags.empty() ? "" : " [flags]") << "\n";
  if (!command.flags.empty()) out << "\nflags:\n" << DescribeFlags(command.flags);
  if (!command.examples.empty()) out << "\nexamples:\n";
  for (const std::string& example : command.examples)
    out << "  " << TypedAs(program, example) << "\n";
}

std::string NoSuchCommand(const std::vector<Command>& commands, const std::string& name) {
  if (name.starts_with('-'))
    return "\"" + name + "\" stands before the command: flags come behind it";
  std::vector<std::string> names = {"help"};
  for (const Command& command : commands) names.push_back(command.name);
  return "there is no command \"" + name + "\"" + DidYouMean(name, names);
}

const Command* FindCommand(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

int Unknown(const std::vector<Command>& commands, const std::string& name,
            const CliStreams& streams) {
  streams.err << streams.program << ": " << NoSuchCommand(commands, name) << "\n\""
              << streams.program << " help\" lists the commands\n";
  return kExitUsage;
}

int Help(const std::vector<Command>& commands, const std::vector<std::string>& words,
         const CliStreams& streams) {
  if (words.size() < 2 || words[1] == "help") {
    PrintOverview(streams.out, commands, streams.program);
    return kExitOk;
  }
  const Command* command = FindCommand(commands, words[1]);
  if (command == nullptr) return Unknown(commands, words[1], streams);
  PrintHelp(streams.out, *command, streams.program);
  return kExitOk;
}

int Version(const Args& args, const CliStreams& streams) {
  if (!args.positionals().empty()) return Misused(streams, "version", "it takes nothing more");
  streams.out << "muster " << extender::kVersion << "\n";
  return kExitOk;
}

Command VersionCommand() {
  return {"version", "", "print the version of this program", {}, Version, {"muster version"}};
}

}  // namespace

int Fail(const CliStreams& streams, const std::string& message) {
  streams.err << streams.program << ": " << message << "\n";
  return kExitFailed;
}

int Misused(const CliStreams& streams, const std::string& command, const std::string& message) {
  streams.err << streams.program << " " << command << ": " << message << "\n\"" << streams.program
              << " help " << command << "\" shows the usage\n";
  return kExitUsage;
}

std::string ProgramNamed(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name == "kubectl-muster" ? kPlugin : kProgram;
}

std::vector<Command> Commands() {
  return {ServeCommand(),    SimulateCommand(), CheckPolicyCommand(), CheckCommand(),
          SubmitCommand(),   GetCommand(),      ExplainCommand(),     WhatIfCommand(),
          PriorityCommand(), QueueCommand(),    CancelCommand(),      TopologyCommand(),
          DiscoverCommand(), DoctorCommand(),   VersionCommand()};
}

int RunCli(const std::vector<std::string>& words, const CliStreams& streams) {
  const std::vector<Command> commands = Commands();
  if (words.empty()) {
    PrintOverview(streams.err, commands, streams.program);
    return kExitUsage;
  }
  const std::string& name = words.front();
  if (name == "help" || name == "--help" || name == "-h") return Help(commands, words, streams);
  const Command* command = FindCommand(commands, name == "--version" ? "version" : name);
  if (command == nullptr) return Unknown(commands, name, streams);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::find(rest.begin(), rest.end(), "--help") != rest.end() ||
      std::find(rest.begin(), rest.end(), "-h") != rest.end()) {
    PrintHelp(streams.out, *command, streams.program);
    return kExitOk;
  }
  const cluster::Result<Args> args = Args::Parse(command->flags, rest);
  if (!args.ok()) return Misused(streams, name, args.error().message);
  return command->run(*args, streams);
}

}  // namespace muster::cli
