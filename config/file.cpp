#include "config/file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

Error Failed(const std::string& path, int number) {
  const Code code = number == ENOENT   ? Code::kNotFound
                    : number == EACCES ? Code::kForbidden
                                       : Code::kIo;
  std::array<char, 256> text{};
  // The GNU form: the result need not be in `text`.
  return Error{code, std::string("cannot be read: ") + strerror_r(number, text.data(), text.size()),
               path};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return Failed(path, errno);
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    errno = 0;
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (count == 0) break;
    text.append(buffer.data(), count);
    if (text.size() > max_bytes) {
      return Error{Code::kExhausted,
                   "expected at most " + std::to_string(max_bytes) + " bytes, found more", path};
    }
  }
  if (std::ferror(file.get()) != 0) return Failed(path, errno);
  return text;
}

}  // namespace muster::config
