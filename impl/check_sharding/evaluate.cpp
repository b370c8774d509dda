#include "impl/check_sharding/evaluate.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iomanip>
#include <mutex>
#include <sstream>

#include "impl/checkpoint/box.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "oracle/oracle.h"
#include "spec/lower/lower.h"

namespace shardproof::cli {
namespace {

using checkpoint::Box;
using oracle::Extents;

double number_at(const std::byte* at, Element element) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (element) {
    case Element::f64:
      return read(double{});
    case Element::f32:
      return read(float{});
    case Element::bf16:
      return std::bit_cast<float>(static_cast<uint32_t>(read(uint16_t{})) << 16);
    case Element::i32:
      return read(int32_t{});
    case Element::u32:
      return read(uint32_t{});
    case Element::u8:
      return read(uint8_t{}) != 0;
    case Element::u64:
      break;
  }
  throw std::runtime_error("a key cannot be given as a tensor");
}

void put_number(std::byte* at, Element element, double value) {
  const auto write = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (element) {
    case Element::f64:
      return write(value);
    case Element::f32:
      return write(static_cast<float>(value));
    case Element::i32:
      return write(static_cast<int32_t>(value));
    case Element::u32:
      return write(static_cast<uint32_t>(value));
    case Element::u8:
      return write(static_cast<uint8_t>(value != 0));
    case Element::bf16:
    case Element::u64:
      break;
  }
  throw std::runtime_error(std::string("no tensor of ") + name_of(element) + " is written");
}

std::string listed(const std::vector<int64_t>& extents) { return oracle::to_string(extents); }

oracle::Tensor read_tensor(const checkpoint::File& file, const safetensors::Entry& entry,
                           const std::string& name) {
  const auto element = safetensors::element_of(entry.dtype);
  if (!element) throw std::runtime_error(name + ": tensors of " + entry.dtype + " are not read");
  std::vector<std::byte> bytes(entry.bytes);
  file.read(entry.begin, bytes.data(), bytes.size());
  oracle::Tensor tensor = oracle::filled(entry.extents, 0);
  const size_t size = size_of(*element);
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = number_at(&bytes[i * size], *element);
  return tensor;
}

/// The function's parameters as they are written, then what the forward saved: "x: f32[B M], w:
/// f32[M F]; h: f32[B F]".
std::string parameters_of(const ir::Function& function) {
  const auto listed = [&](const std::vector<ir::ValueId>& params) {
    std::string text;
    for (const ir::ValueId param : params) {
      const ir::Value& value = function.values.at(param);
      text += (text.empty() ? "" : ", ") + value.name + ": " + to_string(value.type);
    }
    return text;
  };
  const std::string saved = listed(function.saved_params);
  return listed(function.params) + (saved.empty() ? "" : "; " + saved);
}

std::vector<oracle::Tensor> read_inputs(const std::string& path, const ir::Function& function) {
  if (path.empty() && function.params.empty() && function.saved_params.empty()) return {};
  if (path.empty())
    throw std::runtime_error("it takes " + parameters_of(function) +
                             "; name a file with these tensors, whole: --inputs FILE.safetensors");
  const checkpoint::File file = checkpoint::File::open(path);
  const safetensors::Header header = safetensors::read_header(file);
  std::vector<oracle::Tensor> inputs;
  for (const auto* params : {&function.params, &function.saved_params})
    for (const ir::ValueId param : *params) {
      const Name& name = function.values.at(param).name;
      const auto found = header.find(name);
      if (found == header.end())
        throw std::runtime_error(path + " has no tensor " + name + "; it takes " +
                                 parameters_of(function));
      inputs.push_back(read_tensor(file, found->second, name));
    }
  return inputs;
}

Element stored_as(Dtype dtype) {
  return dtype == Dtype::boolean ? Element::u8 : is_integer(dtype) ? Element::i32 : Element::f64;
}

void write_outputs(const std::string& path, const ir::Function& function,
                   const std::vector<oracle::Tensor>& results) {
  std::vector<safetensors::Item> items;
  std::vector<std::byte> bytes;
  for (size_t r = 0; r < results.size(); ++r) {
    const Name name = function.result_names.at(r);
    const Element element = stored_as(function.results.at(r).dtype);
    items.push_back({name.empty() ? std::to_string(r) : name, element, results[r].shape});
    const size_t begin = bytes.size(), size = size_of(element);
    bytes.resize(begin + results[r].data.size() * size);
    for (size_t i = 0; i < results[r].data.size(); ++i)
      put_number(&bytes[begin + i * size], element, results[r].data[i]);
  }
  checkpoint::File file = checkpoint::File::create(path);
  const std::string begin = safetensors::begin_of(items);
  file.append(begin.data(), begin.size());
  file.append(bytes.data(), bytes.size());
}

/// A tensor as nested lists; entries after the first 256 are omitted.
class Printed {
 public:
  Printed(const oracle::Tensor& tensor, Dtype dtype) : tensor_(tensor), dtype_(dtype) {
    list(0, 0, tensor.data.size());
  }
  std::string text() const { return text_.str(); }

 private:
  static constexpr size_t most = 256;

  void list(size_t dim, size_t from, size_t count) {
    if (dim == tensor_.shape.size()) return number(tensor_.data[from]);
    const auto n = static_cast<size_t>(tensor_.shape[dim]);
    text_ << "[";
    for (size_t i = 0; i < n; ++i) {
      if (i > 0)
        text_ << (dim + 1 < tensor_.shape.size() ? ",\n" + std::string(dim + 3, ' ') : ", ");
      if (written_ >= most) {
        text_ << "..";
        break;
      }
      list(dim + 1, from + i * (count / n), count / n);
    }
    text_ << "]";
  }
  void number(double value) {
    ++written_;
    if (dtype_ == Dtype::boolean)
      text_ << (value != 0 ? "true" : "false");
    else
      text_ << std::setprecision(9) << value;
  }

  const oracle::Tensor& tensor_;
  const Dtype dtype_;
  size_t written_ = 0;
  std::ostringstream text_;
};

void print_outputs(const ir::Function& function, const std::vector<oracle::Tensor>& results,
                   std::ostream& out) {
  for (size_t r = 0; r < results.size(); ++r) {
    const Name& name = function.result_names.at(r);
    out << (name.empty() ? "result " + std::to_string(r) : name) << ": " << listed(results[r].shape)
        << "\n  " << Printed(results[r], function.results.at(r).dtype).text() << "\n";
  }
}

/// Adds the sizes that the tensors have and the command line does not state.
void add_sizes_of(const ir::Program& program, const ir::Function& function,
                  const std::vector<oracle::Tensor>& given, oracle::Sizes& sizes) {
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Type& type = function.values.at(function.params[i]).type;
    if (type.dims.size() != given[i].shape.size()) continue;  // refused where it is read
    for (size_t d = 0; d < type.dims.size(); ++d) {
      const std::vector<Name> base = program.base(type.dims[d].dim);
      const auto dim = base.size() == 1 ? program.dims.find(base[0]) : program.dims.end();
      if (dim != program.dims.end() && dim->second.kind == ir::DimInfo::Kind::plain)
        sizes.dims.try_emplace(base[0], given[i].shape[d]);
    }
  }
}

oracle::Sizes oracle_sizes(const ir::Program& program, const cost::Sizes& sizes) {
  oracle::Sizes result;
  for (const auto& [name, size] : sizes)
    (program.axes.count(name) ? result.axes : result.dims)[name] = size;
  return result;
}

/// A rank's share of an unreduced value: 2 and -1 on the first two devices of each such axis, 0 on
/// others. Exact, and no share is 1.
double share(const Type& type, const Mesh& mesh, int64_t rank) {
  double share = 1;
  for (const auto& [axis, mark] : type.marks) {
    if (mark != Mark::U || mesh.size(axis) == 1) continue;
    const int64_t at = mesh.digit(rank, axis);
    share *= at == 0 ? 2 : at == 1 ? -1 : 0;
  }
  return share;
}

/// A rank's part of a whole tensor.
LocalTensor part(const oracle::Tensor& whole, const Slot& slot, const Mesh& mesh, int64_t rank) {
  LocalTensor tensor(slot.type, slot.element, slot.extents);
  if (checkpoint::whole_of(slot.type, mesh, slot.extents) != whole.shape)
    throw std::runtime_error(slot.name + " is " +
                             listed(checkpoint::whole_of(slot.type, mesh, slot.extents)) +
                             " at these sizes, and the tensor given is " + listed(whole.shape));
  const Box box = checkpoint::part_of(slot.type, mesh, rank, slot.extents);
  const size_t size = size_of(slot.element);
  const double times = share(slot.type, mesh, rank);
  checkpoint::for_each_run({std::vector<int64_t>(whole.shape.size()), whole.shape}, box,
                           [&](int64_t from, int64_t to, int64_t n) {
                             for (int64_t i = 0; i < n; ++i)
                               put_number(tensor.buffer.data() + static_cast<size_t>(to + i) * size,
                                          slot.element,
                                          times * whole.data[static_cast<size_t>(from + i)]);
                           });
  return tensor;
}

/// Adds a rank's part to a whole tensor of zeros; for copies, only the first rank's.
void assemble(oracle::Tensor& whole, const LocalTensor& tensor, const Mesh& mesh, int64_t rank) {
  for (const auto& [axis, mark] : tensor.type.marks)
    if (mark == Mark::Max)
      throw std::runtime_error("a result that is a maximum over " + axis + " is not written");
  if (!checkpoint::counts(tensor.type, mesh, rank)) return;
  const Box box = checkpoint::part_of(tensor.type, mesh, rank, tensor.extents);
  const size_t size = size_of(tensor.element);
  checkpoint::for_each_run(box, {std::vector<int64_t>(whole.shape.size()), whole.shape},
                           [&](int64_t from, int64_t to, int64_t n) {
                             for (int64_t i = 0; i < n; ++i)
                               whole.data[static_cast<size_t>(to + i)] += number_at(
                                   tensor.buffer.data() + static_cast<size_t>(from + i) * size,
                                   tensor.element);
                           });
}

std::vector<oracle::Tensor> run_plan(const Program& program, const Name& name,
                                     const oracle::Sizes& sizes,
                                     const std::vector<oracle::Tensor>& inputs) {
  const ir::Program& ir = program.checked().program();
  std::vector<std::pair<Axis, int64_t>> axes;
  for (const auto& [axis, declared] : ir.axes) {
    if (!sizes.axes.count(axis))
      throw std::runtime_error("give the size of the axis: --mesh " + axis + "=2");
    axes.emplace_back(axis, sizes.axes.at(axis));
  }
  const Mesh mesh(axes);
  PlanOptions options;
  options.precision = Precision::f64;
  options.accept_unknown = true;
  std::vector<oracle::Tensor> results;
  std::mutex mutex;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    const int64_t rank = communicator.rank();
    Plan plan = compile_plan(program, name, mesh, sizes.dims, rank, options);
    std::vector<LocalTensor> parts;
    for (size_t i = 0; i < plan.inputs().size(); ++i)
      parts.push_back(part(inputs.at(i), plan.inputs()[i], mesh, rank));
    const std::vector<LocalTensor> out = plan.run(communicator, parts);
    const std::lock_guard lock(mutex);
    if (results.empty())
      for (const LocalTensor& each : out)
        results.push_back(oracle::filled(checkpoint::whole_of(each.type, mesh, each.extents), 0));
    for (size_t r = 0; r < out.size(); ++r) assemble(results[r], out[r], mesh, rank);
  });
  return results;
}

/// Table indices must be in range, as the verdict assumes.
void require_ids(const ir::Program& program, size_t index, const oracle::Sizes& sizes,
                 const std::vector<oracle::Tensor>& inputs) {
  const ir::Function& function = program.functions.at(index);
  const lower::IdRanges ranges = lower::id_ranges(program, index);
  std::map<Name, int64_t> all = sizes.dims;
  all.insert(sizes.axes.begin(), sizes.axes.end());
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i]) continue;
    const int64_t size = program.size(*ranges[i], all);
    for (const double id : inputs.at(i).data)
      if (!(id >= 0 && id < static_cast<double>(size)))
        throw std::runtime_error(function.values.at(function.params[i]).name + " indexes " +
                                 to_string(*ranges[i]) + ", which has " + std::to_string(size) +
                                 (size == 1 ? " entry" : " entries") + ", and one of it is " +
                                 std::to_string(static_cast<int64_t>(id)));
  }
}

/// The file's own function with that name, else an imported one (an import may use the same name).
/// Throws if there is none.
const ir::Function& function_named(const ir::Program& program, const std::string& name) {
  for (const bool imported : {false, true})
    for (const ir::Function& each : program.functions)
      if ((each.name == name || each.instance_of == name) && each.imported == imported) return each;
  std::string has;
  for (const ir::Function& each : program.functions)
    if (!each.imported && each.instance_of.empty())
      has += (has.empty() ? "; it has " : ", ") + each.name;
  throw std::runtime_error("the file has no function " + name + has);
}

}  // namespace

void evaluate_function(const Program& program, const std::string& name, const cost::Sizes& sizes,
                       const std::string& inputs, const std::string& outputs, std::ostream& out) {
  const ir::Program& ir = program.checked().program();
  const ir::Function& function = function_named(ir, name);
  const std::vector<oracle::Tensor> given = read_inputs(inputs, function);
  oracle::Sizes at = oracle_sizes(ir, sizes);
  add_sizes_of(ir, function, given, at);
  const bool plan = function.kind == ir::Function::Kind::plan;
  const auto index = static_cast<size_t>(&function - ir.functions.data());
  if (plan) require_ids(ir, index, at, given);
  const std::vector<oracle::Tensor> results =
      plan ? run_plan(program, name, at, given) : oracle::evaluate(ir, index, at, given);
  if (outputs.empty())
    print_outputs(function, results, out);
  else
    write_outputs(outputs, function, results);
}

}  // namespace shardproof::cli
