#include "spec/resolve/dump.h"

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

std::string bracketed(const Shape& shape, const std::optional<size_t>& at) {
  std::string text;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const std::string dim = to_string(shape.dims[i]);
    text += (i ? " " : "") + (at == i ? "[" + dim + "]" : dim);
  }
  const std::string marks = to_string(shape.marks);
  return text.empty() || marks.empty() ? text + marks : text + " " + marks;
}

std::string pattern_text(const ir::Pattern& pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.left.size(); ++i)
    text += (i ? ", " : "") + bracketed(pattern.left[i], i == pattern.bracket_operand
                                                             ? pattern.left_bracket
                                                             : std::nullopt);
  text += (text.empty() ? "-> " : " -> ") + bracketed(pattern.right, pattern.right_bracket);
  return (pattern.inferred ? " inferred \"" : " \"") + text + "\"";
}

class Dumper {
 public:
  Dumper(const ir::Program& program, const ir::Function& function)
      : program_(program), function_(function) {}

  std::string run() {
    text_ = (function_.kind == ir::Function::Kind::fn ? "fn " : "plan ") + function_.name;
    if (function_.model) text_ += " implements " + program_.functions[*function_.model].name;
    text_ += "(" + values(function_.params);
    if (!function_.saved_params.empty()) text_ += "; " + values(function_.saved_params);
    text_ += ")\n";
    assumptions();
    block(function_.body, 1);
    text_ += "  return " + ids(function_.returned) + "\n";
    return text_;
  }

 private:
  std::string value(ir::ValueId id) const {
    if (id >= function_.values.size()) return "%?";
    const ir::Value& value = function_.values[id];
    return "%" + std::to_string(id) + (value.name.empty() ? "" : " " + value.name) + ": " +
           to_string(value.type);
  }
  std::string values(const std::vector<ir::ValueId>& list) const {
    std::string text;
    for (ir::ValueId id : list) text += (text.empty() ? "" : ", ") + value(id);
    return text;
  }
  static std::string ids(const std::vector<ir::ValueId>& list) {
    std::string text;
    for (ir::ValueId id : list) text += (text.empty() ? "%" : ", %") + std::to_string(id);
    return text;
  }

  void assumptions() {
    for (const ir::Assumption& each : function_.assumptions)
      text_ += "  assume " + each.text(value(function_.params.at(each.leaf))) + "\n";
  }

  void block(const ir::Block& block, int indent) {
    const std::string space(static_cast<size_t>(2 * indent), ' ');
    for (const ir::Requirement& requirement : block.requirements)
      text_ += space + "require " + ir::to_string(requirement.condition) + "\n";
    for (const ir::Instr& instr : block.instrs) {
      text_ += space + values(instr.results) + " = " + ir::name_of(instr.op) + detail(instr.op);
      if (const ir::Pattern* pattern = ir::pattern_of(instr.op)) text_ += pattern_text(*pattern);
      text_ += " (" + ids(instr.operands) + ")";
      for (const std::string& name : instr.place.through) text_ += " in " + name;
      text_ += "\n";
      if (const ir::Block* body = body_of(instr.op)) {
        text_ += space + "  of " + values(body->params) + "\n";
        this->block(*body, indent + 1);
        text_ += space + "  next " + ids(body->next) + " emit " + ids(body->emit) + "\n";
      }
    }
  }

  std::string detail(const ir::Op& op) const {
    if (auto* number = std::get_if<ir::Number>(&op)) return " " + number->text;
    if (auto* size = std::get_if<ir::SizeOf>(&op)) return " |" + size->name + "|";
    if (auto* ascribe = std::get_if<ir::Ascribe>(&op)) return " " + to_string(ascribe->type);
    if (auto* entry = std::get_if<ir::Entry>(&op)) return " " + to_string(entry->dim);
    if (auto* call = std::get_if<ir::Call>(&op))
      return " " + program_.functions[call->function].name;
    if (auto* grad = std::get_if<ir::Grad>(&op))
      return " " + program_.functions[grad->function].name;
    if (auto* pipeline = std::get_if<ir::Pipeline>(&op)) return schedule(*pipeline);
    if (auto* iota = std::get_if<ir::Iota>(&op)) return " " + to_string(iota->created.shape);
    if (auto* zeros = std::get_if<ir::Zeros>(&op)) return " " + to_string(zeros->created.shape);
    if (auto* random = std::get_if<ir::Random>(&op)) return " " + to_string(random->created.shape);
    return "";
  }

  static std::string schedule(const ir::Pipeline& pipeline) {
    std::string text = " over " + pipeline.axis + " by " + pipeline.schedule + "(";
    for (const ir::Arith& argument : pipeline.arguments)
      text += (&argument == pipeline.arguments.data() ? "" : ", ") + ir::to_string(argument);
    return text + ")";
  }

  const ir::Program& program_;
  const ir::Function& function_;
  std::string text_;
};

}  // namespace

std::string dump(const ir::Program& program, const ir::Function& function) {
  return Dumper(program, function).run();
}

}  // namespace shardproof
