#include "spec/check/builder.h"

#include <cmath>
#include <cstdio>

namespace shardproof {
namespace {

std::string number(double value) {
  char text[40];
  if (value == std::floor(value) && std::abs(value) < 1e15)
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string list(const std::vector<Term>& terms) {
  std::string text;
  for (const Term& term : terms) text += (text.empty() ? "" : ", ") + term.text();
  return text;
}

std::string fields_text(const Builder::Params& fields) {
  std::string text;
  for (const auto& [name, type] : fields) text += "    " + name + ": " + type + "\n";
  return text;
}

}  // namespace

Term::Term(double value) : text_(number(value)) {}

Term binary(const Term& a, const std::string& op, const Term& b) {
  return Term("(" + a.text() + " " + op + " " + b.text() + ")");
}
Term operator+(const Term& a, const Term& b) { return binary(a, "+", b); }
Term operator-(const Term& a, const Term& b) { return binary(a, "-", b); }
Term operator*(const Term& a, const Term& b) { return binary(a, "*", b); }
Term operator/(const Term& a, const Term& b) { return binary(a, "/", b); }
Term operator-(const Term& a) { return Term("(-" + a.text() + ")"); }
Term size(const Name& name) { return Term("|" + name + "|"); }

Term call(const Name& function, const std::string& pattern, const std::vector<Term>& args,
          const std::vector<std::pair<Name, Term>>& named) {
  std::string text = pattern.empty() ? "" : "\"" + pattern + "\"";
  for (const Term& arg : args) text += (text.empty() ? "" : ", ") + arg.text();
  for (const auto& [name, value] : named)
    text += (text.empty() ? "" : ", ") + name + "=" + value.text();
  return Term(function + "(" + text + ")");
}

Term Body::bind(const Name& name, const Term& value, const std::string& type) {
  text_ += std::string(4 * static_cast<size_t>(indent_), ' ') + name +
           (type.empty() ? "" : ": " + type) + " = " + value.text() + "\n";
  return Term(name);
}

std::vector<Term> Body::bind(const std::vector<Name>& names, const Term& value) {
  std::vector<Term> terms;
  for (const Name& name : names) terms.push_back(Term(name));
  text_ += std::string(4 * static_cast<size_t>(indent_), ' ') + list(terms) + " = " + value.text() +
           "\n";
  return terms;
}

std::vector<Term> Body::scan(const std::vector<Name>& results, const Name& index, const Name& dim,
                             const std::vector<Carry>& carries,
                             const std::function<void(Body&, const std::vector<Term>&)>& body) {
  std::vector<Term> terms, inner{Term(index)};
  for (const Name& name : results) terms.push_back(Term(name));
  std::string head = list(terms) + " = scan " + index + " in " + dim;
  for (const Carry& carry : carries) {
    head += ", " + carry.name + ": " + carry.type + " = " + carry.init.text();
    inner.push_back(Term(carry.name));
  }
  Body lines(indent_ + 1);
  body(lines, inner);
  const std::string space(4 * static_cast<size_t>(indent_), ' ');
  text_ += space + head + " {\n" + lines.text() + space + "}\n";
  return terms;
}

void Body::line(const std::string& word, const std::vector<Term>& values) {
  text_ += std::string(4 * static_cast<size_t>(indent_), ' ') + word + " " + list(values) + "\n";
}

Builder& Builder::declare(const std::string& line) {
  text_ += line + "\n";
  return *this;
}

Builder& Builder::record(const Name& name, const Params& fields) {
  return declare("record " + name + " {\n" + fields_text(fields) + "}");
}

Builder& Builder::layout(const Name& name, const Name& record, const Params& fields) {
  return declare("layout " + name + " of " + record + " {\n" + fields_text(fields) + "}");
}

Builder& Builder::fn(const Name& name, const Params& params, const std::string& result,
                     const Fill& fill) {
  return function("fn " + name, params, result, fill);
}

Builder& Builder::plan(const Name& name, const Name& model, const Params& params,
                       const std::string& result, const Fill& fill) {
  return function("plan " + name + (model.empty() ? "" : " implements " + model), params, result,
                  fill);
}

Builder& Builder::function(const std::string& head, const Params& params, const std::string& result,
                           const Fill& fill) {
  std::string list_of_params;
  std::vector<Term> terms;
  for (const auto& [name, type] : params) {
    list_of_params += (list_of_params.empty() ? "" : ", ") + name + ": " + type;
    terms.push_back(Term(name));
  }
  Body body;
  fill(body, terms);
  return declare(head + "(" + list_of_params + ") -> " + result + " {\n" + body.text() + "}");
}

CheckedProgram check(Sources& sources, const Builder& built, const CheckOptions& options) {
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    if (path == "<built>") return built.text();
    return disk_reader()(path);
  };
  return check(sources, "<built>", reader, options);
}

}  // namespace shardproof
