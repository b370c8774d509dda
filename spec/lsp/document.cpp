#include "spec/lsp/document.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spec/cost/cost.h"
#include "spec/prove/prove.h"
#include "spec/resolve/library.h"
#include "spec/syntax/parser.h"

namespace shardproof::lsp {
namespace {

namespace fs = std::filesystem;

Analysis analyse(const std::string& given, const FileReader& reader, const CheckOptions& options,
                 bool prover) {
  const std::string path = fs::path(given).lexically_normal().string();
  Analysis analysis;
  try {
    analysis.checked = check(*analysis.sources, path, reader, options);
    if (prover) prove(*analysis.checked);
  } catch (const std::exception& error) {
    analysis.failure = error.what();
    analysis.checked.reset();
  }
  for (size_t i = 0; i < analysis.sources->size(); ++i)
    if (analysis.sources->file(static_cast<int32_t>(i)).path == path)
      analysis.file = static_cast<int32_t>(i);
  if (analysis.file < 0) analysis.file = analysis.sources->add(path, reader(path).value_or(""));
  std::vector<Diagnostic> told_already;
  analysis.tree = syntax::parse(*analysis.sources, analysis.file, told_already);
  analysis.names = occurrences_of(*analysis.sources, analysis.tree);
  return analysis;
}

}  // namespace

Analysis typed(const std::string& path, const FileReader& reader) {
  CheckOptions options;
  options.fixes = options.compare = false;
  return analyse(path, reader, options, false);
}

Analysis proved(const std::string& path, const FileReader& reader) {
  return analyse(path, reader, {}, true);
}

const ir::Function* function_of(const Analysis& analysis, int declaration) {
  if (declaration < 0 || !analysis.program()) return nullptr;
  const auto& declarations = analysis.tree.declarations;
  const auto index = static_cast<size_t>(declaration);
  if (index >= declarations.size()) return nullptr;
  const auto* function = std::get_if<syntax::FunctionDecl>(&declarations[index]);
  if (!function) return nullptr;
  for (const ir::Function& each : analysis.program()->functions)
    if (each.source == analysis.file && each.name_range.begin == function->name_range.begin)
      return &each;
  return nullptr;
}

size_t index_of(const Analysis& analysis, const ir::Function& function) {
  return static_cast<size_t>(&function - analysis.program()->functions.data());
}

bool has_final_types(const Analysis& analysis, const ir::Function& function) {
  if (function.kind != ir::Function::Kind::plan) return true;  // a fn has no axes
  for (const PlanReport& plan : analysis.checked->plans())
    if (plan.function == index_of(analysis, function)) return plan.read_whole;
  return false;
}

std::vector<Leaf> leaves_of(const Analysis& analysis, const Occurrence& name) {
  const ir::Function* function = function_of(analysis, name.function);
  if (!function) return {};
  const std::vector<Type>& types = analysis.checked->types(index_of(analysis, *function));
  const bool final = has_final_types(analysis, *function);
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < function->values.size() && i < types.size(); ++i) {
    const ir::Value& value = function->values[i];
    const bool own = value.name == name.name || value.name.starts_with(name.name + ".");
    if (!own || value.range.file != analysis.file || (!final && !value.stated)) continue;
    // A value's range is that of its expression, which stands behind the name that it is given.
    const bool above = value.range.begin <= name.range.end;
    const auto same = std::find_if(leaves.begin(), leaves.end(),
                                   [&](const Leaf& leaf) { return leaf.name == value.name; });
    if (same == leaves.end()) {
      if (above || name.declares) leaves.push_back({value.name, types[i]});
    } else if (above) {
      same->type = types[i];  // the last one above: loops may have a name again
    }
  }
  return leaves;
}

std::map<Name, int64_t> sizes_of(const ir::Program& program, Name* config) {
  std::map<Name, int64_t> sizes;
  if (!program.configs.empty()) {
    const auto first = std::min_element(
        program.configs.begin(), program.configs.end(),
        [](const auto& a, const auto& b) { return a.second.range.begin < b.second.range.begin; });
    if (config) *config = first->first;
    for (const auto& [name, number] : first->second.numbers)
      if (program.dims.count(name) || program.axes.count(name)) {
        const double value = std::strtod(number.c_str(), nullptr);
        if (value >= 1 && value < 9e15) sizes[name] = static_cast<int64_t>(value);
      }
  }
  return cost::with_declared(program, sizes);
}

std::string LibraryFolder::path;

LibraryFolder::LibraryFolder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "shardproof-library-XXXXXX").string();
  if (error || !mkdtemp(name.data())) return;
  path = name;
  for (const auto& [file, text] : embedded_library()) std::ofstream(fs::path(path) / file) << text;
}

LibraryFolder::~LibraryFolder() {
  std::error_code ignored;
  if (!path.empty()) fs::remove_all(path, ignored);
  path.clear();
}

std::string uri_of(const std::string& path) {
  const std::string library = "<library>/";
  std::string full = path;
  if (path.starts_with(library)) full = LibraryFolder::path + "/" + path.substr(library.size());
  std::error_code ignored;
  full = fs::absolute(full, ignored).lexically_normal().string();
  std::string uri = "file://";
  for (const char c : full) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 &&
        (std::isalnum(byte) || std::string_view("/-._~").find(c) != std::string_view::npos)) {
      uri += c;
      continue;
    }
    const char* digits = "0123456789ABCDEF";
    uri += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return uri;
}

Json location(const Analysis& analysis, const SourceRange& range) {
  const SourceFile& file = analysis.sources->file(range.file);
  return {{"uri", uri_of(file.path)}, {"range", range_of(file, range)}};
}

std::string path_of(const std::string& uri) {
  std::string rest = uri;
  if (const size_t colon = rest.find("://"); colon != std::string::npos) {
    rest = rest.substr(colon + 3);
    const size_t slash = rest.find('/');
    rest = slash == std::string::npos ? "" : rest.substr(slash);
  }
  std::string path;
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto digit = [&](size_t at) {
      const char c = at < rest.size() ? rest[at] : 'x';
      return std::isxdigit(static_cast<unsigned char>(c))
                 ? std::stoi(std::string(1, c), nullptr, 16)
                 : -1;
    };
    if (rest[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      path += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      path += rest[i];
    }
  }
  return fs::path(path).lexically_normal().string();
}

}  // namespace shardproof::lsp
