#pragma once
// An estimate of the cost of running a plan.
#include <map>
#include <vector>

#include "spec/denote/geometry.h"
#include "spec/ir/program.h"

namespace shardproof {

/// On one device: the number of computed entries, with multiplications, and of ops.
struct Cost {
  double numbers = 0, ops = 0;
};

/// About what a run of a function beside its model costs, as polynomials in the sizes of dims: made
/// once for each function of the program, which is not to change and outlives this.
class CostOfRun {
 public:
  explicit CostOfRun(const ir::Program& program) : program_(program) {}
  Cost at(size_t function, const denote::Sizes& sizes);

 private:
  using Product = std::vector<size_t>;  ///< places in dims_, sorted; a loop may repeat one
  using Sum = std::map<Product, Cost>;

  const Sum& function(size_t f);
  Sum block(const ir::Function& own, const ir::Block& block);
  Sum of(const ir::Function& own, const ir::Instr& instr);
  Product product(const std::vector<Shape>& shapes);
  size_t place(const Dim& dim);

  const ir::Program& program_;
  std::vector<Dim> dims_;
  std::map<std::vector<Name>, size_t> places_;
  std::map<size_t, Sum> known_;
};

}  // namespace shardproof
