// Draws the timelines of all stages as SVG.
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "spec/schedule/schedule.h"

namespace shardproof::schedule {

std::string svg(const Run& run, int64_t chunks, bool measured) {
  constexpr int64_t unit = 24, height = 26, left = 64, wide = 1600;
  const auto pixels = [&](int64_t time) {
    return measured ? time * wide / std::max<int64_t>(run.end, 1) : time * unit;
  };
  const auto rows = static_cast<int64_t>(run.stages.size());
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << left + pixels(run.end) + 8
      << "\" height=\"" << rows * height + 8
      << "\" font-family=\"sans-serif\" font-size=\"9\" text-anchor=\"middle\">\n";
  for (int64_t s = 0; s < rows; ++s) {
    const int64_t top = 4 + s * height;
    out << "<text x=\"30\" y=\"" << top + 15 << "\">stage " << s << "</text>\n<rect x=\"" << left
        << "\" y=\"" << top << "\" width=\"" << pixels(run.end)
        << "\" height=\"22\" fill=\"#eeeeee\"/>\n";
    for (const Timed& each : run.stages[static_cast<size_t>(s)]) {
      const char* colour = each.work.kind == 'F'   ? "#8ab6e8"
                           : each.work.kind == 'B' ? "#f0b070"
                                                   : "#9fce95";
      const int64_t x = left + pixels(each.begin), width = left + pixels(each.end) - x;
      out << "<rect x=\"" << x << "\" y=\"" << top << "\" width=\"" << width
          << "\" height=\"22\" fill=\"" << colour << "\" stroke=\"#ffffff\"><title>"
          << to_string(each.work, chunks);
      if (measured) out << ", " << static_cast<double>(each.end - each.begin) / 1000 << " ms";
      out << "</title></rect>\n";
      if (width >= unit)
        out << "<text x=\"" << x + width / 2 << "\" y=\"" << top + 15 << "\">" << each.work.kind
            << each.work.m << "</text>\n";
    }
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace shardproof::schedule
