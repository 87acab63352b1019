#include "cli/tables/svg.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace muster::cli {
namespace {

std::string Show(double value) {
  std::array<char, 32> text{};
  // No "-0.0".
  const double rounded = std::round(value * 10) / 10 + 0.0;
  std::snprintf(text.data(), text.size(), "%.1f", rounded);
  return text.data();
}

std::string Attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + Show(value) + "\"";
}

std::string Attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + std::string(value) + "\"";
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

const char* ToString(Svg::Anchor anchor) {
  if (anchor == Svg::Anchor::kStart) return "start";
  return anchor == Svg::Anchor::kMiddle ? "middle" : "end";
}

}  // namespace

Svg::Svg(int width, int height) {
  const std::string w = std::to_string(width);
  const std::string h = std::to_string(height);
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h + "\" font-family=\"sans-serif\">\n";
  Rectangle({0, 0}, width, height, "white");
}

void Svg::Rectangle(SvgPoint corner, double width, double height, std::string_view fill) {
  out_ += "<rect" + Attribute("x", corner.x) + Attribute("y", corner.y) +
          Attribute("width", width) + Attribute("height", height) + Attribute("fill", fill) +
          "/>\n";
}

void Svg::Line(SvgPoint from, SvgPoint to, std::string_view stroke, double width) {
  out_ += "<line" + Attribute("x1", from.x) + Attribute("y1", from.y) + Attribute("x2", to.x) +
          Attribute("y2", to.y) + Attribute("stroke", stroke) + Attribute("stroke-width", width) +
          "/>\n";
}

void Svg::Curve(const std::vector<SvgPoint>& points, std::string_view stroke) {
  out_ += "<polyline fill=\"none\"" + Attribute("stroke", stroke) + " points=\"";
  const char* separator = "";
  for (const SvgPoint& point : points) {
    out_ += separator;
    out_ += Show(point.x) + "," + Show(point.y);
    separator = " ";
  }
  out_ += "\"/>\n";
}

void Svg::Circle(SvgPoint centre, double radius, std::string_view fill) {
  out_ += "<circle" + Attribute("cx", centre.x) + Attribute("cy", centre.y) +
          Attribute("r", radius) + Attribute("fill", fill) + "/>\n";
}

void Svg::Text(SvgPoint at, std::string_view text, Anchor anchor, int size) {
  out_ += "<text" + Attribute("x", at.x) + Attribute("y", at.y) +
          Attribute("text-anchor", ToString(anchor)) +
          Attribute("font-size", std::to_string(size)) + ">" + Escaped(text) + "</text>\n";
}

void Svg::UpwardText(SvgPoint at, std::string_view text) {
  out_ += "<text" + Attribute("x", at.x) + Attribute("y", at.y) + " text-anchor=\"middle\"" +
          " font-size=\"12\" transform=\"rotate(-90 " + Show(at.x) + " " + Show(at.y) + ")\">" +
          Escaped(text) + "</text>\n";
}

std::string Svg::Take() { return std::move(out_) + "</svg>\n"; }

}  // namespace muster::cli
