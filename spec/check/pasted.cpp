#include "spec/check/pasted.h"

#include <filesystem>
#include <map>
#include <set>

#include "spec/check/shown_names.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

namespace fs = std::filesystem;

/// What a file declares, and from where it has the rest.
struct Declared {
  std::map<Name, std::string> from;  ///< the file that declares a function, record, const, ..
  std::map<Name, syntax::DimDecl> dims;
  std::set<Axis> axes;

  explicit Declared(const TextOfFile& file) {
    Sources sources;
    std::vector<Diagnostic> errors;
    const syntax::File tree = syntax::parse(sources, sources.add(file.path, file.text), errors);
    for (const syntax::Declaration& each : tree.declarations)
      std::visit([&](const auto& declaration) { add(declaration, file.path); }, each);
  }
  bool has(const Name& name) const {
    return from.contains(name) || dims.contains(name) || axes.contains(name);
  }

 private:
  void add(const syntax::ImportDecl& import, const std::string& path) {
    const fs::path target = import.path;
    const fs::path whole = target.is_absolute() ? target : fs::path(path).parent_path() / target;
    for (const Name& name : import.names) from[name] = whole.lexically_normal().string();
  }
  void add(const syntax::MeshDecl& mesh, const std::string&) {
    for (const auto& entry : mesh.axes) axes.insert(entry.axis);
  }
  void add(const syntax::DimDecl& dim, const std::string&) {
    for (const Name& name : dim.names) {
      dims[name] = dim;
      dims[name].names = {name};
    }
  }
  void add(const syntax::Require&, const std::string&) {}
  void add(const auto& named, const std::string& path) { from[named.name] = path; }
};

std::string text_of(const syntax::Declaration& declaration) {
  syntax::File file;
  file.declarations.push_back(declaration);
  return syntax::print(file);
}

/// The dims that a text needs, and those that these need.
std::string missing_dims(const Declared& here, const Declared& there, std::set<Name> names) {
  std::string text;
  for (std::set<Name> done; !names.empty();) {
    const Name name = *names.begin();
    names.erase(names.begin());
    const auto dim = there.dims.find(name);
    if (dim == there.dims.end() || here.has(name) || !done.insert(name).second) continue;
    const std::string own = text_of(dim->second);
    text = own + text;
    names.merge(names_in(own));
  }
  return text;
}

}  // namespace

std::set<Name> names_in(const std::string& text) {
  std::set<Name> names;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    const size_t next = text.find_first_not_of(' ', end);
    const bool bound = next != text.npos && (text[next] == ':' || text[next] == '=') &&
                       text.compare(next, 2, "==") != 0;
    if (!bound && (i == 0 || text[i - 1] != '.')) names.insert(text.substr(i, end - i));
    i = end;
  }
  return names;
}

std::string needed_in(const TextOfFile& in, const std::string& text, const TextOfFile& own) {
  const Declared here(in), there(own), itself({own.path, text});
  const std::set<Name> names = names_in(text);
  std::map<std::string, std::vector<Name>> imports;
  syntax::MeshDecl mesh;
  for (const Name& name : names) {
    if (here.has(name) || itself.has(name)) continue;
    if (const auto from = there.from.find(name); from != there.from.end())
      imports[from->second].push_back(name);
    else if (there.axes.contains(name))
      mesh.axes.push_back({name, {}, {}});
  }
  std::string result;
  const fs::path folder = fs::path(in.path).parent_path();
  for (const auto& [path, imported] : imports) {
    const fs::path near = fs::path(path).lexically_relative(folder.empty() ? "." : folder);
    result += text_of(syntax::ImportDecl{imported, near.empty() ? path : near.string(), {}});
  }
  if (!mesh.axes.empty()) result += text_of(mesh);
  return result + missing_dims(here, there, names);
}

}  // namespace shardproof
