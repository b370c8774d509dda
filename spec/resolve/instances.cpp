// Generic functions, including the library's: arguments, dims and dtypes of one call.
#include "spec/resolve/instances.h"

#include <algorithm>
#include <utility>

#include "spec/elaborate/elaborate.h"
#include "spec/resolve/calls.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

constexpr size_t deepest_instance = 40;

}  // namespace

std::vector<Values> Instantiation::run() {
  if (!allowed() || !take_arguments()) return failed();
  begin_record();
  std::vector<Values> results = instantiate();
  end_record(results);
  return results;
}

std::vector<Values> Instantiation::instantiate() {
  if (!working_dims() || !argument_patterns() || !bind_types()) return failed();
  instance_.entity = &entity_;
  if (body_.scope->instance) {
    instance_.call = body_.scope->instance->call;
    instance_.through = body_.scope->instance->through;
  } else {
    instance_.call = site_.range;
  }
  instance_.through.push_back(entity_.decl->name);
  for (const Values& value : args_)
    if (!value.is_record() && body_.type(value.leaf).dtype != Dtype::number)
      instance_.arguments.push_back(value.leaf);
  return stated_result(body_results());
}

// Records the outermost call as written: a derived backward writes it again.
void Instantiation::begin_record() {
  if (body_.scope->instance || body_.library_call) return;
  ir::LibraryCall call;
  call.function = entity_.decl->name;
  call.of_library = body_.world.files[entity_.file].library;
  for (size_t i = 0; i < args_.size(); ++i)
    if (!args_[i].is_record())
      (given_[i] != &defaults_[i] ? call.arguments : call.defaults)
          .push_back({entity_.params[i].name, args_[i].leaf,
                      i < site_.args.size() ? given_[i]->range : SourceRange{}});
  body_.library_call = body_.function.library_calls.size();
  body_.function.library_calls.push_back(std::move(call));
  records_ = true;
}

void Instantiation::end_record(const std::vector<Values>& results) {
  if (!records_) return;
  ir::LibraryCall& call = body_.function.library_calls[*body_.library_call];
  body_.library_call.reset();
  call.working = instance_.whole;
  if (site_.pattern)
    for (size_t i = 0; i < site_.pattern->left.size() && i < args_.size(); ++i)
      if (!is_unknown(args_[i]) && !args_[i].is_record())
        call.left.push_back(body_.type(args_[i].leaf));
  for (const Values& result : results)
    if (!is_unknown(result) && !result.is_record()) call.results.push_back(result.leaf);
  if (site_.pattern && site_.pattern->right && call.results.size() == 1)
    call.right = body_.type(call.results[0]);
}

std::vector<Values> Instantiation::failed() {
  body_.lost = true;
  return unknown_result(entity_.results.size());
}

namespace {

/// Whether the body is checked at the types of each call, also in plans.
bool says_any_type(const syntax::FunctionDecl& decl) {
  const auto has_rest = [](const syntax::TypeExpr& type) {
    return std::any_of(type.dims.begin(), type.dims.end(), [](const syntax::SplitExpr& split) {
      return split.kind == syntax::SplitExpr::Kind::ellipsis;
    });
  };
  return decl.pattern || std::any_of(decl.params.begin(), decl.params.end(),
                                     [&](const auto& param) { return has_rest(param.group.type); });
}

}  // namespace

bool Instantiation::allowed() {
  const bool library = body_.world.files[entity_.file].library;
  if (!library && body_.scope->is_plan && !body_.scope->instance && !says_any_type(*entity_.decl)) {
    refuse_fn_in_plan(body_, site_);
    return false;
  }
  const Instance* outer = body_.scope->instance;
  if (outer && outer->through.size() >= deepest_instance) {
    body_.error("E0007", site_.range, "generic functions call each other too deeply");
    return false;
  }
  return !entity_.bad;
}

bool Instantiation::take_arguments() {
  given_ = arrange(body_, site_, entity_, defaults_);
  if (given_.size() != entity_.params.size()) return false;
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i]->dtype || given_[i]->text) {
      tensor_of(body_, *given_[i], "`" + site_.name + "`");
      return false;
    }
    if (is_unknown(given_[i]->values)) return false;
    const bool record =
        body_.world.files[entity_.file].records.count(entity_.params[i].written->name);
    if (!record && tensor_of(body_, *given_[i], "`" + site_.name + "`") == ir::no_value)
      return false;
    args_.push_back(given_[i]->values);
  }
  return true;
}

// "; S T G D" matches "...; S T Q D" by position.
bool Instantiation::working_dims() {
  std::vector<syntax::SplitExpr> declared, given;
  if (entity_.decl->pattern) {
    const size_t before = body_.world.diagnostics.size();
    auto pattern = syntax::parse_pattern(*entity_.decl->pattern, entity_.decl->pattern_range,
                                         body_.world.diagnostics);
    if (!pattern) {
      body_.world.diagnostics.resize(before);
      return false;
    }
    declared = pattern->working;
  }
  if (site_.has_pattern && !site_.pattern) return false;
  if (site_.pattern) given = site_.pattern->working;
  if (declared.size() != given.size()) {
    Diagnostic& error =
        body_.error("E0103", site_.has_pattern ? site_.pattern_range : site_.range,
                    "`" + site_.name + "` works on " + counted(declared.size(), "dim") +
                        ", and the call names " + std::to_string(given.size()),
                    "after `;` in the pattern");
    if (given.empty() && declared.size() == 1)
      if (auto fix = last_dim()) error.fixes.push_back(*std::move(fix));
    return false;
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    auto dim = resolve_dim(body_.types(), given[i]);
    if (!dim || declared[i].names.size() != 1) return false;
    named_alone(body_, given[i]);
    dims_[declared[i].names[0]] = *dim;
    instance_.whole.push_back(*dim);
  }
  return true;
}

// `softmax(x)` works on the last dim of x.
std::optional<Fix> Instantiation::last_dim() {
  if (site_.args.empty() || site_.args[0].values.is_record() || body_.inferred()) return {};
  const ir::ValueId id = site_.args[0].values.leaf;
  if (id == ir::no_value || body_.type(id).dims.empty()) return {};
  const Type& type = body_.type(id);
  const std::string pattern =
      to_string(static_cast<const Shape&>(type)) + "; " + to_string(type.dims.back().dim);
  const SourceRange first = site_.args[0].range;
  const Edit edit = site_.has_pattern
                        ? Edit{site_.pattern_range, pattern}
                        : Edit{{first.file, first.begin, first.begin}, "\"" + pattern + "\", "};
  return Fix{"name its dims, and after `;` the one that it works on: `\"" + pattern + "\"`",
             {edit},
             false,
             ""};
}

// The pattern states the types of the first arguments. In user code it may rename their dims; in a
// library body it only names sets of dims.
bool Instantiation::argument_patterns() {
  if (!site_.pattern) return true;
  const auto& left = site_.pattern->left;
  if (left.size() > args_.size()) {
    body_.error("E0103", site_.pattern_range, "the pattern names more operands than there are");
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < left.size(); ++i) good = argument_pattern(i, left[i]) && good;
  return good;
}

bool Instantiation::argument_pattern(size_t i, const syntax::OperandExpr& text) {
  std::optional<size_t> bracket;
  auto shape = read_operand(body_, text, &bracket);
  if (!shape || args_[i].is_record()) return false;
  const Type actual = body_.type(args_[i].leaf);
  if (body_.inferred()) {
    bool good = shape->dims.size() == actual.dims.size() && !bracket;
    for (size_t j = 0; good && j < actual.dims.size(); ++j)
      good = find(*shape, actual.dims[j].dim) != nullptr;
    return good || other_dims(i, *shape, actual);
  }
  if (bracket) return other_dims(i, *shape, actual);
  ir::Pattern pattern;
  pattern.left = {*shape};
  if (auto problem = elaborate::regroup(body_.world.program, pattern, 0, actual)) {
    problem->operand = i;
    return pattern_problem(body_, site_, {args_[i].leaf}, *problem);
  }
  if (actual.dtype != Dtype::number) args_[i] = named_as(i, *shape, pattern.left[0]);
  return true;
}

bool Instantiation::other_dims(size_t i, const Shape& says, const Type& actual) {
  Diagnostic& error =
      body_.error("E0305", site_.pattern_range,
                  "the pattern says `" + dims_text(says) + "`, and the argument `" +
                      entity_.params[i].name + "` has the dims `" + dims_text(actual) + "`");
  error.types = {to_string(actual)};
  return false;
}

// The argument with the names of the pattern, which may open a group: `K D` for H.
Values Instantiation::named_as(size_t i, const Shape& written, const Shape& regrouped) {
  const SourceRange range = given_[i]->range;
  Type stated;
  static_cast<Shape&>(stated) = regrouped;
  stated.dtype = body_.type(args_[i].leaf).dtype;
  const ir::ValueId renamed =
      body_.emit(ir::Ascribe{stated, true}, {args_[i].leaf}, stated, stated.dtype, range, {range});
  if (same_dims(written, regrouped)) return tensor(renamed);
  ir::Rearrange opened;
  opened.pattern.left = {regrouped};
  opened.pattern.right = written;
  Read read;
  read.operands = {renamed};
  auto op = elaborated(body_, site_, read, std::move(opened));
  if (!op) return unknown_value();
  return tensor(body_.emit(std::move(*op), {renamed}, written, stated.dtype, range, {range}));
}

bool Instantiation::bind_types() {
  for (size_t i = 0; i < args_.size(); ++i)
    if (!bind_type(i)) return false;
  return true;
}

bool Instantiation::bind_type(size_t i) {
  const syntax::TypeExpr& written = *entity_.params[i].written;
  const std::string what = "the argument `" + entity_.params[i].name + "`";
  if (!dtype_of(written.name) && written.name != "float") {
    auto type = resolve_type(context(), written);
    if (!type) return false;
    args_[i] = fit(body_, args_[i], *type, given_[i]->range, {"E0303", "E0303", what});
    return true;
  }
  const Type actual = body_.type(args_[i].leaf);
  return bind_dtype(written, actual, what, given_[i]->range) &&
         (actual.dtype == Dtype::number || bind_dims(written, actual, what, given_[i]->range));
}

bool Instantiation::bind_dtype(const syntax::TypeExpr& written, const Type& actual,
                               const std::string& what, SourceRange range) {
  std::optional<Dtype> wanted = dtype_of(written.name);
  if (!wanted) wanted = instance_.float_dtype;
  const bool number = actual.dtype == Dtype::number;
  if (number && (!wanted || (*wanted != Dtype::key && *wanted != Dtype::boolean))) return true;
  if (!wanted && is_float(actual.dtype)) {
    instance_.float_dtype = actual.dtype;
    return true;
  }
  if (wanted == actual.dtype) return true;
  Diagnostic& error = body_.error("E0104", range,
                                  what + " of `" + site_.name + "` is " + to_string(actual.dtype) +
                                      ", not " + (wanted ? to_string(*wanted) : "a float"));
  error.types = {to_string(actual)};
  if (!wanted) return false;
  error.fixes = casts(body_, range, *wanted);
  const auto fits = [&](const Type& other) {
    return other.dtype == *wanted && same_dims(other, actual);
  };
  append(error.fixes, other_values(body_, range, fits, parameter_at(range)));
  return false;
}

// Named dims must exist. `...` stands for all others, the same set in every argument.
bool Instantiation::bind_dims(const syntax::TypeExpr& written, const Type& actual,
                              const std::string& what, SourceRange range) {
  std::vector<Dim> named;
  bool rest = false;
  for (const syntax::SplitExpr& split : written.dims) {
    if (split.kind == syntax::SplitExpr::Kind::star) return true;
    if (split.kind == syntax::SplitExpr::Kind::ellipsis) {
      rest = true;
      continue;
    }
    auto dim = resolve_dim(context(), split);
    if (!dim) return false;
    named.push_back(*dim);
  }
  std::vector<Dim> others;
  for (const Split& split : actual.dims)
    if (std::find(named.begin(), named.end(), split.dim) == named.end())
      others.push_back(split.dim);
  for (const Dim& dim : named)
    if (!find(actual, dim)) {
      refuse(range, what + " has no dim `" + to_string(dim) + "`", actual);
      other_working_dims(dim, others);
      return false;
    }
  if (!rest && !others.empty())
    return refuse(range, what + " has the dim `" + to_string(others[0]) + "` too", actual);
  if (!rest) return true;
  if (!std::exchange(has_rest_, true)) {
    instance_.rest = others;
    return true;
  }
  const bool same = std::is_permutation(others.begin(), others.end(), instance_.rest.begin(),
                                        instance_.rest.end());
  return same || refuse(range, what + " has other dims than the first argument", actual);
}

bool Instantiation::refuse(SourceRange range, const std::string& message, const Type& actual) {
  Diagnostic& error = body_.error("E0305", range, "`" + site_.name + "`: " + message);
  error.types = {to_string(actual)};
  for (ir::ValueId id : instance_.arguments) error.types.push_back(to_string(body_.type(id)));
  if (body_.inferred()) return false;
  in_another_order(error);
  const Name param = parameter_at(range);
  const auto fits = [&](const Type& other) {
    return is_float(other.dtype) == is_float(actual.dtype) &&
           (other.dims.size() == instance_.rest.size() || actual.dims.empty());
  };
  append(error.fixes, other_values(body_, range, fits, param));
  return false;
}

/// `softmax("B L; Q", x)`: the dims that x has, in place of Q.
void Instantiation::other_working_dims(const Dim& missing, const std::vector<Dim>& others) {
  if (!site_.pattern || body_.inferred()) return;
  for (size_t i = 0; i < instance_.whole.size(); ++i)
    if (instance_.whole[i] == missing)
      for (const Dim& dim : others)
        body_.world.diagnostics.back().fixes.push_back(
            {"work on `" + to_string(dim) + "`",
             {{site_.pattern->working.at(i).range, to_string(dim)}},
             false,
             "",
             true});
}

Name Instantiation::parameter_at(SourceRange range) const {
  for (size_t i = 0; i < given_.size() && i < entity_.params.size(); ++i)
    if (given_[i]->range == range) return entity_.params[i].name;
  return "";
}

/// `sgd(w, lr, g)`: exchanges the refused argument with each other one, if that proves the plan.
void Instantiation::in_another_order(Diagnostic& error) const {
  std::string names;
  for (const Parameter& param : entity_.params) names += (names.empty() ? "" : ", ") + param.name;
  const std::string message = "the arguments stand in the order `" + names + "`";
  std::vector<SourceRange> list;
  for (const Argument& each : site_.args)
    if (!each.text && !each.dtype) list.push_back(each.range);
  const auto at = std::find(list.begin(), list.end(), error.range) - list.begin();
  if (static_cast<size_t>(at) < list.size())
    error.fixes = exchanged(body_, list, static_cast<size_t>(at), message);
  error.fixes.push_back({message, {}, false, ""});
}

TypeContext Instantiation::context() const {
  return {body_.world,          body_.world.files[entity_.file], false, &dims_, &instance_.rest,
          instance_.float_dtype};
}

std::vector<Values> call_generic(Body& body, const CallSite& site, const FunctionEntity& entity) {
  return Instantiation(body, site, entity).run();
}

}  // namespace shardproof::resolution
