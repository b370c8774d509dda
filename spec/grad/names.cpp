#include "spec/grad/names.h"

#include <algorithm>
#include <map>
#include <set>

#include "spec/elaborate/elaborate.h"

namespace shardproof::grad {
namespace {

/// A name that a text can use, and the factors that it covers: H covers K and D; an alias of H is
/// one name for two factors.
struct Word {
  Name name;
  size_t at, count;  ///< factors of the shape
};

void append(const ir::Program& program, const Name& name, std::vector<Word>& words) {
  const auto found = program.dims.find(name);
  if (found != program.dims.end() && found->second.kind == ir::DimInfo::Kind::group) {
    for (const Name& factor : found->second.of) append(program, factor, words);
    return;
  }
  const size_t at = words.empty() ? 0 : words.back().at + words.back().count;
  words.push_back({name, at, elaborate::factors(program, Dim{{name}}).size()});
}

std::vector<Word> words_of(const ir::Program& program, const Shape& shape) {
  std::vector<Word> words;
  for (const Split& split : shape.dims)
    for (const Name& name : split.dim.factors) append(program, name, words);
  return words;
}

bool is_number(const Name& name) { return name.empty() || (name[0] >= '0' && name[0] <= '9'); }

class Namer {
 public:
  Namer(ir::Program& dims, const ir::Op& op, const ir::Indices& in,
        const std::vector<Shape>& operands, const Shape& right)
      : dims_(dims), in_(in), operands_(operands), right_(right), names_(in.all.size()) {
    // If one side has an index that the other lacks, a bracket gets its own name.
    replaces_ = std::holds_alternative<ir::Read>(op) || std::holds_alternative<ir::TopK>(op);
    for (const Positions& left : in.left) flats_.push_back(flat(left));
    flats_.push_back(flat(in.right));
    for (const Shape& operand : operands) own_.push_back(words_of(dims, operand));
    wanted_ = words_of(dims, right);
  }

  bool run() {
    own_.push_back(wanted_);
    for (size_t i = 0; i < own_.size(); ++i) {
      const size_t count = own_[i].empty() ? 0 : own_[i].back().at + own_[i].back().count;
      if (count != flats_[i].size()) return false;
    }
    own_.pop_back();
    take(wanted_, flats_.back());
    for (ir::IndexId id : used())
      if (!names_[id]) take_written(id);
    for (size_t i = 0; i < own_.size(); ++i) take(own_[i], flats_[i]);
    for (ir::IndexId id : used())
      if (!names_[id] && !take_new(id)) return false;
    return true;
  }

  Shape left(size_t operand) const {
    return written(in_.left[operand], operands_[operand], {&operands_[operand]});
  }
  Shape right() const {
    std::vector<const Shape*> like{&right_};
    for (const Shape& operand : operands_) like.push_back(&operand);
    return written(in_.right, right_, like);
  }

 private:
  struct Given {
    Name name;
    size_t offset, count;
  };
  using Run = std::vector<ir::IndexId>;

  std::vector<ir::IndexId> used() const {
    std::vector<ir::IndexId> result;
    for (const Run& ids : flats_)
      for (ir::IndexId id : ids)
        if (std::find(result.begin(), result.end(), id) == result.end()) result.push_back(id);
    return result;
  }

  bool bracketed(ir::IndexId id) const { return in_.all[id].name.starts_with('['); }

  void take(const std::vector<Word>& words, const Run& ids) {
    for (const Word& word : words) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(word.at);
      const Run run(first, first + static_cast<std::ptrdiff_t>(word.count));
      const bool free = std::none_of(run.begin(), run.end(),
                                     [&](ir::IndexId id) { return names_[id].has_value(); });
      if (free && fits(word.name, run)) give(word.name, run);
    }
  }
  /// Prefers the name in the plan's own pattern.
  void take_written(ir::IndexId id) {
    Name name = in_.all[id].name;
    std::erase_if(name, [](char c) { return c == '[' || c == ']' || c == '\''; });
    if (fits(name, {id})) give(name, {id});
  }
  bool take_new(ir::IndexId id) {
    if (is_number(in_.all[id].dim)) return false;
    for (int n = 1;; ++n) {
      const auto name = other_name(dims_, in_.all[id].dim, n);
      if (!name || !fits(*name, {id})) continue;
      give(*name, {id});
      return true;
    }
  }
  void give(const Name& name, const Run& run) {
    for (size_t i = 0; i < run.size(); ++i) names_[run[i]] = Given{name, i, run.size()};
  }

  bool fits(const Name& name, const Run& run) const {
    return of_these_sizes(name, run) && is_free(name, run) && stands_whole(run) &&
           crosses_nothing(name, run);
  }
  bool of_these_sizes(const Name& name, const Run& run) const {
    if (!is_number(name) && !dims_.dims.count(name)) return false;
    const elaborate::Factors factors = elaborate::factors(dims_, Dim{{name}});
    return std::equal(factors.begin(), factors.end(), run.begin(), run.end(),
                      [&](const elaborate::Factor& factor, ir::IndexId id) {
                        return factor.dim == in_.all[id].dim;
                      });
  }
  bool is_free(const Name& name, const Run& run) const {
    for (ir::IndexId other = 0; other < names_.size(); ++other)
      if (names_[other] && names_[other]->name == name &&
          std::any_of(run.begin(), run.end(), [&](ir::IndexId id) { return meet(id, other); }))
        return false;
    return true;
  }
  /// Whether one name for both would make them one index. A bracket is not matched, but shares an
  /// operand with other positions.
  bool meet(ir::IndexId a, ir::IndexId b) const {
    if (replaces_ || (!bracketed(a) && !bracketed(b))) return true;
    return std::any_of(flats_.begin(), flats_.end(), [&](const Run& ids) {
      return std::count(ids.begin(), ids.end(), a) && std::count(ids.begin(), ids.end(), b);
    });
  }
  /// A name for several indices can be used only where all of them occur, in their order.
  bool stands_whole(const Run& run) const {
    if (run.size() == 1) return true;
    const auto whole = [&](const ir::Position& position) {
      const bool has = std::any_of(run.begin(), run.end(), [&](ir::IndexId id) {
        return std::count(position.begin(), position.end(), id) > 0;
      });
      return !has || std::search(position.begin(), position.end(), run.begin(), run.end()) !=
                         position.end();
    };
    return std::all_of(in_.right.begin(), in_.right.end(), whole) &&
           std::all_of(in_.left.begin(), in_.left.end(), [&](const Positions& left) {
             return std::all_of(left.begin(), left.end(), whole);
           });
  }
  /// Whether no operand has the name at another position.
  bool crosses_nothing(const Name& name, const Run& run) const {
    for (size_t i = 0; i < own_.size(); ++i) {
      const auto at = std::find(flats_[i].begin(), flats_[i].end(), run[0]);
      if (at == flats_[i].end()) continue;
      bool here = false, elsewhere = false;
      for (const Word& word : own_[i]) {
        if (word.name != name) continue;
        (word.at == static_cast<size_t>(at - flats_[i].begin()) ? here : elsewhere) = true;
      }
      if (elsewhere && !here) return false;
    }
    return true;
  }

  /// The name of a position if one of `like` has these names, else a group of them.
  Dim named(const ir::Position& position, const std::vector<const Shape*>& like) const {
    Dim dim;
    for (size_t i = 0; i < position.size(); i += names_[position[i]]->count)
      dim.factors.push_back(names_[position[i]]->name);
    for (const Shape* shape : like)
      for (const Split& split : shape->dims) {
        Shape one;
        one.dims = {split};
        std::vector<Name> names;
        for (const Word& word : words_of(dims_, one)) names.push_back(word.name);
        if (names == dim.factors) return split.dim;
      }
    return dim;
  }
  Shape written(const Positions& positions, const Shape& states,
                const std::vector<const Shape*>& like) const {
    Shape result;
    for (size_t i = 0; i < positions.size(); ++i)
      result.dims.push_back({named(positions[i], like), states.dims.at(i).axes});
    result.marks = states.marks;
    return result;
  }

  ir::Program& dims_;
  const ir::Indices& in_;
  const std::vector<Shape>& operands_;
  const Shape& right_;
  std::vector<std::optional<Given>> names_;
  std::vector<Run> flats_;              ///< by operand, then the result
  std::vector<std::vector<Word>> own_;  ///< by operand
  std::vector<Word> wanted_;
  bool replaces_ = false;
};

bool reads_as(const ir::Program& dims, ir::Op& op, const ir::Indices& in,
              const std::vector<Shape>& operands) {
  return !elaborate::elaborate(dims, op, operands) &&
         same_structure(ir::pattern_of(op)->indices, in);
}

}  // namespace

std::optional<Name> other_name(ir::Program& dims, const Name& dim, int n) {
  const auto info = dims.dims.find(dim);
  const bool shown = info != dims.dims.end() && !info->second.shown.empty();
  const Name name = (shown ? info->second.shown : dim) + "_" + std::to_string(n);
  if (dims.dims.count(name)) return name;
  if (dims.axes.count(name) || dims.consts.count(name)) return std::nullopt;
  ir::DimInfo made;
  made.kind = ir::DimInfo::Kind::alias;
  made.of = {dim};
  made.shown = name;
  made.local = true;
  dims.dims.emplace(name, std::move(made));
  return name;
}

std::vector<ir::IndexId> flat(const Positions& positions) {
  std::vector<ir::IndexId> result;
  for (const ir::Position& position : positions)
    result.insert(result.end(), position.begin(), position.end());
  return result;
}

bool same_structure(const ir::Indices& a, const ir::Indices& b) {
  std::map<ir::IndexId, ir::IndexId> there, back;
  const auto same = [&](ir::IndexId x, ir::IndexId y) {
    return there.emplace(x, y).first->second == y && back.emplace(y, x).first->second == x &&
           a.all[x].dim == b.all[y].dim;
  };
  const auto same_position = [&](const ir::Position& x, const ir::Position& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  const auto same_side = [&](const Positions& x, const Positions& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_position);
  };
  return std::equal(a.left.begin(), a.left.end(), b.left.begin(), b.left.end(), same_side) &&
         same_side(a.right, b.right);
}

ir::Indices unchanged(const ir::Program& program, const Shape& operand) {
  ir::Indices in;
  for (const Split& split : operand.dims) {
    in.right.emplace_back();
    for (const elaborate::Factor& factor : elaborate::factors(program, split.dim)) {
      in.right.back().push_back(in.all.size());
      in.all.push_back({factor.dim, factor.name});
    }
  }
  in.left = {in.right};
  return in;
}

bool write_names(ir::Program& dims, ir::Op& op, const ir::Indices& in,
                 const std::vector<Shape>& operands, const Shape& right) {
  ir::Pattern& pattern = *ir::pattern_of(op);
  pattern.inferred = pattern.left_inferred = false;
  pattern.whole.clear();
  if (std::holds_alternative<ir::Rearrange>(op)) {  // it may rename on the right
    pattern.left = operands;
    pattern.right = right;
    if (reads_as(dims, op, in, operands)) return true;
  }
  Namer namer(dims, op, in, operands, right);
  if (!namer.run()) return false;
  pattern.left.clear();
  for (size_t i = 0; i < operands.size(); ++i) pattern.left.push_back(namer.left(i));
  pattern.right = namer.right();
  return reads_as(dims, op, in, operands);
}

}  // namespace shardproof::grad
