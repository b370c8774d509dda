#pragma once
// The parts of the canonical text that several of the printer's files need.
#include <string>
#include <vector>

#include "spec/syntax/ast.h"

namespace shardproof::syntax {

inline constexpr size_t line_width = 100;

/// `parts` with `separator` between them.
std::string join(const std::vector<std::string>& parts, const std::string& separator);

/// `head` and the parts, broken before a part that would pass the end of the line.
std::string fill(const std::string& head, const std::vector<std::string>& parts,
                 const std::string& separator, size_t indent);

std::string print_dims(const std::vector<SplitExpr>& dims);
std::string print_marks(const std::vector<MarkExpr>& marks);  ///< empty for none
std::string print_group(const Group& group);
std::string print_dim(const DimDecl& dim);
std::string print_arguments(const std::vector<Expr>& args, const std::vector<Name>& names);
std::string print_list(const std::vector<Expr>& exprs);
std::string print_sum(const Expr& expr);  ///< where the grammar has a sum
std::string print_block(const Block& block, size_t indent);

}  // namespace shardproof::syntax
