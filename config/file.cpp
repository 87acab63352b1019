#include "config/file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace muster::config {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

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

Status CheckReadable(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return Failed(path, errno);
  // Nothing of it stays in a buffer: it may be a private key.
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  errno = 0;
  if (std::fgetc(file.get()) == EOF && std::ferror(file.get()) != 0) return Failed(path, errno);
  return Ok{};
}

}  // namespace muster::config
