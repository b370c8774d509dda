#pragma once
// How a drafted value lies on the mesh: what a type says, without a dtype. Written from the
// notation alone, so that a program is drafted by other code than that which judges it.
#include <map>
#include <string>
#include <vector>

namespace shardproof::programs {

using Word = std::string;
using Letters = std::string;  ///< axes of the mesh: each is one letter

struct Piece {
  Word dim;
  Letters axes;  ///< major first
  bool operator==(const Piece&) const = default;
};

struct Layout {
  std::vector<Piece> dims;
  std::map<char, char> marks;  ///< axis to U, I or M

  const Piece* find(const Word& dim) const;
  Piece* find(const Word& dim);
  const Piece* holder(char axis) const;  ///< the dim that the axis splits
  /// S, U, I, M or R.
  char state(char axis) const;
  bool has(char mark) const;
  std::string dims_text() const;                       ///< `A/d B`
  std::string marks_text() const;                      ///< `{U_t}`
  std::string text(const Word& bracketed = "") const;  ///< as in a pattern, `A/d [B] {U_t}`
  std::string type(const std::string& dtype) const;
  std::string whole() const;  ///< the dims alone, `A B`

 private:
  void add_dims(std::string& text, const Word& bracketed = "") const;
  void add_marks(std::string& text) const;
};

/// The layout of its gradient.
Layout dual(const Layout& layout, const Letters& mesh);

}  // namespace shardproof::programs
