#include "bench/philly_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "bench/philly_policies.hpp"
#include "cli/tables/svg.hpp"

namespace muster::bench {
namespace {

using cli::Svg;

constexpr int kWidth = 1120;
constexpr int kTop = 50;
constexpr int kRow = 230;
constexpr double kHeight = 150;
constexpr const char* kAxis = "#333333";
constexpr const char* kGrid = "#dddddd";
constexpr std::array<const char*, kPolicies.size()> kColours = {"#888888", "#3b6fb6", "#6aa84f",
                                                                "#b03a2e"};
constexpr std::array<const char*, 6> kDrawnSizes = {"all", "1", "2-4", "5-8", "9-16", "over 16"};
// Powers of ten of hours; less and more is drawn as that.
constexpr int kLow = -2;
constexpr int kHigh = 3;

struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
  double bottom() const { return top + kHeight; }
};

using Row = std::vector<const PhillyCase*>;

const char* ColourOf(const PhillyCase& c) {
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    if (c.policy == kPolicies[i]) return kColours[i];
  }
  return kAxis;
}

double HeightOf(double hours) {
  const double power = hours <= 0 ? kLow : std::clamp<double>(std::log10(hours), kLow, kHigh);
  return (power - kLow) / (kHigh - kLow) * kHeight;
}

void DrawAxes(const Frame& frame, Svg& svg) {
  svg.Line({frame.left, frame.top}, {frame.left, frame.bottom()}, kAxis);
  svg.Line({frame.left, frame.bottom()}, {frame.left + frame.width, frame.bottom()}, kAxis);
}

void DrawGrid(const Frame& frame, double above, const std::string& label, Svg& svg) {
  const double y = frame.bottom() - above;
  svg.Line({frame.left, y}, {frame.left + frame.width, y}, kGrid);
  svg.Text({frame.left - 6, y + 4}, label, Svg::Anchor::kEnd, 10);
}

std::string Zeros(int count) { return std::string(static_cast<std::size_t>(count), '0'); }

void DrawDelays(const Row& row, const Frame& frame, Svg& svg) {
  for (int power = kLow; power <= kHigh; ++power) {
    const std::string label = power < 0 ? "0." + Zeros(-power - 1) + "1" : "1" + Zeros(power);
    DrawGrid(frame, HeightOf(std::pow(10, power)), label, svg);
  }
  const double step = frame.width / kDrawnSizes.size();
  const double bar = step / (kPolicies.size() + 1);
  for (size_t size = 0; size < kDrawnSizes.size(); ++size) {
    const double left = frame.left + step * static_cast<double>(size) + bar / 2;
    for (size_t i = 0; i < row.size(); ++i) {
      const double height = HeightOf(MeanHours(row[i]->window, kDrawnSizes[size]).value_or(0));
      svg.Rectangle({left + bar * static_cast<double>(i), frame.bottom() - height}, bar - 1, height,
                    ColourOf(*row[i]));
    }
    svg.Text({frame.left + step * (static_cast<double>(size) + 0.5), frame.bottom() + 14},
             kDrawnSizes[size], Svg::Anchor::kMiddle, 10);
  }
  svg.Text({frame.left + frame.width / 2, frame.bottom() + 30},
           "mean delay in hours (logarithmic) by GPUs of the gang", Svg::Anchor::kMiddle, 10);
  DrawAxes(frame, svg);
}

void DrawUsage(const Row& row, const Frame& frame, Svg& svg) {
  double days = 0;
  for (int percent = 0; percent <= 100; percent += 25)
    DrawGrid(frame, kHeight * percent / 100, std::to_string(percent), svg);
  for (const PhillyCase* c : row) days = std::max(days, c->days);
  for (const PhillyCase* c : row) {
    const double width = days > 0 ? frame.width * c->days / days : 0;
    std::vector<cli::SvgPoint> curve;
    for (size_t i = 0; i < c->usage.size(); ++i) {
      const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(c->usage.size());
      curve.push_back({frame.left + width * part, frame.bottom() - kHeight * c->usage[i]});
    }
    svg.Curve(curve, ColourOf(*c));
  }
  constexpr int kDaysApart = 10;
  for (int day = 0; day <= days; day += kDaysApart) {
    svg.Text({frame.left + frame.width * day / days, frame.bottom() + 14}, std::to_string(day),
             Svg::Anchor::kMiddle, 10);
  }
  svg.Text({frame.left + frame.width / 2, frame.bottom() + 30},
           "GPUs in use, %, by days since the first job", Svg::Anchor::kMiddle, 10);
  DrawAxes(frame, svg);
}

std::vector<Row> RowsOf(const std::vector<PhillyCase>& cases) {
  std::vector<Row> rows;
  for (const PhillyCase& c : cases) {
    if (!c.refused.empty()) continue;
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.front()->nodes == c.nodes && row.front()->durations == c.durations;
    });
    if (same == rows.end()) {
      rows.push_back({&c});
    } else {
      same->push_back(&c);
    }
  }
  return rows;
}

}  // namespace

std::string PlotCases(const std::vector<PhillyCase>& cases) {
  const std::vector<Row> rows = RowsOf(cases);
  Svg svg(kWidth, kTop + kRow * static_cast<int>(rows.size()));
  double x = 60;
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    svg.Rectangle({x, 12}, 12, 12, kColours[i]);
    svg.Text({x + 18, 22}, kPolicies[i]);
    x += 140;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const double top = kTop + 25 + kRow * static_cast<double>(i);
    const PhillyCase& first = *rows[i].front();
    svg.Text({60, top - 12}, std::to_string(first.nodes) + " nodes, run times " + first.durations,
             Svg::Anchor::kStart, 14);
    DrawDelays(rows[i], {60, top, 470}, svg);
    DrawUsage(rows[i], {590, top, 500}, svg);
  }
  return svg.Take();
}

}  // namespace muster::bench
