// The binary as a process: signals, exit status, what it prints.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "http/client/client.hpp"
#include "tests/http/http_test_support.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::Eventually;
using http::testing::TempFolder;

// A child process with its output in a file. Killed when it outlives the object.
class Process {
 public:
  Process(const std::vector<std::string>& words, std::string output) : output_(std::move(output)) {
    std::vector<std::string> all = {MUSTER_BINARY};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output_.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    REQUIRE(::posix_spawn(&pid_, MUSTER_BINARY, &files, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&files);
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int signal) const { REQUIRE(::kill(pid_, signal) == 0); }
  std::string Output() const {
    std::ifstream in(output_);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  bool Says(const std::string& text) const {
    return Eventually([&] { return Output().find(text) != std::string::npos; });
  }
  // Exit status; -1 when it did not end by itself.
  int Wait() {
    int status = 0;
    if (!Eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  const std::string output_;
  pid_t pid_ = -1;
};

uint16_t ApiPort(const Process& process) {
  const std::string output = process.Output();
  const std::string marker = "http://127.0.0.1:";
  return static_cast<uint16_t>(std::stoi(output.substr(output.find(marker) + marker.size())));
}

}  // namespace

TEST_CASE("serve runs until SIGTERM and reloads its policy on SIGHUP and on change", "[process]") {
  const TempFolder folder;
  const std::string policy = folder.File("policy.yaml");
  const std::string head = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";
  std::ofstream(policy) << head;
  Process serve(
      {"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--policy", policy},
      folder.File("out"));
  REQUIRE(serve.Says("/v1/gangs"));
  http::ClientOptions options;
  options.port = ApiPort(serve);
  const auto ready = http::Client(options).Get("/readyz");
  REQUIRE(ready.ok());
  CHECK(ready->status == 200);

  serve.Signal(SIGHUP);
  CHECK(serve.Says("policy reloaded"));
  std::ofstream(policy) << head << "placement: {strategy: sideways}\n";
  CHECK(serve.Says("policy not reloaded"));
  CHECK(http::Client(options).Get("/readyz")->status == 200);

  serve.Signal(SIGTERM);
  CHECK(serve.Wait() == 0);
  CHECK_THAT(serve.Output(), Catch::Contains("msg=stopped"));
}

TEST_CASE("serve fails at once on a taken port or a bad policy", "[process]") {
  const TempFolder folder;
  Process first({"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"},
                folder.File("first"));
  REQUIRE(first.Says("/v1/gangs"));
  Process second({"serve", "--listen", "127.0.0.1:0", "--metrics",
                  "127.0.0.1:" + std::to_string(ApiPort(first))},
                 folder.File("second"));
  CHECK(second.Wait() == 1);
  CHECK_THAT(second.Output(), Catch::Contains("muster: "));
  Process third({"serve", "--policy", folder.File("none.yaml")}, folder.File("third"));
  CHECK(third.Wait() == 1);
  CHECK_THAT(third.Output(), Catch::Contains("none.yaml"));
  first.Signal(SIGINT);
  CHECK(first.Wait() == 0);
}

TEST_CASE("get gangs -w shows what changes until it is interrupted", "[process]") {
  const TempFolder folder;
  Process serve({"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"},
                folder.File("serve"));
  REQUIRE(serve.Says("/v1/gangs"));
  const std::string server = "127.0.0.1:" + std::to_string(ApiPort(serve));
  const std::string file = folder.File("pod.yaml");
  std::ofstream(file) << "apiVersion: v1\nkind: Pod\nmetadata: {name: late}\nspec:\n"
                         "  schedulerName: muster\n  containers: [{name: main, image: i}]\n";
  Process watch({"get", "gangs", "-w", "--server", server}, folder.File("watch"));
  Process submit({"submit", "-f", file, "--server", server}, folder.File("submit"));
  CHECK(submit.Wait() == 0);
  CHECK(watch.Says("Running"));
  CHECK_THAT(watch.Output(), Catch::StartsWith("NAMESPACE") && Catch::Contains("late"));

  // It goes on where Muster restarts.
  serve.Signal(SIGTERM);
  CHECK(serve.Wait() == 0);
  CHECK(watch.Says("trying again"));
  Process again({"serve", "--listen", "127.0.0.1:0", "--metrics", server}, folder.File("again"));
  CHECK(watch.Says("it answers again"));
  CHECK(watch.Says("gone"));
  watch.Signal(SIGINT);
  again.Signal(SIGTERM);
  CHECK(again.Wait() == 0);
}

}  // namespace muster::cli::testing
