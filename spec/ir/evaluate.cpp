// Arithmetic of sizes and numbers at given sizes: exactly where 64 bits suffice.
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "spec/ir/decimal.h"
#include "spec/ir/program.h"

namespace shardproof::ir {
namespace {

using algebra::Rational;

Rational floor_of(Rational x) { return x.floor(); }
double floor_of(double x) { return std::floor(x); }

template <class T>
T operate(const std::string& op, const std::vector<T>& x) {
  const T zero = 0;
  if (op == "neg") return -x.at(0);
  if (op == "not") return x.at(0) == zero ? 1 : 0;
  const T a = x.at(0), b = x.at(1);
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if ((op == "/" || op == "//" || op == "%") && b == zero)
    throw std::domain_error("division by zero");
  if (op == "/") return a / b;
  if (op == "//") return floor_of(a / b);
  if (op == "%") return a - b * floor_of(a / b);
  if (op == "==") return a == b ? 1 : 0;
  if (op == "!=") return a == b ? 0 : 1;
  if (op == "<") return a < b ? 1 : 0;
  if (op == ">") return b < a ? 1 : 0;
  if (op == "<=") return b < a ? 0 : 1;
  if (op == ">=") return a < b ? 0 : 1;
  if (op == "and") return a == zero || b == zero ? 0 : 1;
  if (op == "or") return a == zero && b == zero ? 0 : 1;
  throw std::domain_error("no arithmetic " + op);
}

template <class T>
T written(const std::string& text) {
  if (text.starts_with('-')) return -written<T>(text.substr(1));
  if constexpr (std::is_same_v<T, double>)
    return std::stod(text);
  else
    return algebra::decimal(text);
}

template <class T>
T value_of(const Arith& arith, const std::map<Name, int64_t>& sizes) {
  switch (arith.kind) {
    case Arith::Kind::number:
      return written<T>(arith.text);
    case Arith::Kind::size:
    case Arith::Kind::axis: {
      if (!arith.text.empty() && std::isdigit(static_cast<unsigned char>(arith.text[0])))
        return written<T>(arith.text);
      auto found = sizes.find(arith.text);
      if (found == sizes.end()) throw std::domain_error("|" + arith.text + "| has no size");
      return static_cast<T>(found->second);
    }
    case Arith::Kind::value:
      throw std::domain_error("a value of the body has no size");
    case Arith::Kind::op:
      break;
  }
  std::vector<T> args;
  for (const Arith& arg : arith.args) args.push_back(value_of<T>(arg, sizes));
  return operate(arith.text, args);
}

}  // namespace

Rational exact(const Arith& arith) { return value_of<Rational>(arith, {}); }

double evaluate(const Arith& arith, const std::map<Name, int64_t>& sizes) {
  try {
    return value_of<Rational>(arith, sizes).value();
  } catch (const algebra::Overflow&) {
    return value_of<double>(arith, sizes);
  }
}

}  // namespace shardproof::ir
