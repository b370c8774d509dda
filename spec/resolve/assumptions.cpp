#include "spec/resolve/assumptions.h"

#include <algorithm>

#include "spec/resolve/numbers.h"

namespace shardproof::resolution {
namespace {

std::string mirrored(const std::string& op) {
  if (op[0] == '<') return ">" + op.substr(1);
  if (op[0] == '>') return "<" + op.substr(1);
  return op;
}

bool is_path(const syntax::Expr& expr) {
  using Kind = syntax::Expr::Kind;
  return expr.kind == Kind::name || (expr.kind == Kind::field && is_path(expr.args.at(0)));
}

class AssumptionReader {
 public:
  AssumptionReader(Body& body, const syntax::Assume& assume) : body_(body), assume_(assume) {}

  std::optional<ir::Assumption> run() {
    std::optional<size_t> at;
    for (size_t i = 0; i < assume_.terms.size(); ++i)
      if (is_path(assume_.terms[i]) && !is_const(assume_.terms[i])) {
        if (at)
          return refuse(assume_.terms[i].range,
                        "an assumption is about one parameter, not about two");
        at = i;
      }
    if (!at)
      return refuse(assume_.range, "an assumption compares a parameter with sizes and numbers");
    ir::Assumption result;
    const auto leaf = parameter(assume_.terms[*at]);
    if (!leaf) return std::nullopt;
    result.leaf = *leaf;
    result.range = assume_.range;
    for (size_t i = 0; i < assume_.comparisons.size(); ++i)
      if (!bound(i, *at, result)) return std::nullopt;
    return result;
  }

 private:
  std::nullopt_t refuse(SourceRange range, const std::string& why) {
    Diagnostic& error = body_.error("E0109", range, "`assume` compares a parameter: " + why);
    error.fixes.push_back({"write `assume 0 <= y < |V|`, or `require` for sizes", {}, false, ""});
    return std::nullopt;
  }

  bool is_const(const syntax::Expr& expr) const {
    return expr.kind == syntax::Expr::Kind::name && body_.file().consts.count(expr.text);
  }

  std::optional<size_t> parameter(const syntax::Expr& expr) {
    const Values value = body_.one(expr);
    if (is_unknown(value)) return std::nullopt;
    if (value.is_record()) return refuse(expr.range, "this is a record: name one of its tensors");
    const std::vector<ir::ValueId>& params = body_.function.params;
    const auto found = std::find(params.begin(), params.end(), value.leaf);
    if (found == params.end()) return refuse(expr.range, "this is not a parameter");
    const Dtype dtype = body_.type(value.leaf).dtype;
    if (!is_float(dtype) && !is_integer(dtype))
      return refuse(expr.range, std::string("this is ") + to_string(dtype) + ", not a number");
    return static_cast<size_t>(found - params.begin());
  }

  // Comparison i is between terms i and i + 1. The term that is not the parameter is its bound.
  bool bound(size_t i, size_t at, ir::Assumption& result) {
    const bool left = i + 1 == at;
    const syntax::Expr& expr = assume_.terms[left ? i : i + 1];
    const std::string& op = assume_.comparisons[i];
    if (!left && i != at) {
      refuse(assume_.range, "in a chain of comparisons, the parameter is in the middle");
      return false;
    }
    auto to = arith(body_.world, expr, names_in(body_));
    if (!to) return false;
    if (!of_sizes(*to)) {
      refuse(expr.range, "a bound consists of sizes and numbers");
      return false;
    }
    const std::string text = ir::to_string(*to);
    if (left)
      result.before = text + " " + op + " ";
    else
      result.after = " " + op + " " + text;
    result.bounds.push_back({left ? mirrored(op) : op, std::move(*to)});
    return true;
  }

  static bool of_sizes(const ir::Arith& arith) {
    static const std::vector<std::string> numbers = {"+", "-", "*", "/", "//", "%", "neg"};
    const bool here = arith.kind == ir::Arith::Kind::op
                          ? std::count(numbers.begin(), numbers.end(), arith.text) > 0
                          : arith.kind != ir::Arith::Kind::value;
    return here && std::all_of(arith.args.begin(), arith.args.end(), of_sizes);
  }

  Body& body_;
  const syntax::Assume& assume_;
};

}  // namespace

std::optional<ir::Assumption> assumption_of(Body& body, const syntax::Assume& assume) {
  return AssumptionReader(body, assume).run();
}

void check_assumed_parameters(Body& body) {
  const ir::Function& f = body.function;
  const size_t before = body.world.errors();
  for (const ir::Assumption& each : body.world.program.assumptions(f)) {
    if (each.leaf >= f.params.size()) continue;
    const ir::Value& param = f.values[f.params[each.leaf]];
    for (const auto& [axis, mark] : param.type.marks) {
      if (mark != Mark::U && mark != Mark::Max) continue;
      if (body.world.errors() > before) return;
      Diagnostic& error =
          body.error("E0109", param.range,
                     "`" + param.name + "` is " + (mark == Mark::U ? "a sum" : "a maximum") +
                         " over " + axis + ", and its model assumes " + each.text(param.name),
                     "no device has its entries");
      error.notes.push_back({each.range, "assumed here"});
      error.fixes.push_back({"reduce it before the call: remove the mark", {}, false, ""});
    }
  }
}

}  // namespace shardproof::resolution
