// Svg: writes a drawing as SVG 1.1. Coordinates are in pixels with one decimal, so that the same
// drawing is the same text on every machine. Plain value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

class Svg {
 public:
  Svg(int width, int height);

  enum class Anchor { kStart, kMiddle, kEnd };
  void Rectangle(SvgPoint corner, double width, double height, std::string_view fill);
  void Line(SvgPoint from, SvgPoint to, std::string_view stroke, double width = 1);
  void Curve(const std::vector<SvgPoint>& points, std::string_view stroke);
  void Circle(SvgPoint centre, double radius, std::string_view fill);
  void Text(SvgPoint at, std::string_view text, Anchor anchor = Anchor::kStart, int size = 12);
  // Upwards, around its middle.
  void UpwardText(SvgPoint at, std::string_view text);
  std::string Take();

 private:
  std::string out_;
};

}  // namespace muster::cli
