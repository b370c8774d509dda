#include "spec/check/library_pattern.h"

#include <algorithm>
#include <set>

namespace shardproof {
namespace {

/// The pattern of a call and its arguments, as ranges of its text.
struct CallText {
  size_t pattern = 0, pattern_end = 0;
  std::vector<std::pair<size_t, size_t>> arguments;
};

std::optional<CallText> read_call(std::string_view text) {
  CallText call;
  const size_t open = text.find('(');
  if (open == text.npos || open + 1 >= text.size() || text[open + 1] != '"') return std::nullopt;
  call.pattern = open + 2;
  call.pattern_end = text.find('"', call.pattern);
  if (call.pattern_end == text.npos) return std::nullopt;
  size_t begin = call.pattern_end + 1;
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') i = std::min(text.find('"', i + 1), text.size() - 1);
    if (text[i] == '(' || text[i] == '[') ++depth;
    const bool ends = depth == 0 && (text[i] == ',' || text[i] == ')');
    if (ends && begin < i) {
      begin = text.find_first_not_of(' ', begin);
      if (begin < i) call.arguments.emplace_back(begin, i);
    }
    if (ends) begin = i + 1;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth < 0) return call;
  }
  return std::nullopt;
}

std::string joined(const std::vector<Shape>& left, const std::vector<Dim>& working) {
  std::string text;
  for (const Shape& shape : left) text += (text.empty() ? "" : ", ") + to_string(shape);
  text += working.empty() ? "" : ";";
  for (const Dim& dim : working) text += " " + to_string(dim);
  return text;
}

/// The pattern's dims with the axes and marks of the argument; none if they are other dims.
std::optional<Shape> with_axes(const Shape& written, const Type& type) {
  Shape result = written;
  if (written.dims.size() != type.dims.size()) return std::nullopt;
  for (size_t i = 0; i < written.dims.size(); ++i) result.dims[i].axes = type.dims[i].axes;
  result.marks = type.marks;
  return result;
}

}  // namespace

std::vector<Fix> fixes_of_library_pattern(const Sources& sources, const ir::Function& plan,
                                          const std::vector<Type>& types,
                                          const RefusedOp& refused) {
  if (!refused.instr || !refused.instr->library_call) return {};
  const ir::LibraryCall& call = plan.library_calls.at(*refused.instr->library_call);
  const SourceRange range = refused.instr->place.range;
  const auto* ascribed = std::get_if<ir::Ascribe>(&refused.instr->op);
  const bool bare = call.left.empty();  // `"; K"`: the operands are the arguments as they are
  if (range.file < 0 || call.right || (bare && ascribed)) return {};
  // An argument is refused where it stands, an op of the body at the call.
  SourceRange whole = range;
  if (ascribed) {
    const auto line = sources.text({range.file, 0, range.begin});
    const size_t at = line.rfind(call.function + "(\"");
    if (at == line.npos) return {};
    whole.begin = static_cast<uint32_t>(at);
    whole.end = static_cast<uint32_t>(sources.file(range.file).text.size());
  }
  const std::string_view text = sources.text(whole);
  const auto read = read_call(text);
  if (!read || read->arguments.size() < call.left.size()) return {};
  const auto place = [&](size_t begin, size_t end) {
    return SourceRange{whole.file, whole.begin + static_cast<uint32_t>(begin),
                       whole.begin + static_cast<uint32_t>(end)};
  };
  Fix fix{"", {}, false, ""};
  std::vector<Shape> left;
  const size_t operands = bare ? read->arguments.size() : call.left.size();
  for (size_t i = 0; i < operands && i < call.arguments.size(); ++i) {
    const Type& type = types.at(call.arguments[i].value);
    auto own = bare ? std::optional<Shape>(type) : with_axes(call.left[i], type);
    if (!own) return {};
    Shape gathered = *own;
    if (!ascribed)
      for (Split& split : gathered.dims)
        if (std::count(call.working.begin(), call.working.end(), split.dim)) split.axes.clear();
    if (!(gathered == *own)) {
      const auto [begin, end] = read->arguments[i];
      fix.edits.push_back(
          {place(begin, end), "all_gather(\"" + to_string(*own) + " -> " + to_string(gathered) +
                                  "\", " + std::string(text.substr(begin, end - begin)) + ")"});
    }
    left.push_back(gathered);
  }
  if (ascribed ? left == call.left : fix.edits.empty()) return {};
  fix.message = ascribed ? "state the argument's type in the pattern"
                         : "gather the operand of " + call.function;
  if (!bare)
    fix.edits.push_back({place(read->pattern, read->pattern_end), joined(left, call.working)});
  return {fix};
}

}  // namespace shardproof
