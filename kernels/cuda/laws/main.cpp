// Writes a text that defines host_kernel() of chains.h to the file that is its argument.
#include <fstream>
#include <iostream>
#include <set>

#include "kernels/cuda/generate.h"
#include "kernels/cuda/laws/cases.h"
#include "kernels/cuda/laws/chains.h"

namespace {

std::string adapter(const std::string& name, size_t inputs) {
  std::string text =
      "    {\"" + name +
      "\", [](void* out, [[maybe_unused]] const void* const* in, Fault* fault, int64_t step) { " +
      name + "(out, ";
  for (size_t k = 0; k < inputs; ++k) text += "in[" + std::to_string(k) + "], ";
  return text + "fault, step); }},\n";
}

}  // namespace

int main(int count, char** arguments) {
  using namespace shardproof;
  if (count != 2) return 2;
  std::ofstream out(arguments[1]);
  std::set<std::string> written;
  std::string table;
  out << "#include \"kernels/cuda/laws/chains.h\"\n#include <map>\n";
  for (uint64_t seed = 0; seed < laws::compiled_chains; ++seed) {
    const Pointwise op = std::get<Pointwise>(laws::random_case(laws::OpKind::pointwise, seed).op);
    const Generated kernel = generate(op);
    if (!written.insert(kernel.name).second) continue;
    out << kernel.source;
    table += adapter(kernel.name, op.inputs.size());
    if (!kernel.wide_name.empty()) table += adapter(kernel.wide_name, op.inputs.size());
  }
  out << "namespace shardproof::laws {\nHostKernel host_kernel(const std::string& name) {\n"
         "  static const std::map<std::string, HostKernel> kernels{\n"
      << table << "  };\n  const auto found = kernels.find(name);\n"
      << "  return found == kernels.end() ? nullptr : found->second;\n}\n}\n";
  return out.flush() ? 0 : 1;
}
