#include "kernels/cuda/laws/laws.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/reduce_ranks.h"
#include "kernels/number.h"

namespace shardproof::laws {
namespace {

/// An array in the machine's memory.
class Placed {
 public:
  Placed(const KernelMachine& machine, const Array& array)
      : machine_(machine), array_(array), memory_(machine.allocate(array.bytes.size() + 1)) {
    machine_.to_machine(memory_, array.bytes.data(), array.bytes.size());
  }
  ~Placed() { machine_.release(memory_); }
  Placed(const Placed&) = delete;

  void* first() const { return static_cast<unsigned char*>(memory_) + array_.offset; }
  std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> result(array_.bytes.size());
    machine_.from_machine(result.data(), memory_, result.size());
    return result;
  }

 private:
  const KernelMachine& machine_;
  const Array& array_;
  void* memory_;
};

using PlacedPtr = std::unique_ptr<Placed>;

bool close_to(double expected, double actual, const Closeness& close) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (expected == actual) return true;
  return std::abs(expected - actual) <= close.absolute + close.relative * std::abs(expected);
}

/// The first entry that differs, as text; empty if there is none.
std::string difference(const Array& expected, const std::vector<unsigned char>& actual,
                       const Closeness& close) {
  if (expected.bytes == actual) return {};
  const auto size = static_cast<int64_t>(size_of(expected.element));
  for (int64_t i = 0; i < expected.entries(); ++i) {
    const unsigned char *a = expected.bytes.data() + i * size, *b = actual.data() + i * size;
    if (std::memcmp(a, b, static_cast<size_t>(size)) == 0) continue;
    if (expected.element == Element::u64) return "key " + std::to_string(i) + " differs";
    const double x = number_at(expected.element, a, 0), y = number_at(expected.element, b, 0);
    const bool real = expected.element == Element::f64 || expected.element == Element::f32 ||
                      expected.element == Element::bf16;
    if (real && close_to(x, y, close)) continue;
    return "entry " + std::to_string(i - expected.offset / size) + " of " +
           std::to_string(expected.entries()) + " (" + name_of(expected.element) + ") is " +
           std::to_string(y) + ", not " + std::to_string(x) + ": " + std::to_string(y - x) +
           " apart";
  }
  return {};
}

Array on_cpu(const KernelCase& given) {
  Array out = given.out;
  std::vector<const void*> inputs;
  for (const Array& input : given.inputs) inputs.push_back(input.bytes.data() + input.offset);
  std::visit([&](const auto& op) { cpu::run(op, out.bytes.data() + out.offset, inputs.data()); },
             given.op);
  return out;
}

struct Outcome {
  Fault fault;
  std::vector<unsigned char> out;
};

Outcome on_machine(const KernelMachine& machine, const KernelCase& given) {
  std::vector<PlacedPtr> placed;
  std::vector<const void*> inputs;
  for (const Array& input : given.inputs) {
    placed.push_back(std::make_unique<Placed>(machine, input));
    inputs.push_back(placed.back()->first());
  }
  const Placed out(machine, given.out);
  const Fault fault = machine.run(given.op, out.first(), inputs.data());
  return {fault, out.bytes()};
}

}  // namespace

std::string broken(const KernelMachine& machine, OpKind kind, uint64_t seed) {
  const KernelCase given = random_case(kind, seed);
  const Array expected = on_cpu(given);
  const Outcome outcome = on_machine(machine, given);
  std::string wrong = difference(expected, outcome.out, given.close);
  if (outcome.fault.taken) wrong = "it left a fault: " + text(outcome.fault);
  return wrong.empty()
             ? wrong
             : std::string(name_of(kind)) + ", seed " + std::to_string(seed) + ": " + wrong;
}

std::string unnoticed(const KernelMachine& machine, uint64_t seed) {
  const FaultyCase given = faulty_case(seed);
  const Outcome outcome = on_machine(machine, given.wrong);
  const Fault& fault = outcome.fault;
  if (fault.taken && fault.kind == given.kind && fault.value == given.value) return {};
  Fault expected;
  expected.kind = given.kind;
  expected.value = given.value;
  return "faulty op, seed " + std::to_string(seed) + ": " +
         (fault.taken ? text(fault) : "no fault") + ", not " + text(expected);
}

Fault fault_told(const std::string& message) {
  const auto number_behind = [&](size_t at) {
    return std::strtoll(message.c_str() + message.find_first_of("-0123456789", at), nullptr, 10);
  };
  Fault fault;
  if (message.ends_with("divided by 0")) fault = {1, Fault::division, 0, 0, 0};
  if (!message.ends_with(" entries")) return fault;
  constexpr std::pair<Fault::Kind, std::string_view> kinds[] = {{Fault::part, "a part from entry "},
                                                                {Fault::index, "index "}};
  for (const auto& [kind, words] : kinds)
    if (const size_t at = message.rfind(words); !fault.taken && at != std::string::npos)
      fault = {1, kind, 0, number_behind(at), number_behind(message.find(" of ", at))};
  return fault;
}

std::string broken_ranks(const KernelMachine& machine, const ReduceRanks& reduce, uint64_t seed) {
  Dice dice(seed);
  const Element element = dice.one_of({Element::f64, Element::f32, Element::bf16, Element::i32,
                                       Element::u32, Element::u8, Element::u64});
  const Reduction reduction = dice.one_of({Reduction::sum, Reduction::max, Reduction::min});
  const int64_t count = dice.one_of<int64_t>({0, 1, 5, 16, 100, 1000}), ranks = dice.between(1, 9);
  const Array before = array_of(dice, element, count);
  Array expected = before;
  std::vector<Array> sources;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    sources.push_back(array_of(dice, element, count));
    if (dice.percent(70)) sources.back().offset = before.offset;
    if (element != Element::f32 || count == 0) continue;
    const int64_t entry = dice.below(count);
    set_number(element, sources.back().bytes.data() + sources.back().offset, entry,
               dice.percent(50) ? std::nan("") : 1e8);
  }
  std::vector<PlacedPtr> placed;
  std::vector<const void*> here, there;
  for (const Array& source : sources) {
    here.push_back(source.bytes.data() + source.offset);
    placed.push_back(std::make_unique<Placed>(machine, source));
    there.push_back(placed.back()->first());
  }
  const auto entries = static_cast<size_t>(count);
  shardproof::reduce_ranks(element, reduction, here.data(), static_cast<int>(ranks),
                           expected.bytes.data() + expected.offset, entries);
  const Placed out(machine, before);
  reduce(element, reduction, there.data(), static_cast<int>(ranks), out.first(), entries);
  const std::string wrong = difference(expected, out.bytes(), {});
  return wrong.empty() ? wrong : "reduce_ranks, seed " + std::to_string(seed) + ": " + wrong;
}

}  // namespace shardproof::laws
