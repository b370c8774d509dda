#include "kernels/cuda/laws/rowwise.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/number.h"

namespace shardproof::laws {
namespace {

constexpr double unit = 0x1p-24, bf16_unit = 0x1p-8, library = 8 * unit;

/// A register: one number per entry of a row.
using Entries = std::vector<Bounded>;

double size(Bounded x) { return std::abs(x.value) + x.off; }
Bounded rounded(double value, double off, double by = unit) {
  return {value, off + by * (std::abs(value) + off)};
}

Bounded product(Bounded a, Bounded b) {
  return rounded(a.value * b.value, size(a) * b.off + a.off * size(b));
}
Bounded quotient(Bounded a, Bounded b) {
  const double value = a.value / b.value, least = std::abs(b.value) - b.off;
  return rounded(value, (a.off + std::abs(value) * b.off) / least);
}
/// The error bound for a function with a derivative of at most `slope` near x.
Bounded of_function(double value, double slope, Bounded x) {
  return rounded(value, slope * x.off, library);
}
Bounded as_number(bool is) { return {is ? 1.0 : 0.0, 0}; }

Bounded of_one(PointwiseFn fn, Bounded a) {
  const double x = a.value, least = std::max(std::abs(x) - a.off, 1e-30);
  switch (fn) {
    case PointwiseFn::neg:
      return {-x, a.off};
    case PointwiseFn::abs:
      return {std::abs(x), a.off};
    case PointwiseFn::exp:
      return of_function(std::exp(x), std::exp(x + a.off), a);
    case PointwiseFn::log:
      return of_function(std::log(x), 1 / least, {x, a.off + unit});
    case PointwiseFn::sqrt:
      return of_function(std::sqrt(x), 0.5 / std::sqrt(least), a);
    case PointwiseFn::rsqrt:
      return of_function(1 / std::sqrt(x), 0.5 * std::pow(least, -1.5), a);
    case PointwiseFn::tanh:
      return of_function(std::tanh(x), 1, a);
    case PointwiseFn::logical_not:
      return as_number(x == 0);
    case PointwiseFn::to_boolean:
      return as_number(x != 0);
    case PointwiseFn::to_real:
    case PointwiseFn::round_f32:
      return rounded(x, a.off);
    case PointwiseFn::round_bf16:
      return rounded(x, a.off, bf16_unit);
    default:
      throw std::logic_error("no step of these laws");
  }
}

Bounded of_two(PointwiseFn fn, Bounded a, Bounded b, bool real) {
  const double x = a.value, y = b.value;
  switch (fn) {
    case PointwiseFn::add:
      return real ? rounded(x + y, a.off + b.off) : Bounded{x + y, 0};
    case PointwiseFn::sub:
      return real ? rounded(x - y, a.off + b.off) : Bounded{x - y, 0};
    case PointwiseFn::mul:
      return real ? product(a, b) : Bounded{x * y, 0};
    case PointwiseFn::div:
      return quotient(a, b);
    case PointwiseFn::maximum:
      return {std::max(x, y), std::max(a.off, b.off)};
    case PointwiseFn::minimum:
      return {std::min(x, y), std::max(a.off, b.off)};
    case PointwiseFn::mod:
      return {x - y * std::floor(x / y), 0};
    case PointwiseFn::eq:
      return as_number(x == y);
    case PointwiseFn::lt:
      return as_number(x < y);
    case PointwiseFn::ge:
      return as_number(x >= y);
    default:
      throw std::logic_error("no step of these laws");
  }
}

Bounded of_step(const PointwiseStep& step, const std::vector<Entries>& registers, size_t i) {
  const auto argument = [&](size_t k) { return registers[step.arguments[k]][i]; };
  if (step.fn == PointwiseFn::constant)
    return {step.real ? static_cast<float>(step.value) : step.value, 0};
  if (step.fn == PointwiseFn::where) return argument(argument(0).value != 0 ? 1 : 2);
  return step.arguments.size() == 1 ? of_one(step.fn, argument(0))
                                    : of_two(step.fn, argument(0), argument(1), step.real);
}

/// Error bound of a sum: threads add parts sequentially, then combine them.
Bounded sum_of(const Entries& terms) {
  double sum = 0, off = 0, magnitude = 0;
  for (Bounded each : terms) {
    sum += each.value;
    off += each.off;
    magnitude += size(each);
  }
  return {sum, off + (static_cast<double>(terms.size()) / 32 + 32) * unit * magnitude};
}

Bounded largest_of(const Entries& terms) {
  Bounded most{-INFINITY, 0};
  for (Bounded each : terms)
    most = {std::max(most.value, each.value), std::max(most.off, each.off)};
  return most;
}

Bounded log_sum_exp_of(const Entries& terms) {
  const Bounded most = largest_of(terms);
  Entries parts;
  for (Bounded each : terms)
    parts.push_back(of_function(std::exp(each.value - most.value), 1, each));
  const Bounded sum = sum_of(parts);
  return rounded(std::log(sum.value) + most.value,
                 2 * most.off + sum.off / sum.value + 64 * unit * (1 + std::abs(most.value)),
                 library);
}

Bounded along_row(RowFn along, const Entries& terms) {
  return along == RowFn::sum       ? sum_of(terms)
         : along == RowFn::maximum ? largest_of(terms)
                                   : log_sum_exp_of(terms);
}

const unsigned char* first_of(const Array& array) { return array.bytes.data() + array.offset; }

class Evaluation {
 public:
  explicit Evaluation(const RowwiseCase& given) : given_(given), op_(given.op) {}

  std::vector<Entries> outputs() {
    std::vector<Entries> made(op_.outputs.size());
    std::vector<std::vector<Entries>> terms(op_.outputs.size(),
                                            std::vector<Entries>(static_cast<size_t>(op_.length)));
    for (int64_t row = 0; row < op_.rows; ++row) {
      const std::vector<Entries> registers = this->registers(row);
      for (size_t o = 0; o < op_.outputs.size(); ++o) {
        const Entries& from = registers[op_.outputs[o].from];
        if (op_.outputs[o].per == Per::entry)
          made[o].insert(made[o].end(), from.begin(), from.end());
        else if (op_.outputs[o].per == Per::row)
          made[o].push_back(from[0]);
        else
          for (size_t i = 0; i < from.size(); ++i) terms[o][i].push_back(from[i]);
      }
    }
    for (size_t o = 0; o < op_.outputs.size(); ++o)
      if (op_.outputs[o].per == Per::column)
        for (const Entries& column : terms[o]) made[o].push_back(sum_of(column));
    return made;
  }

 private:
  std::vector<Entries> registers(int64_t row) const {
    std::vector<Entries> all;
    const auto length = static_cast<size_t>(op_.length);
    for (size_t k = 0; k < op_.inputs.size(); ++k) {
      Entries entries;
      for (int64_t i = 0; i < op_.length; ++i) entries.push_back({input(k, row, i), 0});
      all.push_back(std::move(entries));
    }
    for (const RowStep& step : op_.steps) {
      Entries entries(length);
      if (step.along == RowFn::none)
        for (size_t i = 0; i < length; ++i) entries[i] = of_step(step.step, all, i);
      else if (step.along == RowFn::column)
        for (size_t i = 0; i < length; ++i) entries[i] = {static_cast<double>(i), 0};
      else
        entries.assign(length, along_row(step.along, all[step.step.arguments[0]]));
      all.push_back(std::move(entries));
    }
    return all;
  }

  double input(size_t k, int64_t row, int64_t i) const {
    const Per per = op_.inputs[k].per;
    const int64_t at = per == Per::entry    ? row * op_.length + i
                       : per == Per::row    ? row
                       : per == Per::column ? i
                                            : 0;
    return number_at(op_.inputs[k].element, first_of(given_.arrays[given_.inputs[k]]), at);
  }

  const RowwiseCase& given_;
  const Rowwise& op_;
};

int64_t entries_of(const Rowwise& op, Per per) {
  return (per == Per::entry || per == Per::row ? op.rows : 1) *
         (per == Per::entry || per == Per::column ? op.length : 1);
}

bool is_off(double got, Bounded wanted, Element element) {
  double off = wanted.off;
  if (is_real(element)) off += (element == Element::bf16 ? bf16_unit : unit) * size(wanted) + 1e-35;
  return !(std::abs(got - wanted.value) <= off);
}

/// Checks one output; the bytes around it must be unchanged.
std::string difference(const Array& before, const std::vector<unsigned char>& after,
                       const Entries& wanted) {
  const auto size = static_cast<int64_t>(size_of(before.element));
  const int64_t first = before.offset / size;
  for (int64_t i = 0; i < before.entries(); ++i) {
    const double got = number_at(before.element, after.data(), i);
    const auto entry = static_cast<size_t>(i - first);
    if (i < first || entry >= wanted.size()) {
      if (!std::equal(after.begin() + i * size, after.begin() + (i + 1) * size,
                      before.bytes.begin() + i * size))
        return "entry " + std::to_string(i - first) + ", which is none of the output, was written";
    } else if (is_off(got, wanted[entry], before.element)) {
      return "entry " + std::to_string(entry) + " of " + std::to_string(wanted.size()) + " is " +
             std::to_string(got) + ", not " + std::to_string(wanted[entry].value) + " by " +
             std::to_string(wanted[entry].off);
    }
  }
  return {};
}

}  // namespace

RowwiseCase rowwise_case(Rowwise op, Dice& dice) {
  RowwiseCase made;
  std::vector<bool> taken;
  const bool aligned = dice.percent(60);
  const auto add = [&](Element element, Per per) {
    made.arrays.push_back(array_of(dice, element, entries_of(op, per)));
    taken.push_back(per != Per::entry);
    Array& array = made.arrays.back();
    if (aligned) array.offset = 16 * static_cast<int64_t>(size_of(element));
    if (element == Element::f32)  // with more bits than bf16; positive, as it may be an eps
      for (int64_t i = 0; i < array.entries(); ++i)
        set_number(element, array.bytes.data(), i,
                   static_cast<double>(dice.word() >> 44) * 0x1p-18 - (per == Per::all ? 0 : 2));
    return made.arrays.size() - 1;
  };
  for (const Rowwise::Input& input : op.inputs)
    made.inputs.push_back(add(input.element, input.per));
  for (const Rowwise::Output& output : op.outputs) {
    size_t place = made.inputs.size();
    for (size_t k = 0; k < made.inputs.size(); ++k)
      if (!taken[k] && output.per == Per::entry && made.arrays[k].element == output.element &&
          dice.percent(40))
        place = k;
    if (place == made.inputs.size()) place = add(output.element, output.per);
    taken[place] = true;
    made.outputs.push_back(place);
  }
  made.op = std::move(op);
  return made;
}

std::vector<std::vector<Bounded>> evaluated(const RowwiseCase& given) {
  return Evaluation(given).outputs();
}

std::vector<std::vector<unsigned char>> rowwise_on(const KernelMachine& machine,
                                                   const RunRowwise& run,
                                                   const RowwiseCase& given) {
  std::vector<std::vector<unsigned char>> bytes;
  for (const Array& array : given.arrays) bytes.push_back(array.bytes);
  for (size_t scratch : scratch_bytes(given.op)) bytes.emplace_back(scratch, 0xff);
  std::vector<void*> memory;
  for (const std::vector<unsigned char>& each : bytes) {
    memory.push_back(machine.allocate(each.size() + 1));
    machine.to_machine(memory.back(), each.data(), each.size());
  }
  const auto first = [&](size_t k) {
    return static_cast<unsigned char*>(memory[k]) + given.arrays[k].offset;
  };
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t k : given.inputs) inputs.push_back(first(k));
  for (size_t k : given.outputs) outputs.push_back(first(k));
  outputs.insert(outputs.end(), memory.begin() + static_cast<std::ptrdiff_t>(given.arrays.size()),
                 memory.end());
  const Fault fault = run(given.op, outputs.data(), inputs.data());
  if (fault.taken) throw std::logic_error(text(fault));
  bytes.resize(given.arrays.size());
  for (size_t k = 0; k < bytes.size(); ++k)
    machine.from_machine(bytes[k].data(), memory[k], bytes[k].size());
  for (void* each : memory) machine.release(each);
  return bytes;
}

std::string broken_rowwise(const KernelMachine& machine, const RunRowwise& run,
                           const RowwiseCase& given) {
  const std::vector<Entries> wanted = evaluated(given);
  const std::vector<std::vector<unsigned char>> after = rowwise_on(machine, run, given);
  for (size_t o = 0; o < wanted.size(); ++o) {
    const size_t place = given.outputs[o];
    const std::string found = difference(given.arrays[place], after[place], wanted[o]);
    if (!found.empty()) return "output " + std::to_string(o) + ": " + found;
  }
  for (size_t k = 0; k < given.arrays.size(); ++k)
    if (std::count(given.outputs.begin(), given.outputs.end(), k) == 0 &&
        after[k] != given.arrays[k].bytes)
      return "input " + std::to_string(k) + " was changed";
  return {};
}

}  // namespace shardproof::laws
