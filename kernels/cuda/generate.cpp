#include "kernels/cuda/generate.h"

#include <algorithm>

#include "kernels/cuda/step_text.h"

namespace shardproof {
namespace {

std::string number(int64_t value) { return std::to_string(value); }
std::string indexed(const char* letter, size_t i) { return letter + std::to_string(i); }

class Writer {
 public:
  explicit Writer(const Pointwise& op) : op_(op), nest_(coalesced(op.nest)) {}

  Generated write() {
    const std::string chain = compute(), body = kernels();
    result_.source = "#include \"kernels/cuda/pointwise_fns.h\"\n";
    result_.source += named_text(chain + body, "chain_", result_.name);
    if (wide_ > 1) result_.wide_name = result_.name + "_wide";
    return result_;
  }

 private:
  const char* real() const { return op_.f64 ? "double" : "float"; }
  std::string register_type(bool is_real) const { return is_real ? real() : "int64_t"; }

  /// The text of the function of one entry per input.
  std::string compute() const {
    std::string text = "namespace shardproof::SHARDPROOF_MACHINE {\nSHARDPROOF_DEVICE inline " +
                       register_type(is_real(op_.output)) + " NAME_entry(";
    for (size_t k = 0; k < op_.inputs.size(); ++k)
      text += register_type(is_real(op_.inputs[k])) + " " + indexed("r", k) + ", ";
    text += "bool& by_zero) {\n";
    for (size_t k = 0; k < op_.inputs.size(); ++k) text += "  (void)" + indexed("r", k) + ";\n";
    for (size_t i = 0; i < op_.steps.size(); ++i)
      text += "  const " + register_type(gives_real(op_.steps[i])) + " " +
              indexed("r", op_.inputs.size() + i) + " = " + value(op_.steps[i]) + ";\n" +
              "  (void)" + indexed("r", op_.inputs.size() + i) + ";\n";
    return text + "  (void)by_zero;\n  return " + indexed("r", op_.result()) + ";\n}\n}\n";
  }

  std::string value(const PointwiseStep& step) const {
    return step_text(step, real(), [](size_t at) { return indexed("r", at); });
  }

  std::string kernels() {
    const int64_t count = nest_.count();
    result_.items = count;
    wide_ = neighbours();
    std::string text = kernel("NAME", "  SHARDPROOF_EACH_ITEM(item, " + number(count) + ") {\n" +
                                          item(nest_, 1) + "  }\n");
    if (wide_ == 1) return text;
    const int64_t whole = count / wide_, rest = count % wide_;
    result_.wide_items = whole + (rest ? 1 : 0);
    Nest wide = nest_;
    wide.extents.back() = wide.inner() / wide_;
    std::string body =
        "  SHARDPROOF_EACH_ITEM(item, " + number(whole) + ") {\n" + item(wide, wide_) + "  }\n";
    if (rest)
      body += "  SHARDPROOF_EACH_ITEM(rest, " + number(rest) +
              ") {\n    const int64_t item = rest + " + number(whole * wide_) + ";\n" +
              item(nest_, 1) + "  }\n";
    return text + kernel("NAME_wide", body);
  }

  std::string kernel(const std::string& name, const std::string& body) const {
    std::string text = "SHARDPROOF_ENTRY " + name + "(void* out, ";
    for (size_t k = 0; k < op_.inputs.size(); ++k) text += "const void* " + indexed("in", k) + ", ";
    return text +
           "shardproof::Fault* fault, int64_t step) {\n  using namespace "
           "shardproof::SHARDPROOF_MACHINE;\n  bool by_zero = false;\n" +
           body +
           "  if (by_zero) Report{fault, step}.leave(shardproof::Fault::division, 0, 0);\n}\n";
  }

  /// The number of contiguous entries per thread: 16 bytes of the largest element, so that
  /// neighbouring threads take neighbouring words.
  int64_t neighbours() const {
    if (nest_.extents.empty() || nest_.count() == 0 || nest_.inner_stride(0) != 1) return 1;
    size_t largest = size_of(op_.output);
    for (size_t k = 0; k < op_.inputs.size(); ++k) {
      if (nest_.inner_stride(k + 1) == 0) continue;
      if (nest_.inner_stride(k + 1) != 1) return 1;
      largest = std::max(largest, size_of(op_.inputs[k]));
    }
    const int64_t n = std::min<int64_t>(8, static_cast<int64_t>(16 / largest));
    if (nest_.extents.size() == 1) return nest_.inner() < n ? 1 : n;
    if (nest_.inner() % n != 0) return 1;
    for (size_t k = 0; k <= op_.inputs.size(); ++k)
      for (size_t d = 0; nest_.inner_stride(k) == 1 && d + 1 < nest_.extents.size(); ++d)
        if (nest_.strides[k][d] % n != 0) return 1;
    return n;
  }

  /// The text that computes an item: `wide` adjacent entries in the innermost loop of `nest`.
  std::string item(const Nest& nest, int64_t wide) const {
    std::string text = places(nest, wide);
    for (size_t k = 0; k < op_.inputs.size(); ++k)
      if (wide > 1 && nest.inner_stride(k + 1) == 1)
        text += "    Neighbours<" + std::string(entry_type(op_.inputs[k])) + ", " + number(wide) +
                "> " + indexed("x", k) + ";\n    " + indexed("x", k) + ".load(" + indexed("in", k) +
                ", " + indexed("at", k + 1) + ");\n";
      else
        text += "    const " + register_type(is_real(op_.inputs[k])) + " " + indexed("x", k) +
                " = " + load(op_.inputs[k], indexed("in", k), indexed("at", k + 1)) + ";\n";
    if (wide == 1) return text + "    " + store("out", "at0", nest, 1) + ";\n";
    return text + "    Neighbours<" + entry_type(op_.output) + ", " + number(wide) +
           "> y;\n    SHARDPROOF_UNROLL(8)\n    for (int j = 0; j < " + number(wide) +
           "; ++j)\n      " + store("y.entries", "j", nest, wide) + ";\n    y.store(out, at0);\n";
  }

  std::string load(Element element, const std::string& from, const std::string& at) const {
    return load_text(element, real(), from, at);
  }

  std::string store(const char* to, const char* at, const Nest& nest, int64_t wide) const {
    std::string entry = "NAME_entry(";
    for (size_t k = 0; k < op_.inputs.size(); ++k)
      entry += (wide > 1 && nest.inner_stride(k + 1) == 1
                    ? load(op_.inputs[k], indexed("x", k) + ".entries", "j")
                    : indexed("x", k)) +
               ", ";
    return store_text(op_.output, to, at, entry + "by_zero)");
  }

  /// The text that declares at<k>, the offset of operand k at the item.
  std::string places(const Nest& nest, int64_t wide) const {
    const bool narrow = nest.count() <= INT32_MAX;
    const std::string type = narrow ? "uint32_t" : "int64_t";
    std::string text =
        "    " + type + " left = static_cast<" + type + ">(item);\n    (void)left;\n";
    for (size_t d = nest.extents.size(); d-- > 0;) {
      const std::string extent =
          number(std::max<int64_t>(nest.extents[d], 1)) + (narrow ? "u" : "");
      text += "    const int64_t " + indexed("i", d) + " = " + (d ? "left % " + extent : "left") +
              ";\n";
      if (d) text += "    left /= " + extent + ";\n";
    }
    for (size_t k = 0; k <= op_.inputs.size(); ++k) {
      text += "    const int64_t " + indexed("at", k) + " = 0";
      for (size_t d = 0; d < nest.extents.size(); ++d) {
        const bool inner = d + 1 == nest.extents.size();
        const int64_t stride = nest.strides[k][d] * (inner ? wide : 1);
        if (stride) text += " + " + indexed("i", d) + " * " + number(stride);
      }
      text += ";\n";
    }
    for (size_t d = 0; d < nest.extents.size(); ++d) text += "    (void)" + indexed("i", d) + ";\n";
    return text;
  }

  const Pointwise& op_;
  const Nest nest_;
  int64_t wide_ = 1;
  Generated result_;
};

}  // namespace

Generated generate(const Pointwise& op) { return Writer(op).write(); }

}  // namespace shardproof
