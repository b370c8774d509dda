// A file as equations, one a line, for notes and papers: `$h[B_d,F_t] = \sum_{M}
// x[B_d,M]\,w[M,F_t]$`.
#include "spec/cli/latex.h"

#include <map>

#include "spec/cli/report.h"
#include "spec/syntax/parser.h"

namespace shardproof::cli {
namespace {

using namespace syntax;

std::string math(const std::string& text) { return "$" + text + "$"; }

/// The shapes of named values, by name and by where the expression begins that makes them.
using Shapes = std::multimap<Name, std::pair<uint32_t, std::string>>;

std::string shape_of(const Type& type) {
  std::vector<SplitExpr> dims;
  for (const Split& split : type.dims) {
    SplitExpr& dim = dims.emplace_back();
    // A second ring's block `W` is W.2 inside; the text has W.
    for (const Name& name : split.dim.factors) dim.names.push_back(name.substr(0, name.find('.')));
    dim.axes = split.axes;
  }
  std::vector<MarkExpr> marks;
  for (const auto& [axis, mark] : type.marks) marks.push_back({mark, axis, {}});
  return latex::shape(dims, marks);
}

/// The shapes of the values in `file` after `from`, where the printed text begins.
Shapes shapes_in(const CheckedProgram& checked, int32_t file, uint32_t from) {
  Shapes shapes;
  for (const PlanReport& plan : checked.plans()) {
    const ir::Function& function = checked.program().functions.at(plan.function);
    const auto& types = checked.types(plan.function);
    for (size_t i = 0; i < function.values.size() && i < types.size(); ++i) {
      const ir::Value& value = function.values[i];
      if (!value.name.empty() && value.range.file == file && value.range.begin >= from)
        shapes.insert({value.name, {value.range.begin - from, shape_of(types[i])}});
    }
  }
  return shapes;
}

class Equations {
 public:
  Equations(const CheckedProgram& checked, const Shapes& shapes, std::ostream& out)
      : shapes_(shapes), out_(out) {
    for (const PlanReport& plan : checked.plans())
      if (!plan.imported) verdicts_[plan.name] = plan.verdict;
  }

  void print(const File& file) {
    for (const Declaration& each : file.declarations) std::visit(*this, each);
  }

  // What other files declare is printed with them; a config is a run's, and a schedule changes no
  // value.
  void operator()(const ImportDecl&) {}
  void operator()(const ConfigDecl&) {}
  void operator()(const ScheduleDecl&) {}
  void operator()(const MeshDecl& mesh) {
    std::vector<std::string> axes;
    for (const auto& entry : mesh.axes)
      axes.push_back(latex::escaped(entry.axis) + (entry.size ? " = " + *entry.size : ""));
    out_ << "**mesh** " << math(latex::joined(axes)) << "\n\n";
  }
  void operator()(const DimDecl& dim) { out_ << "**dim** " << math(dim_text(dim)) << "\n\n"; }
  void operator()(const ConstDecl& constant) {
    out_ << "**const** "
         << math(latex::escaped(constant.name) + " = " + latex::expression(constant.value))
         << "\n\n";
  }
  void operator()(const Require& require) {
    out_ << "**require** " << math(latex::expression(require.condition)) << "\n\n";
  }
  void operator()(const RecordDecl& record) {
    out_ << "**record " << record.name << "** " << math(groups(record.fields)) << "\n\n";
  }
  void operator()(const LayoutDecl& layout) {
    out_ << "**layout " << layout.name << "** of " << layout.record << " "
         << math(groups(layout.fields)) << "\n\n";
  }
  void operator()(const FunctionDecl& function) {
    header(function);
    out_ << "\n\n";
    if (function.body.empty()) return;
    block(function.body, "");
    out_ << "\n";
  }

 private:
  static std::string groups(const std::vector<Group>& list) {
    std::vector<std::string> parts;
    for (const Group& group : list) parts.push_back(latex::group(group));
    return latex::joined(parts);
  }

  static std::string dim_text(const DimDecl& dim) {
    const std::string text = latex::names(dim.names);
    switch (dim.kind) {
      case DimDecl::Kind::plain:
        return text;
      case DimDecl::Kind::alias:
        return text + " = " + latex::names(dim.of);
      case DimDecl::Kind::group:
        return text + " = (" + latex::names(dim.of, "\\,") + ")";
      case DimDecl::Kind::size:
        return text + "\\text{ of }" + latex::expression(*dim.size);
      case DimDecl::Kind::pads:
        return text + "\\text{ pads }" + latex::names(dim.of);
    }
    return text;
  }

  void header(const FunctionDecl& function) {
    out_ << "**" << (function.is_plan ? "plan " : "fn ") << function.name << "**";
    if (const auto& implements = function.implements) {
      out_ << " implements ";
      if (implements->grad)
        out_ << math(
            "\\nabla" +
            (implements->wrt.empty() ? " " : "_{" + latex::names(implements->wrt, ",") + "}") +
            latex::word(implements->model));
      else
        out_ << implements->model;
    }
    if (function.after) out_ << " after " << *function.after;
    if (function.trusted)
      out_ << " trusted " << math("\\texttt{" + latex::escaped(*function.trusted) + "}");
    if (const auto found = verdicts_.find(function.name);
        function.is_plan && found != verdicts_.end() && !function.trusted)
      out_ << " (" << to_string(found->second) << ")";
    if (function.pattern) out_ << " at " << math(latex::pattern_text(*function.pattern));
    std::string text = params(function.params);
    if (function.has_saved) text += "\\mid " + params(function.saved);
    const std::string results = groups(function.results.groups);
    out_ << ": "
         << math(text + " \\mapsto " +
                 (function.results.parenthesized ? "(" + results + ")" : results));
  }

  static std::string params(const std::vector<Param>& list) {
    std::vector<std::string> parts;
    for (const Param& param : list)
      parts.push_back(latex::group(param.group) +
                      (param.value ? " = " + latex::expression(*param.value) : ""));
    return latex::joined(parts);
  }

  void block(const Block& block, const std::string& indent) {
    for (const Statement& statement : block) {
      out_ << indent << "- ";
      std::visit([&](const auto& node) { line(node, indent); }, statement.node);
    }
  }

  void line(const DimDecl& dim, const std::string&) {
    out_ << "dim " << math(dim_text(dim)) << "\n";
  }
  void line(const Require& require, const std::string&) {
    out_ << "require " << math(latex::expression(require.condition)) << "\n";
  }
  void line(const Assume& assume, const std::string&) {
    Expr chain = assume.terms.at(0);
    std::string text = latex::expression(chain);
    static const std::map<std::string, const char*> signs = {{"<", " < "},     {">", " > "},
                                                             {"<=", " \\le "}, {">=", " \\ge "},
                                                             {"==", " = "},    {"!=", " \\neq "}};
    for (size_t i = 0; i < assume.comparisons.size(); ++i)
      text += signs.at(assume.comparisons[i]) + latex::expression(assume.terms.at(i + 1));
    out_ << "assume " << math(text) << "\n";
  }
  void line(const Return& node, const std::string&) { values("return", node.values); }
  void line(const Next& node, const std::string&) { values("next", node.values); }
  void line(const Emit& node, const std::string&) { values("emit", node.values); }
  void values(const char* what, const std::vector<Expr>& list) {
    out_ << what << " " << math(latex::expressions(list)) << "\n";
  }

  void line(const Bind& bind, const std::string& indent) {
    std::vector<std::string> targets;
    std::string stated;
    const SourceRange made = bind.loop.empty() ? bind.value.at(0).range : bind.loop[0].range;
    for (const Target& target : bind.targets) {
      stated =
          target.type ? "\\colon " + latex::type(*target.type) : shape_of_named(target.name, made);
      targets.push_back(latex::escaped(target.name) + stated);
      if (target.type) stated.clear();
    }
    if (!bind.loop.empty()) {
      out_ << math(latex::joined(targets)) << " = ";
      loop(bind.loop[0]);
      return block(bind.loop[0].body, indent + "  ");
    }
    out_ << math(latex::joined(targets) + " = " +
                 latex::expression(bind.value.at(0), targets.size() == 1 ? stated : ""))
         << "\n";
  }

  std::string shape_of_named(const Name& name, const SourceRange& made) const {
    const auto [first, last] = shapes_.equal_range(name);
    for (auto each = first; each != last; ++each)
      if (each->second.first >= made.begin && each->second.first < made.end)
        return each->second.second;
    return "";
  }

  void loop(const Loop& loop) {
    const std::string variables = latex::names(loop.variables), dims = latex::names(loop.dims);
    switch (loop.kind) {
      case Loop::Kind::scan:
        out_ << "scan " << math(variables + " \\in " + dims) << (loop.reverse ? " reverse" : "");
        break;
      case Loop::Kind::ring:
        out_ << "ring "
             << math(variables + "\\text{ over }" + dims + "_{" + latex::escaped(loop.axis) +
                     "}\\text{ as }" + latex::escaped(loop.block_dim));
        break;
      case Loop::Kind::pipeline:
        out_ << "pipeline "
             << math(variables + " \\in " + dims + "\\text{ over }" + latex::escaped(loop.axis) +
                     "\\text{ by }" + latex::word(loop.schedule) +
                     (loop.has_schedule_args
                          ? latex::arguments(loop.schedule_args, loop.schedule_arg_names)
                          : ""));
        break;
      case Loop::Kind::stages:
        out_ << "stages " << math(variables + " \\in " + dims);
        break;
    }
    for (const Carry& carry : loop.carries)
      out_ << ", "
           << math(latex::escaped(carry.name) + "\\colon " + latex::type(carry.type) +
                   " \\leftarrow " + latex::expression(carry.init));
    out_ << "\n";
  }

  const Shapes& shapes_;
  std::ostream& out_;
  std::map<Name, Verdict> verdicts_;
};

}  // namespace

void print_latex(const FileReport& report, std::ostream& out) {
  const int32_t file = main_file(report);
  if (file < 0 || !report.checked) return;
  std::vector<Diagnostic> reported;  // by the check
  Equations(*report.checked, shapes_in(*report.checked, file, 0), out)
      .print(parse(*report.sources, file, reported));
}

void print_latex(const CheckedBackward& backward, std::ostream& out) {
  const PlanReport* plan = backward.report();
  if (!plan) return;
  const int32_t file = backward.checked->program().functions.at(plan->function).source;
  const size_t size = backward.sources->file(file).text.size();
  Sources alone;
  std::vector<Diagnostic> reported;
  const File text = parse(alone, alone.add("backward", backward.text), reported);
  Equations(*backward.checked,
            shapes_in(*backward.checked, file, static_cast<uint32_t>(size - backward.text.size())),
            out)
      .print(text);
}

}  // namespace shardproof::cli
