#pragma once
// A call of a function of the library as its kernel sees it: arguments by their names, under the
// names of dims that the call gives them.
#include "impl/compile/fuse.h"

namespace shardproof::compile {

/// What the call is not: a kernel's. Its instructions are compiled.
struct DoesNotFit {};

class FusedCall {
 public:
  FusedCall(Compiler& compiler, Scope& scope, const ir::LibraryCall& call)
      : compiler(compiler), scope(scope), call(call) {}

  /// The dims after `;`, in the order of the declaration.
  const Dim& working(size_t i) const;
  /// The argument's dims, under the names of `expected` where those are the same dims.
  Labels labels(const Name& param, const Labels& expected = {}) const;
  /// All dims but `without`.
  Labels rest(const Name& param, const Labels& without) const;
  Element element(const Name& param) const;
  /// The argument in memory.
  Ref ref(const Name& param) const;
  /// The argument along `order`, whose dims it has, no more and no less.
  Ref view(const Name& param, const Labels& order) const;
  /// The same, without gaps.
  Ref packed(const Name& param, const Labels& order) const;
  /// A number that is known, or the next of `inputs`.
  Scalar scalar(const Name& param, std::vector<Ref>& inputs) const;
  /// Not a part of the dim: one that the function knows the size of.
  void require_whole(const Ref& ref, const Labels& labels, const Dim& dim) const;
  static void require(bool fits) {
    if (!fits) throw DoesNotFit();
  }
  void require_fused(const FusedOp& op) const { require(compiler.fuses(op)); }

  Ref create(Element element, const Labels& labels, const Ref& like, const Labels& order) const;
  /// Result r is `made`, whose dims are `labels`.
  void define(size_t r, const Ref& made, const Labels& labels) const;
  /// The dims of result r under the names of `expected`.
  Labels result_labels(size_t r, const Labels& expected) const;

  Compiler& compiler;
  Scope& scope;
  const ir::LibraryCall& call;

 private:
  ir::ValueId argument(const Name& param) const;
  Labels matched(Labels own, const Labels& expected) const;
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
