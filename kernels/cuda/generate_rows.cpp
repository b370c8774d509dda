#include "kernels/cuda/generate_rows.h"

#include "kernels/cuda/step_text.h"

namespace shardproof {
namespace {

constexpr const char* real_type = "float";

std::string digits(int64_t value) { return std::to_string(value); }
std::string lettered(const char* letter, size_t i) { return letter + std::to_string(i); }
std::string type_of(bool real) { return real ? real_type : "int64_t"; }

const char* reduction_name(RowFn fn) {
  return fn == RowFn::sum ? "RowSum" : fn == RowFn::maximum ? "RowMaximum" : "RowLogSumExp";
}
int reduction_width(RowFn fn) { return fn == RowFn::log_sum_exp ? 2 : 1; }

/// Writes a Program of row_kernel.h. Registers are r<k>, of a thread or in `kept` for its row.
/// Constants are written where they are read.
class RowsWriter {
 public:
  explicit RowsWriter(const Rowwise& op)
      : op_(op), phases_(phases_of(op)), shape_(shape_of(op, phases_)) {}

  GeneratedRows write() const {
    GeneratedRows made;
    made.shape = shape_;
    const bool wide = shape_.length % shape_.wide == 0;
    made.source = "#include \"kernels/cuda/fused/row_kernel.h\"\n" +
                  named_text("namespace shardproof::SHARDPROOF_MACHINE {\n" + program() + "}\n" +
                                 kernel("NAME", 1) + (wide ? kernel("NAME_wide", shape_.wide) : ""),
                             "rows_", made.name);
    if (wide) made.wide_name = made.name + "_wide";
    return made;
  }

 private:
  struct Reduction {
    size_t to, from;  ///< registers
    RowFn fn;
    int at;  ///< in the level's sums
  };

  std::string kernel(const char* name, int64_t n) const {
    const std::string of = "<NAME_program, " + digits(n);
    return std::string("SHARDPROOF_ROW_ENTRY(") + name + ", " +
           (shape_.flat ? "FlatRowKernel" + of : "RowKernel" + of + ", " + digits(shape_.team)) +
           ">)\n";
  }

  std::string program() const {
    std::string text =
        "struct NAME_program {\n  static constexpr int64_t rows = " + digits(shape_.rows) +
        ", length = " + digits(shape_.length) +
        ";\n  static constexpr int columns = " + digits(shape_.columns) +
        ";\n  static constexpr bool in_shared = " + (shape_.in_shared ? "true" : "false") + ";\n" +
        kept() + "  template <class Level>\n  using Sums = Several<float, Level::width>;\n";
    for (size_t level = 1; level <= phases_.levels; ++level) text += sums(level);
    text += function("template <class Body>\n  SHARDPROOF_DEVICE void each_level(Body body) const",
                     each_level());
    text += function("SHARDPROOF_DEVICE void once(const RowOperands& operands, Kept& kept) const",
                     of_reach(Reach::all, 0, "0"));
    text += function(
        "SHARDPROOF_DEVICE void begin(const RowOperands& operands, int64_t row, Kept& kept) const",
        of_reach(Reach::row, 0, "row"));
    for (size_t level = 1; level <= phases_.levels; ++level) text += terms(level) + end(level);
    return text + entries() +
           function(
               "SHARDPROOF_DEVICE void row_outputs(const RowOperands& operands, int64_t row, "
               "const Kept& kept) const",
               row_outputs()) +
           "};\n";
  }

  /// Casts parameters to void, because they may be unused.
  static std::string function(const std::string& head, const std::string& body) {
    std::string text = "  " + head + " {\n";
    for (const char* name : {"body", "operands", "row", "kept", "columns", "i", "at"})
      if (head.find(std::string(" ") + name + ")") != std::string::npos ||
          head.find(std::string(" ") + name + ",") != std::string::npos)
        text += std::string("    (void)") + name + ";\n";
    return text + body + "  }\n";
  }

  bool is_step(size_t at) const { return at >= op_.inputs.size(); }
  const RowStep& step(size_t at) const { return op_.steps[at - op_.inputs.size()]; }
  bool is_constant(size_t at) const {
    return is_step(at) && step(at).along == RowFn::none &&
           step(at).step.fn == PointwiseFn::constant;
  }
  /// The expression that reads a register.
  std::string name(size_t at) const {
    if (is_constant(at)) return value(at);
    return (phases_.registers[at].reach == Reach::entry ? "r" : "kept.r") + text_of(at);
  }
  static std::string text_of(size_t at) { return std::to_string(at); }
  std::string value(size_t at) const {
    return step_text(
        step(at).step, real_type, [&](size_t from) { return name(from); }, "kept.by_zero");
  }

  std::string kept() const {
    std::string text = "  struct Kept {\n    bool by_zero;\n";
    for (size_t r = 0; r < phases_.registers.size(); ++r) {
      const RowPhases::Register& own = phases_.registers[r];
      if (own.needed && own.reach != Reach::entry && !is_constant(r))
        text += "    " + type_of(own.real) + " " + lettered("r", r) + ";\n";
    }
    return text + "  };\n";
  }

  /// The text for inputs and steps that are constant in a row, or everywhere, and that need the
  /// level.
  std::string of_reach(Reach reach, size_t level, const char* at) const {
    std::string text;
    for (size_t r = 0; r < phases_.registers.size(); ++r) {
      const RowPhases::Register& own = phases_.registers[r];
      if (!own.needed || own.reach != reach || own.level != level || is_constant(r)) continue;
      if (is_step(r) && row_phases::reduces(step(r))) continue;
      text +=
          "    kept." + lettered("r", r) + " = " + (is_step(r) ? value(r) : load(r, at)) + ";\n";
    }
    return text;
  }
  std::string load(size_t k, const char* at) const {
    return load_text(op_.inputs[k].element, real_type, "operands.inputs[" + text_of(k) + "]", at);
  }

  std::vector<Reduction> reductions(size_t level) const {
    std::vector<Reduction> found;
    int width = 0;
    for (size_t r = op_.inputs.size(); r < phases_.registers.size(); ++r) {
      const RowPhases::Register& own = phases_.registers[r];
      if (!own.needed || own.level != level || !row_phases::reduces(step(r))) continue;
      found.push_back({r, step(r).step.arguments[0], step(r).along, width});
      width += reduction_width(step(r).along);
    }
    return found;
  }

  std::string each_level() const {
    std::string text;
    for (size_t level = 1; level <= phases_.levels; ++level)
      text += "    body(Level" + text_of(level) + "{});\n";
    return text;
  }

  /// The text of Level<l>: its accumulators, their initial values and combiners.
  std::string sums(size_t level) const {
    const std::string tag = lettered("Level", level), join = lettered("Join", level);
    int width = 0;
    std::string nothing, joined;
    for (const Reduction& each : reductions(level)) {
      const std::string own = reduction_name(each.fn), at = digits(each.at);
      nothing += "    " + own + "::nothing(sums.at + " + at + ");\n";
      joined += "      " + own + "::join(a.at + " + at + ", b.at + " + at + ");\n";
      width = each.at + reduction_width(each.fn);
    }
    return "  struct " + tag + " { static constexpr int width = " + digits(width) + "; };\n" +
           "  using Sums" + text_of(level) + " = Several<float, " + digits(width) + ">;\n" +
           "  SHARDPROOF_DEVICE Sums<" + tag + "> nothing(" + tag + ") const {\n    Sums<" + tag +
           "> sums;\n" + nothing + "    return sums;\n  }\n  struct " + join +
           " {\n    SHARDPROOF_DEVICE Sums" + text_of(level) + " operator()(Sums" + text_of(level) +
           " a, const Sums" + text_of(level) + "& b) const {\n" + joined +
           "      return a;\n    }\n  };\n  SHARDPROOF_DEVICE " + join + " join(" + tag +
           ") const { return {}; }\n";
  }

  /// The text that loads n adjacent entries of all inputs that the loop needs.
  std::string neighbours(size_t loop) const {
    std::string text;
    for (size_t k = 0; k < op_.inputs.size(); ++k)
      if (phases_.registers[k].in(loop))
        text += "    Neighbours<" + std::string(entry_type(op_.inputs[k].element)) + ", n> " +
                lettered("x", k) + ";\n    " + lettered("x", k) + ".load(operands.inputs[" +
                text_of(k) + "], " + (op_.inputs[k].per == Per::column ? "i" : "at") + ");\n";
    return text;
  }

  /// The text that computes entry j of n and then runs `then`.
  std::string each_entry(size_t loop, const std::string& then) const {
    std::string text = "    SHARDPROOF_UNROLL(8)\n    for (int j = 0; j < n; ++j) {\n";
    for (size_t r = 0; r < phases_.registers.size(); ++r) {
      if (!phases_.registers[r].in(loop)) continue;
      const std::string own = is_step(r) ? step(r).along == RowFn::column ? "i + j" : value(r)
                                         : load_text(op_.inputs[r].element, real_type,
                                                     lettered("x", r) + ".entries", "j");
      text += "      const " + type_of(phases_.registers[r].real) + " " + lettered("r", r) + " = " +
              own + ";\n";
    }
    return text + then + "    }\n";
  }

  std::string terms(size_t level) const {
    std::string before, within, after;
    for (const Reduction& each : reductions(level)) {
      const std::string own = lettered("t", each.to);
      before += "    float " + own + "[n];\n";
      within += "      " + own + "[j] = " + name(each.from) + ";\n";
      after += "    " + std::string(reduction_name(each.fn)) + "::add(sums.at + " +
               digits(each.at) + ", " + own + ");\n";
    }
    const std::string tag = lettered("Level", level);
    return function("template <int n>\n  SHARDPROOF_DEVICE void terms(" + tag +
                        ", const RowOperands& operands, int64_t i, int64_t at, Kept& kept, Sums<" +
                        tag + ">& sums) const",
                    neighbours(level) + before + each_entry(level, within) + after);
  }

  std::string end(size_t level) const {
    const std::string tag = lettered("Level", level);
    std::string results;
    for (const Reduction& each : reductions(level))
      results += "    kept." + lettered("r", each.to) + " = " + reduction_name(each.fn) +
                 "::result(sums.at + " + digits(each.at) + ");\n";
    return function("SHARDPROOF_DEVICE void end(" + tag +
                        ", const RowOperands& operands, int64_t row, const Sums<" + tag +
                        ">& sums, Kept& kept) const",
                    results + of_reach(Reach::row, level, "row"));
  }

  std::string entries() const {
    std::string before, within, after;
    int column = 0;
    for (size_t o = 0; o < op_.outputs.size(); ++o) {
      const Rowwise::Output& output = op_.outputs[o];
      const std::string y = lettered("y", o);
      if (output.per == Per::entry) {
        before += "    Neighbours<" + std::string(entry_type(output.element)) + ", n> " + y + ";\n";
        within +=
            "      " + store_text(output.element, y + ".entries", "j", name(output.from)) + ";\n";
        after += "    " + y + ".store(operands.outputs[" + text_of(o) + "], at);\n";
      } else if (output.per == Per::column) {
        before += "    float " + y + "[n];\n";
        within += "      " + y + "[j] = " + name(output.from) + ";\n";
        after += "    columns.add(" + digits(column++) + ", i, " + y + ");\n";
      }
    }
    return function(
        "template <int n>\n  SHARDPROOF_DEVICE void entries(const RowOperands& operands, int64_t "
        "i, int64_t at, Kept& kept, const RowColumns& columns) const",
        neighbours(0) + before + each_entry(0, within) + after);
  }

  std::string row_outputs() const {
    std::string text;
    for (size_t o = 0; o < op_.outputs.size(); ++o)
      if (op_.outputs[o].per == Per::row)
        text += "    " +
                store_text(op_.outputs[o].element, "operands.outputs[" + text_of(o) + "]", "row",
                           name(op_.outputs[o].from)) +
                ";\n";
    return text;
  }

  const Rowwise& op_;
  const RowPhases phases_;
  const RowShape shape_;
};

}  // namespace

GeneratedRows generate(const Rowwise& op) { return RowsWriter(op).write(); }

}  // namespace shardproof
