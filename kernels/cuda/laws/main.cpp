// Writes definitions of host_kernel() (chains.h) and host_rows() (rows.h) to the files in its
// arguments.
#include <fstream>
#include <set>

#include "kernels/cuda/generate.h"
#include "kernels/cuda/generate_rows.h"
#include "kernels/cuda/laws/cases.h"
#include "kernels/cuda/laws/chains.h"
#include "kernels/cuda/laws/rows.h"

namespace {

using namespace shardproof;

std::string adapter(const std::string& name, size_t inputs) {
  std::string text =
      "    {\"" + name +
      "\", [](void* out, [[maybe_unused]] const void* const* in, Fault* fault, int64_t step) { " +
      name + "(out, ";
  for (size_t k = 0; k < inputs; ++k) text += "in[" + std::to_string(k) + "], ";
  return text + "fault, step); }},\n";
}

/// The text of a function that finds an entry of a table by name.
std::string finder(const std::string& type, const std::string& function, const std::string& table) {
  return "namespace shardproof::laws {\n" + type + " " + function +
         "(const std::string& name) {\n  static const std::map<std::string, " + type +
         "> kernels{\n" + table + "  };\n  const auto found = kernels.find(name);\n" +
         "  return found == kernels.end() ? nullptr : found->second;\n}\n}\n";
}

std::string chains() {
  std::set<std::string> written;
  std::string text = "#include \"kernels/cuda/laws/chains.h\"\n#include <map>\n", table;
  for (uint64_t seed = 0; seed < laws::compiled_chains; ++seed) {
    const Pointwise op = std::get<Pointwise>(laws::random_case(laws::OpKind::pointwise, seed).op);
    const Generated kernel = generate(op);
    if (!written.insert(kernel.name).second) continue;
    text += kernel.source;
    table += adapter(kernel.name, op.inputs.size());
    if (!kernel.wide_name.empty()) table += adapter(kernel.wide_name, op.inputs.size());
  }
  return text + finder("HostKernel", "host_kernel", table);
}

std::string rows() {
  std::set<std::string> written;
  std::string text = "#include \"kernels/cuda/laws/rows.h\"\n#include <map>\n", table;
  for (const laws::RowwiseCase& each : laws::compiled_rows()) {
    const GeneratedRows kernel = generate(each.op);
    if (!written.insert(kernel.name).second) continue;
    text += kernel.source;
    for (const std::string& name : {kernel.name, kernel.wide_name})
      if (!name.empty()) table += "    {\"" + name + "\", " + name + "},\n";
  }
  return text + finder("HostRows", "host_rows", table);
}

bool write(const char* path, const std::string& text) {
  std::ofstream out(path);
  return !(out << text).flush().fail();
}

}  // namespace

int main(int count, char** arguments) {
  return count == 3 && write(arguments[1], chains()) && write(arguments[2], rows()) ? 0 : 1;
}
