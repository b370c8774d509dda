// One op as an expression.
#include <algorithm>

#include "spec/grad/write.h"

namespace shardproof::grad {
namespace {

// How tight an expression binds: or, and, not, compare, sum, term, unary, atom.
enum Level { is_or, is_and, is_not, is_comparison, is_sum, is_product, is_negation, atom = 9 };

Level level_of(ir::Binds binds) {
  switch (binds) {
    case ir::Binds::disjunctions:
      return is_or;
    case ir::Binds::conjunctions:
      return is_and;
    case ir::Binds::comparisons:
      return is_comparison;
    case ir::Binds::sums:
      return is_sum;
    case ir::Binds::products:
      return is_product;
    case ir::Binds::call:
      break;
  }
  return atom;
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

std::string Writer::dim(const Dim& dim) {
  Dim named;
  for (const Name& name : dim.factors) {
    const auto known = program_.dims.find(name);
    const bool is_dim = known != program_.dims.end();
    if (is_dim && known->second.local) declare(name);
    if (is_dim && !known->second.local) file_dims_.insert(name);
    const auto local = local_dims_.find(name);
    named.factors.push_back(local == local_dims_.end() ? name : local->second);
  }
  return to_string(named);
}

/// What a local dim is called here.
const Name& Writer::own_name(const Name& name) {
  if (const auto known = local_dims_.find(name); known != local_dims_.end()) return known->second;
  const ir::DimInfo& info = program_.dims.at(name);
  Name own = info.shown.empty() ? name : info.shown;
  for (int n = 2;; ++n) {
    bool taken = program_.axes.count(own) > 0;
    const auto known = program_.dims.find(own);
    taken = taken || (known != program_.dims.end() && !known->second.local);
    for (const auto& [unused, used] : local_dims_) taken = taken || used == own;
    if (!taken) break;
    own = info.shown + std::to_string(n);
  }
  return local_dims_[name] = own;
}

/// A dim of a body is a dim of this body too.
void Writer::declare(const Name& name) {
  if (local_dims_.count(name)) return;
  const Name own = own_name(name);
  const std::string text = definition(program_.dims.at(name));
  dim_lines_ += "    dim " + own + text + "\n";
}

/// " = 4*|M|", or nothing.
std::string Writer::definition(const ir::DimInfo& info) {
  if (info.size) return " = " + size(*info.size);
  return info.of.empty() ? "" : " = " + dim(Dim{info.of});
}

std::string Writer::dims_beside(const std::vector<Name>& declared) {
  std::string text;
  std::set<Name> done(declared.begin(), declared.end());
  while (true) {
    const auto next = std::find_if(file_dims_.begin(), file_dims_.end(),
                                   [&](const Name& name) { return !done.count(name); });
    if (next == file_dims_.end()) return text;
    done.insert(*next);
    text += "dim " + *next + definition(program_.dims.at(*next)) + "\n";  // it may name others
  }
}

std::string Writer::size(const ir::Arith& arith) {
  ir::Arith named = arith;
  const auto rename = [&](auto& self, ir::Arith& each) -> void {
    if (each.kind == ir::Arith::Kind::size) each.text = dim(Dim{{each.text}});
    for (ir::Arith& arg : each.args) self(self, arg);
  };
  rename(rename, named);
  return ir::to_string(named);
}

std::string Writer::shape(const Shape& shape, std::optional<size_t> bracket) {
  std::string text;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    std::string split = dim(shape.dims[i].dim);
    for (const Axis& axis : shape.dims[i].axes) split += "/" + axis;
    text += (text.empty() ? "" : " ") + (bracket == i ? "[" + split + "]" : split);
  }
  const std::string marks = to_string(shape.marks);
  return text.empty() || marks.empty() ? text + marks : text + " " + marks;
}

std::string Writer::type_text(const Type& type) {
  Shape dims;
  dims.dims = type.dims;
  return std::string(to_string(type.dtype)) + "[" + shape(dims) + "]" + to_string(type.marks);
}

std::string Writer::pattern(const ir::Pattern& pattern, bool result) {
  std::string text;
  for (size_t i = 0; i < pattern.left.size(); ++i)
    text +=
        (i ? ", " : "") +
        shape(pattern.left[i], i == pattern.bracket_operand ? pattern.left_bracket : std::nullopt);
  return result ? text + " -> " + shape(pattern.right, pattern.right_bracket) : text;
}

std::string Writer::args(const Node& node) {
  std::string text;
  for (Ref ref : node.operands) text += (text.empty() ? "" : ", ") + expression(ref).text;
  return text;
}

Writer::Text Writer::render(const Node& node) {
  if (auto* op = std::get_if<ir::Op>(&node.op)) return render(*op, node);
  return call(std::get<CallText>(node.op), node);
}

Writer::Text Writer::call(const CallText& call, const Node& node) {
  std::string text = call.function + "(";
  if (!call.left.empty() || call.right || !call.working.empty()) {
    std::string inside;
    for (const Shape& left : call.left) inside += (inside.empty() ? "" : ", ") + shape(left);
    if (call.right) inside += " -> " + shape(*call.right);
    if (!call.working.empty()) {
      inside += ";";
      for (const Dim& each : call.working) inside += " " + dim(each);
    }
    text += quoted(inside) + (node.operands.empty() ? "" : ", ");
  }
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Name& keyword = call.keywords[i];
    text += (i ? ", " : "") + (keyword.empty() ? "" : keyword + "=") +
            expression(node.operands[i]).text;
  }
  return {text + ")", atom};
}

/// One op of the graph as an expression: an op without a function of its own here is its name, its
/// pattern if it has one, and its operands.
class Writer::OpText {
 public:
  OpText(Writer& writer, const ir::Op& op, const Node& node) : w_(writer), op_(op), node_(node) {}

  Text text() {
    return std::visit(
        [&](const auto& each) -> Text {
          if constexpr (requires { (*this)(each); })
            return (*this)(each);
          else if constexpr (requires { each.pattern; })
            return with(each.pattern, w_.args(node_));
          else
            return plain();
        },
        op_);
  }

  Text operator()(const ir::Number& op) {
    return {op.text, op.text[0] == '-' ? is_negation : atom};
  }
  Text operator()(const ir::SizeOf& op) {
    return {"|" + (op.axis ? op.name : w_.dim(Dim{{op.name}})) + "|", atom};
  }
  Text operator()(const ir::Unary& op) {
    if (op.fn == ir::UnaryFn::neg) return {"-" + w_.operand(node_.operands[0], atom), is_negation};
    if (op.fn == ir::UnaryFn::logical_not)
      return {"not " + w_.operand(node_.operands[0], is_comparison), is_not};
    return plain();
  }
  Text operator()(const ir::Binary& op) {
    const Level level = level_of(binds(op.fn));
    if (level == atom) return plain();
    const int left = level == is_comparison ? is_sum : level, right = level + 1;
    return {w_.operand(node_.operands[0], left) + " " + ir::name_of(op_) + " " +
                w_.operand(node_.operands[1], right),
            level};
  }
  Text operator()(const ir::Cast& op) { return {to_string(op.to) + ("(" + arg(0)) + ")", atom}; }
  Text operator()(const ir::Fold& op) {
    return {"fold(" + arg(0) + ", " + (op.tag ? quoted(*op.tag) : arg(1)) + ")", atom};
  }
  Text operator()(const ir::Einsum& op) { return with(op.pattern, w_.args(node_) + to(op.to)); }
  Text operator()(const ir::Reduce& op) { return with(op.pattern, w_.args(node_) + to(op.to)); }
  Text operator()(const ir::Read& op) { return with(op.pattern, arg(0) + ", at=" + arg(1)); }
  Text operator()(const ir::Write& op) {
    return with(op.pattern, arg(0) + ", " + arg(1) + ", at=" + arg(2));
  }
  Text operator()(const ir::Roll& op) { return with(op.pattern, arg(0) + ", by=" + arg(1)); }
  Text operator()(const ir::Ppermute& op) { return with(op.pattern, arg(0) + ", by=" + arg(1)); }
  Text operator()(const ir::Iota& op) {
    const std::string which = w_.dim(op.created.shape.dims.at(op.dim).dim);
    const bool one = op.created.shape.dims.size() == 1;
    return called(quoted(dims(op.created) + (one ? "" : "; " + which)));
  }
  Text operator()(const ir::Random& op) { return called(quoted(dims(op.created)) + ", " + arg(0)); }
  Text operator()(const ir::Zeros&) { return called(w_.type_text(node_.types[0])); }
  Text operator()(const ir::Ordered& op) {
    const std::string which = w_.dim(op.pattern.left.at(0).dims.at(op.dim).dim);
    return called(quoted(w_.pattern(op.pattern, false) + "; " + which) + ", " + arg(0));
  }
  /// A field that is R on a marked axis is kept on its device 0, so that it counts once.
  Text operator()(const ir::Total& op) {
    std::string text;
    for (const Ref& each : node_.operands) {
      Shape to = type_of(each);
      to.marks.insert(op.marks.begin(), op.marks.end());
      const std::string summand = w_.operand(each, is_sum + 1);
      text += text.empty() ? "" : " + ";
      text += to == type_of(each)
                  ? summand
                  : "zero_nonroot(" + quoted(w_.shape(type_of(each)) + " -> " + w_.shape(to)) +
                        ", " + w_.operand(each, 0) + ")";
    }
    return {text, node_.operands.size() > 1 ? int{is_sum} : int{atom}};
  }
  Text operator()(const ir::Entry&) {
    return {w_.operand(node_.operands[0], atom) + "[" + arg(1) + "]", atom};
  }

 private:
  Text called(const std::string& inside) {
    return {std::string(ir::name_of(op_)) + "(" + inside + ")", atom};
  }
  Text plain() { return called(w_.args(node_)); }
  Text with(const ir::Pattern& pattern, const std::string& rest) {
    return called(quoted(w_.pattern(pattern)) + ", " + rest);
  }
  std::string arg(size_t i) { return w_.expression(node_.operands.at(i)).text; }
  std::string dims(const ir::Created& created) {
    Shape dims;
    dims.dims = created.shape.dims;
    return w_.shape(dims);
  }
  static std::string to(const std::optional<Dtype>& dtype) {
    return dtype ? std::string(", to=") + to_string(*dtype) : "";
  }

  Writer& w_;
  const ir::Op& op_;
  const Node& node_;
};

Writer::Text Writer::render(const ir::Op& op, const Node& node) {
  return OpText(*this, op, node).text();
}

}  // namespace shardproof::grad
