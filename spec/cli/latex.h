#pragma once
// The parts of a program's equations that several of their files need. Each keeps what the notation
// says, so that the text can be read back (latex_test.cc).
#include <string>
#include <vector>

#include "spec/syntax/ast.h"

namespace shardproof::cli::latex {

/// `g\_w`: a name, or the path of a field, as mathematics.
std::string escaped(const std::string& name);
std::string word(const std::string& text);  ///< `\text{rms\_norm}`
std::string joined(const std::vector<std::string>& list, const std::string& between = ",\\ ");
std::string names(const std::vector<Name>& list, const std::string& between = ",\\ ");

/// `[B_d,L,M_{t,d}]\{U_t\}`
std::string shape(const std::vector<syntax::SplitExpr>& dims,
                  const std::vector<syntax::MarkExpr>& marks);
std::string type(const syntax::TypeExpr& type);  ///< `\text{bf16}[B_d,L]`
std::string group(const syntax::Group& group);   ///< `gate,up\colon\text{f32}[M,F]`
std::string pattern(const syntax::PatternExpr& pattern);
/// The text of a pattern; a string in quotes where it is none.
std::string pattern_text(const std::string& text);

/// `stated` is the shape on the left of `=`: a contraction whose result it is does not repeat it.
std::string expression(const syntax::Expr& expr, const std::string& stated = "");
std::string expressions(const std::vector<syntax::Expr>& list);
std::string arguments(const std::vector<syntax::Expr>& args, const std::vector<Name>& arg_names);

}  // namespace shardproof::cli::latex
