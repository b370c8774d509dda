#include "spec/grad/signature.h"

#include <algorithm>

namespace shardproof::grad {
namespace {

std::string around(const ir::WrittenType& type, const Name& name, const Marks& marks) {
  std::string dims;
  for (const Split& split : type.dims) dims += (dims.empty() ? "" : " ") + to_string(split);
  return name + (dims.empty() ? "" : "[" + dims + "]") + to_string(marks);
}

}  // namespace

std::string Duals::text(const ir::WrittenType& type, const std::vector<Type>& leaves) {
  if (type.name.empty()) return writer_.type_text(leaves.at(0));
  return around(type, type.name, type.marks);
}

std::string Duals::dual_text(const ir::WrittenType& type, const std::vector<Type>& own,
                             const std::vector<Type>& wanted) {
  if (type.name.empty()) return writer_.type_text(wanted.at(0));
  // The record's own marks are not those of its fields.
  std::vector<Type> bare = own;
  for (Type& leaf : bare)
    for (const auto& [axis, mark] : type.marks) leaf.marks.erase(axis);
  const Marks& marks = wanted.at(0).marks;
  bool same = true;
  for (size_t i = 0; i < bare.size(); ++i) {
    Type with = bare[i];
    for (const auto& [axis, mark] : marks) with.marks[axis] = mark;
    same = same && with == wanted[i];
  }
  if (same) return around(type, type.name, marks);
  size_t next = 0;
  return layout(type, wanted, next, type.dims);
}

std::string Duals::layout(const ir::WrittenType& type, const std::vector<Type>& wanted,
                          size_t& next, const std::vector<Split>& dims) {
  std::string fields;
  const size_t front = dims.size();
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const Name& name = type.field_names[i];
    const ir::WrittenType& inner = type.fields[i];
    std::string text;
    if (inner.name.empty()) {
      Type leaf = wanted.at(next++);
      leaf.dims.erase(leaf.dims.begin(), leaf.dims.begin() + static_cast<std::ptrdiff_t>(front));
      text = writer_.type_text(leaf);
    } else {
      std::vector<Split> all = dims;
      all.insert(all.end(), inner.dims.begin(), inner.dims.end());
      text = layout(inner, wanted, next, all);
      // `layout` writes all dims in front; here only the field's own.
      ir::WrittenType own = inner;
      text = around(own, text.substr(0, text.find('[')), {});
    }
    fields += "    " + name + ": " + text + "\n";
  }
  auto [known, fresh] = known_.try_emplace(type.record + fields, "");
  if (fresh) {
    known->second = writer_.unique(type.record + "Gradient", nullptr);
    layouts_ += "layout " + known->second + " of " + type.record + " {\n" + fields + "}\n";
  }
  ir::WrittenType whole = type;
  whole.dims = type.dims;
  return around(whole, known->second, {});
}

}  // namespace shardproof::grad
