#include "impl/shard_train/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shardproof::shard_train {
namespace {

constexpr double width = 720, height = 400, left = 56, right = 16, top = 36, bottom = 40;
constexpr const char* colours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700"};

std::string short_text(const char* format, double number) {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return text;
}
std::string place(double number) { return short_text("%.1f", number); }

struct Range {
  double from = 0, to = 1;
};

Range range_of(const std::vector<Curve>& curves, bool of_x) {
  Range range{INFINITY, -INFINITY};
  for (const Curve& curve : curves)
    for (const auto& [x, y] : curve.points) {
      range.from = std::min(range.from, of_x ? x : y);
      range.to = std::max(range.to, of_x ? x : y);
    }
  if (!(range.from <= range.to)) return {0, 1};
  if (range.from == range.to) return {range.from - 0.5, range.to + 0.5};
  return range;
}

/// 1, 2 or 5 times a power of ten, so that the range has about `count` ticks.
double tick(const Range& range, int count) {
  const double rough = (range.to - range.from) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double rest = rough / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

class Picture {
 public:
  explicit Picture(const std::vector<Curve>& curves)
      : curves_(curves), x_(range_of(curves, true)), y_(range_of(curves, false)) {}

  std::string text(const std::string& title) {
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + place(width) + " " +
            place(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    label(width / 2, 20, "middle", "black", title);
    axes();
    for (size_t i = 0; i < curves_.size(); ++i) curve(i);
    return text_ + "</svg>\n";
  }

 private:
  double at_x(double x) const {
    return left + (x - x_.from) / (x_.to - x_.from) * (width - left - right);
  }
  double at_y(double y) const {
    return height - bottom - (y - y_.from) / (y_.to - y_.from) * (height - top - bottom);
  }

  void line(double x1, double y1, double x2, double y2) {
    text_ += "<line x1=\"" + place(x1) + "\" y1=\"" + place(y1) + "\" x2=\"" + place(x2) +
             "\" y2=\"" + place(y2) + "\" stroke=\"#d0d7de\"/>\n";
  }
  void label(double x, double y, const char* anchor, const char* colour, const std::string& text) {
    text_ += "<text x=\"" + place(x) + "\" y=\"" + place(y) + "\" text-anchor=\"" + anchor +
             "\" fill=\"" + colour + "\">";
    for (char each : text)
      text_ += each == '<' ? "&lt;" : each == '&' ? "&amp;" : std::string(1, each);
    text_ += "</text>\n";
  }

  void axes() {
    const double dx = tick(x_, 8), dy = tick(y_, 6);
    for (double x = std::ceil(x_.from / dx) * dx; x <= x_.to; x += dx) {
      line(at_x(x), top, at_x(x), height - bottom);
      label(at_x(x), height - bottom + 16, "middle", "#57606a", short_text("%g", x));
    }
    for (double y = std::ceil(y_.from / dy) * dy; y <= y_.to; y += dy) {
      line(left, at_y(y), width - right, at_y(y));
      label(left - 6, at_y(y) + 4, "end", "#57606a", short_text("%.4g", y));
    }
    label(width / 2, height - 6, "middle", "#57606a", "step");
  }

  void curve(size_t i) {
    const char* colour = colours[i % std::size(colours)];
    std::string points;
    for (const auto& [x, y] : curves_[i].points)
      points += place(at_x(x)) + "," + place(at_y(y)) + " ";
    text_ += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(colour) +
             "\" points=\"" + points + "\"/>\n";
    label(width - right, top + 14 + 16 * static_cast<double>(i), "end", colour, curves_[i].name);
  }

  const std::vector<Curve>& curves_;
  Range x_, y_;
  std::string text_;
};

}  // namespace

std::string svg_of(const std::string& title, const std::vector<Curve>& curves) {
  std::vector<Curve> finite = curves;
  for (Curve& curve : finite)
    std::erase_if(curve.points, [](const auto& point) { return !std::isfinite(point.second); });
  return Picture(finite).text(title);
}

}  // namespace shardproof::shard_train
