#include "spec/resolve/patterns.h"
#include "spec/resolve/call_forms.h"
#include "spec/resolve/dim_order.h"

#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/stated.h"

namespace shardproof::resolution {
namespace {

bool same_set(const Shape& a, const Shape& b) {
  return a.dims.size() == b.dims.size() &&
         std::all_of(a.dims.begin(), a.dims.end(),
                     [&](const Split& split) { return find(b, split.dim) != nullptr; });
}

class PatternReader {
 public:
  PatternReader(Body& body, const CallSite& site)
      : body_(body), site_(site), quoted_("`" + site.name + "`") {}

  std::optional<Read> run(size_t count, Right right, std::string_view brackets) {
    if (!site_.pattern) {
      if (!site_.has_pattern)
        body_
            .error("E0103", site_.range,
                   "`" + site_.name + "` needs a pattern, a string before its arguments")
            .fixes.push_back(dims_of_operands_and_result());
      return std::nullopt;
    }
    static const std::vector<syntax::OperandExpr> scalar(1);
    const bool unwritten = site_.pattern->left.empty() && count == 1;
    const std::vector<syntax::OperandExpr>& left = unwritten ? scalar : site_.pattern->left;
    if (left.size() != count) return counts(left.size(), count);
    if (!sides(right)) return std::nullopt;
    read_.pattern.left.reserve(count);
    read_.operands.reserve(count);
    read_.ranges.reserve(count);
    bool good = true;
    for (size_t i = 0; i < count; ++i) good = operand(i, left[i]) && good;
    if (site_.pattern->right) good = right_side(*site_.pattern->right) && good;
    for (size_t i = 0; good && i < count; ++i) good = regrouped(i);
    for (const syntax::SplitExpr& split : site_.pattern->working) {
      auto dim = resolve_dim(body_.types(), split);
      if (dim) read_.working.push_back(*dim);
      good = named_alone(body_, split) && good;
      good = good && dim;
    }
    good = good && bracket_sides(brackets);
    read_.regrouped = !body_.inferred();
    read_.pattern.inferred = body_.inferred();
    if (body_.inferred()) read_.pattern.whole = body_.scope->instance->whole;
    if (!good) return std::nullopt;
    return std::move(read_);
  }

 private:
  std::optional<Read> counts(size_t left, size_t count) {
    Fix fix{"left of `->` stand the dims of each operand, with a comma between them",
            commas(left, count), false, ""};
    body_
        .error("E0103", site_.pattern_range,
               "the pattern names " + counted(left, "operand") + ", and the call has " +
                   std::to_string(count))
        .fixes.push_back(std::move(fix));
    return std::nullopt;
  }

  /// Whether the words from `first` on are the dims of an argument.
  bool names_dims(const std::vector<syntax::SplitExpr>& words, size_t first, ir::ValueId of) const {
    const std::vector<Split>& dims = body_.type(of).dims;
    if (words.size() < first + dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i)
      if (!body_.world.program.same_dim(Dim{words[first + i].names}, dims[i].dim)) return false;
    return true;
  }

  /// `B M M F -> B F` of x[B M] and w[M F]: the commas between them. Empty: these are other dims.
  std::vector<Edit> commas(size_t left, size_t count) const {
    if (left != 1 || site_.args.size() != count) return {};
    const std::vector<syntax::SplitExpr>& words = site_.pattern->left[0].dims;
    std::vector<Edit> edits;
    size_t next = 0;
    for (const Argument& each : site_.args) {
      const ir::ValueId id = each.values.leaf;
      if (id == ir::no_value || body_.type(id).dims.empty() || !names_dims(words, next, id))
        return {};
      next += body_.type(id).dims.size();
      const SourceRange& last = words[next - 1].range;
      edits.push_back({{last.file, last.end, last.end}, ","});
    }
    edits.pop_back();
    return next == words.size() ? edits : std::vector<Edit>{};
  }

  Fix dims_of_operands_and_result() const {
    const auto form = call_form(site_.name);
    return {"it has the dims of the operands and those of the result" +
                (form ? ": " + form->message : ""),
            {},
            false,
            ""};
  }

  /// `B M, M F B F` for `B M, M F -> B F`: the last operand's dims are those of its type, and what
  /// follows is the result.
  std::optional<Fix> arrow() const {
    if (site_.pattern->left.empty() || site_.args.empty()) return {};
    const syntax::OperandExpr& last = site_.pattern->left.back();
    const std::vector<syntax::SplitExpr>& words = last.dims;
    const ir::ValueId operand = site_.args.back().values.leaf;
    if (operand == ir::no_value || !names_dims(words, 0, operand)) return {};
    const size_t count = body_.type(operand).dims.size();
    if (words.size() == count && site_.name == "all_reduce") {
      syntax::OperandExpr result = last;
      std::erase_if(result.marks, [](const auto& each) { return each.mark != Mark::I; });
      const std::string text = " -> " + to_string(Stated{result.dims, result.marks});
      return Fix{"the result stands after `->`",
                 {{{last.range.file, last.range.end, last.range.end}, text}},
                 false,
                 ""};
    }
    if (words.size() <= count) return {};
    const SourceRange& first = words[count].range;
    return Fix{"the result stands after `->`",
               {{{first.file, first.begin, first.begin}, "-> "}},
               false,
               ""};
  }

  bool sides(Right right) {
    const bool written = site_.pattern->right.has_value();
    if (right == Right::required && !written) {
      Diagnostic& error =
          body_.error("E0305", site_.pattern_range,
                      "the pattern of `" + site_.name + "` has no result: write `-> ...`");
      if (auto fix = arrow()) error.fixes.push_back(*std::move(fix));
      error.fixes.push_back(dims_of_operands_and_result());
    }
    if (right == Right::none && written)
      body_.error("E0305", site_.pattern_range, "the pattern of `" + site_.name + "` has no `->`");
    return right == Right::optional || written == (right == Right::required);
  }

  bool operand(size_t i, const syntax::OperandExpr& text) {
    const ir::ValueId id = tensor_of(body_, site_.args[i], quoted_);
    std::optional<size_t> bracket;
    auto shape = read_operand(body_, text, &bracket);
    if (id == ir::no_value || !shape) return false;
    if (body_.type(id).dtype == Dtype::number) {
      body_.error("E0104", site_.args[i].range, "a number has no dtype here: cast it, `f32(...)`");
      return false;
    }
    if (body_.inferred()) {
      if (!groups(text)) return false;
      as_grouped(*shape, body_.type(id));
      if (!same_set(*shape, body_.type(id))) return mismatch(i, *shape, body_.type(id));
      reorder(*shape, bracket, body_.type(id));
    }
    if (bracket) {
      brackets_on_left_ += 1;
      read_.pattern.left_bracket = bracket;
      read_.pattern.bracket_operand = read_.pattern.left.size();  // earlier operands may be missing
    }
    read_.pattern.left.push_back(std::move(*shape));
    read_.operands.push_back(id);
    read_.ranges.push_back(site_.args[i].range);
    return true;
  }

  bool regrouped(size_t i) {
    if (body_.inferred()) return true;
    const ir::ValueId id = read_.operands[i];
    const auto problem = elaborate::regroup(body_.world.program, read_.pattern, i, body_.type(id));
    if (!problem) return true;
    const bool good = pattern_problem(body_, site_, {id}, *problem);
    std::vector<Fix>& fixes = body_.world.diagnostics.back().fixes;
    for (auto fix : {in_order(site_.pattern->left[i], body_.type(id)),
                     all_dims(site_.pattern->left[i], body_.type(id)),
                     declared(site_.pattern->left[i], body_.type(id)), swapped(i)})
      if (fix) fixes.push_back(*std::move(fix));
    const Shape& says = read_.pattern.left[i];
    const auto fits = [&](const Type& other) {
      return is_float(other.dtype) == is_float(body_.type(id).dtype) && same_dims(other, says);
    };
    append(fixes, other_values(body_, read_.ranges[i], fits));
    return good;
  }

  /// `all_reduce("{U_d} -> ", g)` of a tensor: the pattern of a scalar.
  std::optional<Fix> all_dims(const syntax::OperandExpr& text, const Type& operand) const {
    const auto& right = site_.pattern->right;
    const bool scalars = text.dims.empty() && right && right->dims.empty();
    if (!scalars || site_.pattern->left.size() != 1 || operand.dims.empty()) return {};
    Type result = operand;
    std::erase_if(result.marks, [](const auto& each) { return each.second != Mark::I; });
    const std::string whole = to_string(static_cast<const Shape&>(operand)) + " -> " +
                              to_string(static_cast<const Shape&>(result));
    return Fix{"name its dims, `" + whole + "`", {{site_.pattern_range, whole}}, false, ""};
  }

  /// `T` for S, or `(K D)` for H, where the file does not say that they are the same.
  std::optional<Fix> declared(const syntax::OperandExpr& text, const Type& operand) const {
    if (text.dims.size() != operand.dims.size()) return {};
    std::string other;
    for (size_t i = 0; i < text.dims.size(); ++i) {
      std::string says;
      for (const Name& name : text.dims[i].names) says += (says.empty() ? "" : " ") + name;
      const std::string own = to_string(operand.dims[i].dim);
      const ir::Program& program = body_.world.program;
      if (says == own || "(" + says + ")" == own ||
          program.base(Dim{text.dims[i].names}) == program.base(operand.dims[i].dim))
        continue;
      const bool group = text.dims[i].names.size() > 1;
      if (!other.empty() || says.empty()) return {};
      other = group ? "if `" + own + "` is the group, declare `dim " + own + " = (" + says + ")`"
                    : "if `" + says + "` is another name of `" + own + "`, declare `dim " + says +
                          " = " + own + "`";
    }
    if (other.empty()) return {};
    return Fix{other, {}, false, ""};
  }

  /// Whether the pattern names the dims of that argument for operand i.
  bool names_argument(size_t i, size_t argument) const {
    const std::vector<syntax::SplitExpr>& says = site_.pattern->left[i].dims;
    const Type& type = body_.type(read_.operands[argument]);
    return std::equal(says.begin(), says.end(), type.dims.begin(), type.dims.end(),
                      [](const syntax::SplitExpr& dim, const Split& split) {
                        return dim.names == split.dim.factors;
                      });
  }

  /// `einsum("B M, M F -> B F", w, x)`: a fix with the two arguments exchanged.
  std::optional<Fix> swapped(size_t i) const {
    for (size_t j = i + 1; j < site_.args.size(); ++j) {
      if (!names_argument(i, j) || !names_argument(j, i)) continue;
      const SourceRange first = site_.args[i].range, second = site_.args[j].range;
      const Sources& sources = body_.world.sources;
      return Fix{
          "give the arguments in the order of the pattern",
          {{first, std::string(sources.text(second))}, {second, std::string(sources.text(first))}},
          false,
          ""};
    }
    return {};
  }

  /// A fix with the same dims in the order of the operand.
  std::optional<Fix> in_order(const syntax::OperandExpr& text, const Type& operand) const {
    const World& world = body_.world;
    const auto ordered = named_as_operand(world.program, world.sources, text.dims, operand);
    if (!ordered) return {};
    SourceRange range = text.dims.front().range;
    range.end = text.dims.back().range.end;
    return Fix{"name its dims in its order, `" + *ordered + "`", {{range, *ordered}}, false, ""};
  }

  // Whether the pattern writes a dim of the body as a group of several.
  bool groups(const syntax::OperandExpr& operand) {
    for (const syntax::SplitExpr& split : operand.dims) {
      std::vector<Dim> units;
      for (const Name& name : split.names) add_units(name, units);
      if (units.size() < 2) continue;
      for (const std::vector<Dim>& other : read_.pattern.groups)
        if (other != units && flat(other) == flat(units)) {
          body_.error("E0305", site_.pattern_range,
                      "`" + to_string(Dim{flat(units)}) + "` is grouped in two ways",
                      "the function's body and the caller group these dims differently");
          return false;
        }
      read_.pattern.groups.push_back(std::move(units));
    }
    return true;
  }

  void add_units(const Name& name, std::vector<Dim>& units) const {
    const TypeContext context = body_.types();
    if (const auto bound = context.dims->find(name); bound != context.dims->end())
      return units.push_back(bound->second);
    const auto& dims = body_.world.program.dims;
    const auto found = dims.find(name);
    if (found == dims.end() || found->second.kind != ir::DimInfo::Kind::group)
      return units.push_back(Dim{{name}});
    for (const Name& factor : found->second.of) add_units(factor, units);
  }

  std::vector<Name> flat(const std::vector<Dim>& units) const {
    Dim whole;
    for (const Dim& unit : units)
      whole.factors.insert(whole.factors.end(), unit.factors.begin(), unit.factors.end());
    std::vector<Name> names;
    for (const elaborate::Factor& each : elaborate::factors(body_.world.program, whole))
      names.push_back(each.name);
    return names;
  }

  // `(G J)` in a generic body is E of its operand, and E is `(G J)`, if `dim E = (G J)`.
  void as_grouped(Shape& shape, const Type& operand) const {
    for (Split& split : shape.dims) {
      if (find(operand, split.dim)) continue;
      for (const Split& own : operand.dims)
        if (!find(shape, own.dim) && flat({own.dim}) == flat({split.dim})) split.dim = own.dim;
    }
  }

  // A library body names sets of dims: use the operand's order.
  static void reorder(Shape& shape, std::optional<size_t>& bracket, const Type& operand) {
    std::optional<Dim> bracketed;
    if (bracket) bracketed = shape.dims[*bracket].dim;
    Shape ordered;
    for (const Split& split : operand.dims) ordered.dims.push_back(*find(shape, split.dim));
    shape = ordered;
    if (bracketed) bracket = position(shape, *bracketed);
  }

  bool mismatch(size_t i, const Shape& pattern, const Type& operand) {
    const std::string which =
        site_.args.size() > 1 ? "operand " + std::to_string(i + 1) : std::string("the operand");
    Diagnostic& error = body_.error("E0305", site_.pattern_range,
                                    "the pattern says `" + dims_text(pattern) + "`, and " + which +
                                        " has the dims `" + dims_text(operand) + "`");
    error.label = "the dims left of `->` are those of the operands";
    if (!body_.inferred())
      error.notes.push_back({site_.args[i].range, "this is `" + dims_text(operand) + "`"});
    error.types = {to_string(operand)};
    return false;
  }

  bool right_side(const syntax::OperandExpr& text) {
    auto shape = read_operand(body_, text, &read_.pattern.right_bracket);
    if (!shape || (body_.inferred() && !groups(text))) return false;
    read_.pattern.right = std::move(*shape);
    read_.has_right = true;
    return true;
  }

  bool bracket_sides(std::string_view allowed) {
    const bool left = allowed == "left" || allowed == "both";
    const bool right = allowed == "right" || allowed == "both";
    const bool good = brackets_on_left_ == (left ? 1 : 0) &&
                      read_.pattern.right_bracket.has_value() == (right && read_.has_right);
    if (!good)
      body_.error("E0305", site_.pattern_range,
                  allowed.empty()
                      ? "`" + site_.name + "` has no dim in brackets"
                      : "`" + site_.name + "` has one dim in brackets, " +
                            (allowed == "both" ? "the same on both sides"
                                               : "on the " + std::string(allowed) + " side"));
    return good;
  }

  Body& body_;
  const CallSite& site_;
  const std::string quoted_;  ///< the name of the call
  Read read_;
  size_t brackets_on_left_ = 0;
};

}  // namespace

std::optional<Shape> read_operand(Body& body, const syntax::OperandExpr& operand,
                                  std::optional<size_t>* bracket) {
  if (!operand.type_name.empty()) {
    body.error("E0305", operand.range, "a record's name, where the dims of a tensor are expected");
    return std::nullopt;
  }
  const TypeContext context = body.types();
  Shape result;
  result.dims.reserve(operand.dims.size());
  for (const syntax::SplitExpr& split : operand.dims) {
    const size_t position = result.dims.size();
    if (!resolve_split(context, split, result)) return std::nullopt;
    if (split.bracketed && *bracket) {
      body.error("E0305", split.range, "two dims in brackets");
      return std::nullopt;
    }
    if (split.bracketed) *bracket = position;
  }
  if (operand.marks.empty()) return result;
  auto marks = resolve_shape(context, {}, operand.marks, false);
  if (!marks) return std::nullopt;
  result.marks = std::move(marks->marks);
  return result;
}

std::optional<Read> read_pattern(Body& body, const CallSite& site, size_t count, Right right,
                                 std::string_view brackets) {
  return PatternReader(body, site).run(count, right, brackets);
}

bool named_alone(Body& body, const syntax::SplitExpr& split) {
  if (split.axes.empty()) return true;
  const std::string text(body.world.sources.text(split.range));
  const std::string name = text.substr(0, text.find('/'));
  body.error("E0305", split.range, "after `;` stand names of dims, without axes")
      .fixes.push_back({"name it alone, `" + name + "`", {{split.range, name}}, false, ""});
  return false;
}

/// The fix that puts the result's dims into the order of the one operand, whose dims they are.
static std::optional<Fix> result_in_order(const Body& body, const CallSite& site) {
  const auto& pattern = site.pattern;
  if (!pattern || !pattern->right || pattern->left.size() != 1 || body.inferred()) return {};
  const auto& right = pattern->right->dims;
  std::vector<size_t> order;
  for (const syntax::SplitExpr& dim : pattern->left[0].dims)
    for (size_t i = 0; i < right.size(); ++i)
      if (right[i].names == dim.names && !right[i].bracketed) order.push_back(i);
  if (right.empty() || order.size() != right.size()) return {};
  const Edit edit = reordered(body.world.sources, right, order);
  if (edit.text == body.world.sources.text(edit.range)) return {};
  return Fix{"name them in its order, `" + edit.text + "`", {edit}, false, ""};
}

std::optional<ir::Op> elaborated(Body& body, const CallSite& site, const Read& read, ir::Op op) {
  const ir::Program& program = body.world.program;
  std::vector<const Shape*> shapes;
  if (!read.regrouped)
    for (ir::ValueId id : read.operands) shapes.push_back(&body.type(id));
  const auto problem = read.regrouped ? elaborate::elaborate_regrouped(program, op)
                                      : elaborate::elaborate(program, op, shapes);
  if (!problem) return op;
  pattern_problem(body, site, read.operands, *problem);
  if (auto fix = result_in_order(body, site))
    body.world.diagnostics.back().fixes.push_back(*std::move(fix));
  return std::nullopt;
}

bool pattern_problem(Body& body, const CallSite& site, const std::vector<ir::ValueId>& operands,
                     const elaborate::Problem& problem) {
  Diagnostic& error = body.error("E0305", site.pattern_range,
                                 "`" + site.name + "`: " + problem.message, problem.label);
  for (ir::ValueId id : operands) error.types.push_back(to_string(body.type(id)));
  if (!problem.fix.empty() && !body.inferred())
    error.fixes.push_back(
        {"write `" + problem.fix + "`", {{site.pattern_range, problem.fix}}, false, ""});
  if (problem.operand && *problem.operand < site.args.size() && operands.size() == 1)
    error.notes.push_back(
        {site.args[*problem.operand].range, "this is `" + dims_text(body.type(operands[0])) + "`"});
  return false;
}

void dims_error(Body& body, const CallSite& site, const Read& read, const std::string& message,
                const std::string& label) {
  Diagnostic& error =
      body.error("E0305", site.pattern_range, "`" + site.name + "`: " + message, label);
  for (ir::ValueId id : read.operands) error.types.push_back(to_string(body.type(id)));
}

std::vector<Values> recovered(Body& body, const CallSite& site, std::optional<Dtype> dtype) {
  body.lost = true;
  // For a lookup and its adjoint, the ids are integers but the result is not.
  std::optional<Dtype> found;
  for (const Argument& arg : site.args) {
    if (arg.values.is_record() || arg.values.leaf == ir::no_value) continue;
    const Dtype own = body.type(arg.values.leaf).dtype;
    if (own != Dtype::number && (!found || (!is_float(*found) && is_float(own)))) found = own;
  }
  if (!dtype) dtype = found;
  if (!dtype || !site.pattern || !site.pattern->right) return unknown_result();
  const size_t count = body.world.diagnostics.size();
  std::optional<size_t> bracket;
  auto shape = read_operand(body, *site.pattern->right, &bracket);
  // The message was already reported when the pattern was read.
  body.world.diagnostics.resize(count);
  if (!shape) return unknown_result();
  Type type;
  static_cast<Shape&>(type) = *shape;
  type.dtype = *dtype;
  return {body.recover(type, site.range)};
}

std::optional<size_t> position(const Shape& shape, const Dim& dim) {
  for (size_t i = 0; i < shape.dims.size(); ++i)
    if (shape.dims[i].dim == dim) return i;
  return std::nullopt;
}

void align(Body& body, Read& read, const Shape& like) {
  if (!body.inferred()) return;
  Shape& right = read.pattern.right;
  std::optional<Dim> bracketed;
  if (read.pattern.right_bracket) bracketed = right.dims[*read.pattern.right_bracket].dim;
  std::vector<Split> fresh;
  for (const Split& split : right.dims)
    if (!find(like, split.dim)) fresh.push_back(split);
  std::vector<Split> ordered;
  size_t vanished = 0;
  for (const Split& split : like.dims) vanished += find(right, split.dim) ? 0 : 1;
  const bool replaces = vanished == 1 && fresh.size() == 1;
  for (const Split& split : like.dims) {
    if (const Split* kept = find(right, split.dim))
      ordered.push_back(*kept);
    else if (replaces)
      ordered.push_back(fresh[0]);
  }
  if (!replaces) ordered.insert(ordered.end(), fresh.begin(), fresh.end());
  right.dims = ordered;
  if (bracketed) read.pattern.right_bracket = position(right, *bracketed);
}

}  // namespace shardproof::resolution
