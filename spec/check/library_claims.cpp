#include "spec/check/library_claims.h"

#include <algorithm>
#include <set>

#include "spec/resolve/library.h"
#include "spec/resolve/resolve.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

using syntax::FunctionDecl;
using syntax::SplitExpr;
using Declarations = std::map<Name, const FunctionDecl*>;

std::vector<Name> working_dims(const FunctionDecl& decl) {
  std::vector<Diagnostic> errors;
  std::vector<Name> dims;
  if (!decl.pattern) return dims;
  if (const auto pattern = syntax::parse_pattern(*decl.pattern, decl.pattern_range, errors))
    for (const SplitExpr& split : pattern->working) dims.push_back(split.names.at(0));
  return dims;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

/// A library function and its gradient, with `*` as R and the first `free` dims after `;`.
struct LibraryInstance {
  const FunctionDecl &model, &gradient;
  std::vector<Name> working;
  size_t free;

  std::string type(const syntax::TypeExpr& written) const {
    std::vector<std::string> dims;
    for (const SplitExpr& split : written.dims) {
      if (split.kind == SplitExpr::Kind::dim) dims.push_back(joined(split.names, " "));
      const bool star = split.kind == SplitExpr::Kind::star && written.name != "key";
      if (split.kind == SplitExpr::Kind::ellipsis || star) dims.push_back("R");
      if (star) dims.insert(dims.end(), working.begin(), working.begin() + static_cast<long>(free));
    }
    return (written.name == "float" ? "f32" : written.name) + "[" + joined(dims, " ") + "]";
  }
  std::vector<std::pair<Name, std::string>> parameters() const {
    std::vector<std::pair<Name, std::string>> result;
    for (const syntax::Param& param : model.params)
      for (const Name& name : param.group.names) result.emplace_back(name, type(param.group.type));
    return result;
  }
  std::string declared() const {
    std::vector<std::string> parts;
    for (const auto& [name, written] : parameters()) parts.push_back(name + ": " + written);
    return joined(parts, ", ");
  }
  static std::string call(const FunctionDecl& decl, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    if (decl.pattern) all.insert(all.begin(), "\"" + *decl.pattern + "\"");
    return decl.name + "(" + joined(all, ", ") + ")";
  }
  std::string model_call() const {
    std::vector<std::string> arguments;
    for (const auto& [name, written] : parameters()) arguments.push_back(name);
    return call(model, arguments);
  }
  Name result_name() const {
    const std::vector<Name>& names = model.results.groups.at(0).names;
    return names.empty() ? "" : names[0];
  }
  /// The gradient's parameter that is neither a parameter nor a result of the model.
  Name upstream() const {
    const auto known = parameters();
    for (const syntax::Param& param : gradient.params)
      for (const Name& name : param.group.names)
        if (name != result_name() && std::none_of(known.begin(), known.end(),
                                                  [&](const auto& p) { return p.first == name; }))
          return name;
    return "g";
  }
  std::string gradient_call() const {
    std::vector<std::string> arguments;
    for (const syntax::Param& param : gradient.params)
      for (const Name& name : param.group.names)
        arguments.push_back(name == result_name() ? model_call() : name);
    return call(gradient, arguments);
  }

  std::string text() const {
    const std::string result = type(model.results.groups.at(0).type);
    std::vector<std::string> names, results;
    for (const Name& name : gradient.implements->wrt)
      for (const auto& [parameter, written] : parameters())
        if (parameter == name)
          names.push_back("g_" + name), results.push_back("g_" + name + ": " + written);
    const std::string claim = gradient.name + "_claim", f = model.name + "_model";
    return "fn " + f + "(" + declared() + ") -> " + result + " {\n    return " + model_call() +
           "\n}\nfn " + claim + " implements grad(" + f + " wrt " +
           joined(gradient.implements->wrt, ", ") + ")(" + declared() + ", " + upstream() + ": " +
           result + ")\n        -> (" + joined(results, ", ") + ") {\n    " + joined(names, ", ") +
           " = " + gradient_call() + "\n    return " + joined(names, ", ") + "\n}\n";
  }
};

bool resolves(const LibraryClaim& claim) {
  const std::string text = file_of({claim});
  Sources sources;
  std::vector<Diagnostic> errors;
  resolve(
      sources, "claim.shard", [&](const std::string&) { return std::optional(text); }, errors);
  return errors.empty();
}

/// `*` stands for as many dims as the body accepts.
LibraryClaim claim_of(const FunctionDecl& model, const FunctionDecl& gradient) {
  LibraryInstance instance{model, gradient, working_dims(model), 0};
  LibraryClaim claim{model.name, gradient.name, instance.working, {}};
  for (instance.free = instance.working.size();; --instance.free) {
    claim.text = instance.text();
    if (instance.free == 0 || resolves(claim)) return claim;
  }
}

/// The claims of the functions in `from`, which belong to the library.
std::vector<LibraryClaim> claims_in(const std::set<Name>& from) {
  Sources sources;
  std::vector<Diagnostic> errors;
  std::vector<syntax::File> files;
  for (const auto& [name, text] : embedded_library())
    files.push_back(syntax::parse(sources, sources.add(name, text), errors));
  Declarations all;
  std::vector<const FunctionDecl*> order;
  for (const syntax::File& file : files)
    for (const syntax::Declaration& declaration : file.declarations)
      if (const auto* decl = std::get_if<FunctionDecl>(&declaration))
        order.push_back(all[decl->name] = decl);
  std::vector<LibraryClaim> claims;
  for (const FunctionDecl* decl : order)
    if (decl->implements && from.count(decl->name))
      claims.push_back(claim_of(*all.at(decl->implements->model), *decl));
  return claims;
}

std::set<Name> functions_of(const std::string& text) {
  Sources sources;
  std::vector<Diagnostic> errors;
  std::set<Name> names;
  const syntax::File file = syntax::parse(sources, sources.add("", text), errors);
  for (const syntax::Declaration& declaration : file.declarations)
    if (const auto* decl = std::get_if<FunctionDecl>(&declaration)) names.insert(decl->name);
  return names;
}

}  // namespace

std::vector<LibraryClaim> library_claims() {
  std::set<Name> all;
  for (const auto& [name, text] : embedded_library()) all.merge(functions_of(text));
  return claims_in(all);
}

std::optional<std::vector<LibraryClaim>> claims_of_library_file(const std::string& text) {
  for (const auto& [name, embedded] : embedded_library())
    if (embedded == text) return claims_in(functions_of(text));
  return std::nullopt;
}

std::string file_of(const std::vector<LibraryClaim>& claims) {
  std::set<Name> dims = {"R"};
  std::string text = "dim";
  for (const LibraryClaim& claim : claims) dims.insert(claim.dims.begin(), claim.dims.end());
  for (const Name& dim : dims) text += " " + dim;
  for (const LibraryClaim& claim : claims) text += "\n" + claim.text;
  return text + "\n";
}

}  // namespace shardproof
