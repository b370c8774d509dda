#include "spec/check/after.h"

#include <algorithm>
#include <map>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// In a backward nothing is differentiated, so the copies R and I are equal.
bool same_type(const ir::Program& program, Type a, Type b) {
  for (Type* type : {&a, &b})
    std::erase_if(type->marks, [](const auto& mark) { return mark.second == Mark::I; });
  return a.dtype == b.dtype && a.marks == b.marks &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [&](const Split& x, const Split& y) {
                      return program.same_dim(x.dim, y.dim) && x.axes == y.axes;
                    });
}

class After {
 public:
  After(const ir::Program& program, const ir::Function& backward, const std::vector<Type>& types)
      : program_(program),
        backward_(backward),
        plan_(program.functions.at(*backward.after)),
        types_(types) {}

  std::vector<Diagnostic> run() {
    const size_t count = plan_.params.size();
    for (size_t i = 0; i < backward_.params.size(); ++i) {
      const bool gradient = i >= count;
      if (gradient && i - count >= plan_.results.size()) break;
      const Type wanted = gradient ? dual(plan_.results[i - count], plan_.axes) : taken(i);
      const std::string why = gradient ? "the dual of what `" + plan_.name + "` gives there, "
                                       : "`" + plan_.name + "` takes ";
      compare(backward_.params[i], wanted,
              why + to_string(gradient ? plan_.results[i - count] : wanted));
    }
    saved();
    for (size_t r = 0; r < backward_.results.size() && r < backward_.wrt.size(); ++r)
      result(r, taken(backward_.wrt[r]));
    return std::move(diagnostics_);
  }

 private:
  const Type& taken(size_t i) const { return plan_.values.at(plan_.params.at(i)).type; }

  void saved() {
    std::map<Name, ir::ValueId> kept;
    for_each_instr(plan_.body, [&](const ir::Instr& instr) {
      if (!std::holds_alternative<ir::Save>(instr.op) || instr.results.empty()) return;
      kept.emplace(plan_.values.at(instr.results[0]).name, instr.results[0]);
    });
    for (ir::ValueId v : backward_.saved_params)
      if (auto found = kept.find(backward_.values.at(v).name); found != kept.end())
        compare(v, types_.at(found->second),
                "`" + plan_.name + "` saves " + to_string(types_.at(found->second)));
  }

  void compare(ir::ValueId v, const Type& wanted, const std::string& why) {
    const ir::Value& value = backward_.values.at(v);
    if (!same_type(program_, value.type, wanted))
      tell(value.range, "`" + value.name + "`", value.type, wanted, why);
  }
  void result(size_t r, const Type& taken) {
    const Type &own = backward_.results[r], wanted = dual(taken, plan_.axes);
    if (same_type(program_, own, wanted)) return;
    const Name name = r < backward_.result_names.size() ? backward_.result_names[r] : "";
    tell(backward_.name_range, name.empty() ? "a result" : "the result `" + name + "`", own, wanted,
         "the dual of what `" + plan_.name + "` takes, " + to_string(taken));
  }

  void tell(SourceRange range, const std::string& what, const Type& own, const Type& wanted,
            const std::string& why) {
    Diagnostic diagnostic;
    diagnostic.code = "E0114";
    diagnostic.range = range.file >= 0 ? range : backward_.name_range;
    diagnostic.message = what + " is " + to_string(own) + ", and after `" + plan_.name +
                         "` it is " + to_string(wanted);
    diagnostic.label = "not " + to_string(wanted);
    diagnostic.types = {to_string(own), to_string(wanted)};
    diagnostic.details = {why};
    diagnostic.notes.push_back({plan_.name_range, "`" + plan_.name + "` is here"});
    diagnostics_.push_back(std::move(diagnostic));
  }

  const ir::Program& program_;
  const ir::Function &backward_, &plan_;
  const std::vector<Type>& types_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> other_types_than_after(const ir::Program& program,
                                               const ir::Function& backward,
                                               const std::vector<Type>& types) {
  return After(program, backward, types).run();
}

}  // namespace shardproof
