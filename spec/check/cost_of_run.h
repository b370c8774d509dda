#pragma once
// An estimate of the cost of running a plan.
#include <map>
#include <span>
#include <vector>

#include "spec/denote/geometry.h"
#include "spec/ir/program.h"

namespace shardproof {

/// On one device: the number of computed entries, counting multiplications, and the number of ops.
struct Cost {
  double numbers = 0, ops = 0;
};

/// Estimates the cost of running a function and its model, as polynomials in the sizes of dims.
/// Computed once per function; the program must not change and must outlive this.
class CostOfRun {
 public:
  explicit CostOfRun(const ir::Program& program) : program_(program) {}
  Cost at(size_t function, const denote::Sizes& sizes);

 private:
  using Product = std::vector<size_t>;  ///< indices into dims_, sorted; may repeat in a loop
  using Sum = std::map<Product, Cost>;

  const Sum& function(size_t f);
  Sum block(const ir::Function& own, const ir::Block& block);
  void add(const ir::Function& own, const ir::Instr& instr, Sum& sum);
  Product product(std::span<const Shape> shapes);
  Product product_of(const ir::Function& own, ir::ValueId value);
  size_t place(const Dim& dim);

  const ir::Program& program_;
  std::vector<Dim> dims_;
  std::map<size_t, Sum> known_;
};

}  // namespace shardproof
