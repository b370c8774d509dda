// Prints the programs of the laws, for the smallest failure.
#pragma once

#include <sstream>

#include "spec/algebra/program.h"

namespace shardproof::algebra {

inline std::string name_of_variable(int var) {
  return var == 0 ? "k" : var == 1 ? "j" : "v" + std::to_string(var);
}

/// Prints 2|V/t| ids[k] + 1.
inline std::string text(const Index& at) {
  std::string all;
  for (const Index::Part& part : at.parts) {
    std::string one = part.var < 0 ? "" : name_of_variable(part.var);
    if (!part.through.empty()) one = part.through + "[" + one + "]";
    const std::string size = part.size.empty() ? "" : "|" + part.size + "|";
    if (part.k != 1 || (one.empty() && size.empty()))
      one = std::to_string(part.k) + (size.empty() && !one.empty() ? " " : "") + size +
            (size.empty() || one.empty() ? "" : " ") + one;
    else
      one = size + (size.empty() || one.empty() ? "" : " ") + one;
    all += (all.empty() ? "" : " + ") + one;
  }
  if (all.empty()) all = "0";
  return at.circle.empty() ? all : "(" + all + ") mod |" + at.circle + "|";
}

inline const char* name_of_function(Fn fn) {
  switch (fn) {
    case Fn::exp:
      return "exp";
    case Fn::log:
      return "log";
    case Fn::sigmoid:
      return "sigmoid";
    case Fn::tanh:
      return "tanh";
    case Fn::erf:
      return "erf";
    case Fn::sin:
      return "sin";
    case Fn::cos:
      return "cos";
    case Fn::abs:
      return "abs";
    case Fn::floor:
      return "floor";
    case Fn::step:
      return "step";
    case Fn::relu:
      return "relu";
    case Fn::silu:
      return "silu";
    case Fn::sign:
      return "sign";
  }
  return "?";
}

inline std::string text(const E& e) {
  const auto kid = [&](size_t i) { return text(e->kids.at(i)); };
  const auto index = [&] { return text(e->index.at(0)); };
  const auto over = [&](const char* op) {
    return std::string(op) + " " + name_of_variable(e->var) + " in |" + e->name + "| (" + kid(0) +
           ")";
  };
  switch (e->kind) {
    case Expr::number:
      return e->value.text();
    case Expr::size:
      return "|" + e->name + "|";
    case Expr::leaf: {
      std::string all;
      for (const Index& each : e->index) all += (all.empty() ? "" : ", ") + text(each);
      return e->name + "[" + all + "]";
    }
    case Expr::iota:
      return "(" + index() + ")";
    case Expr::eq:
      return "[" + index() + " = 0]";
    case Expr::le:
      return "[" + index() + " <= 0]";
    case Expr::le_real:
      return "[" + kid(0) + " <= 0]";
    case Expr::add:
      return "(" + kid(0) + " + " + kid(1) + ")";
    case Expr::mul:
      return kid(0) + " * " + kid(1);
    case Expr::pow:
      return "pow(" + kid(0) + ", " + e->value.text() + ")";
    case Expr::fn:
      return std::string(name_of_function(e->function)) + "(" + kid(0) + ")";
    case Expr::maximum:
      return "maximum(" + kid(0) + ", " + kid(1) + ")";
    case Expr::where:
      return "where(" + kid(0) + ", " + kid(1) + ", " + kid(2) + ")";
    case Expr::sum:
      return over("sum");
    case Expr::max:
      return over("max");
    case Expr::floordiv:
      return "((" + index() + ") // |" + e->name + "|)";
    case Expr::mod:
      return "((" + index() + ") % |" + e->name + "|)";
    case Expr::opaque:
      return over("opaque") + "[" + index() + "]";
    case Expr::masked_exp:
      return "exp(where(" + kid(0) + ", " + kid(1) + ", -inf))";
  }
  return "?";
}

}  // namespace shardproof::algebra
