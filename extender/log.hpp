// Logger: one line of key=value pairs per event.
//
//   time=2026-01-02T03:04:05.678Z level=1 msg="gang started" gang=team-a/train waited_ms=1234
//
// Levels: 0 errors and refusals, 1 decisions, 2 flow, 3 debug, 4 and 5 trace. Messages start in
// lower case and end without a period; what varies goes into fields, so that lines can be counted.
// Owned by main; any thread, lines never mix. It is not called with a lock held.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::extender {

struct LogField {
  std::string key;
  std::string value;
};

struct LogOptions {
  int level = 1;  // lines above it are dropped
  // Gets whole lines with their newline; empty: standard error, one write per line.
  std::function<void(std::string_view)> sink = {};
  std::function<std::chrono::system_clock::time_point()> now = {};  // empty: the system's clock
};

class Logger {
 public:
  explicit Logger(LogOptions options = {});

  void Error(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(0, message, fields);
  }
  void Info(std::string_view message, const std::vector<LogField>& fields = {}) const {
    Write(1, message, fields);
  }
  void Write(int level, std::string_view message, const std::vector<LogField>& fields) const;
  bool Wants(int level) const { return level <= options_.level; }

 private:
  const LogOptions options_;
};

// As it stands in a line: bare when it is plain, else quoted with escapes.
std::string LogValue(std::string_view text);

}  // namespace muster::extender
