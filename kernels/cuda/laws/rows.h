#pragma once
// Kernels of generate_rows.h as the host's compiler makes them: main.cpp writes them into a text
// that tests compile.
#include "kernels/cuda/laws/rowwise.h"
#include "kernels/cuda/row_operands.h"

namespace shardproof::laws {

/// The cases whose kernels are compiled.
std::vector<RowwiseCase> compiled_rows();

/// A generated kernel; it runs all its blocks.
using HostRows = void (*)(const rehearsal::RowOperands& operands, int64_t blocks,
                          size_t shared_bytes);

/// By name; null where it is none of those that were compiled.
HostRows host_rows(const std::string& name);

}  // namespace shardproof::laws
