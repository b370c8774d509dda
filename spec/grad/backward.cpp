#include "spec/grad/backward.h"

#include <algorithm>

#include "spec/grad/signature.h"
#include "spec/grad/walk.h"
#include "spec/ir/claim.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace grad {
namespace {

class Deriver {
 public:
  Deriver(const ir::Program& program, const std::vector<std::vector<Type>>& types, size_t plan,
          std::vector<size_t> wrt)
      : program_(program),
        plan_(program.functions.at(plan)),
        types_(types.at(plan)),
        wrt_(std::move(wrt)),
        graph_(program),
        recording_(record(program, types, plan)),
        forward_(graph_, *recording_),
        walk_(forward_, axes()),
        writer_(graph_.dims, taken()),
        duals_(writer_) {}

  DerivedBackward run() {
    choose();
    mark_active(*recording_, wrt_);
    Context* context = forward_.open(recording_->top, graph_.top, nullptr);
    Pending pending{Emit(graph_, graph_.top), context, {}, {}};
    parameters(*context);
    seeds(pending);
    walk_.back(recording_->top, pending);
    std::vector<Writer::Result> results = gradients(pending);
    const std::string body = writer_.body(
        graph_.top, results, [this](const auto& type, const auto& own, const auto& duals) {
          return duals_.dual_text(type, own, duals);
        });
    const std::string declared = head(results);
    DerivedBackward derived;
    derived.name = name_;
    derived.gathers_again = writer_.gathers_again();
    derived.indices = writer_.indices();
    const std::string dims = writer_.dims_beside(plan_.dims);
    derived.text = canonical(dims + declared + " {\n" + body + "}\n");
    return derived;
  }

 private:
  /// The axes of the plan's file, without those of size 1.
  std::vector<Axis> axes() const {
    std::vector<Axis> result;
    for (const Axis& axis : plan_.axes) {
      const auto known = program_.axes.find(axis);
      if (known == program_.axes.end() || known->second.size != 1) result.push_back(axis);
    }
    return result;
  }

  std::set<Name> taken() const {
    std::set<Name> names;
    for (const auto& [name, value] : program_.consts) names.insert(name);
    for (const auto& [name, count] : plan_.param_groups) names.insert(name);
    for (const ir::Function& function : program_.functions)
      for (const auto* types : {&function.param_types, &function.result_types})
        for (const ir::WrittenType& type : *types) layouts_in(type, names);
    return names;
  }

  static void layouts_in(const ir::WrittenType& type, std::set<Name>& names) {
    if (!type.name.empty()) names.insert(type.name);
    for (const ir::WrittenType& field : type.fields) layouts_in(field, names);
  }

  /// Selects all float parameters if none were chosen; a record only if all of its leaves are
  /// floats.
  void choose() {
    size_t leaf = 0;
    std::vector<size_t> all;
    for (const auto& [name, count] : plan_.param_groups) {
      bool floats = true;
      for (size_t i = 0; i < count; ++i)
        floats = floats && is_float(types_[plan_.params[leaf + i]].dtype);
      for (size_t i = 0; i < count && floats; ++i) all.push_back(leaf + i);
      leaf += count;
    }
    everything_ = wrt_.empty() || wrt_ == all;
    if (wrt_.empty()) wrt_ = all;
    if (wrt_.empty())
      refuse("E0109", {plan_.name_range, {}, {}}, "`" + plan_.name + "` has no float parameter");
  }

  /// A parameter's leaf is written as its path: w.attn.ln.
  void parameters(Context& context) {
    for (size_t i = 0; i < plan_.params.size(); ++i) {
      const ir::ValueId v = plan_.params[i];
      const Ref ref = graph_.parameter(graph_.top, plan_.values[v].name, plain(types_[v]));
      writer_.set_name(ref, plan_.values[v].name);
      context.values[recording_->top.params[i]] = ref;
    }
  }

  void seeds(Pending& pending) {
    size_t leaf = 0;
    for (size_t r = 0; r < plan_.result_groups.size(); ++r) {
      const auto& [name, count] = plan_.result_groups[r];
      const Name wanted = plan_.result_groups.size() == 1 ? "g"
                          : name.empty()                  ? "g_" + std::to_string(r + 1)
                                                          : "g_" + name;
      const Name own = writer_.unique(wanted, nullptr);
      upstream_.push_back(own);
      for (size_t i = 0; i < count; ++i, ++leaf) {
        const ValueIndex v = recording_->top.out[leaf];
        Type type = plain(dual(plan_.results[leaf], axes()));
        const Ref g = graph_.parameter(graph_.top, own, type);
        const Name& path = plan_.result_names[leaf];
        // The path of a field follows the result's name; without a name, the path alone.
        const size_t dot = path.find('.');
        const Name field = dot == Name::npos ? "" : path.substr(dot);
        writer_.set_name(g, own + (name.empty() && !path.empty() ? "." + path : field));
        if (is_float(type.dtype)) walk_.give(v, without_padding(leaf, g, pending.emit), pending);
      }
    }
  }

  /// The model has no upstream gradient in the padding of a result: what is passed there counts 0.
  Ref without_padding(size_t leaf, Ref g, Emit& emit) const {
    if (!plan_.claim) return g;
    const Type& own = plan_.results[leaf];
    const Type& claimed = program_.functions[*plan_.claim].results.at(leaf);
    for (size_t at = 0; at < own.dims.size(); ++at) {
      const Dim& narrow = claimed.dims.at(at).dim;
      if (narrow == own.dims[at].dim) continue;
      Shape one;
      one.dims = {own.dims[at]};
      const Ref index = emit.iota(one, 0);
      const Ref inside = emit.binary(ir::BinaryFn::lt, index, emit.size(narrow));
      g = emit.where(inside, g, emit.number("0"));
    }
    return g;
  }

  /// In the order of `wrt`, which need not be that of the parameters.
  std::vector<Writer::Result> gradients(Pending& pending) {
    std::vector<Writer::Result> results;
    for (size_t at = 0; at < wrt_.size();) {
      size_t p = 0;
      while (first_leaf(plan_.param_groups, p) != wrt_[at]) ++p;
      const auto& [name, count] = plan_.param_groups[p];
      Writer::Result result{&plan_.param_types[p], {}, {}, {}, "g_" + name};
      for (size_t i = wrt_[at]; i < wrt_[at] + count; ++i) {
        result.leaves.push_back(walk_.take_or_zeros(recording_->top.params[i], pending));
        result.own.push_back(types_[plan_.params[i]]);
        result.duals.push_back(dual(result.own.back(), axes()));
      }
      results.push_back(std::move(result));
      chosen_.push_back(p);
      at += count;
    }
    return results;
  }

  size_t first_leaf(const std::vector<std::pair<Name, size_t>>& groups, size_t group) const {
    size_t leaf = 0;
    for (size_t i = 0; i < group; ++i) leaf += groups[i].second;
    return leaf;
  }

  std::string head(const std::vector<Writer::Result>& results) {
    const auto& claimed = ir::claimed_model(program_, plan_);
    const Name model = claimed ? program_.functions[*claimed].name : plan_.name;
    const Name stem = ir::identifier(plan_.name) + "_backward";
    name_ = stem;
    const auto exists = [&](const Name& name) {
      return std::any_of(program_.functions.begin(), program_.functions.end(),
                         [&](const ir::Function& each) { return each.name == name; });
    };
    for (int n = 2; exists(name_); ++n) name_ = stem + "_" + std::to_string(n);
    std::string wrt;
    for (size_t p : chosen_) wrt += (wrt.empty() ? " wrt " : ", ") + plan_.param_groups[p].first;
    std::string text = "plan " + name_ + " implements grad(" + model + (everything_ ? "" : wrt) +
                       ") after " + plan_.name + "(";
    text += parameters_text() + saved_text() + ") -> ";
    std::string duals;
    for (size_t i = 0; i < results.size(); ++i)
      duals += (i ? ", " : "") + results[i].name + ": " +
               duals_.dual_text(*results[i].type, results[i].own, results[i].duals);
    text += "(" + duals + ")";
    return duals_.layouts() + text;
  }

  std::string parameters_text() {
    std::string text;
    for (size_t p = 0; p < plan_.param_groups.size(); ++p) {
      const auto& [name, count] = plan_.param_groups[p];
      const size_t leaf = first_leaf(plan_.param_groups, p);
      std::vector<Type> leaves;
      for (size_t i = 0; i < count; ++i) leaves.push_back(types_[plan_.params[leaf + i]]);
      text += (p ? ", " : "") + name + ": " + duals_.text(plan_.param_types[p], leaves);
    }
    for (size_t r = 0; r < plan_.result_groups.size(); ++r) {
      const size_t leaf = first_leaf(plan_.result_groups, r);
      std::vector<Type> own, wanted;
      for (size_t i = 0; i < plan_.result_groups[r].second; ++i) {
        own.push_back(plan_.results[leaf + i]);
        wanted.push_back(dual(plan_.results[leaf + i], axes()));
      }
      text += (text.empty() ? "" : ", ") + upstream_[r] + ": " +
              duals_.dual_text(plan_.result_types[r], own, wanted);
    }
    return text;
  }

  std::string saved_text() {
    std::string text;
    for (Ref ref : forward_.saved())
      if (writer_.used(ref))
        text +=
            (text.empty() ? "; " : ", ") + name_of(ref) + ": " + writer_.type_text(type_of(ref));
    return text;
  }

  static std::string canonical(const std::string& text) {
    Sources sources;
    std::vector<Diagnostic> errors;
    const syntax::File file = syntax::parse(sources, sources.add("derived", text), errors);
    if (!errors.empty())
      throw Defect{"the derived text cannot be read: " + errors[0].message + "\n" + text};
    return syntax::print(file);
  }

  const ir::Program& program_;
  const ir::Function& plan_;
  const std::vector<Type>& types_;
  std::vector<size_t> wrt_;
  bool everything_ = false;
  Graph graph_;
  std::unique_ptr<Recording> recording_;
  Forward forward_;
  Walk walk_;
  Writer writer_;
  Duals duals_;
  Name name_;
  std::vector<Name> upstream_;
  std::vector<size_t> chosen_;
};

}  // namespace
}  // namespace grad

DerivedBackward derive_backward(const ir::Program& program,
                                const std::vector<std::vector<Type>>& types, size_t plan,
                                const std::vector<size_t>& wrt) {
  DerivedBackward result;
  try {
    return grad::Deriver(program, types, plan, wrt).run();
  } catch (const grad::Refused& refused) {
    result.refused = refused.diagnostic;
  } catch (const grad::Defect& defect) {
    Diagnostic diagnostic;
    diagnostic.code = "U0002";
    diagnostic.range = program.functions.at(plan).name_range;
    diagnostic.message = "the backward of `" + program.functions[plan].name +
                         "` could not be derived: " + defect.message;
    result.refused = std::move(diagnostic);
  }
  return result;
}

}  // namespace shardproof
