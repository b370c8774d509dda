#include "oracle/run.h"

#include <cmath>
#include <limits>

#include "oracle/disturbed.h"
#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// What is declared, and what is given; both must agree where they meet.
void merge(std::map<Name, int64_t>& all, const std::map<Name, int64_t>& given) {
  for (const auto& [name, size] : given) {
    const auto [at, fresh] = all.emplace(name, size);
    if (!fresh && at->second != size)
      throw std::domain_error("|" + name + "| is " + std::to_string(at->second) + " and " +
                              std::to_string(size));
  }
}

// Over plain dims and numbers: only these have a size in the table.
void close(const ir::Program& program, ir::Arith& arith, const std::vector<Var>& values) {
  for (ir::Arith& arg : arith.args) close(program, arg, values);
  if (arith.kind == ir::Arith::Kind::size) arith = program.size(Dim{{arith.text}});
  if (arith.kind != ir::Arith::Kind::value) return;
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", values.at(arith.value)->value.data.at(0));
  arith = {ir::Arith::Kind::number, text, ir::no_value, {}};
}

void check_results(Site& site, const Vars& results) {
  if (results.size() != site.instr.results.size())
    throw std::domain_error("the number of results is not the stated one");
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]->value.shape != site.shape(i))
      throw std::domain_error("the result is " + to_string(results[i]->value.shape) + ", not " +
                              to_string(site.shape(i)));
    check_range(results[i]->value, site.type(i).dtype);
  }
}

template <class... Ops>
bool is_one_of(const ir::Op& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

// The others move numbers, or sum and say so themselves.
bool rounds(const ir::Op& op) {
  return is_one_of<ir::Unary, ir::Binary, ir::Number, ir::Random, ir::Ordered, ir::Total>(op);
}

/// Functions that come close to a number of few bits, and never reach it.
bool is_curved(const ir::Op& op) {
  using Fn = ir::UnaryFn;
  const auto* unary = std::get_if<ir::Unary>(&op);
  return unary && (unary->fn == Fn::exp || unary->fn == Fn::expm1 || unary->fn == Fn::tanh ||
                   unary->fn == Fn::erf);
}

/// The operands of a sum or of a curved function of one number, which can lose precision; else
/// none.
std::vector<const Tensor*> operand_tensors(const Site& site) {
  const auto* binary = std::get_if<ir::Binary>(&site.instr.op);
  const bool sums = binary && (binary->fn == ir::BinaryFn::add || binary->fn == ir::BinaryFn::sub);
  if (!sums && !is_curved(site.instr.op)) return {};
  std::vector<const Tensor*> tensors;
  for (const Var& operand : site.operands()) tensors.push_back(&operand->value);
  return tensors;
}

void run_step(Site& site) {
  try {
    Vars results = std::visit([&](const auto& op) { return apply(op, site); }, site.instr.op);
    if (disturbs() && rounds(site.instr.op) && is_float(site.type().dtype))
      disturb(results.at(0)->value, operand_tensors(site), is_curved(site.instr.op));
    check_results(site, results);
    for (size_t i = 0; i < results.size(); ++i)
      site.frame.values[site.instr.results[i]] = std::move(results[i]);
  } catch (const std::logic_error& error) {
    std::vector<Extents> shapes;
    for (const Var& operand : site.operands()) shapes.push_back(operand->value.shape);
    throw error_at(site.origin(), shapes, error.what());
  }
}

/// A dim whose size follows from the file; any other has the size that is given.
bool depends_on_others(const ir::Program& program, const Name& dim, int64_t given) {
  const auto found = program.dims.find(dim);
  if (found == program.dims.end()) return false;
  return found->second.kind != ir::DimInfo::Kind::plain || found->second.size || given < 1;
}

}  // namespace

Table::Table(const ir::Program& program, const Sizes& sizes) : program_(program) {
  for (const auto& [name, axis] : program.axes)
    if (axis.size) sizes_[name] = *axis.size;
  merge(sizes_, sizes.axes);
  merge(sizes_, sizes.dims);
  for (const auto& [name, given] : sizes.dims)
    if (depends_on_others(program, name, given) && size(name) != given)
      throw std::domain_error("|" + name + "| is " + std::to_string(size(name)) +
                              ", and is given as " + std::to_string(given));
}

int64_t Table::size(const Name& dim) {
  if (const auto at = of_names_.find(dim); at != of_names_.end()) return at->second;
  return of_names_[dim] = program_.size(Dim{{dim}}, sizes_);
}

int64_t Table::size(const Dim& dim) {
  if (dim.factors.size() == 1) return size(dim.factors[0]);
  if (const auto at = of_groups_.find(dim.factors); at != of_groups_.end()) return at->second;
  return of_groups_[dim.factors] = program_.size(dim, sizes_);
}

int64_t Table::axis(const Axis& axis) const {
  const auto found = sizes_.find(axis);
  if (found == sizes_.end()) throw std::domain_error("the axis `" + axis + "` has no size");
  return found->second;
}

Extents Table::extents(const std::vector<Split>& dims) {
  Extents result;
  result.reserve(dims.size());
  for (const Split& split : dims) result.push_back(size(split.dim));
  return result;
}

Shapes& Table::shapes(const ir::Function& function) {
  return shapes_.try_emplace(&function, function, *this).first->second;
}

const Extents& Shapes::of(ir::ValueId value) {
  std::optional<Extents>& known = known_[value];
  if (!known) known = table_.extents(function_.values[value].type.dims);
  return *known;
}

bool Table::holds(const ir::Arith& condition, const std::vector<Var>& values) const {
  ir::Arith closed = condition;
  close(program_, closed, values);
  return ir::evaluate(closed, sizes_) != 0;
}

void check_range(const Tensor& x, Dtype dtype) {
  if (!is_integer(dtype)) return;
  const double low = dtype == Dtype::i32 ? std::numeric_limits<int32_t>::min() : 0.0;
  const double high = dtype == Dtype::i32 ? std::numeric_limits<int32_t>::max()
                                          : std::numeric_limits<uint32_t>::max();
  for (double entry : x.data)
    if (!(entry >= low && entry <= high && entry == std::floor(entry)))
      throw std::domain_error(std::to_string(entry) + " is no " + to_string(dtype));
}

Vars Site::operands() const {
  Vars result;
  result.reserve(instr.operands.size());
  for (size_t i = 0; i < instr.operands.size(); ++i) result.push_back(operand(i));
  return result;
}

int64_t Site::whole(size_t i) const {
  const double value = operand(i)->value.data.at(0);
  if (value != std::floor(value) || std::abs(value) > 9.0e15)
    throw std::domain_error(std::to_string(value) + " is no whole number");
  return static_cast<int64_t>(value);
}

void run_block(Run& run, Frame& frame, const ir::Block& block) {
  for (const ir::Instr& instr : block.instrs) {
    Site site{run, frame, instr};
    run_step(site);
  }
  for (const ir::Requirement& requirement : block.requirements)
    if (!run.table.holds(requirement.condition, frame.values))
      throw Error("require", to_string(requirement.condition), frame.function.name, {},
                  "does not hold");
}

}  // namespace shardproof::oracle
