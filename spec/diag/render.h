#pragma once
// A Diagnostic as text: the place, the source lines with what the devices hold beside them, numbers
// and fixes.
#include <string>

#include "spec/diag/diagnostic.h"

namespace shardproof {

struct RenderOptions {
  bool colour = false;
  int width = 100;  ///< columns of a source line; a longer line is clipped around its ranges
  int tab = 4;      ///< columns between tab stops
};

/// The whole text of a diagnostic, ending with a newline. Never throws: a range that lies outside
/// its file is moved to the file's end.
std::string render(const Diagnostic& diagnostic, const Sources& sources,
                   const RenderOptions& options = {});

/// `error[E0207]: message` alone, without a place.
std::string headline(const Diagnostic& diagnostic, bool colour = false);

}  // namespace shardproof
