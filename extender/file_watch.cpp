#include "extender/file_watch.hpp"

#include <sys/stat.h>

namespace muster::extender {

FileWatch::Stamp FileWatch::Read() const {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return {};
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  return {info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec, info.st_size,
          static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino)};
}

bool FileWatch::Changed() {
  const Stamp now = Read();
  if (now == seen_) return false;
  seen_ = now;
  return true;
}

}  // namespace muster::extender
