// Attention by tiles is its definition, whatever is masked.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "impl/device/graph/attention_call.h"
#include "properties/fused/emulated_fn.h"

namespace shardproof::properties {
namespace {

struct Drawn {
  bool bf16 = *rc::gen::arbitrary<bool>();
  int64_t b = *rc::gen::inRange<int64_t>(1, 3), heads = *rc::gen::inRange<int64_t>(1, 3);
  int64_t group = *rc::gen::inRange<int64_t>(1, 4);
  int64_t queries =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 20), rc::gen::inRange<int64_t>(20, 140));
  int64_t keys =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 20), rc::gen::inRange<int64_t>(20, 140),
                      rc::gen::element<int64_t>(64, 128));
  int64_t width =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 40),
                      rc::gen::element<int64_t>(32, 64, 128, bf16 ? 200 : 96, bf16 ? 256 : 128));
  std::string mask_dims = *rc::gen::element<std::string>("S T", "B S T", "T", "B T", "T S", "K S T",
                                                         "B T G", "S", "B K S T G");
  /// What is allowed: all, what is not later, the same segment, anything, next to nothing.
  int kind = *rc::gen::inRange(0, 5);
  /// The members of a group may be neighbours, as libraries want it.
  std::string query_dims = *rc::gen::element<std::string>("B S G K D", "B S K G D");
  bool known = *rc::gen::inRange(0, 4) != 0;  ///< the op states what kind of mask it is
  std::mt19937_64 rng{*rc::gen::arbitrary<unsigned>()};
  double magnitude = *rc::gen::element(0.3, 1.0, 4.0);
  bool scale_is_input = *rc::gen::arbitrary<bool>();

  std::string element() const { return bf16 ? "bf16" : "f32"; }
  std::map<Name, int64_t> sizes() const {
    return {{"B", b}, {"S", queries}, {"G", group}, {"K", heads}, {"T", keys}, {"D", width}};
  }
  bool has(char dim) const { return mask_dims.find(dim) != std::string::npos; }
  MaskKind known_kind() const {
    if (!known || !has('S') || !has('T') || kind < 1 || kind > 2) return MaskKind::any;
    return kind == 1 ? MaskKind::causal : MaskKind::segments;
  }
};

/// What a library has: causal or of segments, of bf16, with the members of a group as neighbours.
Drawn drawn_for_library() {
  Drawn drawn;
  drawn.bf16 = drawn.known = true;
  drawn.kind = *rc::gen::inRange(1, 3);
  drawn.keys = drawn.queries = std::max<int64_t>(drawn.queries, 2);
  drawn.mask_dims = *rc::gen::element<std::string>("S T", "B S T", "T S");
  drawn.width = *rc::gen::element<int64_t>(8, 16, 40, 64, 128);
  drawn.query_dims = "B S K G D";
  drawn.scale_is_input = false;
  return drawn;
}

/// The stride of `dim` in a row-major tensor with these dims; 0 where it has it not.
int64_t stride(const Drawn& drawn, const std::string& dims, char dim) {
  const size_t at = dims.find(dim);
  if (at == std::string::npos) return 0;
  int64_t stride = 1;
  for (char other : dims.substr(at + 1))
    if (other != ' ') stride *= drawn.sizes().at(Name(1, other));
  return stride;
}

HeadStrides strides_of(const Drawn& drawn, const std::string& dims, char position) {
  return {{0, stride(drawn, dims, 'B'), stride(drawn, dims, 'K')},
          stride(drawn, dims, position),
          stride(drawn, dims, 'G')};
}

const std::string key_dims = "B T K D";

void describe(AttentionShape& op, const Drawn& drawn) {
  op.batch[0] = 1;
  op.batch[1] = drawn.b;
  op.batch[2] = drawn.heads;
  op.queries = drawn.queries;
  op.keys = drawn.keys;
  op.group = drawn.group;
  op.width = drawn.width;
  op.element = drawn.bf16 ? Element::bf16 : Element::f32;
  op.q = strides_of(drawn, drawn.query_dims, 'S');
  op.k = op.v = strides_of(drawn, key_dims, 'T');
  const std::string& dims = drawn.mask_dims;
  op.mask = {{0, stride(drawn, dims, 'B'), stride(drawn, dims, 'K')},
             stride(drawn, dims, 'S'),
             stride(drawn, dims, 'G'),
             stride(drawn, dims, 'T')};
  op.mask_kind = drawn.known_kind();
}

bool draw_allowed(const Drawn& drawn, std::mt19937_64& rng, int64_t query, int64_t key) {
  switch (drawn.kind) {
    case 0:
      return true;
    case 1:
      return key <= query;
    case 2:
      return key / 30 == query / 30 && key <= query;
    case 3:
      return rng() % 3 != 0;
    default:
      return rng() % 50 == 0;
  }
}

void draw_mask(EmulatedFn& fn, size_t param, const Drawn& drawn, std::mt19937_64& rng) {
  const int64_t query = stride(drawn, drawn.mask_dims, 'S'),
                key = stride(drawn, drawn.mask_dims, 'T');
  int64_t i = 0;
  fn.draw(param, [&] {
    const int64_t s = query ? i / query % drawn.queries : 0, t = key ? i / key % drawn.keys : 0;
    ++i;
    return draw_allowed(drawn, rng, s, t) ? 1.0 : 0.0;
  });
}

const std::string dims_text = "dim B S G K D T\n";

std::string params(const Drawn& drawn, const std::string& queries) {
  const std::string e = drawn.element();
  return "(" + queries + ": " + e + "[" + drawn.query_dims + "], k v: " + e +
         "[B T K D], mask: bool[" + drawn.mask_dims + "], scale: f32[])";
}

void draw_scale(EmulatedFn& fn, size_t param, const Drawn& drawn) {
  fn.draw(param, [&] { return 1 / std::sqrt(static_cast<double>(drawn.width)); });
}

void expect_same(const EmulatedFn& fn, const FusedOp& op) {
  const std::string difference = fn.difference(op);
  if (!difference.empty()) RC_FAIL(difference);
}

std::string forward_text(const Drawn& drawn) {
  const std::string& q = drawn.query_dims;
  return dims_text + "fn slack" + params(drawn, "q") + " -> f32[" + q +
         "] {\n return attention(\"" + q +
         ", B T K D, B T K D; S T G D\",\n"
         "  f32(q), f32(k), abs(f32(v)), mask, scale) }\n"
         "fn f" +
         params(drawn, "q") + " -> " + drawn.element() + "[" + q + "] {\n return attention(\"" + q +
         ", B T K D, B T K D; S T G D\", q, k, v, mask, scale) }\n";
}

void check_forward(const Drawn& drawn, bool in_library) {
  std::string text = forward_text(drawn);
  if (!drawn.bf16) text.replace(text.find("slack"), 5, "loose");
  EmulatedFn fn(text, drawn.sizes());
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  draw_mask(fn, 3, drawn, rng);
  draw_scale(fn, 4, drawn);
  Attention op;
  describe(op, drawn);
  op.o = op.q;
  op.scale = fn.scalar(4, drawn.scale_is_input);
  if (in_library) RC_ASSERT(AttentionCall::of(op).has_value());
  expect_same(fn, op);
}

RC_GTEST_PROP(FusedAttention, Forward, ()) { check_forward(Drawn(), false); }
RC_GTEST_PROP(FusedAttention, ForwardInALibrary, ()) { check_forward(drawn_for_library(), true); }

std::string grad_text(const Drawn& drawn) {
  const std::string e = drawn.element(), &q = drawn.query_dims, k = "B T K D";
  const std::string all = q + ", " + k + ", " + k + "; S T G D";
  return dims_text + "fn slack" + params(drawn, "g q") + " -> (s_q: f32[" + q +
         "], s_k s_v: f32[B T K D]) {\n"
         " p = attention_probs(\"" +
         q + ", B T K D; S T G D\", f32(q), f32(k), mask, scale)\n o = attention(\"" + all +
         "\",\n  f32(q), f32(k), abs(f32(v)), mask, scale)\n"
         " d = einsum(\"" +
         q + ", " + q + " -> B K S G\", abs(f32(g)), o)\n g_p = einsum(\"" + q +
         ", B T K D -> B K S T G\", f32(g), f32(v))\n"
         " g_l = p * (abs(g_p) + d) * abs(scale)\n"
         " s_q = einsum(\"B K S T G, B T K D -> " +
         q + "\", g_l, abs(f32(k)))\n s_k = einsum(\"B K S T G, " + q +
         " -> B T K D\", g_l, abs(f32(q)))\n s_v = einsum(\"B K S T G, " + q +
         " -> B T K D\", p, abs(f32(g)))\n return s_q, s_k, s_v }\nfn f" + params(drawn, "g q") +
         " -> (g_q: " + e + "[" + q + "], g_k g_v: " + e + "[" + k +
         "]) {\n g_q, g_k, g_v = attention_grad(\"" + q + ", " + all +
         "\",\n  g, q, k, v, mask, scale)\n return g_q, g_k, g_v }\n";
}

/// What Attention made of the same operands, as inputs of the gradient.
void insert_forward(EmulatedFn& fn, const Drawn& drawn, const AttentionShape& shape,
                    MaskKind mask_kind) {
  EmulatedFn forward(forward_text(drawn), drawn.sizes());
  for (size_t i = 0; i < forward.params(); ++i) forward.input(i) = fn.input(i + 1);
  Attention op;
  static_cast<AttentionShape&>(op) = shape;
  op.mask_kind = mask_kind;
  op.o = op.q;
  op.scale = forward.scalar(4, false);
  const EmulatedFn::Made made = forward.run(op);
  fn.insert(op.element, made.results.at(0));
  fn.insert(Element::f32, made.scratch.at(0));
}

void check_gradient(const Drawn& drawn, bool in_library) {
  std::string text = grad_text(drawn);
  if (!drawn.bf16) text.replace(text.find("slack"), 5, "loose");
  EmulatedFn fn(text, drawn.sizes());
  auto rng = drawn.rng;
  fn.draw_floats(rng, drawn.magnitude);
  draw_mask(fn, 4, drawn, rng);
  draw_scale(fn, 5, drawn);
  AttentionGrad op;
  describe(op, drawn);
  op.g = op.o = op.g_q = op.q;
  op.g_k = op.g_v = op.k;
  op.after_forward = in_library || *rc::gen::arbitrary<bool>();
  // What one of them leaves, library or kernel, the other may take.
  const auto either = [&] { return *rc::gen::arbitrary<bool>() ? op.mask_kind : MaskKind::any; };
  if (op.after_forward) insert_forward(fn, drawn, op, either());
  op.scale = fn.scalar(5, drawn.scale_is_input);
  if (in_library) RC_ASSERT(AttentionCall::of(op).has_value());
  op.mask_kind = either();
  expect_same(fn, op);
}

RC_GTEST_PROP(FusedAttention, Gradient, ()) { check_gradient(Drawn(), false); }
RC_GTEST_PROP(FusedAttention, GradientInALibrary, ()) { check_gradient(drawn_for_library(), true); }

}  // namespace
}  // namespace shardproof::properties
