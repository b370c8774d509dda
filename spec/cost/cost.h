#pragma once
// The communication, computation and memory of a plan per device, from its final types, in one
// pass over the program. Bytes are what one device receives in the ring algorithms.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/cost/amount.h"

namespace shardproof::cost {

/// A collective of the text, executed `count` times.
struct Transfer {
  std::string kind;  ///< "all_gather", "psum_scatter", "send" (between pipeline stages)
  Amount count;
  Amount bytes;  ///< received per device, all executions together
  SourceRange range;
};

struct Cost {
  std::vector<Transfer> transfers;  ///< in the order of the program; those of callees included
  Amount flops;                     ///< of einsums, a multiply and an add each
  Amount state;                     ///< bytes of parameters that are records: weights, moments
  Amount inputs;                    ///< bytes of the other parameters
  Amount saved;  ///< bytes that a backward needs: marked by save, and the carries of loops
  std::vector<Amount> live;    ///< live intermediate bytes at the program points that may be the
                               ///< fullest; no point is within another
  bool with_backward = false;  ///< of a grad or value_and_grad, the backward is counted too
  bool backward_left_out = false;  ///< only the forward of a grad or value_and_grad is counted

  struct Total {
    std::string kind;
    Amount count, bytes;
  };
  std::vector<Total> totals() const;  ///< by kind, in the order of the first occurrence
  /// "5 all_gather, 1 psum_scatter"; "no communication".
  std::string summary() const;
};

/// Numbers for given sizes.
struct Evaluated {
  struct Row {
    std::string kind;
    int64_t count, bytes;
  };
  std::vector<Row> rows;
  int64_t bytes = 0, flops = 0, state = 0, inputs = 0, saved = 0, peak = 0;
};

/// The bytes that one device receives in one collective, for its operand's and its result's final
/// types.
Amount received(const ir::Program& program, ir::CollectiveFn fn, const Type& from, const Type& to);

using TypesOf = std::function<const std::vector<Type>&(size_t function)>;

/// The cost of one call of the backward of plan `function` with respect to leaf parameters `wrt`;
/// none: it is left out.
using BackwardOf =
    std::function<std::optional<Cost>(size_t function, const std::vector<size_t>& wrt)>;

/// The cost of one call of plan `function`. Collectives that move nothing (slice, fan_out,
/// zero_nonroot, zero_pad) are not transfers.
Cost cost(const ir::Program& program, const TypesOf& types, size_t function,
          const BackwardOf& backward_of = {});

/// Throws std::domain_error where a size is missing, or a number does not fit into 64 bits.
Evaluated evaluate(const Cost& cost, const Sizes& sizes);

/// `sizes` with those that the program itself gives: `mesh t=4`, `dim M=4096`.
Sizes with_declared(const ir::Program& program, Sizes sizes);

int64_t bytes_of(Dtype dtype);  ///< 0 for a number
/// Bytes of the local array of one device.
Amount local_bytes(const ir::Program& program, const Type& type);

}  // namespace shardproof::cost
