#include "kube/lead/usage_keeper.hpp"

#include <utility>

#include "kube/lead/usage_text.hpp"

namespace muster::kube {

using cluster::Ok;
using cluster::Result;
using cluster::Status;
using cluster::Time;
using queues::UsageRecord;

namespace {

// A hand-over does not wait for longer.
constexpr std::chrono::milliseconds kTimeout{3'000};

}  // namespace

UsageKeeper::UsageKeeper(Ports ports, const cluster::ObjectKey& config_map)
    : ports_(std::move(ports)),
      text_({.api = ports_.api,
             .may_write = ports_.may_write,
             .check = [this](std::string_view text) { return Check(text); }},
            {.object = config_map,
             .key = "usage.json",
             .what = "what queues have used",
             .role = "muster-usage",
             .timeout = kTimeout}) {}

Status UsageKeeper::Check(std::string_view text) const {
  const Result<UsageRecord> record = DecodeUsage(text);
  if (!record.ok()) return record.error();
  if (Status sound = CheckUsage(*record, ports_.now()); !sound.ok())
    return sound.error().At("usage.json");
  return Ok{};
}

void UsageKeeper::Begin(Time steady) {
  adopted_ = !ports_.used() || Read();
  due_ = steady + (adopted_ ? kFirst : kRetry);
}

Time UsageKeeper::Step(const Clocks& now) {
  if (now.steady < due_) return due_;
  const bool read = adopted_;
  if (!adopted_) adopted_ = Read();
  const bool done = read ? Write() : adopted_;
  due_ = now.steady + (!done ? kRetry : read ? kEvery : kFirst);
  return due_;
}

void UsageKeeper::Finish() {
  if (adopted_) Write();
}

bool UsageKeeper::Read() {
  const Result<std::string> text = text_.Read();
  if (!text.ok()) return Told(text.error());
  if (text->empty()) return Told(Ok{});
  Result<UsageRecord> record = DecodeUsage(*text);
  if (!record.ok()) return Told(record.error());
  ports_.adopt(*record);
  kept_ = *std::move(record);
  return Told(Ok{});
}

bool UsageKeeper::Write() {
  UsageRecord used = ports_.used().value_or(UsageRecord());
  if (used == kept_) return true;
  const UsageText text = EncodeUsage(used);
  if (text.left_out > 0 && left_out_ == 0) {
    ports_.warn("usage of queues: there is no room for all of them in a ConfigMap, " +
                std::to_string(text.left_out) + " that use nothing since the longest are left out");
  }
  left_out_ = text.left_out;
  if (!Told(text_.Write(text.json))) return false;
  kept_ = std::move(used);
  return true;
}

bool UsageKeeper::Told(const Status& status) {
  const std::string what = status.ok() ? "" : status.error().ToString();
  if (!what.empty() && what != told_) ports_.warn("usage of queues is not kept: " + what);
  told_ = what;
  return status.ok();
}

}  // namespace muster::kube
