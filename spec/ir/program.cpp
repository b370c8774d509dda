#include "spec/ir/program.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace shardproof::ir {
namespace {

bool is_number(const Name& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0]));
}

Arith product(std::vector<Arith> factors) {
  if (factors.empty()) return {Arith::Kind::number, "1", no_value, {}};
  Arith result = std::move(factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) {
    std::vector<Arith> operands;
    operands.push_back(std::move(result));
    operands.push_back(std::move(factors[i]));
    result = {Arith::Kind::op, "*", no_value, std::move(operands)};
  }
  return result;
}

}  // namespace

Name identifier(const Name& function) {
  Name result;
  for (char c : function)
    if (c != '}') result += c == '{' || c == ' ' ? '_' : c;
  return result;
}

bool uses_values(const Arith& arith) {
  return arith.kind == Arith::Kind::value ||
         std::any_of(arith.args.begin(), arith.args.end(), uses_values);
}

std::set<Name> sizes_in(const Arith& arith) {
  std::set<Name> names;
  const bool read = arith.kind == Arith::Kind::size || arith.kind == Arith::Kind::axis;
  if (read && !std::isdigit(static_cast<unsigned char>(arith.text[0]))) names.insert(arith.text);
  for (const Arith& arg : arith.args) names.merge(sizes_in(arg));
  return names;
}

std::string to_string(const Arith& arith) {
  if (arith.kind == Arith::Kind::size || arith.kind == Arith::Kind::axis)
    return "|" + arith.text + "|";
  if (arith.kind != Arith::Kind::op) return arith.text;
  if (arith.args.size() == 1)
    return (arith.text == "neg" ? "-" : arith.text + " ") + to_string(arith.args[0]);
  auto operand = [](const Arith& arg) {
    return arg.kind == Arith::Kind::op && arg.args.size() > 1 ? "(" + to_string(arg) + ")"
                                                              : to_string(arg);
  };
  return operand(arith.args.at(0)) + " " + arith.text + " " + operand(arith.args.at(1));
}

std::vector<Name> Program::base(const Dim& dim) const {
  std::vector<Name> result;
  for (const Name& factor : dim.factors) {
    auto found = dims.find(factor);
    const bool other = found != dims.end() && (found->second.kind == DimInfo::Kind::alias ||
                                               found->second.kind == DimInfo::Kind::group);
    if (!other) {
      result.push_back(factor);
      continue;
    }
    const std::vector<Name> inner = base(Dim{found->second.of});
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

std::optional<Name> Program::padded(const Dim& dim) const {
  const std::vector<Name> names = base(dim);
  const auto info = names.size() == 1 ? dims.find(names[0]) : dims.end();
  if (info == dims.end() || !info->second.pads) return {};
  return base(Dim{{*info->second.pads}}).at(0);
}

Arith Program::size(const Dim& dim) const {
  std::vector<Arith> factors;
  for (const Name& name : base(dim)) {
    auto found = dims.find(name);
    if (is_number(name)) {
      factors.push_back({Arith::Kind::number, name, no_value, {}});
    } else if (found != dims.end() && found->second.size) {
      // A size may use other dims: resolve those too.
      auto resolve = [&](auto& self, const Arith& arith) -> Arith {
        if (arith.kind == Arith::Kind::size) return size(Dim{{arith.text}});
        Arith resolved{arith.kind, arith.text, arith.value, {}};
        for (const Arith& arg : arith.args) resolved.args.push_back(self(self, arg));
        return resolved;
      };
      factors.push_back(resolve(resolve, *found->second.size));
    } else {
      factors.push_back({Arith::Kind::size, name, no_value, {}});
    }
  }
  return product(std::move(factors));
}

std::optional<int64_t> Program::stated_size(const Name& name,
                                            const std::map<Name, int64_t>& sizes) const {
  const std::string* number = &name;
  if (!is_number(name)) {
    const auto found = dims.find(name);
    if (found == dims.end()) return std::nullopt;
    const DimInfo& info = found->second;
    const auto given = sizes.find(name);
    if (info.kind == DimInfo::Kind::plain && !info.size && given != sizes.end())
      return given->second;
    if (info.kind != DimInfo::Kind::sized || !info.size || info.size->kind != Arith::Kind::number)
      return std::nullopt;
    number = &info.size->text;
  }
  int64_t value = 0;
  const char* end = number->data() + number->size();
  const auto read = std::from_chars(number->data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

int64_t Program::size(const Dim& dim, const std::map<Name, int64_t>& sizes) const {
  double value = 1;
  for (const Name& name : dim.factors) {
    const auto stated = stated_size(name, sizes);
    value *= stated ? static_cast<double>(*stated) : evaluate(size(Dim{{name}}), sizes);
  }
  if (!(value >= 1) || value > 9.0e15 || value != std::floor(value))
    throw std::domain_error(
        "|" + shardproof::to_string(dim) +
        (value > 9.0e15 ? "| is more than 9 * 10^15" : "| is not a whole number of at least 1"));
  return static_cast<int64_t>(value);
}

Program without_functions(const Program& program) {
  Program result;
  result.library_gradients = program.library_gradients;
  result.dims = program.dims;
  result.axes = program.axes;
  result.consts = program.consts;
  result.requirements = program.requirements;
  result.configs = program.configs;
  return result;
}

std::vector<Axis> Program::axis_names() const {
  std::vector<Axis> names;
  for (const auto& [name, unused] : axes) names.push_back(name);
  return names;
}

}  // namespace shardproof::ir
