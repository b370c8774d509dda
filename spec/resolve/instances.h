#pragma once
// One call of a generic function: binds the arguments to its signature, then inlines its body with
// the caller's dims.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/resolve/body.h"

namespace shardproof::resolution {

class Instantiation {
 public:
  Instantiation(Body& body, const CallSite& site, const FunctionEntity& entity)
      : body_(body), site_(site), entity_(entity) {}

  std::vector<Values> run();

 private:
  std::vector<Values> instantiate();
  std::vector<Values> failed();
  bool allowed();
  bool take_arguments();
  bool working_dims();
  std::optional<Fix> last_dim();
  bool argument_patterns();
  bool argument_pattern(size_t i, const syntax::OperandExpr& text);
  bool other_dims(size_t i, const Shape& says, const Type& actual);
  Values named_as(size_t i, const Shape& written, const Shape& regrouped);
  bool bind_types();
  bool bind_type(size_t i);
  bool bind_dtype(const syntax::TypeExpr& written, const Type& actual, const std::string& what,
                  SourceRange range);
  bool bind_dims(const syntax::TypeExpr& written, const Type& actual, const std::string& what,
                 SourceRange range);
  bool refuse(SourceRange range, const std::string& message, const Type& actual);
  void other_working_dims(const Dim& missing, const std::vector<Dim>& others);
  void in_another_order(Diagnostic& error) const;
  Name parameter_at(SourceRange range) const;
  TypeContext context() const;
  std::vector<Values> body_results();
  std::vector<Values> ordered(const FunctionScope& scope);
  Values result(const Values& value, const syntax::TypeExpr& written);
  ir::ValueId in_order(ir::ValueId id, const Shape& wanted, const Type& type);
  ir::ValueId reordered(ir::ValueId id, const Shape& wanted, std::vector<Dim> whole,
                        SourceRange range);
  std::vector<Values> stated_result(std::vector<Values> results);
  void begin_record();
  void end_record(const std::vector<Values>& results);

  Body& body_;
  const CallSite& site_;
  const FunctionEntity& entity_;
  Instance instance_{};
  std::vector<Argument> defaults_;
  std::vector<const Argument*> given_;
  std::vector<Values> args_;
  std::map<Name, Dim, ByName> dims_;
  bool has_rest_ = false;
  bool records_ = false;  ///< this is the outermost call
};

}  // namespace shardproof::resolution
