#include "kernels/cuda/laws/cases.h"

#include <algorithm>
#include <cmath>

#include "kernels/fault.h"
#include "kernels/number.h"

namespace shardproof::laws {
namespace {

constexpr Element any_element[] = {Element::f64, Element::f32, Element::bf16, Element::i32,
                                   Element::u32, Element::u8,  Element::u64};
Element random_element(Dice& dice) { return any_element[dice.below(7)]; }
Element random_float(Dice& dice) {
  return dice.one_of({Element::f64, Element::f32, Element::f32, Element::bf16});
}

/// Loops over `out` and another array, which has stride 0 in some.
Nest two_arrays(Dice& dice, Layout layout) {
  Nest nest;
  nest.extents = random_extents(dice);
  nest.strides = {random_strides(dice, nest.extents, Layout::spaced),
                  random_strides(dice, nest.extents, layout)};
  return nest;
}

KernelCase copy_case(Dice& dice) {
  KernelCase result;
  const Element element = random_element(dice);
  const Copy op{two_arrays(dice, Layout::view), size_of(element), {}};
  result.out = random_array(dice, element, op.nest.extents, op.nest.strides[0]);
  result.inputs = {random_array(dice, element, op.nest.extents, op.nest.strides[1])};
  result.op = op;
  return result;
}

/// One number, of an integer element.
Array number(Element element, int64_t value) {
  Array array;
  array.element = element;
  array.bytes.resize(size_of(element));
  set_number(element, array.bytes.data(), 0, static_cast<double>(value));
  return array;
}

KernelCase moving_case(Dice& dice, int64_t beyond = 0) {
  KernelCase result;
  const Element element = random_element(dice);
  Copy op{{}, size_of(element), Moving{}};
  std::vector<int64_t> extents = random_extents(dice, 3), whole;
  if (extents.empty()) extents = {4};
  const size_t dim = static_cast<size_t>(dice.below(static_cast<int64_t>(extents.size())));
  whole = extents;
  whole[dim] += dice.below(5);
  Moving& moving = *op.moving;
  moving.operand = static_cast<size_t>(dice.below(2));
  moving.element = dice.one_of({Element::i32, Element::u32});
  moving.count = extents[dim];
  moving.extent = whole[dim];
  const auto big = random_strides(dice, whole, Layout::spaced),
             part = random_strides(dice, extents, Layout::spaced);
  moving.stride = big[dim];
  op.nest = {extents, {moving.operand == 0 ? big : part, moving.operand == 0 ? part : big}};
  const auto& out_extents = moving.operand == 0 ? whole : extents;
  const auto& in_extents = moving.operand == 0 ? extents : whole;
  result.out = random_array(dice, element, out_extents, op.nest.strides[0]);
  result.inputs = {random_array(dice, element, in_extents, op.nest.strides[1]),
                   number(moving.element, dice.between(0, whole[dim] - extents[dim]) + beyond)};
  result.op = op;
  return result;
}

KernelCase zero_case(Dice& dice) {
  KernelCase result;
  const int64_t bytes = dice.below(5000);
  result.out = array_of(dice, Element::u8, bytes);
  result.op = Zero{static_cast<size_t>(bytes)};
  return result;
}

KernelCase roll_case(Dice& dice) {
  KernelCase result;
  const Element element = random_element(dice);
  Roll op;
  op.nest = two_arrays(dice, Layout::spaced);
  if (op.nest.extents.empty()) op.nest = {{5}, {{1}, {1}}};
  op.bytes = size_of(element);
  op.dim = static_cast<size_t>(dice.below(static_cast<int64_t>(op.nest.extents.size())));
  op.by = dice.one_of({Element::i32, Element::u32});
  result.out = random_array(dice, element, op.nest.extents, op.nest.strides[0]);
  result.inputs = {random_array(dice, element, op.nest.extents, op.nest.strides[1]),
                   number(op.by, op.by == Element::i32 ? dice.between(-90, 90) : dice.below(90))};
  result.op = op;
  return result;
}

KernelCase reverse_case(Dice& dice) {
  KernelCase result;
  const Element element = random_element(dice);
  Reverse op;
  op.nest = two_arrays(dice, Layout::spaced);
  if (op.nest.extents.empty()) op.nest = {{5}, {{1}, {1}}};
  op.bytes = size_of(element);
  op.dim = static_cast<size_t>(dice.below(static_cast<int64_t>(op.nest.extents.size())));
  result.out = random_array(dice, element, op.nest.extents, op.nest.strides[0]);
  result.inputs = {random_array(dice, element, op.nest.extents, op.nest.strides[1])};
  result.op = op;
  return result;
}

KernelCase iota_case(Dice& dice) {
  KernelCase result;
  Iota op;
  op.extents = random_extents(dice);
  if (op.extents.empty()) op.extents = {7};
  op.dim = static_cast<size_t>(dice.below(static_cast<int64_t>(op.extents.size())));
  op.element = random_element(dice);
  op.first = dice.between(op.element == Element::i32 ? -50 : 0, 300);
  int64_t count = 1;
  for (int64_t extent : op.extents) count *= extent;
  result.out = array_of(dice, op.element, count);
  result.op = op;
  return result;
}

KernelCase random_numbers_case(Dice& dice) {
  KernelCase result;
  Random op;
  op.nest = two_arrays(dice, Layout::spaced);
  op.fn = dice.one_of({RandomFn::uniform, RandomFn::uniform, RandomFn::normal});
  op.first = dice.below(1000);
  op.element = random_float(dice);
  result.out = random_array(dice, op.element, op.nest.extents, op.nest.strides[0]);
  result.inputs = {array_of(dice, Element::u64, 1)};
  if (op.fn == RandomFn::normal)
    result.close = {op.element == Element::bf16 ? 0x1p-7 : 0x1p-23, 0x1p-40};
  result.op = op;
  return result;
}

/// Ids of `window`'s rows; if it is partial, also of other ranks' rows.
void set_ids(Dice& dice, Array& ids, const IndexWindow& window, bool few) {
  const int64_t margin = window.partial ? std::min<int64_t>(window.first, 3) : 0;
  for (int64_t i = 0; i < ids.entries(); ++i) {
    const int64_t extent = few ? std::min<int64_t>(window.extent, 2) : window.extent;
    const int64_t id = window.first + dice.between(-margin, extent - 1 + margin);
    set_number(ids.element, ids.bytes.data(), i, static_cast<double>(id));
  }
}

/// A random index op: loops in which ids move, the table moves, or both.
KernelCase index_case(Dice& dice) {
  KernelCase result;
  Index op;
  op.element = random_element(dice);
  op.ids = dice.one_of({Element::i32, Element::u32});
  const std::vector<int64_t> extents = random_extents(dice);
  op.window = {0, dice.between(1, 20), 0, dice.percent(40)};
  if (op.window.partial) op.window.first = dice.below(10);
  // The table has the window's dim and those of the loops; Layout::view gives some of these stride
  // 0, in the table and in the ids.
  auto ids = random_strides(dice, extents, Layout::view);
  std::vector<int64_t> with_rows = extents, table;
  with_rows.insert(with_rows.begin(), op.window.extent);
  table = random_strides(dice, with_rows, Layout::view);
  op.window.stride = table[0];
  result.inputs = {random_array(dice, op.element, with_rows, table),
                   random_array(dice, op.ids, extents, ids)};
  table.erase(table.begin());
  op.nest = {extents, {random_strides(dice, extents, Layout::spaced), table, ids}};
  set_ids(dice, result.inputs[1], op.window, false);
  result.out = random_array(dice, op.element, extents, op.nest.strides[0]);
  result.op = op;
  return result;
}

KernelCase index_add_case(Dice& dice) {
  KernelCase result;
  IndexAdd op;
  op.sum = dice.one_of({Element::f64, Element::f32, Element::f32, Element::i32, Element::u32});
  op.ids = dice.one_of({Element::i32, Element::u32});
  const bool real = op.sum == Element::f64 || op.sum == Element::f32;
  op.x = real ? dice.one_of({Element::f32, Element::bf16, op.sum}) : op.sum;
  std::vector<int64_t> extents = random_extents(dice, 3);
  op.window = {0, dice.between(1, 20), 0, dice.percent(40)};
  if (dice.percent(8)) {  // many terms
    extents = {dice.between(500, 1500), dice.between(1, 3), dice.between(1, 3)};
    op.window.extent = dice.one_of<int64_t>({1, 255, 256, 257, 1000, 70'000});
  }
  if (op.window.partial) op.window.first = dice.below(10);
  // The sum has the window's dim and some of the loops; in the others it has stride 0.
  std::vector<int64_t> with_rows = extents;
  with_rows.insert(with_rows.begin(), op.window.extent);
  std::vector<int64_t> ids(extents.size(), 1);
  std::vector<int64_t> kept = with_rows;
  for (size_t d = 0; d < extents.size(); ++d) {
    const bool term = dice.percent(50);
    if (term) kept[d + 1] = 1;
    ids[d] = term || dice.percent(20);
  }
  std::vector<int64_t> sum = random_strides(dice, kept, Layout::dense);
  for (size_t d = 0; d < extents.size(); ++d)
    if (kept[d + 1] == 1) sum[d + 1] = 0;
  op.window.stride = sum[0];
  op.count = 1;
  for (int64_t extent : kept) op.count *= extent;
  std::vector<int64_t> moved;
  for (size_t d = 0; d < extents.size(); ++d) moved.push_back(ids[d] ? extents[d] : 1);
  const std::vector<int64_t> places = random_strides(dice, moved, Layout::spaced);
  for (size_t d = 0; d < extents.size(); ++d) ids[d] = ids[d] ? places[d] : 0;
  sum.erase(sum.begin());
  op.nest = {extents, {sum, ids, random_strides(dice, extents, Layout::view)}};
  op.into = dice.percent(40);
  result.out = array_of(dice, op.sum, op.count);
  result.inputs = {random_array(dice, op.ids, extents, ids),
                   random_array(dice, op.x, extents, op.nest.strides[2])};
  set_ids(dice, result.inputs[0], op.window, dice.percent(30));
  if (real && op.x != Element::bf16)  // inexact: shows the order of the additions
    for (int64_t i = 0; i < result.inputs[1].entries(); ++i)
      set_number(op.x, result.inputs[1].bytes.data(), i,
                 static_cast<double>(dice.word() >> 11) * 0x1p-50 - 4);
  result.op = op;
  return result;
}

/// One entry in three of real numbers is not a number.
void add_undefined(Dice& dice, Array& x) {
  if (x.element == Element::i32 || x.element == Element::u32) return;
  for (int64_t i = 0; i < x.entries(); ++i)
    if (dice.percent(33)) set_number(x.element, x.bytes.data(), i, std::nan(""));
}

KernelCase ordered_case(Dice& dice) {
  KernelCase result;
  Ordered op;
  op.fn = dice.one_of(
      {OrderedFn::cumsum, OrderedFn::argsort, OrderedFn::largest, OrderedFn::largest_at});
  op.element = dice.one_of({Element::f64, Element::f32, Element::bf16, Element::i32, Element::u32});
  std::vector<int64_t> extents = random_extents(dice, 2);
  op.entries = dice.one_of<int64_t>({1, 2, 7, 40, 64, 65, 100, 513, 700, dice.between(1, 3000)});
  if (dice.percent(3)) op.entries = 8200;
  if (op.entries > 300) extents = {op.entries > 8192 ? 1 : 2};
  op.k = dice.between(1, op.entries);
  const bool top = op.fn == OrderedFn::largest || op.fn == OrderedFn::largest_at;
  const bool places = op.fn == OrderedFn::argsort || op.fn == OrderedFn::largest_at;
  std::vector<int64_t> from = extents, to = extents;
  from.push_back(op.entries);
  to.push_back(top ? op.k : op.entries);
  auto x = random_strides(dice, from, Layout::spaced),
       out = random_strides(dice, to, Layout::spaced);
  op.x_stride = x.back();
  op.to_stride = out.back();
  result.inputs = {random_array(dice, op.element, from, x)};
  if (dice.percent(30)) add_undefined(dice, result.inputs[0]);
  result.out = random_array(dice, places ? Element::i32 : op.element, to, out);
  x.pop_back();
  out.pop_back();
  op.lines = {extents, {out, x}};
  result.op = op;
  return result;
}

KernelCase pointwise_case(Dice& dice) {
  KernelCase result;
  const RandomChain chain = random_chain(dice);
  Pointwise op = chain.op;
  op.nest.extents = random_extents(dice);
  op.nest.strides = {random_strides(dice, op.nest.extents, Layout::spaced)};
  result.out = random_array(dice, op.output, op.nest.extents, op.nest.strides[0]);
  for (const Element element : op.inputs) {
    op.nest.strides.push_back(dice.percent(60)
                                  ? op.nest.strides[0]
                                  : random_strides(dice, op.nest.extents, Layout::view));
    result.inputs.push_back(random_array(dice, element, op.nest.extents, op.nest.strides.back()));
    Array& input = result.inputs.back();
    if (element == Element::f32 || element == Element::f64)  // with more bits than bf16
      for (int64_t i = 0; i < input.entries(); ++i)
        set_number(element, input.bytes.data(), i,
                   static_cast<double>(dice.word() >> 44) * 0x1p-18 - 2);
  }
  result.close = chain.close;
  result.op = op;
  return result;
}

KernelCase reduce_case(Dice& dice) {
  KernelCase result;
  Reduce op;
  op.fn = dice.one_of({Reduction::sum, Reduction::sum, Reduction::max, Reduction::min});
  std::vector<int64_t> extents = random_extents(dice);
  if (dice.percent(5)) extents = {2, dice.between(3000, 12000), 3};  // sometimes many terms
  const auto inputs = static_cast<size_t>(dice.one_of({1, 1, 1, 2, 3}));
  const bool real = dice.percent(75);
  op.output = real ? random_float(dice) : dice.one_of({Element::i32, Element::u32, Element::u8});
  op.kept.strides.resize(inputs + 1);
  op.reduced.strides.resize(inputs);
  std::vector<bool> kept;
  for (int64_t extent : extents) {
    kept.push_back(dice.percent(50));
    (kept.back() ? op.kept : op.reduced).extents.push_back(extent);
  }
  op.kept.strides[0] = random_strides(dice, op.kept.extents, Layout::spaced);
  result.out = random_array(dice, op.output, op.kept.extents, op.kept.strides[0]);
  for (size_t k = 0; k < inputs; ++k) {
    op.inputs.push_back(real ? random_float(dice) : op.output);
    const auto strides = random_strides(dice, extents, Layout::view);
    result.inputs.push_back(random_array(dice, op.inputs[k], extents, strides));
    for (size_t d = 0; d < extents.size(); ++d)
      (kept[d] ? op.kept.strides[k + 1] : op.reduced.strides[k]).push_back(strides[d]);
  }
  result.op = op;
  return result;
}

KernelCase divided_by_zero(Dice& dice) {
  KernelCase result;
  Pointwise op;
  op.inputs = {Element::i32, Element::i32};
  op.output = Element::i32;
  op.steps = {{dice.one_of({PointwiseFn::floordiv, PointwiseFn::mod}), false, {0, 1}, 0, {}}};
  op.nest = {{400}, {{1}, {1}, {1}}};
  result.out = array_of(dice, Element::i32, 400);
  result.inputs = {array_of(dice, Element::i32, 400), array_of(dice, Element::i32, 400)};
  result.inputs[1].offset = result.inputs[0].offset = 0;
  set_number(Element::i32, result.inputs[1].bytes.data(), dice.below(400), 0);
  result.op = op;
  return result;
}

}  // namespace

const char* name_of(OpKind kind) {
  constexpr const char* names[] = {"copy",      "moving copy", "zero",      "roll",
                                   "reverse",   "iota",        "random",    "index",
                                   "index_add", "ordered",     "pointwise", "reduce"};
  static_assert(std::size(names) == std::size(all_kinds));
  return names[static_cast<size_t>(kind)];
}

KernelCase random_case(OpKind kind, uint64_t seed) {
  Dice dice(seed * 64 + static_cast<uint64_t>(kind));
  switch (kind) {
    case OpKind::copy:
      return copy_case(dice);
    case OpKind::moving_copy:
      return moving_case(dice);
    case OpKind::zero:
      return zero_case(dice);
    case OpKind::roll:
      return roll_case(dice);
    case OpKind::reverse:
      return reverse_case(dice);
    case OpKind::iota:
      return iota_case(dice);
    case OpKind::random:
      return random_numbers_case(dice);
    case OpKind::index:
      return index_case(dice);
    case OpKind::index_add:
      return index_add_case(dice);
    case OpKind::ordered:
      return ordered_case(dice);
    case OpKind::pointwise:
      return pointwise_case(dice);
    case OpKind::reduce:
      return reduce_case(dice);
  }
  return {};
}

FaultyCase faulty_case(uint64_t seed) {
  Dice dice(seed);
  switch (seed % 4) {
    case 0: {
      KernelCase moving = moving_case(dice, 1000);
      const Array& first = moving.inputs[1];
      const auto value = static_cast<int64_t>(number_at(first.element, first.bytes.data(), 0));
      return {moving, Fault::part, value};
    }
    case 1:
      return {divided_by_zero(dice), Fault::division, 0};
    default:
      break;
  }
  // An id that is not in the window, which is the whole dim.
  for (uint64_t next = seed;; ++next) {
    KernelCase result = random_case(seed % 4 == 2 ? OpKind::index : OpKind::index_add, next);
    Array& ids = result.inputs[seed % 4 == 2 ? 1 : 0];
    auto* index = std::get_if<Index>(&result.op);
    auto* add = std::get_if<IndexAdd>(&result.op);
    const Nest& nest = index ? index->nest : add->nest;
    IndexWindow& window = index ? index->window : add->window;
    if (nest.count() == 0 || window.partial) continue;
    const int64_t wrong = window.extent + dice.below(5);
    set_number(ids.element, ids.bytes.data() + ids.offset, 0, static_cast<double>(wrong));
    return {result, Fault::index, wrong};
  }
}

}  // namespace shardproof::laws
