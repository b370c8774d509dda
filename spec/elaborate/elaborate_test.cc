#include "spec/elaborate/elaborate.h"

#include <gtest/gtest.h>

namespace shardproof::elaborate {
namespace {

using Kind = ir::DimInfo::Kind;

/// dim B K D C J L; S T P Q = L; H = (K D); G = (C J); A = G; E = (H K); and |one| = 1.
ir::Program dims() {
  ir::Program program;
  auto declare = [&](const Name& name, Kind kind, const std::vector<Name>& of) {
    program.dims[name].kind = kind;
    program.dims[name].of = of;
  };
  for (const char* name : {"B", "K", "D", "C", "J", "L"}) declare(name, Kind::plain, {});
  for (const char* name : {"S", "T", "P", "Q"}) declare(name, Kind::alias, {"L"});
  declare("H", Kind::group, {"K", "D"});
  declare("G", Kind::group, {"C", "J"});
  declare("A", Kind::alias, {"G"});
  declare("E", Kind::group, {"H", "K"});
  return program;
}

Shape shape(const std::vector<std::vector<Name>>& dims) {
  Shape result;
  for (const auto& factors : dims) result.dims.push_back({Dim{factors}, {}});
  return result;
}

using Text = std::vector<std::vector<Name>>;

/// One side as the names of its indices.
std::string text(const ir::Indices& in, const std::vector<ir::Position>& side) {
  std::string result;
  for (const ir::Position& position : side) {
    std::string part;
    for (ir::IndexId id : position) part += (part.empty() ? "" : "*") + in.all.at(id).name;
    result += (result.empty() ? "" : " ") + part;
  }
  return result;
}
std::string text(const ir::Indices& in) {
  std::string result;
  for (const auto& left : in.left) result += (result.empty() ? "" : ", ") + text(in, left);
  return result + " -> " + text(in, in.right);
}

template <class Op>
std::string read(Op op, const std::vector<Text>& types, const std::vector<Text>& left,
                 const Text& right) {
  const ir::Program program = dims();
  for (const Text& each : left) op.pattern.left.push_back(shape(each));
  op.pattern.right = shape(right);
  std::vector<Shape> operands;
  for (const Text& each : types) operands.push_back(shape(each));
  ir::Op any = op;
  if (const auto problem = elaborate(program, any, operands)) return "! " + problem->message;
  return text(ir::pattern_of(any)->indices);
}
std::string einsum(const std::vector<Text>& types, const std::vector<Text>& left,
                   const Text& right) {
  return read(ir::Einsum{}, types, left, right);
}
std::string rearrange(const Text& type, const Text& left, const Text& right) {
  return read(ir::Rearrange{}, {type}, {left}, right);
}

TEST(Elaborate, AGroupBesideItsFactorIsOneIndex) {
  EXPECT_EQ(
      einsum({{{"B"}, {"K", "D"}}, {{"K"}}}, {{{"B"}, {"K", "D"}}, {{"K"}}}, {{"B"}, {"K", "D"}}),
      "B K*D, K -> B K*D");
  EXPECT_EQ(einsum({{{"B"}, {"H"}}, {{"K"}}}, {{{"B"}, {"H"}}, {{"K"}}}, {{"B"}, {"D"}}),
            "B K*D, K -> B D");
}

TEST(Elaborate, AnAliasIsAnIndexOfItsOwn) {
  EXPECT_EQ(
      einsum({{{"B"}, {"L"}}, {{"B"}, {"L"}}}, {{{"B"}, {"S"}}, {{"B"}, {"L"}}}, {{"S"}, {"L"}}),
      "B S, B L -> S L");
  EXPECT_EQ(einsum({{{"A"}}, {{"G"}}}, {{{"A"}}, {{"G"}}}, {{"A"}, {"G"}}),
            "A.0*A.1, C*J -> A.0*A.1 C*J");
}

TEST(Elaborate, APatternOpensAGroupInItsPlace) {
  EXPECT_EQ(einsum({{{"B"}, {"H"}}}, {{{"B"}, {"K"}, {"D"}}}, {{"B"}, {"K"}}), "B K*D -> B K");
  EXPECT_EQ(einsum({{{"A"}}}, {{{"C"}, {"J"}}}, {{"J"}}), "C*J -> J");
  EXPECT_EQ(einsum({{{"K"}, {"D"}}}, {{{"H"}}}, {{"H"}}), "K D -> K*D");
}

TEST(Elaborate, APositionHasNoOtherPositionsName) {
  EXPECT_EQ(einsum({{{"S"}, {"T"}}}, {{{"T"}, {"S"}}}, {{"S"}, {"T"}}),
            "! the pattern calls a position by the name `T` of another position of the same "
            "operand");
  EXPECT_EQ(einsum({{{"S"}, {"T"}, {"P"}}}, {{{"T"}, {"P"}, {"S"}}}, {{"S"}}),
            "! the pattern calls a position by the name `T` of another position of the same "
            "operand");
  EXPECT_EQ(einsum({{{"S"}, {"T"}}}, {{{"P"}, {"S"}}}, {{"S"}, {"P"}}), "P S -> S P");
  EXPECT_EQ(einsum({{{"S"}, {"T"}}}, {{{"P"}, {"T"}}}, {{"T"}, {"P"}}), "P T -> T P");
}

TEST(Elaborate, AnIndexStandsOnceInAnOperandAndInTheResult) {
  EXPECT_EQ(einsum({{{"S"}, {"T"}}}, {{{"P"}, {"P"}}}, {{"P"}}),
            "! `P` occurs twice in one operand");
  EXPECT_EQ(einsum({{{"E"}}}, {{{"E"}}}, {{"K"}, {"D"}}), "! `K` occurs twice in one operand");
  EXPECT_EQ(einsum({{{"K"}}}, {{{"K"}}}, {{"K"}, {"K"}}), "! `K` occurs twice in the result");
  EXPECT_EQ(einsum({{{"H"}}}, {{{"H"}}}, {{"H"}, {"K"}}), "! `K` occurs twice in the result");
}

TEST(Elaborate, OnlyRearrangeRenamesOnTheRight) {
  EXPECT_EQ(einsum({{{"S"}}}, {{{"S"}}}, {{"T"}}), "! no operand has the result's dim `T`");
  EXPECT_EQ(rearrange({{"B"}, {"S"}}, {{"B"}, {"S"}}, {{"T"}, {"B"}}), "B S -> S B");
  EXPECT_EQ(rearrange({{"S"}, {"T"}}, {{"S"}, {"T"}}, {{"P"}, {"S"}}), "S T -> T S");
  EXPECT_EQ(rearrange({{"S"}, {"T"}}, {{"S"}, {"T"}}, {{"P"}, {"Q"}}),
            "! which index of the operand is `P`? It could be `S` or `T`");
  EXPECT_EQ(rearrange({{"S"}, {"T"}}, {{"P"}, {"Q"}}, {{"P"}, {"Q"}}), "P Q -> P Q");
  EXPECT_EQ(rearrange({{"A"}, {"B"}}, {{"A"}, {"B"}}, {{"B"}, {"C"}, {"J"}}),
            "A.0*A.1 B -> B A.0 A.1");
  EXPECT_EQ(rearrange({{"B"}, {"K"}}, {{"B"}, {"K"}}, {{"B"}}),
            "! both sides have the same dims, in any order and grouping");
  EXPECT_EQ(rearrange({{"B"}, {"K"}}, {{"B"}, {"K"}}, {{"B"}, {"K"}, {"D"}}),
            "! both sides have the same dims, in any order and grouping");
}

TEST(Elaborate, BracketsArePairedWithNothing) {
  ir::Index index;
  index.pattern.left_bracket = 0;
  EXPECT_EQ(read(index, {{{"L"}, {"K"}}, {{"B"}, {"S"}}}, {{{"L"}, {"K"}}, {{"B"}, {"L"}}},
                 {{"B"}, {"L"}, {"K"}}),
            "[L] K, B L -> B L K");
  ir::Concat concat;
  concat.pattern.right_bracket = 1;
  EXPECT_EQ(read(concat, {{{"B"}, {"K"}}, {{"B"}, {"K"}}}, {{{"B"}, {"K"}}, {{"B"}, {"K"}}},
                 {{"B"}, {"D"}}),
            "B [K], B [K]' -> B [D]");
  ir::Write write;
  write.pattern.left_bracket = 1;
  EXPECT_EQ(read(write, {{{"B"}, {"L"}}, {{"B"}, {"L"}}}, {{{"B"}, {"L"}}, {{"B"}, {"L"}}},
                 {{"B"}, {"L"}}),
            "B [L], B [L]' -> B [L]");
}

TEST(Elaborate, WholePositionsInBodies) {
  ir::Reduce op;
  op.pattern.inferred = true;
  EXPECT_EQ(read(op, {{{"K", "D"}, {"K"}}}, {{{"K", "D"}, {"K"}}}, {{"K", "D"}}), "K*D K' -> K*D");
  const ir::Program program = dims();
  const ir::Indices in = whole_positions(program, {shape({{"B"}, {"H"}, {"K"}}), shape({{"K"}})},
                                         shape({{"B"}, {"H"}, {"K"}}));
  EXPECT_EQ(text(in), "B K*D K', K' -> B K*D K'");
}

}  // namespace
}  // namespace shardproof::elaborate
