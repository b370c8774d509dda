#include "spec/lsp/document.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spec/cost/cost.h"
#include "spec/prove/prove.h"
#include "spec/resolve/library.h"
#include "spec/syntax/parser.h"
#include "spec/syntax/words.h"

namespace shardproof::lsp {
namespace {

namespace fs = std::filesystem;

bool begins_declaration(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  size_t end = begin;
  while (end < line.size() &&
         (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_'))
    ++end;
  const std::string_view word = line.substr(begin, end - begin);
  if (word == "dim" || word == "require") return begin == 0;  // further in they are statements
  return syntax::begins_declaration(word);
}

/// The text with spaces in place of each declaration that has a syntax error: offsets stay.
std::string without_broken(const SourceFile& file, const syntax::File& tree,
                           const std::vector<Diagnostic>& errors) {
  const std::string_view all = file.text;
  std::string text(all);
  std::vector<size_t> starts = {0};
  for (const uint32_t line : file.line_starts())
    if (line > 0 && begins_declaration(all.substr(line, all.find('\n', line) - line)))
      starts.push_back(line);
  // Text that is no declaration may follow one that is right.
  for (const syntax::Declaration& each : tree.declarations)
    starts.push_back(std::visit([](const auto& one) { return one.range.end; }, each));
  starts.push_back(all.size());
  std::sort(starts.begin(), starts.end());
  for (const Diagnostic& each : errors) {
    const auto next = std::upper_bound(starts.begin(), starts.end() - 1, each.range.begin);
    for (size_t at = *(next - 1); at < *next; ++at)
      if (text[at] != '\n') text[at] = ' ';
  }
  return text;
}

/// Types what can be read of a text with syntax errors.
void type_rest(Analysis& analysis, const FileReader& reader, const CheckOptions& options) {
  const std::string path = analysis.text().path;
  int32_t file = analysis.file;
  for (int rounds = 0; rounds < 4; ++rounds) {
    std::vector<Diagnostic> errors;
    const syntax::File tree = syntax::parse(*analysis.sources, file, errors);
    if (errors.empty()) break;
    std::string text = without_broken(analysis.sources->file(file), tree, errors);
    if (text == analysis.sources->file(file).text) return;
    file = analysis.sources->add(path, std::move(text));
  }
  if (file == analysis.file) return;
  const std::string text = analysis.sources->file(file).text;
  const auto given = [&](const std::string& wanted) {
    return wanted == path ? std::optional(text) : reader(wanted);
  };
  analysis.typed_file = static_cast<int32_t>(analysis.sources->size());  // check() adds it first
  analysis.rest = check(*analysis.sources, path, given, options);
}

CheckOptions types_alone() {
  CheckOptions options;
  options.fixes = options.compare = false;
  return options;
}

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
  analysis.typed_file = analysis.file;
  if (!analysis.checked || analysis.checked->readable()) return analysis;
  try {
    type_rest(analysis, reader, types_alone());
  } catch (const std::exception&) {
    analysis.rest.reset();
  }
  if (!analysis.rest) analysis.typed_file = analysis.file;
  return analysis;
}

}  // namespace

Analysis typed(const std::string& path, const FileReader& reader) {
  return analyse(path, reader, types_alone(), false);
}

Analysis proved(const std::string& path, const FileReader& reader) {
  return analyse(path, reader, {}, true);
}

const syntax::File& Analysis::tree() const {
  std::vector<Diagnostic> reported_already;
  if (!tree_) tree_ = syntax::parse(*sources, file, reported_already);
  return *tree_;
}

const std::vector<Occurrence>& Analysis::names() const {
  if (!names_) names_ = occurrences_of(*sources, tree());
  return *names_;
}

const ir::Function* function_of(const Analysis& analysis, int declaration) {
  if (declaration < 0 || !analysis.program()) return nullptr;
  const auto& declarations = analysis.tree().declarations;
  const auto index = static_cast<size_t>(declaration);
  if (index >= declarations.size()) return nullptr;
  const auto* function = std::get_if<syntax::FunctionDecl>(&declarations[index]);
  if (!function) return nullptr;
  for (const ir::Function& each : analysis.program()->functions)
    if (each.source == analysis.typed_file && each.name_range.begin == function->name_range.begin)
      return &each;
  return nullptr;
}

size_t index_of(const Analysis& analysis, const ir::Function& function) {
  return static_cast<size_t>(&function - analysis.program()->functions.data());
}

bool has_final_types(const Analysis& analysis, const ir::Function& function) {
  if (function.kind != ir::Function::Kind::plan) return true;  // a fn has no axes
  for (const PlanReport& plan : analysis.types()->plans())
    if (plan.function == index_of(analysis, function)) return plan.read_whole;
  return false;
}

std::vector<Leaf> leaves_of(const Analysis& analysis, const Occurrence& name) {
  const ir::Function* function = function_of(analysis, name.function);
  if (!function) return {};
  const std::vector<Type>& types = analysis.types()->types(index_of(analysis, *function));
  const bool final = has_final_types(analysis, *function);
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < function->values.size() && i < types.size(); ++i) {
    const ir::Value& value = function->values[i];
    const bool own = value.name == name.name || value.name.starts_with(name.name + ".");
    if (!own || value.range.file != analysis.typed_file || (!final && !value.stated)) continue;
    // A value's range is that of its expression, which follows the name that it is given.
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

namespace {

std::string library_path;
int library_lock = -1;  ///< a lock on the folder, which ends with the server and its provers
const std::string library_name = "shardproof-library-";

/// Opens a folder and locks it; -1: another server has it, or it is not ours.
int locked_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about {};
  if (descriptor < 0) return -1;
  if (fstat(descriptor, &about) == 0 && about.st_uid == geteuid() &&
      flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

/// Removes the folders of servers that were killed; one of the last minute may not be locked yet.
void sweep(const fs::path& temporary) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(temporary, ignored)) {
    if (!entry.path().filename().string().starts_with(library_name)) continue;
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (ignored || age < std::chrono::minutes(1)) continue;
    const int descriptor = locked_folder(entry.path().string());
    if (descriptor < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(descriptor);
  }
}

}  // namespace

const std::string& LibraryFolder::path() {
  if (!library_path.empty()) return library_path;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) return library_path;
  sweep(temporary);
  std::string name = (temporary / (library_name + "XXXXXX")).string();
  if (!mkdtemp(name.data())) return library_path;
  library_path = name;
  library_lock = locked_folder(name);
  for (const auto& [file, text] : embedded_library())
    std::ofstream(fs::path(library_path) / file) << text;
  return library_path;
}

LibraryFolder::~LibraryFolder() {
  std::error_code ignored;
  if (library_path.empty()) return;
  fs::remove_all(library_path, ignored);
  library_path.clear();
  if (library_lock >= 0) close(library_lock);
}

std::string uri_of(const std::string& path) {
  const std::string library = "<library>/";
  std::string full = path;
  if (path.starts_with(library)) full = LibraryFolder::path() + "/" + path.substr(library.size());
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
