#include "kernels/cuda/step_text.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "kernels/fnv1a.h"

namespace shardproof {
namespace {

const char* fn_name(PointwiseFn fn) {
  using enum PointwiseFn;
  switch (fn) {
    case constant:
      return "constant";
    case where:
      return "where";
    case to_real:
      return "to_real";
    case to_integer:
      return "to_integer";
    case to_boolean:
      return "to_boolean";
    case round_f32:
      return "round_f32";
    case round_bf16:
      return "round_bf16";
    case PointwiseFn::fold:
      return "fold";
    case fold_tag:
      return "fold_tag";
#define SHARDPROOF_UNARY(id, ...) \
  case PointwiseFn::id:           \
    return #id;
#define SHARDPROOF_BINARY(id, ...) \
  case PointwiseFn::id:            \
    return #id;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function");
}

/// For two integers they take by_zero, to report a division by 0.
bool has_two_operands(PointwiseFn fn) {
#define SHARDPROOF_BINARY(id, ...) \
  if (fn == PointwiseFn::id) return true;
#include "spec/ir/pointwise.def"
  return false;
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
  switch (element) {
    case Element::f64:
      return "double";
    case Element::f32:
      return "float";
    case Element::bf16:
      return "uint16_t";
    case Element::i32:
      return "int32_t";
    case Element::u32:
      return "uint32_t";
    case Element::u8:
      return "uint8_t";
    case Element::u64:
      return "int64_t";
  }
  return "?";
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
  if (!step.real && has_two_operands(step.fn)) text += std::string(", ") + by_zero;
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
