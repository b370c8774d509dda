#pragma once
// `dim P pads V`: a plan's parameters and results may have P where the model's have V. The padding
// of a parameter is any number, and that of a result is not compared.
//
// Both are said by functions that resolution makes. The plan's model becomes a copy of the named
// one with parameters over P, of which it reads the first |V| entries: its gradients are 0 in the
// padding. If results are padded, a copy of the plan claims to be that model: it gathers them and
// returns their first |V| entries. So all that is proved, run or differentiated is a program.
#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// A position with P where the other type has V.
struct PaddedPosition {
  size_t position;
  Dim narrow;  ///< V
};

/// The positions of `own` that pad those of `model`; nullopt if they differ in another way.
std::optional<std::vector<PaddedPosition>> padded_positions(const World& world, const Shape& own,
                                                            const Shape& model);
/// Same positions, but for padding.
bool same_but_padded(const World& world, const Shape& own, const Shape& model);

/// Checks the declared pads of all files (E0106), and requires |V| <= |P|.
void check_pads(World& world);

/// Makes entries in the program for the functions that a claim with pads needs: its model before
/// the plan's own entry is made, its claim after it.
void add_padded_model(World& world, FunctionEntity& entity);
bool has_bad_model(const World& world, const FunctionEntity& entity);
void add_padded_claim(World& world, FunctionEntity& entity);

/// E0108 for pads that are not supported: of a trusted plan's results, of values that the model
/// assumes something of, of results that are not reduced.
void check_padded_claim(World& world, const FunctionEntity& entity, const FunctionEntity& model);

/// Reads the bodies of these functions; before and after the plan's own body.
void read_padded_model(World& world, FunctionEntity& entity);
void read_padded_claim(World& world, const FunctionEntity& entity);

}  // namespace shardproof::resolution
