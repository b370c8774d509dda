// The timeline of every stage, as SVG.
#include <sstream>

#include "spec/schedule/schedule.h"

namespace shardproof::schedule {

std::string svg(const Run& run, int64_t chunks) {
  constexpr int64_t unit = 24, height = 26, left = 64;
  const auto rows = static_cast<int64_t>(run.stages.size());
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << left + run.end * unit + 8
      << "\" height=\"" << rows * height + 8
      << "\" font-family=\"sans-serif\" font-size=\"9\" text-anchor=\"middle\">\n";
  for (int64_t s = 0; s < rows; ++s) {
    const int64_t top = 4 + s * height;
    out << "<text x=\"30\" y=\"" << top + 15 << "\">stage " << s << "</text>\n<rect x=\"" << left
        << "\" y=\"" << top << "\" width=\"" << run.end * unit
        << "\" height=\"22\" fill=\"#eeeeee\"/>\n";
    for (const Timed& each : run.stages[static_cast<size_t>(s)]) {
      const char* colour = each.work.kind == 'F'   ? "#8ab6e8"
                           : each.work.kind == 'B' ? "#f0b070"
                                                   : "#9fce95";
      const int64_t x = left + each.begin * unit, width = (each.end - each.begin) * unit;
      out << "<rect x=\"" << x << "\" y=\"" << top << "\" width=\"" << width
          << "\" height=\"22\" fill=\"" << colour << "\" stroke=\"#ffffff\"><title>"
          << to_string(each.work, chunks) << "</title></rect>\n<text x=\"" << x + width / 2
          << "\" y=\"" << top + 15 << "\">" << each.work.kind << each.work.m << "</text>\n";
    }
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace shardproof::schedule
