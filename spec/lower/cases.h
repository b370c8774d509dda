// One small function per op, with random choices, for the law on lowering.
#pragma once

#include <functional>

#include "spec/laws/dice.h"
#include "spec/lower/builder.h"

namespace shardproof::lower {

using ir::BinaryFn;
using ir::UnaryFn;
using ir::ValueId;

struct Build : FunctionBuilder {
  laws::Dice& random;
  explicit Build(laws::Dice& r) : FunctionBuilder("f"), random(r) {}

  int64_t below(int64_t n) { return random.below(n); }
  template <class T>
  T one_of(std::vector<T> v) {
    return v[static_cast<size_t>(below(static_cast<int64_t>(v.size())))];
  }
  /// A parameter, or a value computed from one, so that ops see both leaves and derived tensors.
  ValueId real(const std::string& dims) {
    ValueId x = param("x" + std::to_string(f.params.size()), dims);
    switch (below(4)) {
      case 0:
        return add(mul(x, x), number("0.5"));
      case 1:
        return unary(one_of<UnaryFn>({UnaryFn::exp, UnaryFn::sin, UnaryFn::abs}), x);
      default:
        return x;
    }
  }
  ValueId whole(const std::string& dims) {
    return param("i" + std::to_string(f.params.size()), dims, Dtype::i32);
  }
  ValueId condition(const std::string& dims) {
    return param("b" + std::to_string(f.params.size()), dims, Dtype::boolean);
  }
  ValueId key() { return param("k" + std::to_string(f.params.size()), "", Dtype::key); }
};

struct Case {
  const char* name;
  std::function<ValueId(Build&)> build;
};

inline std::vector<Case> pointwise_cases() {
  std::vector<Case> cases;
  for (UnaryFn fn : ir::unary_fns) {
    if (takes(fn) == ir::Takes::booleans) continue;
    const ir::Domain where = domain(fn);
    cases.push_back({name_of(fn), [fn, where](Build& b) {
                       const ValueId x = b.real("B L");
                       if (where.kind == ir::Domain::everywhere) return b.unary(fn, x);
                       const ValueId square = b.mul(x, x);
                       const ValueId over = b.below(2) ? square : b.add(square, b.number("0.1"));
                       if (where.least == 0) return b.unary(fn, over);
                       return b.unary(fn, b.add(over, b.number(std::to_string(where.least))));
                     }});
  }
  for (BinaryFn fn : ir::binary_fns) {
    const ir::Takes taken = takes(fn);
    if (taken == ir::Takes::booleans || taken == ir::Takes::integers || fn == BinaryFn::pow)
      continue;  // pow: of positive bases, below
    cases.push_back({name_of(fn), [fn](Build& b) {
                       ValueId x = b.real("B L");
                       return b.binary(
                           fn, x,
                           b.below(4) ? b.real(b.one_of<std::string>({"L", "L B", "B", ""})) : x);
                     }});
  }
  for (BinaryFn fn : ir::binary_fns) {
    if (takes(fn) == ir::Takes::booleans || takes(fn) == ir::Takes::reals) continue;
    cases.push_back({"integers", [fn](Build& b) {
                       ValueId x = b.below(2) ? b.whole("B L") : b.iota("B L", 1);
                       ValueId y =
                           b.below(2) ? b.add(b.iota("L", 0), b.number("1")) : b.number("3");
                       return b.binary(fn, x, y);
                     }});
  }
  return cases;
}

inline std::vector<Case> mixed_cases() {
  std::vector<Case> cases;
  for (BinaryFn fn : {BinaryFn::logical_and, BinaryFn::logical_or, BinaryFn::eq, BinaryFn::ne})
    cases.push_back({"conditions", [fn](Build& b) {
                       ValueId x = b.binary(fn, b.condition("B L"), b.condition("L"));
                       return b.below(2) ? x : b.unary(UnaryFn::logical_not, x);
                     }});
  cases.push_back({"pow", [](Build& b) {
                     ValueId x = b.real("B");
                     ValueId base = b.add(b.mul(x, x), b.number("0.5"));
                     return b.binary(BinaryFn::pow, base,
                                     b.below(2) ? b.number("1.5") : b.real(""));
                   }});
  cases.push_back({"where", [](Build& b) {
                     return b.where(b.condition("B L"), b.real("L"),
                                    b.below(2) ? b.real("B L") : b.number("0"));
                   }});
  cases.push_back({"cast", [](Build& b) {
                     switch (b.below(4)) {
                       case 0:
                         return b.cast(Dtype::f32, b.condition("B"));
                       case 1:
                         return b.cast(Dtype::i32, b.add(b.real("B"), b.number("0.25")));
                       case 2:
                         return b.cast(Dtype::boolean, b.whole("B"));
                       default:
                         return b.cast(Dtype::bf16, b.cast(Dtype::f32, b.whole("B")));
                     }
                   }});
  cases.push_back({"total", [](Build& b) {
                     ValueId x = b.real("");
                     return b.emit(ir::Total{}, {x, b.real(""), x}, b.type_of(x));
                   }});
  return cases;
}

inline std::vector<Case> structure_cases() {
  return {
      {"einsum",
       [](Build& b) {
         return b.einsum("B S D, B T D -> B S T", {b.real("B L D"), b.real("B L D")});
       }},
      {"einsum3",
       [](Build& b) {
         return b.einsum("B L, L M, M -> B", {b.real("B L"), b.real("L M"), b.real("M")});
       }},
      {"einsum group",
       [](Build& b) {
         return b.einsum("B (K D), K D -> D B", {b.real("B (K D)"), b.real("K D")});
       }},
      {"sum", [](Build& b) { return b.sum("B L M -> L", b.real("B L M")); }},
      {"max", [](Build& b) { return b.max("B L M -> L", b.real("B L M")); }},
      {"min",
       [](Build& b) {
         return b.op("B L -> B", {b.real("B L")}, ir::Reduce{ir::ReduceFn::min, {}, {}});
       }},
      {"expand", [](Build& b) { return b.expand("S -> B S T", b.real("L")); }},
      {"rearrange",
       [](Build& b) {
         return b.op<ir::Rearrange>("B L (K D) -> K (L D) B", {b.real("B L (K D)")});
       }},
      {"alias", [](Build& b) { return b.op<ir::Rearrange>("H S -> T K D", {b.real("H L")}); }},
      {"collective",
       [](Build& b) {
         return b.collective(ir::CollectiveFn::all_to_all, "B L/t K -> B L K/t", b.real("B L K"));
       }},
      {"read entry",
       [](Build& b) {
         return b.op<ir::Read>("[kv] B -> B", {b.real("kv B"), b.number("1")});
       }},
      {"read",
       [](Build& b) {
         return b.op<ir::Read>("B [Z] -> B F", {b.real("B Z"), b.size("L")});
       }},
      {"read group",
       [](Build& b) {
         return b.op<ir::Read>("B [H] -> B", {b.real("B H"), b.number("1")});
       }},
      {"write",
       [](Build& b) {
         return b.op<ir::Write>("B [Z] D, B F D -> B Z D",
                                {b.real("B Z D"), b.real("B F D"), b.size("L")});
       }},
      {"write at",
       [](Build& b) {  // at = a value
         ValueId at = b.cast(Dtype::i32, b.cast(Dtype::boolean, b.whole("")));
         return b.op<ir::Write>("B [Z], B F -> B Z", {b.real("B Z"), b.real("B F"), at});
       }},
      {"write entry",
       [](Build& b) {
         return b.op<ir::Write>("[Z] B, B -> Z B", {b.real("Z B"), b.real("B"), b.number("2")});
       }},
      {"concat",
       [](Build& b) {
         return b.op<ir::Concat>("L B, F B, K B -> [Z] B",
                                 {b.real("L B"), b.real("F B"), b.real("K B")});
       }},
      {"concat halves",
       [](Build& b) {
         return b.op<ir::Concat>("B h, B h -> B [D]", {b.real("B h"), b.real("B h")});
       }},
      {"stack",
       [](Build& b) {
         return b.op<ir::Concat>("B, B -> B [kv]", {b.real("B"), b.real("B")});
       }},
      {"roll",
       [](Build& b) {
         ValueId by = b.below(2) ? b.number(b.one_of<std::string>({"1", "2", "0"})) : b.whole("");
         return b.op<ir::Roll>("B [L] -> B [L]", {b.real("B L"), by});
       }},
      {"rev", [](Build& b) { return b.op<ir::Rev>("B [L] -> B [L]", {b.real("B L")}); }},
      {"rev group", [](Build& b) { return b.op<ir::Rev>("B [H] -> B [H]", {b.real("B H")}); }},
      {"roll group",
       [](Build& b) {
         return b.op<ir::Roll>("B [H] -> B [H]",
                               {b.real("B H"), b.unary(UnaryFn::neg, b.number("1"))});
       }},
      {"entry",
       [](Build& b) {
         Values r = b.scan("N", {}, [&](ValueId n, Values) {
           return std::make_pair(Values{},
                                 Values{b.add(b.entry(b.real("N B"), n), b.cast(Dtype::f32, n))});
         });
         return r[0];
       }},
  };
}

/// Grouped dims next to their factors, aliases of groups, renames, groups that a pattern opens.
inline std::vector<Case> grouped_cases() {
  auto einsum = [](const char* name, std::string pattern, std::vector<std::string> dims) {
    return Case{name, [=](Build& b) {
                  Values operands;
                  for (const std::string& each : dims) operands.push_back(b.real(each));
                  return b.einsum(pattern, operands);
                }};
  };
  auto one = [](auto op, const char* name, std::string pattern, std::string dims) {
    return Case{name, [=](Build& b) { return b.op(pattern, {b.real(dims)}, op); }};
  };
  const ir::Reduce sum{ir::ReduceFn::sum, {}, {}}, max{ir::ReduceFn::max, {}, {}};
  const ir::Expand expand;
  const ir::Rearrange rearrange;
  return {
      einsum("a group beside its factor", "B (K D), K -> B (K D)", {"B (K D)", "K"}),
      einsum("a named group beside its factors", "H, D, K -> K", {"H", "D", "K"}),
      einsum("a group beside another name", "H k, K -> D k", {"H K", "K"}),
      einsum("a group and its alias", "B A, B H -> H A", {"B H", "B H"}),
      einsum("an alias of a group alone", "A H -> H", {"A H"}),
      einsum("two opened groups", "K D k d, K d -> k D", {"H A", "K D"}),
      einsum("factors as a group", "B H -> H", {"B K D"}),
      einsum("an opened group", "B K D -> B K", {"B H"}),
      einsum("a group made of others", "K L, D L -> (D L K)", {"K L", "D L"}),
      einsum("renamed", "B T, B L -> T L", {"B L", "B L"}),
      einsum("renamed to what is summed", "B S, S -> B", {"B L", "L"}),
      one(sum, "sum of a factor", "B K D -> B D", "B H"),
      one(sum, "sum of a group beside its factor", "H k -> k", "H K"),
      one(sum, "sum of an alias", "S L -> L", "T L"),
      one(max, "max of a factor", "B H d -> B K d", "B H D"),
      one(max, "max of an alias of a group", "A H -> A", "A H"),
      one(expand, "expand by an alias of a group", "H -> A H", "H"),
      one(expand, "expand to a group", "K -> K B D", "K"),
      one(expand, "expand a factor to its group", "B K -> B (K D)", "B K"),
      one(expand, "expand beside a factor", "K -> (K D) k", "K"),
      one(rearrange, "open a group", "B H -> D B K", "B H"),
      one(rearrange, "rename a group", "B H -> A B", "B H"),
      one(rearrange, "factors of an alias", "A B -> K B D", "A B"),
      one(rearrange, "aliases change places", "S T -> T S", "L T"),
      one(rearrange, "beside its base", "L T -> L S", "L T"),
      one(rearrange, "a group beside its factor", "H k d -> (k d) (D K)", "H K D"),
      {"read of a group beside its factor",
       [](Build& b) {
         return b.op<ir::Read>("k [H] d -> k d", {b.real("K H D"), b.number("1")});
       }},
      {"read of a factor",
       [](Build& b) {
         return b.op<ir::Read>("H [d] -> H h", {b.real("H D"), b.size("h")});
       }},
      {"write of a block of its own name",
       [](Build& b) {
         return b.op<ir::Write>("B [L], B L -> B L", {b.real("B L"), b.real("B L"), b.number("0")});
       }},
      {"write beside the group",
       [](Build& b) {
         return b.op<ir::Write>("H [d], H h -> H d", {b.real("H D"), b.real("H h"), b.number("0")});
       }},
      {"concat beside the group",
       [](Build& b) {
         return b.op<ir::Concat>("H h, H h -> H [d]", {b.real("H h"), b.real("H h")});
       }},
      {"roll of a group beside its factor",
       [](Build& b) {
         return b.op<ir::Roll>("k [H] d -> k [H] d", {b.real("K H D"), b.number("1")});
       }},
      {"rev of a group beside its factor",
       [](Build& b) { return b.op<ir::Rev>("k [H] d -> k [H] d", {b.real("K H D")}); }},
      {"roll of an alias",
       [](Build& b) {
         return b.op<ir::Roll>("[A] H -> [A] H", {b.real("A H"), b.number("2")});
       }},
      {"pointwise",
       [](Build& b) { return b.mul(b.mul(b.real("K H d"), b.real("(K D)")), b.real("K")); }},
      {"entries of a group",
       [](Build& b) {
         Values r = b.scan("H", {}, [&](ValueId n, Values) {
           return std::make_pair(Values{}, Values{b.entry(b.real("H K D"), n)});
         });
         return r[0];
       }},
      {"entries of a group inside",
       [](Build& b) {
         Values r = b.scan("H", {}, [&](ValueId n, Values) {
           return std::make_pair(Values{}, Values{b.entry(b.real("K H D"), n, 1)});
         });
         return r[0];
       }},
      {"entries of an alias",
       [](Build& b) {
         ValueId x = b.real("A H"), y = b.real("K");
         Values r = b.scan("A", {y}, [&](ValueId n, Values c) {
           ValueId row = b.einsum("H, K -> K", {b.entry(x, n), c[0]});
           return std::make_pair(Values{b.unary(UnaryFn::tanh, row)}, Values{row});
         });
         return r[1];
       }},
  };
}

inline std::vector<Case> index_cases() {
  auto ids = [](Build& b, const char* dims) { return b.param("ids", dims, Dtype::i32); };
  auto zeros = [](Build& b) {
    ir::Zeros op{{read_shape("B L"), false, {}}, Dtype::f32};
    return b.emit(op, {}, Build::type(op.created.shape, Dtype::f32));
  };
  auto draw = [](ir::RandomFn fn, const char* dims) {
    return [fn, dims](Build& b) {
      ValueId k = b.key();
      if (b.below(2)) k = b.emit(ir::Fold{"tag"}, {k}, b.type_of(k));
      if (b.below(2)) k = b.emit(ir::Fold{}, {k, b.number("3")}, b.type_of(k));
      ir::Random op{fn, {read_shape(dims), false, {}}};
      return b.emit(op, {k}, Build::type(op.created.shape, Dtype::f32));
    };
  };
  auto ordered = [](ir::OrderedFn fn, const char* pattern, size_t dim, std::string dims = "") {
    return [=](Build& b) {
      const std::string p = pattern;
      ValueId x = b.real(dims.empty() ? p.substr(0, p.find(" ->")) : dims);
      ir::Ordered op{fn, read_pattern(p), dim};
      Type t = b.type_of(x);
      if (fn == ir::OrderedFn::argsort) t.dtype = Dtype::i32;
      return b.emit(op, {x}, t);
    };
  };
  auto top = [](size_t which, std::string dims = "B Z", std::string pattern = "B Z -> B kv") {
    return [=](Build& b) {
      ValueId x = b.real(dims);
      ir::TopK op{read_pattern(pattern)};
      const Shape& right = op.pattern.right;
      return b.emit_all(op, {x},
                        {b.value(Build::type(right, Dtype::f32)),
                         b.value(Build::type(right, Dtype::i32))})[which];
    };
  };
  return {
      {"index",
       [=](Build& b) {
         return b.op<ir::Index>("[V] M, B L -> B L M", {b.real("V M"), ids(b, "B L")});
       }},
      {"paired",
       [=](Build& b) {
         return b.op<ir::Index>("B [V], B L -> L B", {b.real("B V"), ids(b, "B L")});
       }},
      {"index group",
       [=](Build& b) {
         return b.op<ir::Index>("[H] M, V -> V M", {b.real("H M"), ids(b, "V")});
       }},
      {"unreduced",
       [=](Build& b) {
         return b.op<ir::IndexUnreduced>("[V/t] M, B -> B M", {b.real("V M"), ids(b, "B")});
       }},
      {"index_add",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("B L, B L M -> [V] M", {ids(b, "B L"), b.real("B L M")}, {}, 1);
       }},
      {"index_add paired",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("B L, B L -> B [V]", {ids(b, "B L"), b.real("B L")}, {}, 1);
       }},
      {"iota", [](Build& b) { return b.iota("B L", static_cast<size_t>(b.below(2))); }},
      {"iota group", [](Build& b) { return b.mul(b.iota("H B", 0), b.iota("H B", 1)); }},
      {"uniform", draw(ir::RandomFn::uniform, "B L (K D)")},
      {"normal", draw(ir::RandomFn::normal, "L B")},
      {"zeros", zeros},
      {"cumsum", ordered(ir::OrderedFn::cumsum, "B L -> B L", 1)},
      {"cumsum group", ordered(ir::OrderedFn::cumsum, "H B -> H B", 0)},
      {"argsort", ordered(ir::OrderedFn::argsort, "B L -> B L", 1)},
      {"argmax",
       [](Build& b) {
         ir::Argmax op{read_pattern("B L Z -> B L")};
         return b.emit(op, {b.real("B L Z")}, Build::type(op.pattern.right, Dtype::i32));
       }},
      {"top_k", top(0)},
      {"top_k index", top(1)},
      {"top_k of a group beside its factor", top(0, "K H", "k H -> k kv")},
      {"top_k beside its group", top(0, "H D", "H d -> H kv")},
      {"index of a group beside its factor",
       [=](Build& b) {
         return b.op<ir::Index>("[H] k, B L -> B L k", {b.real("H K"), ids(b, "B L")});
       }},
      {"index by the name in brackets",
       [=](Build& b) {
         return b.op<ir::Index>("[L] K, B L -> L B K", {b.real("L K"), ids(b, "B L")});
       }},
      {"index paired with a factor",
       [=](Build& b) {
         return b.op<ir::Index>("K [V], H -> H", {b.real("K V"), ids(b, "H")});
       }},
      {"index renamed",
       [=](Build& b) {
         return b.op<ir::Index>("[A] d k, A -> d A k", {b.real("H D K"), ids(b, "H")});
       }},
      {"index_add of a group beside its factor",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("H, H k -> K [V] k", {ids(b, "H"), b.real("H K")}, {}, 1);
       }},
      {"index_add by the name in brackets",
       [=](Build& b) {
         return b.op<ir::IndexAdd>("B L, B L M -> [L] M", {ids(b, "B L"), b.real("B L M")}, {}, 1);
       }},
      {"argmax of a group beside its factor",
       [](Build& b) {
         ir::Argmax op{read_pattern("k H d -> k d")};
         return b.emit(op, {b.real("K H D")}, Build::type(op.pattern.right, Dtype::i32));
       }},
      {"cumsum of a group beside its factor",
       ordered(ir::OrderedFn::cumsum, "k H -> k H", 1, "K H")},
      {"cumsum beside its group", ordered(ir::OrderedFn::cumsum, "H k -> H k", 1, "H K")},
  };
}

/// Two carries (one with dims), an emitted value that depends on them, and a nested loop.
inline ValueId loop(Build& b, size_t result, bool reverse, bool nested) {
  ValueId x = b.real("B L"), s = b.real(""), w = b.real("N L M");
  return b.scan(
      "N", {x, s},
      [&](ValueId n, Values c) {
        ValueId v = b.einsum("B L, L M -> B M", {c[0], b.entry(w, n)});
        ValueId back = b.einsum("B M, M L -> B L", {v, b.param("p", "M L")});
        if (nested)
          back = b.scan("K", {back}, [&](ValueId k, Values inner) {
            ValueId scaled = b.mul(inner[0], b.add(b.cast(Dtype::f32, k), c[1]));
            return std::make_pair(Values{b.unary(UnaryFn::tanh, b.add(scaled, c[0]))}, Values{});
          })[0];
        ValueId next = b.add(b.mul(b.number("0.5"), back), c[0]);
        ValueId total = b.add(b.mul(c[1], b.number("0.5")), b.cast(Dtype::f32, n));
        return std::make_pair(Values{b.unary(UnaryFn::tanh, next), total}, Values{b.mul(v, c[1])});
      },
      reverse)[result];
}

inline std::vector<Case> loop_cases() {
  std::vector<Case> cases;
  for (size_t result : {0, 1, 2})
    for (bool reverse : {false, true})
      for (bool nested : {false, true})
        cases.push_back({"scan", [=](Build& b) { return loop(b, result, reverse, nested); }});
  for (bool reverse : {false, true})
    for (bool is_positive : {false, true})
      for (size_t result : {0, 1})
        cases.push_back({"scan that multiplies", [=](Build& b) {
                           ValueId w = b.real("N L");
                           return b.scan(
                               "N", {b.real("L")},
                               [&](ValueId n, Values c) {
                                 ValueId x = b.entry(w, n);
                                 ValueId f = is_positive ? b.unary(UnaryFn::exp, x) : x;
                                 return std::make_pair(Values{b.mul(c[0], f)}, Values{c[0]});
                               },
                               reverse)[result];
                         }});
  for (bool reverse : {false, true})  // the last carry does not depend on the first
    cases.push_back(
        {"scan of the last", [=](Build& b) {
           ValueId w = b.real("N L");
           return b.scan(
               "N", {b.real("L")},
               [&](ValueId n, Values) { return std::make_pair(Values{b.entry(w, n)}, Values{}); },
               reverse)[0];
         }});
  return cases;
}

}  // namespace shardproof::lower
