#include "cli/tables/replay_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "cli/tables/svg.hpp"

namespace muster::cli {
namespace {

using cluster::Time;

constexpr int kWidth = 900;
constexpr int kHeight = 760;
constexpr const char* kAxis = "#333333";
constexpr const char* kGrid = "#dddddd";
constexpr const char* kShade = "#eef3fb";
constexpr double kHour = 3600;

// Where a drawing is, in pixels.
struct Frame {
  double left = 70;
  double top = 0;
  double width = kWidth - 100;
  double height = 270;
  double bottom() const { return top + height; }
  double right() const { return left + width; }
};

struct Mark {
  const char* name;
  const char* colour;
  double sim::Distribution::*value;
};
constexpr std::array<Mark, 4> kMarks = {{{"mean", "#3b6fb6", &sim::Distribution::mean},
                                         {"p50", "#6aa84f", &sim::Distribution::p50},
                                         {"p90", "#e69138", &sim::Distribution::p90},
                                         {"p99", "#b03a2e", &sim::Distribution::p99}}};

std::string Number(double value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// Powers of ten of hours, from six minutes on. Less is drawn as that.
class LogScale {
 public:
  LogScale(const Frame& frame, double most_hours) : frame_(frame) {
    while (std::pow(10, top_) < most_hours) ++top_;
  }
  double At(double hours) const {
    const double power = hours <= 0 ? kLow : std::max<double>(std::log10(hours), kLow);
    return frame_.bottom() - (power - kLow) / (top_ - kLow) * frame_.height;
  }
  int low() const { return kLow; }
  int top() const { return top_; }

 private:
  static constexpr int kLow = -1;
  const Frame frame_;
  int top_ = 1;
};

void DrawAxes(const Frame& frame, Svg& svg) {
  svg.Line({frame.left, frame.top}, {frame.left, frame.bottom()}, kAxis);
  svg.Line({frame.left, frame.bottom()}, {frame.right(), frame.bottom()}, kAxis);
}

void DrawLegend(const Frame& frame, Svg& svg) {
  double x = frame.left + 20;
  for (const Mark& mark : kMarks) {
    svg.Rectangle({x, frame.top - 12}, 12, 12, mark.colour);
    svg.Text({x + 18, frame.top - 2}, mark.name);
    x += 80;
  }
}

// Of each size a group of bars.
void DrawDelays(const sim::ReplayStatistics& statistics, const Frame& frame, Svg& svg) {
  std::vector<const sim::DelayRow*> rows;
  double most = 0;
  for (const sim::DelayRow& row : statistics.delays) {
    if (row.delay_s.samples == 0) continue;
    rows.push_back(&row);
    most = std::max({most, row.delay_s.p99 / kHour, row.delay_s.mean / kHour});
  }
  const LogScale scale(frame, most);
  svg.Text({frame.left, frame.top - 30}, "Delay by gang size", Svg::Anchor::kStart, 16);
  DrawLegend(frame, svg);
  for (int power = scale.low(); power <= scale.top(); ++power) {
    const double y = scale.At(std::pow(10, power));
    svg.Line({frame.left, y}, {frame.right(), y}, kGrid);
    svg.Text({frame.left - 8, y + 4}, Number(std::pow(10, power), power < 0 ? -power : 0),
             Svg::Anchor::kEnd);
  }
  svg.UpwardText({20, frame.top + frame.height / 2}, "delay, hours (logarithmic)");
  const double step = frame.width / static_cast<double>(std::max<size_t>(rows.size(), 1));
  const double bar = step / (kMarks.size() + 2);
  for (size_t i = 0; i < rows.size(); ++i) {
    const double left = frame.left + step * static_cast<double>(i);
    for (size_t m = 0; m < kMarks.size(); ++m) {
      const double y = scale.At(rows[i]->delay_s.*kMarks[m].value / kHour);
      svg.Rectangle({left + bar * static_cast<double>(m + 1), y}, bar - 2, frame.bottom() - y,
                    kMarks[m].colour);
    }
    svg.Text({left + step / 2, frame.bottom() + 18}, rows[i]->gpus, Svg::Anchor::kMiddle);
    svg.Text({left + step / 2, frame.bottom() + 34},
             std::to_string(rows[i]->jobs) + (rows[i]->jobs == 1 ? " job" : " jobs"),
             Svg::Anchor::kMiddle, 10);
  }
  svg.Text({frame.left + frame.width / 2, frame.bottom() + 52}, "GPUs of the gang",
           Svg::Anchor::kMiddle);
  DrawAxes(frame, svg);
}

// The mean of each pixel's time.
void DrawUsage(const sim::ReplayHistory& history, const sim::ReplayStatistics& statistics,
               const Frame& frame, Svg& svg) {
  const Time first = history.jobs.empty() ? Time() : history.jobs.front().submitted;
  const int64_t span = std::max<int64_t>((history.last - first).value(), 1);
  const auto x = [&](Time at) {
    const auto ms = static_cast<double>(std::clamp<int64_t>((at - first).value(), 0, span));
    return frame.left + ms / static_cast<double>(span) * frame.width;
  };
  const double from = x(statistics.window.from);
  svg.Rectangle({from, frame.top}, x(statistics.window.until) - from, frame.height, kShade);
  svg.Text(
      {frame.left, frame.top - 12},
      "GPUs in use (shaded: the window, mean " + Number(statistics.utilization * 100, 1) + " %)",
      Svg::Anchor::kStart, 16);
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = frame.bottom() - frame.height * percent / 100;
    svg.Line({frame.left, y}, {frame.right(), y}, kGrid);
    svg.Text({frame.left - 8, y + 4}, std::to_string(percent), Svg::Anchor::kEnd);
  }
  svg.UpwardText({20, frame.top + frame.height / 2}, "GPUs in use, %");
  const auto points = static_cast<int64_t>(frame.width);
  std::vector<SvgPoint> curve;
  for (int64_t i = 0; i < points; ++i) {
    const sim::Window slice{Time(first.milliseconds() + span * i / points),
                            Time(first.milliseconds() + span * (i + 1) / points)};
    const auto ms = static_cast<double>(std::max<int64_t>((slice.until - slice.from).value(), 1));
    const double share = sim::UsedIn(history, slice) /
                         (static_cast<double>(std::max<int64_t>(history.capacity.value(), 1)) * ms);
    curve.push_back(
        {frame.left + static_cast<double>(i) + 0.5, frame.bottom() - frame.height * share});
  }
  svg.Curve(curve, kMarks[0].colour);
  const double days = static_cast<double>(span) / 86'400'000;
  // At most ten labels, whole days apart.
  const auto apart = std::max<int64_t>(static_cast<int64_t>(std::ceil(days / 10)), 1);
  for (int64_t day = 0; static_cast<double>(day) <= days; day += apart) {
    const double at = x(first + cluster::Seconds(day * 86'400));
    svg.Line({at, frame.bottom()}, {at, frame.bottom() + 4}, kAxis);
    svg.Text({at, frame.bottom() + 18}, std::to_string(day), Svg::Anchor::kMiddle);
  }
  svg.Text({frame.left + frame.width / 2, frame.bottom() + 36}, "days since the first job",
           Svg::Anchor::kMiddle);
  DrawAxes(frame, svg);
}

}  // namespace

std::string PlotReplay(const sim::ReplayHistory& history, const sim::ReplayStatistics& statistics) {
  Svg svg(kWidth, kHeight);
  Frame delays;
  delays.top = 60;
  DrawDelays(statistics, delays, svg);
  Frame usage;
  usage.top = 430;
  DrawUsage(history, statistics, usage, svg);
  return svg.Take();
}

}  // namespace muster::cli
