#pragma once
// A call of a library function for its kernel: arguments by name, positions as indices. Arguments
// that share a position or a group share the index.
#include "impl/compile/fuse.h"

namespace shardproof::compile {

/// Thrown if no kernel supports the call: its instructions are compiled instead.
struct DoesNotFit {};

class FusedCall {
 public:
  FusedCall(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

  /// The index of dim i after `;`, in the order of the declaration.
  IndexId working(size_t i) const;
  /// The argument's positions.
  const Ids& ids(const Name& param) const;
  /// The argument's positions without `without`.
  Ids rest(const Name& param, const Ids& without) const;
  Element element(const Name& param) const;
  /// The argument as a view in memory.
  View ref(const Name& param) const;
  /// The argument with its positions in the order `order`, which lists each of them.
  Ref view(const Name& param, const Ids& order) const;
  /// The same, packed.
  Ref packed(const Name& param, const Ids& order) const;
  /// A constant, or the next of `inputs`.
  Scalar scalar(const Name& param, std::vector<Ref>& inputs) const;
  /// Requires a full dim after `;`, not a part: the function knows its size.
  void require_whole(size_t working, int64_t extent) const;
  static void require(bool fits) {
    if (!fits) throw DoesNotFit();
  }
  void require_fused(const FusedOp& op) const { require(compiler.fuses(op)); }

  /// A new buffer for result r, with the extents of `like`.
  View create(size_t r, Element element, const View& like) const;
  /// Sets result r to `made`.
  void define(size_t r, const View& made) const;

  Compiler& compiler;
  Scope& scope;
  const ir::LibraryCall& call;

 private:
  struct Argument {
    ir::ValueId value;
    Ids ids;
    Positions own, named;  ///< positions of its type, and those in the pattern
  };
  const Argument& argument(const Name& param) const;
  /// The positions of result r in `made`, in the order of its type.
  Ids result_ids(size_t r, const Ids& made) const;

  std::map<Name, Argument> arguments_;
  std::vector<Ids> results_;
  Ids working_;
  std::vector<int64_t> extents_;  ///< local, by index of `own` and `named`
};

// rows.cpp
void fuse_rms_norm(const FusedCall& call);
void fuse_rms_norm_grad(const FusedCall& call);
void fuse_layer_norm(const FusedCall& call);
void fuse_layer_norm_grad(const FusedCall& call);
void fuse_softmax(const FusedCall& call);
void fuse_softmax_grad(const FusedCall& call);
void fuse_cross_entropy(const FusedCall& call);
void fuse_cross_entropy_grad(const FusedCall& call);
// optimizer.cpp
void fuse_adamw(const FusedCall& call);
void fuse_sumsq(const FusedCall& call);
// rope.cpp
void fuse_rope(const FusedCall& call);
void fuse_rope_inverse(const FusedCall& call);
void fuse_rope_grad(const FusedCall& call);
// attention.cpp
void fuse_attention(const FusedCall& call);
void fuse_attention_grad(const FusedCall& call);

}  // namespace shardproof::compile
