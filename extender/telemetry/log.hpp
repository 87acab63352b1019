// Logger: one line of key=value pairs per event.
//
//   time=2026-01-02T03:04:05.678Z level=info msg="gang started" gang=team-a/train waited_ms=1234
//
// Messages start in lower case and end without a period; what varies goes into fields, so that
// lines can be counted. Owned by main; any thread, lines never mix. It is not called with a lock
// held.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::extender {

enum class LogLevel {
  kError,  // errors and refusals
  kInfo,   // decisions as well
  kDebug,  // everything
};
// "error", …
const char* ToString(LogLevel level);
std::optional<LogLevel> LogLevelNamed(std::string_view word);

struct LogField {
  std::string key;
  std::string value;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;  // lines above it are dropped
  // Gets whole lines with their newline; empty: standard error, one write per line.
  std::function<void(std::string_view)> sink = {};
  std::function<std::chrono::system_clock::time_point()> now = {};  // empty: the system's clock
};

class Logger {
 public:
  explicit Logger(LogOptions options = {});

  void Error(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kError, message, fields);
  }
  void Info(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kInfo, message, fields);
  }
  void Debug(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(LogLevel::kDebug, message, fields);
  }
  bool Wants(LogLevel level) const { return level <= options_.level; }

 private:
  void Write(LogLevel level, std::string_view message, const std::vector<LogField>& fields) const;

  const LogOptions options_;
};

// As it stands in a line: bare when it is plain, else quoted with escapes.
std::string LogValue(std::string_view text);

}  // namespace muster::extender
