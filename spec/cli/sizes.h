#pragma once
// The sizes of a run: from the file, a config, --mesh and --set; and whether they divide.
#include <map>
#include <string>
#include <vector>

#include "spec/check/check.h"
#include "spec/cli/options.h"
#include "spec/cost/cost.h"

namespace shardproof::cli {

struct Given {
  cost::Sizes sizes;              ///< of axes and dims that the user, a config or the file gives
  std::map<Name, double> consts;  ///< those whose value differs from the file's
  std::vector<Diagnostic> diagnostics;
  bool any = false;  ///< the user gave some
};

/// The values that the options give to names of this program. Unknown names, invalid numbers and
/// impossible sizes are diagnostics.
Given given_sizes(const ir::Program& program, const Options& options);

/// Also the sizes of dims that pad another and are not given: the smallest that divide.
cost::Sizes with_padding(const CheckedProgram& checked, cost::Sizes sizes);

/// E0501 for each condition of the file's own plans that the sizes break, with the nearest sizes
/// that do divide; E0106 for a requirement that does not hold, and for a dim that would have no
/// size; what is wrong with a schedule beyond the sizes that it was run at; a note where a size is
/// missing.
std::vector<Diagnostic> misfits(const CheckedProgram& checked, const cost::Sizes& sizes);

/// "d=8 t=4"; devices as their product.
std::string mesh_text(const ir::Program& program, const cost::Sizes& sizes);

}  // namespace shardproof::cli
