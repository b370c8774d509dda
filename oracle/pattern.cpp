#include "oracle/pattern.h"

#include <algorithm>
#include <list>
#include <span>
#include <string_view>
#include <utility>

#include "oracle/kept_own.h"

namespace shardproof::oracle {
namespace {

// One index of a position. A name of a plain dim has one part; an alias of a group has one for each
// factor, and these have no names of their own.
struct Token {
  std::string_view name;
  size_t part = 0;
  std::string_view dim;  ///< the plain dim whose size it has
  bool operator==(const Token&) const = default;
};
using Tokens = std::vector<Token>;
using Place = std::span<const Token>;

// The places of a tensor, one after the other.
class Side {
 public:
  Tokens tokens;

  bool operator==(const Side&) const = default;
  size_t size() const { return ends_.size(); }
  Place operator[](size_t p) const {
    return Place(tokens).subspan(begin(p), ends_.at(p) - begin(p));
  }
  std::span<Token> operator[](size_t p) {
    return std::span(tokens).subspan(begin(p), ends_.at(p) - begin(p));
  }
  void reserve(size_t places) {
    tokens.reserve(places);
    ends_.reserve(places);
  }
  // What was added to the tokens since the last place is a place.
  void close() { ends_.push_back(tokens.size()); }
  void add(Place place) {
    tokens.insert(tokens.end(), place.begin(), place.end());
    close();
  }
  Counts counts() const {
    Counts result(size());
    for (size_t p = 0; p < size(); ++p) result[p] = ends_[p] - begin(p);
    return result;
  }

 private:
  size_t begin(size_t p) const { return p == 0 ? 0 : ends_.at(p - 1); }

  std::vector<size_t> ends_;
};

[[noreturn]] void refuse(const std::string& sentence) { throw std::domain_error(sentence); }

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

bool contains(Place place, const Token& token) {
  return std::find(place.begin(), place.end(), token) != place.end();
}
// The first place that is the same.
size_t find(const Side& side, Place place) {
  size_t p = 0;
  while (p < side.size() && !std::ranges::equal(side[p], place)) ++p;
  return p;
}
bool contains(const Side& side, Place place) { return find(side, place) < side.size(); }

// A group is its factors; an alias is an index of its own.
void open(const ir::Program& program, const Name& name, Tokens& tokens) {
  using Kind = ir::DimInfo::Kind;
  const auto found = program.dims.find(name);
  const Kind kind = found == program.dims.end() ? Kind::plain : found->second.kind;
  if (kind != Kind::alias && kind != Kind::group) return tokens.push_back({name, 0, name});
  const size_t first = tokens.size();
  for (const Name& part : found->second.of) open(program, part, tokens);
  if (kind == Kind::group) return;
  for (size_t i = first; i < tokens.size(); ++i) tokens[i] = {name, i - first, tokens[i].dim};
}

void open(const ir::Program& program, const Dim& dim, Tokens& tokens) {
  for (const Name& factor : dim.factors) open(program, factor, tokens);
}

Side opened(const ir::Program& program, const std::vector<Split>& dims) {
  Side side;
  side.reserve(dims.size());
  for (const Split& split : dims) {
    open(program, split.dim, side.tokens);
    side.close();
  }
  return side;
}

// A place in brackets is paired with nothing: it may have the name of another, or of its factor.
void refuse_twice(const Side& side, std::optional<size_t> bracket) {
  for (size_t p = 0; p < side.size(); ++p)
    for (const Token& token : side[p])
      for (size_t later = p; later < side.size(); ++later)
        for (const Token& other : side[later])
          if (&other > &token && p != bracket && later != bracket && other == token)
            refuse(quoted(token.name) + " stands twice");
}

// The pattern's names for an operand, position by position, beside those of its type.
void compare_with_type(const Side& says, const Side& type) {
  if (says.size() != type.size())
    refuse("the pattern has " + std::to_string(says.size()) + " positions, and the operand " +
           std::to_string(type.size()));
  for (size_t p = 0; p < says.size(); ++p)
    if (!std::equal(says[p].begin(), says[p].end(), type[p].begin(), type[p].end(),
                    [](const Token& a, const Token& b) { return a.dim == b.dim; }))
      refuse("position " + std::to_string(p + 1) + " of the operand is of another dim");
  // Places that swap their names, in a ring of two or more, would be transposed unseen. A name that
  // only moves on, as where P Q is read as T P, is the new name of its place.
  const Tokens &own = type.tokens, &names = says.tokens;
  for (size_t first = 0; first < own.size(); ++first) {
    size_t at = first;
    for (size_t moves = 0; moves < own.size() && names[at] != own[at]; ++moves) {
      const auto next = std::find(own.begin(), own.end(), names[at]);
      if (next == own.end()) break;
      at = static_cast<size_t>(next - own.begin());
      if (at == first)
        refuse(quoted(names[at].name) + " is the name of another position of the operand");
    }
  }
}

// In a body of a generic function a position that it writes as several names is seen as one place
// for each of them.
Side divided(const Side& side, const std::vector<Side>& groups) {
  Side result;
  for (size_t p = 0; p < side.size(); ++p) {
    const auto of_names = std::find_if(groups.begin(), groups.end(), [&](const Side& group) {
      return std::ranges::equal(group.tokens, side[p]);
    });
    if (of_names == groups.end())
      result.add(side[p]);
    else
      for (size_t i = 0; i < of_names->size(); ++i) result.add((*of_names)[i]);
  }
  return result;
}

enum class Unknown { refused, named, own };

class Reader {
 public:
  Reader(Site& site, const ir::Pattern& pattern) : pattern_(pattern) {
    const ir::Program& program = site.run.program;
    left_.reserve(pattern.left.size());
    for (const Shape& shape : pattern.left) left_.push_back(opened(program, shape.dims));
    right_ = opened(program, pattern.right.dims);
    for (size_t i = 0; i < left_.size(); ++i)
      if (const auto& own = site.operand_type(i).dims; !same_names(pattern.left[i].dims, own))
        compare_with_type(left_[i], opened(program, own));
    if (const auto& own = site.type().dims;
        !same_names(pattern.right.dims, own) && right_ != opened(program, own))
      refuse("the result has other dims than the pattern says");
    if (pattern.inferred) read_body(program);
  }

  std::shared_ptr<const Unsized> run(Form form) {
    for (size_t i = 0; i < left_.size(); ++i) refuse_twice(left_[i], left_bracket(i));
    size_t tokens = right_.tokens.size();
    for (const Side& side : left_) tokens += side.tokens.size();
    names_.reserve(tokens);
    reading_.dims.reserve(tokens);
    reading_.left.reserve(left_.size());
    reading_.left_counts.reserve(left_.size());
    refuse_twice(right_, form == Form::writes ? written_bracket() : pattern_.right_bracket);
    if (form == Form::joins)
      join();
    else if (form == Form::writes)
      write();
    else
      sides(form);
    for (const Side& side : left_) reading_.left_counts.push_back(side.counts());
    reading_.right_counts = right_.counts();
    return std::make_shared<const Unsized>(std::move(reading_));
  }

 private:
  void read_body(const ir::Program& program) {
    std::vector<Side> groups, left;
    for (const std::vector<Dim>& names : pattern_.groups) {
      Side& group = groups.emplace_back();
      for (const Dim& name : names) {
        open(program, name, group.tokens);
        group.close();
      }
    }
    for (const Side& side : left_) left.push_back(divided(side, groups));
    Side right = divided(right_, groups);
    seal_groups(left, right);
    // The places as they stood.
    for (size_t i = 0; i < left.size(); ++i) left_[i].tokens = std::move(left[i].tokens);
    right_.tokens = std::move(right.tokens);
  }

  // A group that counts as a whole: its parts have no names of their own.
  void seal(std::span<Token> place) {
    Name& whole = sealed_.emplace_back();
    for (const Token& token : place)
      whole += std::string(token.name) + "'" + std::to_string(token.part) + " ";
    for (size_t i = 0; i < place.size(); ++i) place[i] = {whole, i, place[i].dim};
  }

  // The names of a body are those of the caller, whose groups the body does not know: a group is a
  // whole, and is opened only where the right side has its factors instead.
  void seal_groups(std::vector<Side>& left, Side& right) {
    Side positions;
    for (const Side& side : left)
      for (size_t p = 0; p < side.size(); ++p) positions.add(side[p]);
    const Side written = right;
    Tokens wanted;
    for (size_t p = 0; p < written.size(); ++p)
      for (const Token& token : written[p])
        if (!contains(positions, written[p]) && !contains(positions, {&token, 1}))
          wanted.push_back(token);
    for (Side& side : left)
      for (size_t p = 0; p < side.size(); ++p)
        if (const std::span<Token> place = side[p];
            contains(written, place) || std::ranges::none_of(place, [&](const Token& token) {
              return contains(wanted, token);
            }))
          if (place.size() > 1) seal(place);
    for (size_t p = 0; p < right.size(); ++p)
      if (written[p].size() > 1 && contains(positions, written[p])) seal(right[p]);
  }

  void sides(Form form) {
    for (size_t i = 0; i < left_.size(); ++i)
      reading_.left.push_back(read(left_[i], left_bracket(i), Unknown::named));
    if (form == Form::renames)
      reading_.right = renamed(right_.tokens);
    else
      reading_.right = read(right_, pattern_.right_bracket,
                            form == Form::extends ? Unknown::own : Unknown::refused);
  }

  void write() {
    reading_.left.push_back(read(left_.at(0), left_bracket(0), Unknown::named));
    reading_.left.push_back(read(left_.at(1), std::nullopt, Unknown::own));
    reading_.right = read(right_, written_bracket(), Unknown::refused);
  }

  void join() {
    reading_.right = read(right_, pattern_.right_bracket, Unknown::named);
    for (const Side& side : left_) {
      reading_.left.push_back(read(side, std::nullopt, Unknown::own));
      want_all(without(reading_.right, reading_.bracket), reading_.left.back());
    }
  }

  // The result of write has the bracket's name, without brackets.
  std::optional<size_t> written_bracket() const {
    if (!pattern_.left_bracket) return std::nullopt;
    const size_t found = find(right_, std::as_const(left_.at(0))[*pattern_.left_bracket]);
    if (found == right_.size()) refuse("the result lacks the position in brackets");
    return found;
  }

  std::optional<size_t> left_bracket(size_t operand) const {
    return operand == pattern_.bracket_operand ? pattern_.left_bracket : std::nullopt;
  }

  Indices read(const Side& side, std::optional<size_t> bracket, Unknown unknown) {
    if (bracket && *bracket >= side.size()) refuse("there is no position in brackets");
    Indices result;
    result.reserve(side.size());
    for (size_t p = 0; p < side.size(); ++p)
      if (p == bracket) {
        const Indices& found = apart(side[p]);
        result.insert(result.end(), found.begin(), found.end());
      } else {
        for (const Token& token : side[p]) result.push_back(named(token, unknown));
      }
    return result;
  }

  // In brackets: paired with nothing but another place in brackets.
  const Indices& apart(Place place) {
    if (bracketed_.empty()) {
      bracketed_.assign(place.begin(), place.end());
      for (const Token& token : place) reading_.bracket.push_back(made(token));
    } else if (!std::equal(place.begin(), place.end(), bracketed_.begin(), bracketed_.end(),
                           [](const Token& a, const Token& b) { return a.dim == b.dim; })) {
      refuse("the positions in brackets are of two dims");
    }
    return reading_.bracket;
  }

  size_t named(const Token& token, Unknown unknown) {
    const auto found = std::find_if(names_.begin(), names_.end(),
                                    [&](const auto& each) { return each.first == token; });
    if (found != names_.end()) return found->second;
    if (unknown == Unknown::refused) refuse("no operand has " + quoted(token.name));
    const size_t index = made(token);
    if (unknown == Unknown::named) names_.push_back({token, index});
    return index;
  }

  size_t made(const Token& token) {
    reading_.dims.emplace_back(token.dim);
    return reading_.dims.size() - 1;
  }

  // An index whose name is not on the right takes the new name, if it is the only one of its dim
  // that is left over.
  Indices renamed(const Tokens& right) {
    std::vector<std::pair<Token, size_t>> left_over;
    for (const auto& each : names_)
      if (!contains(right, each.first)) left_over.push_back(each);
    Indices result;
    for (const Token& token : right) {
      const auto found = std::find_if(names_.begin(), names_.end(),
                                      [&](const auto& each) { return each.first == token; });
      result.push_back(found != names_.end() ? found->second : only_one(left_over, token.dim));
    }
    for (auto at = result.begin(); at != result.end(); ++at)
      if (std::find(at + 1, result.end(), *at) != result.end())
        refuse("one of the operand's indices would have two names");
    want_all(reading_.left.at(0), result);
    return result;
  }

  static size_t only_one(const std::vector<std::pair<Token, size_t>>& left_over,
                         std::string_view dim) {
    std::vector<size_t> of_dim;
    for (const auto& [token, index] : left_over)
      if (token.dim == dim) of_dim.push_back(index);
    if (of_dim.size() == 1) return of_dim[0];
    refuse(of_dim.empty() ? "the operand has no " + quoted(dim) + " that is left over"
                          : "two of the operand's indices are left over for one " + quoted(dim));
  }

  const ir::Pattern& pattern_;
  std::vector<Side> left_;
  Side right_;
  std::vector<std::pair<Token, size_t>> names_;
  Tokens bracketed_;
  std::list<Name> sealed_;  ///< names that tokens refer to
  Unsized reading_;
};

// The indices of each position make up its size.
void check(const Reading& reading, const Indices& indices, const Counts& counts,
           const Extents& shape) {
  if (shape.size() != counts.size()) refuse("a tensor of other dims than its type");
  size_t next = 0;
  for (size_t p = 0; p < counts.size(); ++p) {
    int64_t size = 1;
    for (size_t i = 0; i < counts[p]; ++i) size *= reading.sizes.at(indices.at(next++));
    if (size != shape[p])
      refuse("position " + std::to_string(p + 1) + " has " + std::to_string(shape[p]) +
             " entries, and its indices " + std::to_string(size));
  }
}

std::shared_ptr<const Reading> sized(Site& site, const std::shared_ptr<const Unsized>& read) {
  std::vector<int64_t> sizes;
  sizes.reserve(read->dims.size());
  for (const Name& dim : read->dims) sizes.push_back(site.run.table.size(dim));
  const auto reading = std::make_shared<const Reading>(Reading{read, std::move(sizes)});
  for (size_t i = 0; i < read->left.size(); ++i)
    check(*reading, read->left[i], read->left_counts[i], site.operand(i)->value.shape);
  check(*reading, read->right, read->right_counts, site.shape());
  return reading;
}

}  // namespace

Extents Reading::extents(const Indices& of) const {
  Extents result;
  result.reserve(of.size());
  for (size_t index : of) result.push_back(sizes.at(index));
  return result;
}

Extents Reading::strides(const Indices& own) const {
  Extents result(sizes.size(), 0);
  int64_t stride = 1;
  for (auto index = own.rbegin(); index != own.rend(); ++index) {
    result.at(*index) = stride;
    stride *= sizes[*index];
  }
  return result;
}

Positions Reading::walk(const Indices& over, const Indices& own) const {
  Extents along(over.size());
  int64_t stride = 1;
  for (auto index = own.rbegin(); index != own.rend(); ++index) {
    for (size_t i = 0; i < over.size(); ++i)
      if (over[i] == *index) along[i] = stride;
    stride *= sizes[*index];
  }
  return positions(extents(over), along);
}

std::shared_ptr<const Reading> read_pattern(Site& site, const ir::Pattern& pattern, Form form,
                                            size_t operands) {
  if (pattern.left.size() != operands || site.instr.operands.size() < operands)
    refuse("the pattern names " + std::to_string(pattern.left.size()) + " operands");
  if (!kept()) return sized(site, Reader(site, pattern).run(form));
  ByPattern& readings = kept()->readings_of(site.run.program);
  auto found = readings.find(&pattern);
  if (found == readings.end())
    found = readings.emplace(&pattern, KeptReading{Reader(site, pattern).run(form)}).first;
  KeptReading& own = found->second;
  if (own.table != site.run.own) {
    own.sized = sized(site, own.unsized);
    own.table = site.run.own;
  }
  return own.sized;
}

bool same_names(const std::vector<Split>& a, const std::vector<Split>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Split& x, const Split& y) { return x.dim == y.dim; });
}

bool has(const Indices& indices, size_t index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

Indices without(const Indices& indices, const Indices& others) {
  Indices result;
  for (size_t index : indices)
    if (!has(others, index)) result.push_back(index);
  return result;
}

void want_all(const Indices& all, const Indices& kept) {
  if (!without(all, kept).empty()) refuse("the pattern loses an index");
}

Stretch stretch_of(const Reading& reading, const Indices& whole, const Indices& part) {
  const auto at = std::search(whole.begin(), whole.end(), part.begin(), part.end());
  if (part.empty() || at == whole.end()) refuse("a position is wanted where there is none");
  const Indices inner(at + static_cast<std::ptrdiff_t>(part.size()), whole.end());
  return {count(reading.extents(part)), count(reading.extents(inner))};
}

std::optional<size_t> position(const ir::Program& program, const std::vector<Split>& dims,
                               const Dim& dim) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].dim == dim) return i;
  if (dims.empty()) return std::nullopt;
  Tokens wanted, own;
  open(program, dim, wanted);
  for (size_t i = 0; i < dims.size(); ++i) {
    own.clear();
    open(program, dims[i].dim, own);
    if (own == wanted) return i;
  }
  return std::nullopt;
}

}  // namespace shardproof::oracle
