#include "http/tls/credential_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <system_error>

namespace muster::http {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::size_t kMaxBytes = std::size_t{4} << 20U;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

Error Failed(const std::string& path, int number) {
  const Code code = number == ENOENT   ? Code::kNotFound
                    : number == EACCES ? Code::kForbidden
                                       : Code::kIo;
  return {code, "cannot be read: " + std::generic_category().message(number), path};
}

}  // namespace

Result<std::string> ReadCredentialFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return Failed(path, errno);
  // Nothing of it stays in a buffer: it may be a private key.
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  std::string text;
  for (std::size_t got = kPieceBytes; got == kPieceBytes;) {
    const std::size_t begin = text.size();
    if (begin > kMaxBytes) return Error{Code::kExhausted, "is larger than 4 MiB", path};
    text.resize(begin + kPieceBytes);
    errno = 0;
    got = std::fread(text.data() + begin, 1, kPieceBytes, file.get());
    text.resize(begin + got);
  }
  if (std::ferror(file.get()) != 0) return Failed(path, errno);
  return text;
}

}  // namespace muster::http
