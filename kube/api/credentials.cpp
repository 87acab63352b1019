#include "kube/api/credentials.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "http/tls/credential_file.hpp"

namespace muster::kube {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::MutexLock;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

Result<std::string> ReadPem(const PemSource& source) {
  if (!source.data.empty() || source.file.empty()) return source.data;
  Result<std::string> text = http::ReadCredentialFile(source.file);
  if (text.ok() && text->empty()) return Error{Code::kIo, "is empty", source.file};
  return text;
}

Result<std::string> ReadToken(const std::string& file) {
  Result<std::string> text = http::ReadCredentialFile(file);
  if (!text.ok()) return text;
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = text->find_first_not_of(kSpace);
  if (begin == std::string::npos) return Error{Code::kIo, "is empty, expected a token", file};
  std::string token = text->substr(begin, text->find_last_not_of(kSpace) - begin + 1);
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return Error{Code::kIo, "expected a token: one word of ASCII", file};
  return token;
}

}  // namespace

TokenSource::TokenSource(const ClientConfig& config, SteadyClock clock)
    : file_(config.token_file),
      clock_(clock ? std::move(clock) : [] { return std::chrono::steady_clock::now(); }),
      token_(config.token) {}

Result<std::string> TokenSource::Get() {
  if (!file_.empty()) {
    bool due = false;
    {
      const MutexLock lock(mu_);
      due = !read_at_ || clock_() - *read_at_ >= kRereadAfter;
    }
    if (due) {
      const Result<bool> read = Read();
      const MutexLock lock(mu_);
      if (!read.ok() && token_.empty()) return read.error();
    }
  }
  const MutexLock lock(mu_);
  return token_;
}

bool TokenSource::Renew(const std::string& refused) {
  if (file_.empty()) return false;
  {
    const MutexLock lock(mu_);
    if (token_ != refused) return true;  // another thread was faster
  }
  const Result<bool> read = Read();
  return read.ok() && *read;
}

Result<bool> TokenSource::Read() {
  Result<std::string> token = ReadToken(file_);
  const MutexLock lock(mu_);
  read_at_ = clock_();
  if (!token.ok()) return token.error();
  const bool changed = *token != token_;
  token_ = *std::move(token);
  return changed;
}

TlsSource::TlsSource(const ClientConfig& config)
    : ca_(config.ca),
      certificate_(config.client_certificate),
      key_(config.client_key),
      insecure_(config.insecure_skip_tls_verify),
      server_name_(config.tls_server_name.empty() ? config.host : config.tls_server_name) {}

Result<TlsSource::Current> TlsSource::Get() {
  const std::string stamp = Stamp();
  bool due = false;
  {
    const MutexLock lock(mu_);
    due = current_.context == nullptr || stamp != stamp_;
    stamp_ = stamp;
  }
  Status loaded = Ok{};
  if (due) loaded = Load();
  const MutexLock lock(mu_);
  if (current_.context == nullptr && !loaded.ok()) return loaded.error();
  return current_;
}

bool TlsSource::Renew(std::uint64_t generation) {
  // Without effect on what is in use when it fails.
  static_cast<void>(Load().ok());
  const MutexLock lock(mu_);
  return current_.generation != generation;
}

Status TlsSource::Load() {
  Result<http::TlsMaterial> material = ReadMaterial();
  if (!material.ok()) return material.error();
  {
    const MutexLock lock(mu_);
    if (current_.context != nullptr && *material == material_) return Ok{};
  }
  Result<std::shared_ptr<ssl_ctx_st>> context = http::MakeClientTls(*material);
  if (!context.ok()) return context.error();
  const MutexLock lock(mu_);
  current_ = Current{*std::move(context), current_.generation + 1};
  material_ = *std::move(material);
  return Ok{};
}

Result<http::TlsMaterial> TlsSource::ReadMaterial() const {
  http::TlsMaterial material;
  material.insecure = insecure_;
  material.server_name = server_name_;
  for (const auto& [source, text] : {std::pair{&ca_, &material.ca},
                                     {&certificate_, &material.certificate},
                                     {&key_, &material.key}}) {
    Result<std::string> read = ReadPem(*source);
    if (!read.ok()) return read.error();
    *text = *std::move(read);
  }
  return material;
}

std::string TlsSource::Stamp() const {
  std::string stamp;
  for (const PemSource* source : {&ca_, &certificate_, &key_}) {
    struct stat info {};
    if (!source->data.empty() || source->file.empty()) continue;
    if (::stat(source->file.c_str(), &info) != 0) continue;
    for (const std::int64_t part :
         {static_cast<std::int64_t>(info.st_mtim.tv_sec),
          static_cast<std::int64_t>(info.st_mtim.tv_nsec), static_cast<std::int64_t>(info.st_size),
          static_cast<std::int64_t>(info.st_ino)})
      stamp += std::to_string(part) + " ";
  }
  return stamp;
}

}  // namespace muster::kube
