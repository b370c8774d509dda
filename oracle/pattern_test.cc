// Every form of a name: groups beside their factors, opened and merged groups, aliases of dims and
// of groups, renames. Values against loops written out here, gradients against differences.
#include <functional>

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace pattern_test {

const std::string dims =
    "mesh t\ndim A B C D J K\ndim S T U = A\ndim K2 = K\ndim C2 = C\ndim J2 = J\ndim H = (K D)\n"
    "dim L = (C J)\ndim P Q = L\ndim E = |A| + |B|\ndim F = |B| + 1\ndim G = 2*|H|\n";
constexpr size_t A = 3, B = 2, C = 2, D = 2, J = 3, K = 3, H = K * D, L = C * J;
const Sizes sizes{{{"A", A}, {"B", B}, {"C", C}, {"D", D}, {"J", J}, {"K", K}}, {{"t", 1}}};

using Numbers = std::vector<double>;
using At = std::vector<size_t>;

// f at every index of a shape.
template <class F>
Numbers table(const At& shape, const F& f) {
  Numbers result;
  At at(shape.size(), 0);
  for (;;) {
    result.push_back(f(at));
    size_t d = shape.size();
    while (d-- > 0 && ++at[d] == shape[d]) at[d] = 0;
    if (d == ~size_t{0}) return result;
  }
}

template <class F>
double sum(size_t n, const F& f) {
  double result = 0;
  for (size_t i = 0; i < n; ++i) result += f(i);
  return result;
}

struct Case {
  const char* signature;  ///< parameters, `->`, result
  const char* body;
  std::function<Numbers(const Numbers& x, const Numbers& y)> wanted;
  /// Instead of what the body's pattern says, where resolution does not let that pass.
  std::vector<std::vector<Dim>> left = {};
  std::vector<Dim> right = {};
};

Shape shape(const std::vector<Dim>& dims) {
  Shape result;
  for (const Dim& dim : dims) result.dims.push_back({dim, {}});
  return result;
}

const std::string generic =
    "fn product(\"; X Y Z\", x: f32[X Z], y: f32[Y Z]) -> f32[X] "
    "{ return einsum(\"X Z, Y Z -> X\", x, y) }\n";

// The program of a case, with its own pattern in place of the body's.
ir::Program program_of(const Case& each) {
  const std::string body = each.body;
  const bool calls = body.find("product(") != body.npos;
  const auto loaded =
      load_text(dims + (calls ? generic : "") + "fn f(" + each.signature + " { " +
                (body.find("return") == body.npos ? "return " : "") + body + " }\n");
  ir::Program program = loaded->program();
  if (each.left.empty()) return program;
  ir::Function& f = program.functions.own().back();
  for (ir::Instr& instr : f.body.instrs) {
    ir::Pattern* found = ir::pattern_of(instr.op);
    if (!found) continue;
    ir::Pattern& pattern = *found;
    pattern.left.clear();
    for (const auto& left : each.left) pattern.left.push_back(shape(left));
    pattern.right = shape(each.right);
    if (pattern.right_bracket) pattern.right_bracket = pattern.right.dims.size() - 1;
    for (ir::ValueId id : instr.results) f.values[id].type.dims = pattern.right.dims;
  }
  return program;
}

// Indices of x and y are written as sums: x[h D + d] is entry (h, d).
const Case einsums[] = {
    {"x: f32[B (K D)], y: f32[K]) -> f32[B (K D)]", "einsum(\"B (K D), K -> B (K D)\", x, y)",
     [](auto& x, auto& y) {
       return table({B, K, D}, [&](auto& i) { return x[i[0] * H + i[1] * D + i[2]] * y[i[1]]; });
     }},
    {"x: f32[B H], y: f32[D]) -> f32[H B]", "einsum(\"B H, D -> H B\", x, y)",
     [](auto& x, auto& y) {
       return table({K, D, B}, [&](auto& i) { return x[i[2] * H + i[0] * D + i[1]] * y[i[1]]; });
     }},
    {"x: f32[(K D)], y: f32[K]) -> f32[D]", "einsum(\"(K D), K -> D\", x, y)",
     [](auto& x, auto& y) {
       return table(
           {D}, [&](auto& i) { return sum(K, [&](size_t k) { return x[k * D + i[0]] * y[k]; }); });
     }},
    {"x: f32[B H], y: f32[K D]) -> f32[B]", "einsum(\"B (K D), K D -> B\", x, y)",
     [](auto& x, auto& y) {
       return table(
           {B}, [&](auto& i) { return sum(H, [&](size_t h) { return x[i[0] * H + h] * y[h]; }); });
     }},
    {"x: f32[B H], y: f32[K]) -> f32[B D]", "einsum(\"B K D, K -> B D\", x, y)",
     [](auto& x, auto& y) {
       return table({B, D}, [&](auto& i) {
         return sum(K, [&](size_t k) { return x[i[0] * H + k * D + i[1]] * y[k]; });
       });
     }},
    {"x: f32[B H], y: f32[K]) -> f32[H]", "einsum(\"B K D, K -> H\", x, y)",
     [](auto& x, auto& y) {
       return table({K, D}, [&](auto& i) {
         return sum(B, [&](size_t b) { return x[b * H + i[0] * D + i[1]] * y[i[0]]; });
       });
     }},
    {"x: f32[K D], y: f32[H]) -> f32[]", "einsum(\"K D, H -> \", x, y)",
     [](auto& x, auto& y) { return Numbers{sum(H, [&](size_t h) { return x[h] * y[h]; })}; }},
    {"x: f32[K D], y: f32[B]) -> f32[B (D K)]", "einsum(\"K D, B -> B (D K)\", x, y)",
     [](auto& x, auto& y) {
       return table({B, D, K}, [&](auto& i) { return x[i[2] * D + i[1]] * y[i[0]]; });
     }},
    {"x y: f32[A D]) -> f32[S A]", "einsum(\"S D, A D -> S A\", x, y)",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) {
         return sum(D, [&](size_t d) { return x[i[0] * D + d] * y[i[1] * D + d]; });
       });
     }},
    {"x: f32[S T], y: f32[S U]) -> f32[S U]", "einsum(\"S T, T U -> S U\", x, y)",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) {
         return sum(A, [&](size_t t) { return x[i[0] * A + t] * y[t * A + i[1]]; });
       });
     }},
    {"x: f32[A S], y: f32[S A]) -> f32[T U]", "einsum(\"T S, S U -> T U\", x, y)",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) {
         return sum(A, [&](size_t s) { return x[i[0] * A + s] * y[s * A + i[1]]; });
       });
     }},
    {"x: f32[A S], y: f32[A]) -> f32[A S]", "einsum(\"A S, A -> A S\", x, y)",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) { return x[i[0] * A + i[1]] * y[i[0]]; });
     }},
    {"x y: f32[L D]) -> f32[P Q]", "einsum(\"P D, Q D -> P Q\", x, y)",
     [](auto& x, auto& y) {
       return table({L, L}, [&](auto& i) {
         return sum(D, [&](size_t d) { return x[i[0] * D + d] * y[i[1] * D + d]; });
       });
     }},
    {"x: f32[P], y: f32[C]) -> f32[C P]", "einsum(\"P, C -> C P\", x, y)",
     [](auto& x, auto& y) {
       return table({C, L}, [&](auto& i) { return x[i[1]] * y[i[0]]; });
     }},
    {"x: f32[L P], y: f32[J]) -> f32[P C]", "einsum(\"L P, J -> P C\", x, y)",
     [](auto& x, auto& y) {
       return table({L, C}, [&](auto& i) {
         return sum(J, [&](size_t j) { return x[(i[1] * J + j) * L + i[0]] * y[j]; });
       });
     }},
    {"x: f32[P B], y: f32[C]) -> f32[J B]", "einsum(\"(C J) B, C -> J B\", x, y)",
     [](auto& x, auto& y) {
       return table({J, B}, [&](auto& i) {
         return sum(C, [&](size_t c) { return x[(c * J + i[0]) * B + i[1]] * y[c]; });
       });
     }},
    {"x: f32[P B], y: f32[B J]) -> f32[C]", "einsum(\"C J B, B J -> C\", x, y)",
     [](auto& x, auto& y) {
       return table({C}, [&](auto& i) {
         return sum(J, [&](size_t j) {
           return sum(B, [&](size_t b) { return x[(i[0] * J + j) * B + b] * y[b * J + j]; });
         });
       });
     }},
    {"x: f32[P Q], y: f32[J]) -> f32[C Q]", "einsum(\"(C J) Q, J -> C Q\", x, y)",
     [](auto& x, auto& y) {
       return table({C, L}, [&](auto& i) {
         return sum(J, [&](size_t j) { return x[(i[0] * J + j) * L + i[1]] * y[j]; });
       });
     }},
    {"x: f32[P Q], y: f32[C J]) -> f32[J C2]", "einsum(\"(C J) (C2 J2), C J2 -> J C2\", x, y)",
     [](auto& x, auto& y) {
       return table({J, C}, [&](auto& i) {
         return sum(C, [&](size_t c) {
           return sum(
               J, [&](size_t j2) { return x[(c * J + i[0]) * L + i[1] * J + j2] * y[c * J + j2]; });
         });
       });
     }},
    {"x: f32[(K D)], y: f32[K K2]) -> f32[K D]", "einsum(\"(K2 D), K K2 -> K D\", x, y)",
     [](auto& x, auto& y) {
       return table({K, D}, [&](auto& i) {
         return sum(K, [&](size_t k2) { return x[k2 * D + i[1]] * y[i[0] * K + k2]; });
       });
     }},
    {"x: f32[K D B], y: f32[(B K)]) -> f32[(D B)]", "einsum(\"H B, (B K) -> (D B)\", x, y)",
     [](auto& x, auto& y) {
       return table({D, B}, [&](auto& i) {
         return sum(K, [&](size_t k) { return x[(k * D + i[0]) * B + i[1]] * y[i[1] * K + k]; });
       });
     }},
};

const Case reductions[] = {
    {"x: f32[B H]) -> f32[K]", "sum(\"B K D -> K\", x)",
     [](auto& x, auto&) {
       return table({K}, [&](auto& i) {
         return sum(B * D, [&](size_t n) { return x[n / D * H + i[0] * D + n % D]; });
       });
     }},
    {"x: f32[P L]) -> f32[J]", "sum(\"P L -> J\", x)",
     [](auto& x, auto&) {
       return table({J}, [&](auto& i) {
         return sum(L * C, [&](size_t n) { return x[n / C * L + n % C * J + i[0]]; });
       });
     }},
    {"x: f32[S T]) -> f32[T]", "sum(\"S T -> T\", x)",
     [](auto& x, auto&) {
       return table({A},
                    [&](auto& i) { return sum(A, [&](size_t s) { return x[s * A + i[0]]; }); });
     }},
    {"x: f32[A S]) -> f32[T]", "max(\"T S -> T\", x)",
     [](auto& x, auto&) {
       return table({A}, [&](auto& i) {
         return std::max({x[i[0] * A], x[i[0] * A + 1], x[i[0] * A + 2]});
       });
     }},
    {"x: f32[B H]) -> i32[B]", "argmax(\"B H -> B\", x)",
     [](auto& x, auto&) {
       return table({B}, [&](auto& i) {
         return double(std::max_element(&x[i[0] * H], &x[i[0] * H] + H) - &x[i[0] * H]);
       });
     }},
    {"x: f32[S A]) -> i32[A]", "argmax(\"S A -> A\", x)",
     [](auto& x, auto&) {
       return table({A}, [&](auto& i) {
         size_t best = 0;
         for (size_t s = 1; s < A; ++s)
           if (x[s * A + i[0]] > x[best * A + i[0]]) best = s;
         return double(best);
       });
     }},
};

const Case moves[] = {
    {"x: f32[B H]) -> f32[K B A D]",
     "rearrange(\"K B A D -> K B A D\", "
     "expand(\"K B D -> K B A D\", rearrange(\"B K D -> K B D\", x)))",
     [](auto& x, auto&) {
       return table({K, B, A, D}, [&](auto& i) { return x[i[1] * H + i[0] * D + i[3]]; });
     }},
    {"x: f32[B H]) -> f32[B A H]", "expand(\"B H -> B A H\", x)",
     [](auto& x, auto&) {
       return table({B, A, H}, [&](auto& i) { return x[i[0] * H + i[2]]; });
     }},
    {"x: f32[A]) -> f32[S A]", "expand(\"A -> S A\", x)",
     [](auto& x, auto&) {
       return table({A, A}, [&](auto& i) { return x[i[1]]; });
     }},
    {"x: f32[A]) -> f32[S A]", "expand(\"S -> S A\", x)",
     [](auto& x, auto&) {
       return table({A, A}, [&](auto& i) { return x[i[0]]; });
     }},
    {"x: f32[K B]) -> f32[(K D) B]", "expand(\"K B -> (K D) B\", x)",
     [](auto& x, auto&) {
       return table({K, D, B}, [&](auto& i) { return x[i[0] * B + i[2]]; });
     }},
    {"x: f32[K D B]) -> f32[B H]", "rearrange(\"K D B -> B H\", x)",
     [](auto& x, auto&) {
       return table({B, H}, [&](auto& i) { return x[i[1] * B + i[0]]; });
     }},
    {"x: f32[H B]) -> f32[(D B) K]", "rearrange(\"H B -> (D B) K\", x)",
     [](auto& x, auto&) {
       return table({D, B, K}, [&](auto& i) { return x[(i[2] * D + i[0]) * B + i[1]]; });
     }},
    {"x: f32[P B]) -> f32[B L]", "rearrange(\"P B -> B L\", x)",
     [](auto& x, auto&) {
       return table({B, L}, [&](auto& i) { return x[i[1] * B + i[0]]; });
     }},
    {"x: f32[P B]) -> f32[J B C]", "rearrange(\"P B -> J B C\", x)",
     [](auto& x, auto&) {
       return table({J, B, C}, [&](auto& i) { return x[(i[2] * J + i[0]) * B + i[1]]; });
     }},
    {"x: f32[L B]) -> f32[B P]", "rearrange(\"(C J) B -> B P\", x)",
     [](auto& x, auto&) {
       return table({B, L}, [&](auto& i) { return x[i[1] * B + i[0]]; });
     }},
    {"x: f32[P Q]) -> f32[Q P]", "rearrange(\"P Q -> Q P\", x)",
     [](auto& x, auto&) {
       return table({L, L}, [&](auto& i) { return x[i[1] * L + i[0]]; });
     }},
    {"x: f32[S T]) -> f32[T A]", "rearrange(\"S T -> T A\", x)",
     [](auto& x, auto&) {
       return table({A, A}, [&](auto& i) { return x[i[1] * A + i[0]]; });
     }},
    {"x: f32[A S]) -> f32[U T]", "rearrange(\"T U -> U T\", x)",
     [](auto& x, auto&) {
       return table({A, A}, [&](auto& i) { return x[i[1] * A + i[0]]; });
     }},
    {"x: f32[A S]) -> f32[T S]", "rearrange(\"A S -> T S\", x)", [](auto& x, auto&) { return x; }},
    {"x: f32[L P]) -> f32[J P C]", "rearrange(\"L P -> J P C\", x)",
     [](auto& x, auto&) {
       return table({J, L, C}, [&](auto& i) { return x[(i[2] * J + i[0]) * L + i[1]]; });
     }},
    {"x: f32[B A]) -> f32[B S]", "roll(\"B [S]\", x, by=1)",
     [](auto& x, auto&) {
       return table({B, A}, [&](auto& i) { return x[i[0] * A + (i[1] + A - 1) % A]; });
     }},
    {"x: f32[B H]) -> f32[B H]", "roll(\"B [H]\", x, by=-2)",
     [](auto& x, auto&) {
       return table({B, H}, [&](auto& i) { return x[i[0] * H + (i[1] + 2) % H]; });
     }},
    {"x: f32[B H]) -> f32[B H]", "rev(\"B [H]\", x)",
     [](auto& x, auto&) {
       return table({B, H}, [&](auto& i) { return x[i[0] * H + H - 1 - i[1]]; });
     }},
    {"x: f32[H B]) -> f32[H B]", "cumsum(\"H B; H\", x)",
     [](auto& x, auto&) {
       return table({H, B}, [&](auto& i) {
         return sum(i[0] + 1, [&](size_t h) { return x[h * B + i[1]]; });
       });
     }},
    {"x: f32[S A]) -> f32[S A]", "cumsum(\"S A; A\", x)",
     [](auto& x, auto&) {
       return table({A, A}, [&](auto& i) {
         return sum(i[1] + 1, [&](size_t a) { return x[i[0] * A + a]; });
       });
     }},
};

const Case slices[] = {
    {"x: f32[H B]) -> f32[K B]", "read(\"[H] B -> K B\", x, at=2)",
     [](auto& x, auto&) {
       return table({K, B}, [&](auto& i) { return x[(i[0] + 2) * B + i[1]]; });
     }},
    {"x: f32[A H]) -> f32[H]", "read(\"[A] K D -> H\", x, at=1)",
     [](auto& x, auto&) { return table({H}, [&](auto& i) { return x[H + i[0]]; }); }},
    {"x: f32[G B]) -> f32[(K D) B]", "read(\"[G] B -> (K D) B\", x, at=3)",
     [](auto& x, auto&) {
       return table({H, B}, [&](auto& i) { return x[(i[0] + 3) * B + i[1]]; });
     }},
    {"x: f32[S B], y: f32[S B]) -> f32[S B]", "write(\"[S] B, S B -> S B\", x, y, at=0)",
     [](auto&, auto& y) { return y; }},
    {"x: f32[H B], y: f32[K B]) -> f32[H B]", "write(\"[H] B, K B -> H B\", x, y, at=3)",
     [](auto& x, auto& y) {
       return table({H, B}, [&](auto& i) {
         return i[0] < 3 ? x[i[0] * B + i[1]] : y[(i[0] - 3) * B + i[1]];
       });
     }},
    {"x: f32[S A], y: f32[S]) -> f32[S A]", "write(\"S [A], S -> S A\", x, y, at=2)",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) { return i[1] == 2 ? y[i[0]] : x[i[0] * A + i[1]]; });
     }},
    {"x: f32[B H], y: f32[A H]) -> f32[E H]", "concat(\"B H, A K D -> [E] H\", x, y)",
     [](auto& x, auto& y) {
       return table({B + A, H}, [&](auto& i) {
         return i[0] < B ? x[i[0] * H + i[1]] : y[(i[0] - B) * H + i[1]];
       });
     }},
    {"x: f32[H B], y: f32[(K D) B]) -> f32[G B]", "concat(\"H B, (K D) B -> [G] B\", x, y)",
     [](auto& x, auto& y) {
       return table({2 * H, B}, [&](auto& i) {
         return i[0] < H ? x[i[0] * B + i[1]] : y[(i[0] - H) * B + i[1]];
       });
     }},
};

// y holds the ids.
const Case lookups[] = {
    {"x: f32[C H], y: i32[A]) -> f32[A D K]", "index(\"[C] H, A -> A D K\", x, y)",
     [](auto& x, auto& y) {
       return table({A, D, K}, [&](auto& i) { return x[size_t(y[i[0]]) * H + i[2] * D + i[1]]; });
     }},
    {"x: f32[C (K D)], y: i32[K]) -> f32[K D]", "index(\"[C] (K D), K -> K D\", x, y)",
     [](auto& x, auto& y) {
       return table({K, D}, [&](auto& i) { return x[size_t(y[i[0]]) * H + i[0] * D + i[1]]; });
     }},
    {"x: f32[A B], y: i32[A]) -> f32[A B]", "index(\"[A] B, A -> A B\", x, y)",
     [](auto& x, auto& y) {
       return table({A, B}, [&](auto& i) { return x[size_t(y[i[0]]) * B + i[1]]; });
     }},
    {"x: f32[B L], y: i32[H]) -> f32[H B]", "index(\"B [L], K D -> H B\", x, y)",
     [](auto& x, auto& y) {
       return table({H, B}, [&](auto& i) { return x[i[1] * L + size_t(y[i[0]])]; });
     }},
    {"x: f32[A S], y: i32[A]) -> f32[S]", "index(\"[A] S, S -> S\", x, y)",
     [](auto& x, auto& y) {
       return table({A}, [&](auto& i) { return x[size_t(y[i[0]]) * A + i[0]]; });
     }},
    {"x: f32[(K D)], y: i32[K]) -> f32[C D]", "index_add(\"K, (K D) -> [C] D\", y, x)",
     [](auto& x, auto& y) {
       return table({C, D}, [&](auto& i) {
         return sum(K, [&](size_t k) { return size_t(y[k]) == i[0] ? x[k * D + i[1]] : 0; });
       });
     }},
    {"x: f32[H B], y: i32[H]) -> f32[B L]", "index_add(\"H, K D B -> B [L]\", y, x)",
     [](auto& x, auto& y) {
       return table({B, L}, [&](auto& i) {
         return sum(H, [&](size_t h) { return size_t(y[h]) == i[1] ? x[h * B + i[0]] : 0; });
       });
     }},
    {"x: f32[A B], y: i32[A]) -> f32[A B]", "index_add(\"A, A B -> [A] B\", y, x)",
     [](auto& x, auto& y) {
       return table({A, B}, [&](auto& i) {
         return sum(A, [&](size_t a) { return size_t(y[a]) == i[0] ? x[a * B + i[1]] : 0; });
       });
     }},
};

// Names in a body are the caller's; pointwise ops see whole positions.
const Case bodies[] = {
    {"x: f32[A S], y: f32[A]) -> f32[A S]", "x * y",
     [](auto& x, auto& y) {
       return table({A, A}, [&](auto& i) { return x[i[0] * A + i[1]] * y[i[0]]; });
     }},
    {"x: f32[K H], y: f32[H]) -> f32[K H]", "x * y",
     [](auto& x, auto& y) {
       return table({K, H}, [&](auto& i) { return x[i[0] * H + i[1]] * y[i[1]]; });
     }},
    {"x: f32[H K2]) -> f32[H K2]", "softmax(\"H K2; K2\", x)",
     [](auto& x, auto&) {
       return table({H, K}, [&](auto& i) {
         return std::exp(x[i[0] * K + i[1]]) /
                sum(K, [&](size_t k) { return std::exp(x[i[0] * K + k]); });
       });
     }},
    {"x: f32[B H]) -> f32[B K D]", "softmax(\"B K D; K\", x)",
     [](auto& x, auto&) {
       return table({B, K, D}, [&](auto& i) {
         const size_t row = i[0] * H + i[2];
         return std::exp(x[row + i[1] * D]) /
                sum(K, [&](size_t k) { return std::exp(x[row + k * D]); });
       });
     }},
    {"x: f32[H A], y: f32[K A]) -> f32[H]", "product(\"; H K A\", x, y)",
     [](auto& x, auto& y) {
       return table({H}, [&](auto& i) {
         return sum(K * A, [&](size_t n) { return x[i[0] * A + n % A] * y[n]; });
       });
     }},
    {"x: f32[K B]) -> f32[K B]", "softmax(\"; B\", x)",
     [](auto& x, auto&) {
       return table({K, B}, [&](auto& i) {
         return 1 / (1 + std::exp(x[i[0] * B + 1 - i[1]] - x[i[0] * B + i[1]]));
       });
     }},
    {"x: f32[P C]) -> f32[P C]", "softmax(\"P C; C\", x)",
     [](auto& x, auto&) {
       return table({L, C}, [&](auto& i) {
         return std::exp(x[i[0] * C + i[1]]) /
                sum(C, [&](size_t c) { return std::exp(x[i[0] * C + c]); });
       });
     }},
};

const Dim a{{"A"}}, b{{"B"}}, s{{"S"}}, t{{"T"}}, u{{"U"}}, k{{"K"}}, d{{"D"}}, h{{"K", "D"}},
    p{{"P"}}, q{{"Q"}}, l{{"L"}}, j{{"J"}}, c{{"C"}}, e{{"F"}};

// Other orders of the result, groups opened on the right.
const Case others[] = {
    {"x: f32[H B]) -> f32[B]",
     "min(\"H B -> B\", x)",
     [](auto& x, auto&) {
       return table({B, K}, [&](auto& i) {
         return std::min(x[(i[1] * D) * B + i[0]], x[(i[1] * D + 1) * B + i[0]]);
       });
     },
     {{h, b}},
     {b, k}},
    {"x: f32[B H]) -> i32[B]",
     "argmax(\"B H -> B\", x)",
     [](auto& x, auto&) {
       return table({K, B}, [&](auto& i) {
         const size_t row = i[1] * H + i[0] * D;
         return x[row] < x[row + 1] ? 1.0 : 0.0;
       });
     },
     {{b, h}},
     {k, b}},
    {"x: f32[B H]) -> f32[B C]",
     "v, _i = top_k(\"B H -> B C\", x) return v",
     [](auto& x, auto&) {
       return table({C, D, B}, [&](auto& i) {
         Numbers row = {x[i[2] * H + i[1]], x[i[2] * H + D + i[1]], x[i[2] * H + 2 * D + i[1]]};
         std::sort(row.rbegin(), row.rend());
         return row[i[0]];
       });
     },
     {{b, h}},
     {c, d, b}},
    {"x: f32[B H]) -> i32[B C]",
     "_v, i = top_k(\"B H -> B C\", x) return i",
     [](auto& x, auto&) {
       return table({C, D, B}, [&](auto& i) {
         std::vector<size_t> row = {0, 1, 2};
         auto at = [&](size_t r) { return x[i[2] * H + r * D + i[1]]; };
         std::sort(row.begin(), row.end(), [&](size_t m, size_t n) { return at(m) > at(n); });
         return double(row[i[0]]);
       });
     },
     {{b, h}},
     {c, d, b}},
    {"x: f32[A H]) -> f32[B H]",
     "read(\"[A] H -> B H\", x, at=1)",
     [](auto& x, auto&) {
       return table({D, B, K}, [&](auto& i) { return x[(i[1] + 1) * H + i[2] * D + i[0]]; });
     },
     {{a, h}},
     {d, b, k}},
    {"x: f32[A S]) -> f32[B S]",
     "read(\"[A] S -> B S\", x, at=0)",
     [](auto& x, auto&) { return x; },
     {{a, s}},
     {a, s}},
    {"x: f32[A H], y: f32[B H]) -> f32[A H]",
     "write(\"[A] H, B H -> A H\", x, y, at=1)",
     [](auto& x, auto& y) {
       return table({K, A, D}, [&](auto& i) {
         const size_t at = i[0] * D + i[2];
         return i[1] < 1 ? x[at] : y[(i[1] - 1) * H + at];
       });
     },
     {{a, h}, {b, h}},
     {k, a, d}},
    {"x: f32[H B], y: f32[H]) -> f32[H F]",
     "concat(\"H B, H -> H [F]\", x, y)",
     [](auto& x, auto& y) {
       return table({D, K, B + 1}, [&](auto& i) {
         const size_t at = i[1] * D + i[0];
         return i[2] < B ? x[at * B + i[2]] : y[at];
       });
     },
     {{h, b}, {h}},
     {d, k, e}},
};

void expect(const Case& each, size_t seed) {
  const std::string text = std::string(each.signature) + " " + each.body + "\n";
  Random random(static_cast<unsigned>(seed));
  const ir::Program program = program_of(each);
  ASSERT_FALSE(program.functions.empty()) << text;
  const size_t f = program.functions.size() - 1;
  const auto inputs = random_inputs(program, f, sizes, 2, random);
  const auto got = evaluate(program, f, sizes, inputs);
  const Numbers wanted = each.wanted(inputs[0].data, inputs.back().data);
  ASSERT_EQ(got[0].data.size(), wanted.size()) << text;
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got[0].data[i], wanted[i], 1e-12) << text << "entry " << i;
  if (!is_float(program.functions[f].results[0].dtype)) return;
  EXPECT_LT(gradient_error(program, f, sizes, inputs, 1000, random), 1e-8) << text;
}

template <size_t n>
void expect_all(const Case (&cases)[n]) {
  for (size_t i = 0; i < n; ++i) expect(cases[i], i);
}

TEST(Pattern, einsum) { expect_all(einsums); }
TEST(Pattern, reductions) { expect_all(reductions); }
TEST(Pattern, entries_in_other_places) { expect_all(moves); }
TEST(Pattern, slices) { expect_all(slices); }
TEST(Pattern, lookups) { expect_all(lookups); }
TEST(Pattern, bodies_and_pointwise) { expect_all(bodies); }
TEST(Pattern, other_orders_of_the_result) { expect_all(others); }

// What resolve refuses reaches the oracle only by other hands: it refuses as well.
std::string refusal(const char* signature, const char* body,
                    const std::vector<std::vector<Dim>>& left, const std::vector<Dim>& right) {
  const ir::Program program = program_of({signature, body, {}, left, right});
  Random random(1);
  try {
    const size_t f = program.functions.size() - 1;
    evaluate(program, f, sizes, random_inputs(program, f, sizes, 2, random));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Wrong {
  const char* signature;
  const char* body;
  std::vector<std::vector<Dim>> left = {};
  std::vector<Dim> right = {};
};

TEST(Pattern, what_means_nothing_is_refused) {
  const char* two = "x: f32[S T]) -> f32[S T]";
  const char* move = "rearrange(\"S T -> S T\", x)";
  const char* groups = "x: f32[P Q]) -> f32[P Q]";
  const char* move_groups = "rearrange(\"P Q -> P Q\", x)";
  const Wrong cases[] = {
      {two, move, {{t, s}}, {s, t}},               // two positions exchange their names
      {two, move, {{u, u}}, {u, s}},               // an index twice in an operand
      {two, move, {{s, t}}, {t, t}},               // and in the result
      {two, move, {{s, t}}, {a, u}},               // two are left over for one dim
      {two, move, {{s, t}}, {s}},                  // one is lost
      {two, move, {{s, t}}, {s, t, u}},            // one is made
      {two, move, {{s}}, {s}},                     // fewer positions than the operand has
      {two, move, {{s, b}}, {s, b}},               // another dim
      {groups, move_groups, {{p, q}}, {c, j, l}},  // four pairs of factors, and two are left over
      {groups, move_groups, {{q, p}}, {p, q}},     //
      {two, "einsum(\"S T -> S T\", x)", {{s, t}}, {s, a}},
      {"x: f32[H], y: f32[K]) -> f32[H]", "einsum(\"H, K -> H\", x, y)", {{h}, {k}}, {k, k}},
      {"x: f32[H], y: f32[K]) -> f32[H]", "einsum(\"H, K -> H\", x, y)", {{h}, {a}}, {h}},
      {"x: f32[A B]) -> f32[A B S]", "expand(\"A B -> A B S\", x)", {{a, b}}, {s, t, b}},
      {"x: f32[A B]) -> f32[B]", "read(\"[A] B -> B\", x, at=0)", {{a, b}}, {s}},
      {"x: f32[A B]) -> f32[B]", "read(\"[A] B -> B\", x, at=0)", {{a, b}}, {a, b, d}},
      {"x: f32[A B]) -> i32[B]", "argmax(\"A B -> B\", x)", {{a, b}}, {a, b}},
      {"x: f32[A B]) -> f32[B]", "sum(\"A B -> B\", x)", {{a, b}}, {d, b}},
  };
  for (const Wrong& wrong : cases)
    EXPECT_NE(refusal(wrong.signature, wrong.body, wrong.left, wrong.right), "")
        << wrong.body << " " << to_string(shape(wrong.left[0])) << " -> "
        << to_string(shape(wrong.right));
  EXPECT_EQ(refusal(two, move, {{s, u}}, {u, s}), "");
  EXPECT_EQ(refusal(two, move, {{t, u}}, {t, u}), "");  // T has become the first one's name
}

// Whatever a pattern says, an access is inside its tensor: a value of the stated shape, or refused.
TEST(Pattern, at_random_never_reads_beyond) {
  const Wrong cases[] = {
      {"x: f32[S H], y: f32[A B]) -> f32[S]", "einsum(\"S H, A B -> S\", x, y)"},
      {"x: f32[S H]) -> f32[S]", "sum(\"S H -> S\", x)"},
      {"x: f32[S T H]) -> f32[S T H]", "rearrange(\"S T H -> S T H\", x)"},
      {"x: f32[P Q]) -> f32[P Q]", "rearrange(\"P Q -> P Q\", x)"},
      {"x: f32[S H]) -> f32[S H A]", "expand(\"S H -> S H A\", x)"},
      {"x: f32[S H]) -> f32[T H]", "read(\"[S] H -> T H\", x, at=0)"},
      {"x: f32[S H], y: f32[B H]) -> f32[S H]", "write(\"[S] H, B H -> S H\", x, y, at=1)"},
      {"x: f32[A H], y: f32[B H]) -> f32[E H]", "concat(\"A H, B H -> [E] H\", x, y)"},
      {"x: f32[A H], y: i32[B]) -> f32[B H]", "index(\"[A] H, B -> B H\", x, y)"},
      {"y: i32[B], x: f32[B H]) -> f32[C H]", "index_add(\"B, B H -> [C] H\", y, x)"},
      {"x: f32[S H]) -> f32[S H]", "roll(\"[S] H\", x, by=1)"},
      {"x: f32[S H]) -> f32[S H]", "cumsum(\"S H; S\", x)"},
      {"x: f32[S H]) -> i32[S]", "argmax(\"S H -> S\", x)"},
  };
  const std::vector<Dim> names = {
      {{"A"}}, {{"S"}},      {{"T"}},      {{"B"}}, {{"K"}}, {{"D"}}, {{"H"}}, {{"P"}},
      {{"L"}}, {{"K", "D"}}, {{"D", "K"}}, {{"C"}}, {{"J"}}, {{"E"}}, {{"2"}}, {}};
  Random random(5);
  auto drawn = [&](size_t n) {
    std::vector<Dim> result;
    for (size_t i = 0; i < n; ++i) result.push_back(names[random() % names.size()]);
    return result;
  };
  size_t run = 0;
  for (const Wrong& each : cases) {
    const ir::Program written = program_of({each.signature, each.body, {}});
    const size_t f = written.functions.size() - 1;
    for (int round = 0; round < 600; ++round) {
      ir::Program program = written;
      ir::Function& function = program.functions.own()[f];
      const auto inputs = random_inputs(program, f, sizes, 2, random);
      for (ir::Instr& instr : function.body.instrs) {
        ir::Pattern* found = ir::pattern_of(instr.op);
        if (!found) continue;
        ir::Pattern& pattern = *found;
        pattern.inferred = random() % 3 == 0;
        for (Shape& left : pattern.left)
          for (Split& split : left.dims)
            if (random() % 3 == 0) split.dim = drawn(1)[0];
        if (random() % 2) pattern.right = shape(drawn(random() % 4));
        if (pattern.left_bracket && random() % 4 == 0) pattern.left_bracket = random() % 4;
        if (pattern.right_bracket && random() % 4 == 0) pattern.right_bracket = random() % 4;
        function.values[instr.results[0]].type.dims = pattern.right.dims;
        function.results[0].dims = pattern.right.dims;
      }
      try {
        gradient_error(program, f, sizes, inputs, 0, random);
        ++run;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(run, 600u);  // else everything is refused
}

}  // namespace pattern_test
}  // namespace shardproof::oracle
