#pragma once
// A checked file as one HTML page that needs nothing else: check-sharding FILE --html OUT.html.
#include <ostream>

#include "spec/cli/report.h"

namespace shardproof::page {

/// Verdicts, the text with types, each step with the blocks of its tensor on the mesh,
/// communication, memory and schedules. The data is JSON that a script of the page shows as text:
/// nothing in the file can become markup.
void print_html(const cli::FileReport& report, std::ostream& out);

}  // namespace shardproof::page
