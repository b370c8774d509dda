#pragma once
// A call of a function of the library as its kernel sees it: arguments by their names, and their
// positions as indices: one that two arguments have is one index, a group too.
#include "impl/compile/fuse.h"

namespace shardproof::compile {

/// What the call is not: a kernel's. Its instructions are compiled.
struct DoesNotFit {};

class FusedCall {
 public:
  FusedCall(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

  /// Those after `;`, in the order of the declaration.
  IndexId working(size_t i) const;
  /// The argument's positions.
  const Ids& ids(const Name& param) const;
  /// All but `without`.
  Ids rest(const Name& param, const Ids& without) const;
  Element element(const Name& param) const;
  /// The argument in memory.
  View ref(const Name& param) const;
  /// The argument along `order`, which are its positions, no more and no less.
  Ref view(const Name& param, const Ids& order) const;
  /// The same, without gaps.
  Ref packed(const Name& param, const Ids& order) const;
  /// A number that is known, or the next of `inputs`.
  Scalar scalar(const Name& param, std::vector<Ref>& inputs) const;
  /// Not a part of a working position: one that the function knows the size of.
  void require_whole(size_t working, int64_t extent) const;
  static void require(bool fits) {
    if (!fits) throw DoesNotFit();
  }
  void require_fused(const FusedOp& op) const { require(compiler.fuses(op)); }

  /// A new buffer for result r, with the extents of `like`.
  View create(size_t r, Element element, const View& like) const;
  /// Result r is `made`.
  void define(size_t r, const View& made) const;

  Compiler& compiler;
  Scope& scope;
  const ir::LibraryCall& call;

 private:
  struct Argument {
    ir::ValueId value;
    Ids ids;
    Positions own, named;  ///< of its type, and as the pattern has it
  };
  const Argument& argument(const Name& param) const;
  /// The positions of result r: `made`, in the order of its type.
  Ids result_ids(size_t r, const Ids& made) const;

  std::map<Name, Argument> arguments_;
  std::vector<Ids> results_;
  Ids working_;
  std::vector<int64_t> extents_;  ///< local, of each index of `own` and `named`
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
