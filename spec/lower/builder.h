// Builds functions by hand, for tests. Dims and patterns are text, as in the notation; types come
// from the patterns.
#pragma once

#include <cctype>
#include <sstream>

#include "spec/elaborate/elaborate.h"
#include "spec/ir/program.h"

namespace shardproof::lower {

inline Dim read_dim(const std::string& text) {
  Dim dim;
  std::istringstream in(text);
  for (std::string name; in >> name;) dim.factors.push_back(name);
  return dim;
}

/// Reads "B/d L (K D)/t [V] {U_t}"; stores the position of the bracketed dim in `bracket`.
inline Shape read_shape(const std::string& text, std::optional<size_t>* bracket = nullptr) {
  Shape shape;
  for (size_t i = 0; i < text.size();) {
    const char ch = text[i];
    if (ch == ' ' || ch == ']') {
      ++i;
    } else if (ch == '{') {
      i = text.find('}', i) + 1;
    } else if (ch == '[') {
      if (bracket != nullptr) *bracket = shape.dims.size();
      ++i;
    } else if (ch == '/') {
      const size_t end = text.find_first_of(" /]", i + 1);
      shape.dims.back().axes.push_back(text.substr(i + 1, end - i - 1));
      i = std::min(end, text.size());
    } else if (ch == '(') {
      const size_t end = text.find(')', i);
      shape.dims.push_back({read_dim(text.substr(i + 1, end - i - 1)), {}});
      i = end + 1;
    } else {
      const size_t end = std::min(text.find_first_of(" /]", i), text.size());
      shape.dims.push_back({Dim{{text.substr(i, end - i)}}, {}});
      i = end;
    }
  }
  return shape;
}

/// Reads "a, b -> c".
inline ir::Pattern read_pattern(const std::string& text) {
  ir::Pattern p;
  const size_t arrow = text.find("->");
  std::stringstream left(text.substr(0, arrow));
  for (std::string operand; std::getline(left, operand, ',');) {
    std::optional<size_t> bracket;
    p.left.push_back(read_shape(operand, &bracket));
    if (bracket) p.left_bracket = bracket, p.bracket_operand = p.left.size() - 1;
  }
  p.right = read_shape(text.substr(arrow + 2), &p.right_bracket);
  return p;
}

using Values = std::vector<ir::ValueId>;

/// A program with axes d, t and the dims of the tests.
inline ir::Program test_program() {
  ir::Program p;
  for (const char* axis : {"d", "t"}) p.axes[axis] = {};
  for (const char* dim : {"B", "L", "M", "F", "Q", "K", "D", "V", "N", "X"})
    p.dims[dim].shown = dim;
  auto derived = [&](const char* name, ir::DimInfo::Kind kind, std::vector<Name> of) {
    p.dims[name].kind = kind, p.dims[name].of = of, p.dims[name].shown = name;
  };
  derived("S", ir::DimInfo::Kind::alias, {"L"});
  derived("T", ir::DimInfo::Kind::alias, {"L"});
  derived("M2", ir::DimInfo::Kind::alias, {"M"});
  derived("H", ir::DimInfo::Kind::group, {"K", "D"});
  derived("A", ir::DimInfo::Kind::alias, {"H"});
  derived("k", ir::DimInfo::Kind::alias, {"K"});
  derived("d", ir::DimInfo::Kind::alias, {"D"});
  using Kind = ir::Arith::Kind;
  derived("h", ir::DimInfo::Kind::sized, {});
  p.dims["h"].size =
      ir::Arith{Kind::op,
                "/",
                ir::no_value,
                {{Kind::size, "D", ir::no_value, {}}, {Kind::number, "2", ir::no_value, {}}}};
  derived("kv", ir::DimInfo::Kind::sized, {});
  p.dims["kv"].size = ir::Arith{Kind::number, "2", ir::no_value, {}};
  return p;
}

/// Builds one function; each method returns the id of the new value.
struct FunctionBuilder {
  ir::Function f;
  std::vector<ir::Block*> open;
  ir::Program program = test_program();  ///< declares the dims of the patterns

  explicit FunctionBuilder(const std::string& name) { f.name = name, open.push_back(&f.body); }

  ir::ValueId value(const Type& type, const std::string& name = "") {
    f.values.push_back({name, type, {}, false});
    return static_cast<ir::ValueId>(f.values.size() - 1);
  }
  static Type type(const Shape& shape, Dtype dtype) {
    Type t;
    static_cast<Shape&>(t) = shape;
    t.dtype = dtype;
    return t;
  }
  ir::ValueId param(const std::string& name, const std::string& dims, Dtype dtype = Dtype::f32) {
    f.params.push_back(value(type(read_shape(dims), dtype), name));
    return f.params.back();
  }
  ir::ValueId emit(ir::Op op, Values operands, const Type& result, const std::string& name = "") {
    return emit_all(std::move(op), std::move(operands), {value(result, name)})[0];
  }
  Values emit_all(ir::Op op, Values operands, Values results) {
    std::vector<Shape> dims;
    for (ir::ValueId v : operands) dims.push_back(type_of(v));
    if (const auto problem = elaborate::elaborate(program, op, dims))
      throw std::logic_error(problem->message);
    open.back()->instrs.push_back({std::move(op), std::move(operands), results, {}, {}});
    return results;
  }
  const Type& type_of(ir::ValueId v) const { return f.values.at(v).type; }
  ir::ValueId name(ir::ValueId v, const std::string& text) { return f.values.at(v).name = text, v; }

  ir::ValueId number(const std::string& text) {
    return emit(ir::Number{text, std::stod(text)}, {}, type({}, Dtype::number));
  }
  ir::ValueId size(const std::string& name) {
    return emit(ir::SizeOf{name, false}, {}, type({}, Dtype::number));
  }
  ir::ValueId axis(const std::string& name) {
    return emit(ir::SizeOf{name, true}, {}, type({}, Dtype::number));
  }
  ir::ValueId unary(ir::UnaryFn fn, ir::ValueId x) { return emit(ir::Unary{fn}, {x}, type_of(x)); }
  /// The operand with the most dims gives the shape of the result.
  ir::ValueId binary(ir::BinaryFn fn, ir::ValueId x, ir::ValueId y) {
    const bool first = type_of(x).dims.size() >= type_of(y).dims.size();
    Type t = type_of(first ? x : y);
    if (t.dtype == Dtype::number) t.dtype = type_of(first ? y : x).dtype;
    if (gives_truth(fn)) t.dtype = Dtype::boolean;
    return emit(ir::Binary{fn}, {x, y}, t);
  }
  ir::ValueId add(ir::ValueId x, ir::ValueId y) { return binary(ir::BinaryFn::add, x, y); }
  ir::ValueId sub(ir::ValueId x, ir::ValueId y) { return binary(ir::BinaryFn::sub, x, y); }
  ir::ValueId mul(ir::ValueId x, ir::ValueId y) { return binary(ir::BinaryFn::mul, x, y); }
  ir::ValueId div(ir::ValueId x, ir::ValueId y) { return binary(ir::BinaryFn::div, x, y); }
  ir::ValueId where(ir::ValueId c, ir::ValueId x, ir::ValueId y) {
    Type t = type_of(c);
    t.dtype = type_of(type_of(x).dtype == Dtype::number ? y : x).dtype;
    return emit(ir::Where{}, {c, x, y}, t);
  }
  ir::ValueId cast(Dtype to, ir::ValueId x) {
    Type t = type_of(x);
    t.dtype = to;
    return emit(ir::Cast{to, {}}, {x}, t);
  }
  ir::ValueId save(ir::ValueId x) { return emit(ir::Save{}, {x}, type_of(x)); }

  /// Adds an op with a pattern. The result has the right side's shape and the dtype of operand
  /// `like`.
  template <class Op>
  ir::ValueId op(const std::string& pattern, Values operands, Op base = {}, size_t like = 0) {
    base.pattern = read_pattern(pattern);
    return emit(base, operands, type(base.pattern.right, type_of(operands.at(like)).dtype));
  }
  ir::ValueId einsum(const std::string& pattern, Values operands) {
    return op<ir::Einsum>(pattern, operands);
  }
  ir::ValueId sum(const std::string& pattern, ir::ValueId x) {
    return op(pattern, {x}, ir::Reduce{ir::ReduceFn::sum, {}, {}});
  }
  ir::ValueId max(const std::string& pattern, ir::ValueId x) {
    return op(pattern, {x}, ir::Reduce{ir::ReduceFn::max, {}, {}});
  }
  ir::ValueId expand(const std::string& pattern, ir::ValueId x) {
    return op<ir::Expand>(pattern, {x});
  }
  ir::ValueId collective(ir::CollectiveFn fn, const std::string& pattern, ir::ValueId x) {
    return op(pattern, {x}, ir::Collective{fn, {}});
  }
  ir::ValueId iota(const std::string& dims, size_t dim) {
    const Shape shape = read_shape(dims);
    return emit(ir::Iota{{shape, false, {}}, dim}, {}, type(shape, Dtype::i32));
  }
  Values call(size_t function, const ir::Program& program, Values arguments) {
    Values results;
    for (ir::ValueId v : program.functions.at(function).returned)
      results.push_back(value(program.functions[function].values.at(v).type));
    open.back()->instrs.push_back({ir::Call{function}, arguments, results, {}, {}});
    return results;
  }
  /// body(n, carries) returns the next carries and the emitted values.
  template <class Body>
  Values scan(const std::string& dim, Values initial, Body body, bool reverse = false) {
    auto block = std::make_shared<ir::Block>();
    block->params.push_back(value(type({}, Dtype::i32), "n"));
    Values results;
    for (ir::ValueId v : initial) block->params.push_back(value(type_of(v), "x"));
    open.push_back(block.get());
    const Values carries(block->params.begin() + 1, block->params.end());
    std::tie(block->next, block->emit) = body(block->params[0], carries);
    open.pop_back();
    for (ir::ValueId v : initial) results.push_back(value(type_of(v)));
    for (ir::ValueId v : block->emit) {
      Type stacked = type_of(v);
      stacked.dims.insert(stacked.dims.begin(), Split{Dim{{dim}}, {}});
      results.push_back(value(stacked));
    }
    open.back()->instrs.push_back({ir::Scan{Dim{{dim}}, reverse, block}, initial, results, {}, {}});
    return results;
  }
  ir::ValueId entry(ir::ValueId x, ir::ValueId n, size_t at = 0) {
    Type t = type_of(x);
    const Dim dim = t.dims.at(at).dim;
    t.dims.erase(t.dims.begin() + static_cast<std::ptrdiff_t>(at));
    return emit(ir::Entry{dim}, {x, n}, t);
  }

  ir::Function returns(Values values) {
    f.returned = values;
    for (ir::ValueId v : values) f.results.push_back(type_of(v)), f.result_names.push_back("");
    return f;
  }
};

}  // namespace shardproof::lower
