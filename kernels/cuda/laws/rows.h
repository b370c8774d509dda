#pragma once
// Host-compiled kernels of generate_rows.h: main.cpp writes them into a file that tests
// compile.
#include "kernels/cuda/laws/rowwise.h"
#include "kernels/cuda/row_operands.h"

namespace shardproof::laws {

/// The cases whose kernels are compiled.
std::vector<RowwiseCase> compiled_rows();

/// A generated kernel; it runs all of its blocks.
using HostRows = void (*)(const emulated::RowOperands& operands, int64_t blocks,
                          size_t shared_bytes);

/// The kernel with this name; null if it was not compiled.
HostRows host_rows(const std::string& name);

}  // namespace shardproof::laws
