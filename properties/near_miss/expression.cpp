#include "properties/near_miss/source.h"

namespace shardproof::near_miss {

std::string expression(Source& source, const std::vector<std::string>& names, int depth) {
  static const std::vector<std::string> numbers{"1", "2", "3", "0.5", "4", "0.25"};
  if (depth == 0 || source.one_in(6))
    return source.one_in(4) ? source.of(numbers) : source.of(names);
  const auto part = [&] { return expression(source, names, depth - 1); };
  const std::string& name = source.of(names);
  switch (source.below(12)) {
    case 0:
    case 1:
      return "(" + part() + " + " + name + ")";
    case 2:
      return "(" + name + " - " + part() + ")";
    case 3:
    case 4:
      return "(" + part() + " * " + name + ")";
    case 5:
      return "(" + part() + " / (1 + " + name + " * " + name + "))";
    case 6:
      return "maximum(" + part() + ", " + name + ")";
    case 7:
      return "where(" + name + " < " + part() + ", " + source.of(names) + ", " + part() + ")";
    case 8:
      return "exp(0.25 * (" + name + " - " + part() + "))";
    case 9:
      return "sqrt(1 + (" + name + " + " + part() + ") * (" + name + " + " + part() + "))";
    case 10:
      return "tanh(" + name + " + " + part() + ")";
    default:
      return "abs(" + name + " - " + part() + ")";
  }
}

}  // namespace shardproof::near_miss
