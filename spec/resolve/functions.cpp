#include "spec/resolve/functions.h"

#include "spec/resolve/assumptions.h"
#include "spec/resolve/body.h"
#include "spec/resolve/meant.h"

namespace shardproof::resolution {
namespace {

class FunctionReader {
 public:
  FunctionReader(World& world, FunctionEntity& entity)
      : entity_(entity),
        function_(world.program.functions.own()[*entity.index]),
        body_(world, function_, scope_) {
    scope_.file = entity.file;
    scope_.is_plan = entity.decl->is_plan;
    scope_.function = entity.decl->name;
    scope_.text = &entity.decl->body;
  }

  void run() {
    for (const auto* list : {&entity_.decl->params, &entity_.decl->saved})
      for (const syntax::Param& each : *list) names_[&each.group.type] = each.group.range;
    const size_t unsaved = entity_.params.size() - entity_.saved;
    for (size_t i = 0; i < entity_.params.size(); ++i) parameter(entity_.params[i], i >= unsaved);
    if (entity_.unreadable) return;
    written_types();
    if (!entity_.decl->has_body) {
      if (!entity_.decl->trusted)
        body_.error("E0109", entity_.decl->name_range, "only a trusted plan has no body");
      return;
    }
    check_assumed_parameters(body_);
    const size_t statements = entity_.decl->body.size();
    function_.body.instrs.reserve(statements);
    function_.values.reserve(function_.values.size() + statements);
    body_.open_scope();
    body_.statements(entity_.decl->body);
    results();
    body_.close_scope();
    // A body with an error must never count as a program, wherever the error is
    // reported.
    if (body_.lost) entity_.bad = true;
    if (body_.lost && body_.world.errors() == 0)
      body_.error("E0109", entity_.decl->name_range, "this function cannot be resolved");
  }

 private:
  void parameter(const Parameter& param, bool saved) {
    size_t count = 0;
    const SourceRange range = body_.world.locate_next(param.name, names_of(param));
    Values values = transform<ir::ValueId>(param.type, [&](const Type& leaf) {
      const ir::ValueId id = body_.add_value(Shape{}, leaf.dtype, range);
      function_.values[id].type = leaf;
      function_.values[id].stated = true;
      (saved ? function_.saved_params : function_.params).push_back(id);
      ++count;
      return id;
    });
    if (!saved) function_.param_groups.emplace_back(param.name, count);
    if (entity_.unreadable) values = unknown_value();
    const bool told = body_.find(param.name) || body_.file().consts.count(param.name);
    if (!told) body_.bind(param.name, std::move(values), range);
  }

  /// The text of its group, after the names before this one.
  SourceRange& names_of(const Parameter& param) {
    return names_.try_emplace(param.written, param.written->range).first->second;
  }

  void written_types() {
    World& world = body_.world;
    const auto written = [&](const syntax::TypeExpr& type) {
      return written_type(world, entity_.file, type, entity_.file);
    };
    function_.axes = keys(world.files[entity_.file].axes);
    // Keep the names that a derived backward may use. For all functions the lists would be large.
    if (entity_.decl->is_plan || entity_.decl->implements)
      function_.dims = keys(world.files[entity_.file].dims);
    for (size_t i = 0; i < function_.param_groups.size(); ++i)
      function_.param_types.push_back(written(*entity_.params[i].written));
    for (size_t i = 0; i < entity_.results.size(); ++i) {
      function_.result_types.push_back(written(*entity_.written_results[i]));
      const Name name = i < entity_.result_names.size() ? entity_.result_names[i] : "";
      function_.result_groups.emplace_back(name, leaves(entity_.results[i]).size());
    }
  }

  /// `return y` after the last statement, `y = ...`.
  std::optional<Fix> last_value_returned() const {
    if (entity_.decl->body.empty()) return std::nullopt;
    const syntax::Statement& last = entity_.decl->body.back();
    const auto* bind = std::get_if<syntax::Bind>(&last.node);
    if (!bind || bind->targets.size() != entity_.results.size()) return std::nullopt;
    std::string names;
    for (const syntax::Target& target : bind->targets)
      names += (names.empty() ? "" : ", ") + target.name;
    return Fix{"return the last value",
               {{{last.range.file, last.range.end, last.range.end}, "\n    return " + names}},
               false,
               ""};
  }

  void results() {
    const size_t count = entity_.results.size();
    function_.return_range = scope_.return_range;
    if (!scope_.has_returned) {
      Diagnostic& error = body_.error("E0103", entity_.decl->name_range,
                                      "`" + entity_.decl->name + "` has no `return`");
      if (auto fix = last_value_returned()) error.fixes.push_back(*std::move(fix));
      return;
    }
    const bool silent = scope_.returned.size() == 1 && is_unknown(scope_.returned[0]);
    if (scope_.returned.size() != count) {
      if (!silent)
        body_
            .error("E0103", scope_.return_range,
                   counted(scope_.returned.size(), "value") + " returned, and " +
                       std::to_string(count) + " declared as the result")
            .fixes.push_back({"return one value for each declared result", {}, false, ""});
      scope_.returned.assign(count, unknown_value());
    }
    const std::vector<SourceRange> ranges = returned_ranges(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t errors = body_.world.errors();
      const Values value = fit(body_, scope_.returned[i], entity_.results[i], ranges[i],
                               {"E0302", "E0302", "the return value"});
      add_to_new_error(body_, errors,
                       exchanged(body_, ranges, i, "return the values in the results' order"));
      for (ir::ValueId leaf : leaves(value)) {
        function_.returned.push_back(leaf);
        if (count > 1) function_.returned_ranges.push_back(ranges[i]);
      }
    }
  }

  std::vector<SourceRange> returned_ranges(size_t count) const {
    std::vector<SourceRange> ranges;
    for (const syntax::Statement& statement : entity_.decl->body)
      if (auto* node = std::get_if<syntax::Return>(&statement.node); node && ranges.empty())
        for (const syntax::Expr& expr : node->values) ranges.push_back(expr.range);
    if (ranges.size() != count)
      ranges.assign(count, ranges.empty() ? scope_.return_range : ranges[0]);
    return ranges;
  }

  FunctionEntity& entity_;
  ir::Function& function_;
  FunctionScope scope_;
  Body body_;
  std::map<const syntax::TypeExpr*, SourceRange> names_;
};

}  // namespace

void read_function(World& world, FunctionEntity& entity) {
  const size_t before = world.errors();
  FunctionReader(world, entity).run();
  if (world.errors() > before) entity.bad = true;
  world.values_written += world.program.functions.at(*entity.index).values.size();
}

}  // namespace shardproof::resolution
