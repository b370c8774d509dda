#include "kernels/cuda/step_text.h"

#include <cstdio>
#include <cstring>

#include "kernels/fnv1a.h"

namespace shardproof {
namespace {

const char* fn_name(PointwiseFn fn) {
  constexpr const char* names[] = {
      "constant",   "neg",  "logical_not", "exp",      "log",         "sqrt",       "rsqrt",
      "tanh",       "erf",  "sin",         "cos",      "abs",         "floor",      "add",
      "sub",        "mul",  "div",         "floordiv", "mod",         "eq",         "ne",
      "lt",         "gt",   "le",          "ge",       "logical_and", "logical_or", "maximum",
      "minimum",    "pow",  "where",       "to_real",  "to_integer",  "to_boolean", "round_f32",
      "round_bf16", "fold", "fold_tag"};
  return names[static_cast<size_t>(fn)];
}

std::string literal(const PointwiseStep& step, const char* real) {
  if (!step.real)
    return "static_cast<int64_t>(" +
           hex_text(static_cast<uint64_t>(static_cast<int64_t>(step.value))) + ")";
  uint64_t bits;
  std::memcpy(&bits, &step.value, sizeof bits);
  char comment[32];
  std::snprintf(comment, sizeof comment, " /* %g */", step.value);
  return std::string("static_cast<") + real + ">(f64_of(" + hex_text(bits) + "))" + comment;
}

std::string element_text(Element element) {
  return std::string("shardproof::Element::") + name_of(element);
}

}  // namespace

const char* entry_type(Element element) {
  constexpr const char* names[] = {"double",   "float",   "uint16_t", "int32_t",
                                   "uint32_t", "uint8_t", "int64_t"};
  return names[static_cast<size_t>(element)];
}

std::string hex_text(uint64_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llxull", static_cast<unsigned long long>(word));
  return text;
}

std::string named_text(std::string text, const char* prefix, std::string& name) {
  char hash[32];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(fnv1a(text)));
  name = std::string(prefix) + hash;
  for (size_t at = 0; (at = text.find("NAME", at)) != std::string::npos;) text.replace(at, 4, name);
  return text;
}

std::string step_text(const PointwiseStep& step, const char* real,
                      const std::function<std::string(size_t)>& name, const char* by_zero) {
  using enum PointwiseFn;
  if (step.fn == constant) return literal(step, real);
  std::string text = std::string("fn::") + fn_name(step.fn);
  if (step.fn == to_real) text += std::string("<") + real + ">";
  text += "(";
  for (size_t i = 0; i < step.arguments.size(); ++i)
    text += (i ? ", " : "") + name(step.arguments[i]);
  if (step.fn == floordiv || step.fn == mod) text += std::string(", ") + by_zero;
  if (step.fn == fold_tag) text += ", " + hex_text(fnv1a(step.tag));
  return text + ")";
}

std::string load_text(Element element, const char* real, const std::string& from,
                      const std::string& at) {
  return (is_real(element) ? std::string("load_real<") + real + ">(" : "load_integer(") +
         element_text(element) + ", " + from + ", " + at + ")";
}

std::string store_text(Element element, const std::string& to, const std::string& at,
                       const std::string& value) {
  return (is_real(element) ? "store_real(" : "store_integer(") + element_text(element) + ", " + to +
         ", " + at + ", " + value + ")";
}

}  // namespace shardproof
