#include "spec/lower/parts_of_dim.h"

namespace shardproof::lower {

namespace {

using ir::Arith;
using PartList = std::vector<Part>;

constexpr size_t most_entries = 16;

std::optional<size_t> few(const Arith& size) {
  if (size.kind != Arith::Kind::number || size.text.size() > 2 ||
      size.text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const size_t value = std::stoul(size.text);
  return value >= 1 && value <= most_entries ? std::optional(value) : std::nullopt;
}

std::optional<PartList> joined(std::optional<PartList> first, std::optional<PartList> second) {
  if (!first || !second || first->size() + second->size() > most_entries) return std::nullopt;
  first->insert(first->end(), second->begin(), second->end());
  return first;
}

/// Of sums of numbers, sizes and small multiples of sizes.
std::optional<PartList> parts_of_size(const Arith& size) {
  if (const auto entries = few(size)) return PartList(*entries);
  if (size.kind == Arith::Kind::size) return PartList{Dim{{size.text}}};
  if (size.kind != Arith::Kind::op || size.args.size() != 2) return std::nullopt;
  if (size.text == "+") return joined(parts_of_size(size.args[0]), parts_of_size(size.args[1]));
  const auto times = few(size.args[0]);
  if (size.text != "*" || !times || size.args[1].kind != Arith::Kind::size) return std::nullopt;
  return PartList(*times, Dim{{size.args[1].text}});
}

/// Single entries and R, where |R| is |N| minus their number.
PartList entries_and_rest(const ir::Program& program, const Name& whole) {
  for (const auto& [name, info] : program.dims) {
    if (!info.size || info.size->text != "-" || info.size->args.size() != 2) continue;
    const auto entries = few(info.size->args[1]);
    if (!entries || info.size->args[0].kind != Arith::Kind::size ||
        program.base(Dim{{info.size->args[0].text}}) != std::vector<Name>{whole})
      continue;
    PartList parts(*entries);
    parts.push_back(Dim{{name}});
    return parts;
  }
  return {};
}

/// |P| and a few, of `|P| op few`.
std::optional<Blocks> blocks_in(const Arith& size, const std::string& op) {
  if (size.text != op || size.args.size() != 2) return std::nullopt;
  const Arith &of = size.args[0], &number = size.args[1];
  if (op == "*" && few(of)) return blocks_in({size.kind, op, size.value, {number, of}}, op);
  if (of.kind != Arith::Kind::size || !few(number)) return std::nullopt;
  return Blocks{{{of.text}}, {{number.text}}};
}

}  // namespace

std::optional<Blocks> blocks_of(const ir::Program& program, const Dim& dim) {
  const std::vector<Name> base = program.base(dim);
  for (const auto& [name, info] : program.dims) {
    if (!info.size) continue;
    if (name == base.at(0))
      if (const auto declared = blocks_in(*info.size, "*")) return declared;
    if (const auto part = blocks_in(*info.size, "/"); part && program.base(part->count) == base)
      return Blocks{{{name}}, part->entries};
  }
  return std::nullopt;
}

std::vector<Part> parts_of(const ir::Program& program, const Dim& dim) {
  if (const auto entries = few(program.size(dim))) return PartList(*entries);
  const Name base = program.base(dim).at(0);
  const auto info = program.dims.find(base);
  const bool sized = info != program.dims.end() && info->second.size;
  const auto declared = sized ? parts_of_size(*info->second.size) : std::nullopt;
  return declared && declared->size() > 1 ? *declared : entries_and_rest(program, base);
}

}  // namespace shardproof::lower
