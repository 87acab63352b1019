#include "extender/telemetry/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "cluster/base/utf8.hpp"

namespace muster::extender {
namespace {

bool IsPlain(char c) {
  return c > ' ' && c != '"' && c != '=' && c != '\\' && static_cast<unsigned char>(c) < 0x7f;
}

// "\\xc2\\x9b"
void AppendBytes(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xfU];
  }
}

std::string Timestamp(std::chrono::system_clock::time_point now) {
  using std::chrono::duration_cast;
  const auto since = now.time_since_epoch();
  const std::time_t seconds = duration_cast<std::chrono::seconds>(since).count();
  const auto millis = duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(millis));
  return std::string(text.data(), size) + fraction.data();
}

void WriteToStandardError(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written <= 0) return;  // nobody reads our log: nothing to be done about it
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

const char* ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      break;
  }
  return "debug";
}

std::optional<LogLevel> LogLevelNamed(std::string_view word) {
  for (const LogLevel level : {LogLevel::kError, LogLevel::kInfo, LogLevel::kDebug}) {
    if (word == ToString(level)) return level;
  }
  return std::nullopt;
}

std::string LogValue(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t length = cluster::CharacterLength(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (character == "\"" || character == "\\") {
      quoted += '\\';
      quoted += character;
    } else if (character == "\n") {
      quoted += "\\n";
    } else if (length == 0 || cluster::IsHidden(character)) {
      AppendBytes(quoted, character);
    } else {
      quoted += character;
    }
    text.remove_prefix(character.size());
  }
  return quoted + "\"";
}

Logger::Logger(LogOptions options)
    : options_([&] {
        if (!options.sink) options.sink = WriteToStandardError;
        if (!options.now) options.now = [] { return std::chrono::system_clock::now(); };
        return std::move(options);
      }()) {}

void Logger::Write(LogLevel level, std::string_view message,
                   const std::vector<LogField>& fields) const {
  if (!Wants(level)) return;
  std::string line = "time=" + Timestamp(options_.now()) + " level=" + ToString(level) +
                     " msg=" + LogValue(message);
  for (const LogField& field : fields) line += " " + field.key + "=" + LogValue(field.value);
  line += "\n";
  options_.sink(line);
}

}  // namespace muster::extender
