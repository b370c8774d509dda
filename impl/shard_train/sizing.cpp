#include "impl/shard_train/sizing.h"

#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "impl/tensor/listed.h"
#include "spec/shell/number.h"

namespace shardproof::shard_train {
namespace {

std::vector<Name> keys_of(const auto& named) {
  std::vector<Name> names;
  for (const auto& [name, unused] : named) names.push_back(name);
  return names;
}

int64_t whole_number(const std::string& flag, const Assignment& given) {
  int64_t number = 0;
  const char* end = given.second.data() + given.second.size();
  const auto read = std::from_chars(given.second.data(), end, number);
  if (read.ec == std::errc::result_out_of_range)
    throw BadInput(flag + " " + given.first + "=" + given.second +
                   ": the size does not fit into 64 bits");
  if (read.ptr != end || given.second.empty() || number < 1)
    throw BadInput(flag + " " + given.first + "=" + given.second +
                   ": a size is a whole number from 1, as in " + flag + " B=8,L=64");
  return number;
}

double real_number(const std::string& flag, const Assignment& given) {
  double number = 0;
  if (!shell::fits(given.second, number) || !std::isfinite(number))
    throw BadInput(flag + " " + given.first + "=" + given.second +
                   ": not a number that fits into 64 bits");
  return number;
}

/// The dims without a declared size.
std::map<Name, int> free_dims(const ir::Program& program) {
  std::map<Name, int> free;
  for (const auto& [name, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain && !info.local && !info.size) free[name];
  return free;
}

/// Parses one size or const.
void read(const ir::Program& program, const std::string& flag, const Assignment& given,
          interchange::Numbers& to) {
  const std::map<Name, int> free = free_dims(program);
  if (free.contains(given.first)) {
    to.sizes[given.first] = whole_number(flag, given);
  } else if (program.consts.contains(given.first)) {
    to.consts[given.first] = real_number(flag, given);
  } else if (program.axes.contains(given.first)) {
    throw BadInput(flag + " " + given.first + "=" + given.second + ": " + given.first +
                   " is a mesh axis: --mesh " + given.first + "=" + given.second);
  } else {
    throw BadInput(flag + " " + given.first + "=" + given.second +
                   ": the model has no dim or const " + given.first + "; it has the dims " +
                   listed(keys_of(free)) + " and the consts " + listed(keys_of(program.consts)));
  }
}

/// The sizes and consts from the imported model that the program has.
void read_import(const ir::Program& program, const interchange::Numbers& foreign,
                 interchange::Numbers& to) {
  to.notes = foreign.notes;
  for (const auto& [name, size] : foreign.sizes) to.sizes[name] = size;
  for (const auto& [name, value] : foreign.consts)
    if (const auto own = program.consts.find(name);
        own != program.consts.end() && own->second != value)
      to.consts[name] = value;
}

}  // namespace

interchange::Numbers numbers_of(const ir::Program& program, const Options& options,
                                const std::optional<interchange::Mapping>& mapping) {
  interchange::Numbers numbers;
  if (!options.config.empty()) {
    const auto config = program.configs.find(options.config);
    if (config == program.configs.end())
      throw BadInput("--config " + options.config + ": the model has no such config; it has " +
                     listed(keys_of(program.configs)));
    for (const auto& [name, number] : config->second.numbers)
      if (!program.axes.contains(name))  // only --mesh sets the mesh
        read(program, "config " + options.config, {name, number}, numbers);
  }
  if (!options.import_from.empty())
    read_import(program, mapping.value().numbers(options.import_from), numbers);
  std::set<Name> seen;
  for (const auto& [name, number] : options.set)
    if (!seen.insert(name).second)
      throw BadInput("--set " + name + "=" + number + ": " + name + " is given twice");
  for (const Assignment& each : options.set) read(program, "--set", each, numbers);
  return numbers;
}

std::string counted_ranks(const Mesh& mesh) {
  if (mesh.axes().empty()) return "without --mesh there is one rank";
  const std::string count = std::to_string(mesh.ranks());
  return "the mesh " + mesh.text() + " has " + count + (count == "1" ? " rank" : " ranks");
}

/// Ranks that are threads have a mailbox for each other one.
void require_few_ranks(const Mesh& mesh) {
  constexpr int64_t most = 4096;
  if (mesh.ranks() > most)
    throw BadInput(counted_ranks(mesh) + ", and one machine starts " + std::to_string(most) +
                   " at most: --transport mpi takes more, and --print-plan any mesh");
}

Mesh mesh_of(const ir::Program& program, const Options& options) {
  try {
    const Mesh mesh = Mesh::parse(options.mesh);
    for (const auto& [axis, size] : mesh.axes())
      if (!program.axes.contains(axis))
        throw BadInput("--mesh " + options.mesh + ": the model has no mesh axis " + axis +
                       "; it has " + listed(keys_of(program.axes)));
    if (options.ranks > 0 && options.ranks != mesh.ranks())
      throw BadInput("--ranks " + std::to_string(options.ranks) + ": " + counted_ranks(mesh));
    if (options.transport == Transport::threads && options.print_plan.empty())
      require_few_ranks(mesh);
    return mesh;
  } catch (const std::invalid_argument& error) {
    throw BadInput(std::string("--") + error.what());
  }
}

interchange::Pads pads_of(const ir::Program& program) {
  interchange::Pads pads;
  for (const auto& [name, info] : program.dims)
    if (const auto padded = program.padded(Dim{{name}})) pads[name] = *padded;
  return pads;
}

void size_padded(const ir::Program& program, const ir::Function& step, const Mesh& mesh,
                 DimSizes& dims) {
  std::map<Name, int64_t> blocks;
  for (ir::ValueId id : step.params)
    for (const Split& split : step.values.at(id).type.dims)
      if (const std::vector<Name> base = program.base(split.dim); base.size() == 1)
        blocks[base[0]] = std::lcm(std::max<int64_t>(blocks[base[0]], 1), mesh.blocks(split.axes));
  for (const auto& [name, count] : blocks) {
    const std::optional<Name> padded = program.padded(Dim{{name}});
    const auto known = padded ? dims.find(*padded) : dims.end();
    if (known != dims.end() && !dims.contains(name))
      dims[name] = (known->second + count - 1) / count * count;
  }
}

void require_sizes(const ir::Program& program, const ir::Function& step, const DimSizes& dims) {
  std::map<Name, int> missing;
  for (ir::ValueId id : step.params)
    for (const Split& split : step.values.at(id).type.dims)
      for (const Name& base : program.base(split.dim))
        if (const auto info = program.dims.find(base);
            info != program.dims.end() && !info->second.size && !dims.contains(base))
          missing[base];
  if (missing.empty()) return;
  std::string example;
  for (const auto& [name, unused] : missing) example += (example.empty() ? "" : ",") + name + "=..";
  throw BadInput("the sizes of " + listed(keys_of(missing)) + " are not known: give --set " +
                 example + ", or --config with one of " + listed(keys_of(program.configs)));
}

}  // namespace shardproof::shard_train
