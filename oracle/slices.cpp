// read, write, concat, entries of a loop: one position in brackets, a stretch of it on the other
// side.
#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

// Where the entries of a part lie in a whole, whose bracket it fills from entry `at` on; in the
// order of the part's indices, or of `over`, if that is given. What the part has of its own is its
// block; without one it is one entry.
Positions stretch(const Reading& reading, const Indices& whole, const Indices& part, int64_t at) {
  const Indices block = without(part, without(whole, reading.bracket));
  const Stretch bracket = stretch_of(reading, whole, reading.bracket);
  const int64_t length = block.empty() ? 1 : stretch_of(reading, part, block).size;
  if (at < 0 || at > bracket.size - length)
    throw std::domain_error("entries " + std::to_string(at) + " to " +
                            std::to_string(at + length - 1) + " of " +
                            std::to_string(bracket.size));
  want_all(without(whole, reading.bracket), part);
  const Extents in_whole = reading.strides(whole), in_block = reading.strides(block);
  Extents along;
  for (size_t index : part)
    along.push_back(has(block, index) ? in_block[index] * bracket.stride : in_whole[index]);
  return positions(reading.extents(part), along, at * bracket.stride);
}

}  // namespace

Vars apply(const ir::Read& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::extends, 1);
  const Reading& reading = *read;
  return {gather(site, site.operand(0),
                 stretch(reading, reading.left[0], reading.right, site.whole(1)), site.shape())};
}

Vars apply(const ir::Write& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::writes, 2);
  const Reading& reading = *read;
  want_all(reading.left[0], reading.right);
  return {
      place(site,
            {{site.operand(0), reading.walk(reading.left[0], reading.right)},
             {site.operand(1), stretch(reading, reading.right, reading.left[1], site.whole(2))}},
            site.shape())};
}

Vars apply(const ir::Concat& op, Site& site) {
  const Vars operands = site.operands();
  const auto read = read_pattern(site, op.pattern, Form::joins, operands.size());
  const Reading& reading = *read;
  std::vector<Part> parts;
  int64_t used = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Indices& own = reading.left[i];
    parts.push_back({operands[i], stretch(reading, reading.right, own, used)});
    used += count(reading.extents(without(own, reading.right)));
  }
  const int64_t wanted = count(reading.extents(reading.bracket));
  if (used != wanted)
    throw std::domain_error("the operands have " + std::to_string(used) + " entries of " +
                            std::to_string(wanted));
  return {place(site, std::move(parts), site.shape())};
}

// t[n]: one entry. In a ring k[b]: the block b, in place of the whole dim.
Vars apply(const ir::Entry& op, Site& site) {
  const Extents& whole = site.operand(0)->value.shape;
  const Extents& shape = site.shape();
  const auto dim = position(site.run.program, site.operand_type(0).dims, op.dim);
  if (!dim || *dim >= whole.size()) throw std::domain_error("there is no dim of the loop");
  Extents part = whole;
  part[*dim] = shape.size() == whole.size() ? shape[*dim] : 1;
  const Extents strides = row_major(whole);
  return {gather(site, site.operand(0),
                 positions(part, strides, site.whole(1) * part[*dim] * strides[*dim]), shape)};
}

}  // namespace shardproof::oracle
