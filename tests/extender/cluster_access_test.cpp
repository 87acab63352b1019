#include "extender/live/cluster_access.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

namespace muster::extender {
namespace {

// A file that goes with the test.
class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("muster-" + OwnIdentity())).string()) {
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

constexpr const char* kKubeconfig = R"(apiVersion: v1
kind: Config
current-context: here
clusters:
- name: c
  cluster: {server: "https://[::1]:6443/prefix"}
- name: d
  cluster: {server: "http://d.example:8080"}
users:
- name: u
  user: {token: secret}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: team}
- name: there
  context: {cluster: d, user: u}
)";

TEST_CASE("a kubeconfig is read as YAML, by its context or another", "[extender][access]") {
  const TempFile file(kKubeconfig);
  const auto here = ReadClientConfig({.kubeconfig = file.path()});
  REQUIRE((here.ok() ? "" : here.error().ToString()) == "");
  CHECK(here->host == "::1");
  CHECK(here->port == 6443);
  CHECK(here->path_prefix == "/prefix");
  CHECK(here->token == "secret");
  const auto there = ReadClientConfig({.kubeconfig = file.path(), .context = "there"});
  REQUIRE(there.ok());
  CHECK(there->host == "d.example");
  CHECK_FALSE(there->tls);
  const auto nowhere = ReadClientConfig({.kubeconfig = file.path(), .context = "nowhere"});
  REQUIRE_FALSE(nowhere.ok());
  CHECK_THAT(nowhere.error().ToString(), Catch::Contains("nowhere"));
}

TEST_CASE("a kubeconfig that is none is refused with its file", "[extender][access]") {
  for (const char* text : {"", "a: [", "a: 1\n---\nb: 2\n", "kind: Config\n"}) {
    CAPTURE(text);
    const TempFile file(text);
    const auto config = ReadClientConfig({.kubeconfig = file.path()});
    REQUIRE_FALSE(config.ok());
    CHECK_THAT(config.error().ToString(), Catch::Contains(file.path()));
  }
  CHECK_FALSE(ReadClientConfig({.kubeconfig = "/nowhere/kubeconfig"}).ok());
}

TEST_CASE("a Lease is named by namespace and name", "[extender][access]") {
  CHECK(ParseObjectKey("muster-system/muster")->ToString() == "muster-system/muster");
  for (const char* text : {"", "muster", "/muster", "muster-system/", "a/b/c"}) {
    CHECK_FALSE(ParseObjectKey(text).ok());
  }
}

TEST_CASE("no two processes call themselves alike", "[extender][access]") {
  CHECK(OwnIdentity() != OwnIdentity());
}

}  // namespace
}  // namespace muster::extender
