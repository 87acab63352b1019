// FileWatch: whether a file is another than when it was last looked at (content replaced, edited,
// appeared, went). Follows symbolic links, as Kubernetes mounts ConfigMaps. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace muster::extender {

class FileWatch {
 public:
  explicit FileWatch(std::string path) : path_(std::move(path)), seen_(Read()) {}

  // True once per change.
  bool Changed();
  // The file is about to be read: only what is changed from now on is a change.
  void Forget() { seen_ = Read(); }
  const std::string& path() const { return path_; }

 private:
  // Modification time in ns, size, device, inode; all 0 when there is no such file.
  using Stamp = std::array<int64_t, 4>;
  Stamp Read() const;

  const std::string path_;
  Stamp seen_;
};

}  // namespace muster::extender
