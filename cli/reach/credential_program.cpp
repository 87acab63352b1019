#include "cli/reach/credential_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

constexpr std::size_t kMostPrinted = std::size_t{1} << 20U;
constexpr const char* kInfo = "KUBERNETES_EXEC_INFO";

// "NAME=value" of all variables; ours come first, because the first of a name counts.
std::vector<std::string> EnvironmentOf(const kube::ExecPlugin& plugin,
                                       const kube::ClientConfig& config, bool interactive) {
  std::vector<std::string> all = {std::string(kInfo) + "=" +
                                  kube::ExecInfo(plugin, config, interactive)};
  for (const auto& [name, value] : plugin.env) {
    all.push_back(name);
    all.back().append("=").append(value);
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool ours = false;
    for (const std::string& one : all) ours = ours || one.starts_with(name);
    if (!ours) all.push_back(text);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What comes out of `file` until its end; less where it is too much.
std::string ReadAll(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t read = ::read(file, buffer.data(), buffer.size());
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return text;
    if (text.size() < kMostPrinted) text.append(buffer.data(), static_cast<std::size_t>(read));
  }
}

Result<std::string> OutputOf(const kube::ExecPlugin& plugin, const kube::ClientConfig& config) {
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.args.begin(), plugin.args.end());
  const bool interactive = ::isatty(STDIN_FILENO) == 1;
  std::vector<std::string> variables = EnvironmentOf(plugin, config, interactive);
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return Error{Code::kIo, "no pipe is to be had", plugin.command};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  // A manifest on standard input is the command's, not the program's.
  if (!interactive)
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&files, pipe[0]);
  ::posix_spawn_file_actions_addclose(&files, pipe[1]);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, plugin.command.c_str(), &files, nullptr,
                                    Pointers(&words).data(), Pointers(&variables).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::close(pipe[1]);
  std::string printed = failed == 0 ? ReadAll(pipe[0]) : std::string();
  ::close(pipe[0]);
  if (failed != 0) {
    return Error{Code::kNotFound,
                 "the kubeconfig's program for credentials cannot be run: " +
                     std::string(std::strerror(failed)) +  // NOLINT(concurrency-mt-unsafe)
                     (plugin.install_hint.empty() ? "" : "; " + plugin.install_hint),
                 plugin.command};
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  return Error{Code::kIo, "the kubeconfig's program for credentials has failed", plugin.command};
}

}  // namespace

Status RunCredentialProgram(const kube::ExecPlugin& plugin, kube::ClientConfig* config) {
  const Result<std::string> printed = OutputOf(plugin, *config);
  if (!printed.ok()) return printed.error();
  return kube::TakeExecCredential(plugin, *printed, config);
}

}  // namespace muster::cli
