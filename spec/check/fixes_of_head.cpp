#include "spec/check/fixes_of_head.h"

#include <algorithm>

#include "spec/ir/walk.h"
#include "spec/syntax/parser.h"
#include "spec/syntax/words.h"

namespace shardproof {
namespace {

/// The signature as written; its ranges begin with the plan. Nullopt for a plan that was not
/// written as it is.
std::optional<syntax::FunctionDecl> written_head(const Sources& sources, const ir::Function& plan) {
  if (plan.range.file < 0 || plan.instance_of != Name()) return std::nullopt;
  const std::string_view text = sources.text(plan.range);
  size_t open = text.find('{');
  while (open + 1 < text.size() && text[open + 1] != '\n' && text[open + 1] != ' ')
    open = text.find('{', open + 1);
  if (open >= text.size()) return std::nullopt;
  Sources alone;
  std::vector<Diagnostic> ignored;
  const int32_t file = alone.add("", std::string(text.substr(0, open)) + "{ return 0 }");
  for (auto& each : syntax::parse(alone, file, ignored).declarations)
    if (auto* found = std::get_if<syntax::FunctionDecl>(&each); found && ignored.empty())
      return std::move(*found);
  return std::nullopt;
}

SourceRange in_file(const ir::Function& plan, const SourceRange& of_head) {
  return {plan.range.file, of_head.begin + plan.range.begin, of_head.end + plan.range.begin};
}

/// `of` with the axes and marks of `like`, position by position.
Type with_axes_of(Type of, const Shape& like) {
  for (size_t i = 0; i < of.dims.size(); ++i) of.dims[i].axes = like.dims[i].axes;
  of.marks = like.marks;
  return of;
}

class Head {
 public:
  Head(const Sources& sources, const ir::Function& plan, const std::vector<Type>& types,
       const RefusedOp& refused)
      : plan_(plan), types_(types), refused_(refused), decl_(written_head(sources, plan)) {}

  std::vector<Fix> run() {
    const std::string& code = refused_.diagnostic.code;
    if (!decl_ || refused_.layouts) return {};
    if (refused_.instr)
      of_operands();
    else if (code == "E0302" && !refused_.operands.empty())
      of_results();
    else if (code == "E0303" && !refused_.operands.empty())
      of_argument();
    return std::move(fixes_);
  }

 private:
  /// The parameter that is read there, also through casts.
  std::optional<size_t> parameter(ir::ValueId v) const {
    for (const ir::Instr* maker = defining_instr(plan_.body, v);
         maker && std::holds_alternative<ir::Cast>(maker->op);
         maker = defining_instr(plan_.body, v))
      v = maker->operands.at(0);
    for (size_t i = 0; i < plan_.params.size(); ++i)
      if (plan_.params[i] == v) return i;
    return std::nullopt;
  }

  void of_operands() {
    const ir::Pattern* pattern = ir::pattern_of(refused_.instr->op);
    if (!pattern || pattern->inferred) return;
    for (size_t i = 0; i < refused_.instr->operands.size() && i < pattern->left.size(); ++i) {
      const ir::ValueId v = refused_.instr->operands[i];
      const Type& have = types_.at(v);
      const Shape& want = pattern->left[i];
      const auto param = parameter(v);
      if (!param || have.dims.size() != want.dims.size()) continue;
      state_parameter(*param, want);
    }
  }

  void of_argument() {
    const Type& want = refused_.result_types.at(0);
    for_each_instr(plan_.body, [&](const ir::Instr& instr) {
      for (size_t i = 0; i < instr.operands.size() && i < instr.operand_ranges.size(); ++i) {
        if (!(instr.operand_ranges[i] == refused_.diagnostic.range)) continue;
        const auto param = parameter(instr.operands[i]);
        if (param && types_.at(instr.operands[i]).dims.size() == want.dims.size())
          state_parameter(*param, want);
      }
    });
  }

  void of_results() {
    const Type& have = refused_.operands[0].type;
    for (size_t i = 0; i < plan_.returned.size() && i < plan_.results.size(); ++i) {
      if (!(plan_.results[i] == refused_.result_types.at(0)) ||
          !(types_.at(plan_.returned[i]) == have) ||
          have.dims.size() != plan_.results[i].dims.size())
        continue;
      size_t at = 0;
      for (const syntax::Group& group : decl_->results.groups) {
        const size_t count = std::max<size_t>(group.names.size(), 1);
        if (!syntax::is_dtype(group.type.name)) return;  // a record has other leaves
        if (i < at + count) return state_result(group, with_axes_of(plan_.results[i], have));
        at += count;
      }
    }
  }

  void state_result(const syntax::Group& group, const Type& type) {
    const bool loss = plan_.results.size() == 1 && type.dims.empty() && !type.marks.empty();
    state(group, type,
          loss ? "the loss of a training step stays a sum: say so in the result's type"
               : "state the value's type, `" + to_string(type) + "`");
    fixes_.back().guess = !loss;
  }

  void state_parameter(size_t param, const Shape& want) {
    const ir::Value& value = plan_.values.at(plan_.params[param]);
    const Type type = with_axes_of(value.type, want);
    for (const syntax::Param& each : decl_->params)
      for (const Name& name : each.group.names)
        if (name == value.name && syntax::is_dtype(each.group.type.name))
          state(each.group, type, "declare `" + name + "` as `" + to_string(type) + "`");
  }

  void state(const syntax::Group& group, const Type& type, std::string message) {
    fixes_.push_back({std::move(message),
                      {{in_file(plan_, group.type.range), to_string(type)}},
                      false,
                      "no communication",
                      true,
                      true});
  }

  const ir::Function& plan_;
  const std::vector<Type>& types_;
  const RefusedOp& refused_;
  std::optional<syntax::FunctionDecl> decl_;
  std::vector<Fix> fixes_;
};

}  // namespace

std::optional<SourceRange> only_result_type(const Sources& sources, const ir::Function& plan) {
  const auto decl = written_head(sources, plan);
  if (!decl || plan.results.size() != 1 || decl->results.groups.size() != 1) return std::nullopt;
  return in_file(plan, decl->results.groups[0].type.range);
}

std::vector<Fix> fixes_of_head(const Sources& sources, const ir::Function& plan,
                               const std::vector<Type>& types, const RefusedOp& refused) {
  return Head(sources, plan, types, refused).run();
}

}  // namespace shardproof
