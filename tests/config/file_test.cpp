#include "config/file.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "config/policies/policy_file.hpp"

namespace muster::config {
namespace {

// A folder of its own that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device device;
    path_ = std::filesystem::temp_directory_path() /
            ("muster-config-" + std::to_string(device()) + std::to_string(device()));
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("a file is read whole, byte for byte", "[config][file]") {
  const TemporaryFolder folder;
  std::string text(200'000, 'x');
  text += std::string("\0\xFF\r\n", 4);
  const auto read = ReadFile(folder.Write("a", text), text.size());
  REQUIRE(read.ok());
  CHECK(*read == text);
  CHECK(*ReadFile(folder.Write("empty", ""), 10) == "");
}

TEST_CASE("a file that cannot be read is an error with its path", "[config][file]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/none.yaml";
  CHECK(ReadFile(path, 10).error().code == cluster::Code::kNotFound);
  CHECK(ReadFile(path, 10).error().ToString() ==
        path + ": cannot be read: No such file or directory");
  CHECK(ReadFile(folder.path(), 10).error().ToString() ==
        folder.path() + ": cannot be read: Is a directory");
  const std::string large = folder.Write("large", std::string(11, 'x'));
  CHECK(ReadFile(large, 10).error().ToString() ==
        large + ": expected at most 10 bytes, found more");
  CHECK(ReadFile(large, 10).error().code == cluster::Code::kExhausted);
}

TEST_CASE("a policy is loaded from a file, and its errors name the file", "[config][file]") {
  const TemporaryFolder folder;
  const std::string good =
      folder.Write("good.yaml", "apiVersion: muster.dev/v1alpha1\nkind: Policy\n");
  CHECK(LoadPolicyFile(good).ok());
  const std::string bad = folder.Write("bad.yaml", "apiVersion: muster.dev/v1alpha1\nkind: Pod\n");
  CHECK(LoadPolicyFile(bad).error().ToString() ==
        bad + ":2:7: kind: expected Policy, found \"Pod\"");
  const std::string large = folder.Write("large.yaml", std::string(kMaxPolicyBytes + 1, '#'));
  CHECK(LoadPolicyFile(large).error().code == cluster::Code::kExhausted);
  CHECK(LoadPolicyFile(folder.path() + "/none").error().code == cluster::Code::kNotFound);
}

}  // namespace
}  // namespace muster::config
