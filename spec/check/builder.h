#pragma once
// Builds a file of the notation from C++. The result is text, so diagnostics can show its
// lines.
//
//   Builder file;
//   file.mesh("t").dim("B M F");
//   file.fn("up", {{"x", "f32[B M]"}, {"w", "f32[M F]"}}, "f32[B F]", [](Body& b, auto p) {
//     b.returns({call("einsum", "B M, M F -> B F", {p[0], p[1]})});
//   });
//   file.plan("up_sharded", "up", {{"x", "f32[B M]"}, {"w", "f32[M F/t]"}}, "f32[B F/t]", ...);
//   CheckedProgram checked = check(sources, file);
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// An expression as text, in parentheses if needed.
class Term {
 public:
  Term(double number);  // NOLINT(google-explicit-constructor): 2 * x reads as in the notation
  explicit Term(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  Term field(const Name& name) const { return Term(text_ + "." + name); }          ///< w.ln
  Term entry(const Name& index) const { return Term(text_ + "[" + index + "]"); }  ///< w.layers[n]

 private:
  std::string text_;
};
Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
/// |M| or |t|
Term size(const Name& dim_or_axis);
/// f("pattern", args..., key=value): a call of any primitive, library function, function or plan.
/// An empty pattern is omitted.
Term call(const Name& function, const std::string& pattern, const std::vector<Term>& args,
          const std::vector<std::pair<Name, Term>>& named = {});
/// op(a, b), for comparisons, `and`, `or`, `//`, `%`.
Term binary(const Term& a, const std::string& op, const Term& b);

/// The lines of a body. A name is assigned once, as in source text.
class Body {
 public:
  explicit Body(int indent = 1) : indent_(indent) {}
  /// `name = value`; a non-empty `type` states its type.
  Term bind(const Name& name, const Term& value, const std::string& type = "");
  std::vector<Term> bind(const std::vector<Name>& names, const Term& value);
  struct Carry {
    Name name;
    std::string type;
    Term init;
  };
  /// `results = scan index in dim, carries { body }`; body receives the index and the carries.
  std::vector<Term> scan(const std::vector<Name>& results, const Name& index, const Name& dim,
                         const std::vector<Carry>& carries,
                         const std::function<void(Body&, const std::vector<Term>&)>& body);
  void next(const std::vector<Term>& values) { line("next", values); }
  void emit(const std::vector<Term>& values) { line("emit", values); }
  void returns(const std::vector<Term>& values) { line("return", values); }
  const std::string& text() const { return text_; }

 private:
  void line(const std::string& word, const std::vector<Term>& values);
  int indent_;
  std::string text_;
};

class Builder {
 public:
  using Params = std::vector<std::pair<Name, std::string>>;  ///< name and type, as in the text
  using Fill = std::function<void(Body&, const std::vector<Term>&)>;

  Builder& mesh(const std::string& axes) { return declare("mesh " + axes); }  ///< "d t=4"
  Builder& dim(const std::string& dims) {
    return declare("dim " + dims);
  }  ///< "B L", "S T = L", "kv = 2"
  Builder& require(const Term& condition) { return declare("require " + condition.text()); }
  Builder& record(const Name& name, const Params& fields);
  Builder& layout(const Name& name, const Name& record, const Params& fields);
  Builder& fn(const Name& name, const Params& params, const std::string& result, const Fill& fill);
  /// Without a model's name, the plan is compared with its own erasure.
  Builder& plan(const Name& name, const Name& model, const Params& params,
                const std::string& result, const Fill& fill);
  /// The text in the notation.
  const std::string& text() const { return text_; }

 private:
  Builder& declare(const std::string& line);
  Builder& function(const std::string& head, const Params& params, const std::string& result,
                    const Fill& fill);
  std::string text_;
};

/// Checks the text under the file name "<built>".
CheckedProgram check(Sources& sources, const Builder& built, const CheckOptions& options = {});

}  // namespace shardproof
