// One small file per mistake: `# E0101` at the end of a line expects exactly that error there.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "spec/resolve/resolve.h"

namespace shardproof {
namespace errors_test {

using Files = std::map<std::string, std::string>;
using Places = std::multiset<std::string>;  // "a.shard:3 E0101"

Places expected(const Files& files) {
  Places places;
  for (const auto& [path, text] : files) {
    int line = 1;
    for (size_t begin = 0; begin < text.size(); ++line) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string row = text.substr(begin, end - begin);
      for (size_t at = row.find("# E"); at != row.npos; at = row.find(" E", at + 3))
        places.insert(path + ":" + std::to_string(line) + " " +
                      row.substr(at + (row[at] == '#' ? 2 : 1), 5));
      begin = end + 1;
    }
  }
  return places;
}

Places found(const Files& files, std::vector<Diagnostic>& diagnostics, Resolved& resolved) {
  Sources sources;
  auto reader = [&](const std::string& path) -> std::optional<std::string> {
    auto file = files.find(path);
    return file == files.end() ? std::nullopt : std::optional(file->second);
  };
  resolved = resolve(sources, "a.shard", reader, diagnostics);
  Places places;
  for (const Diagnostic& d : diagnostics) {
    std::string place = "?";
    if (d.range.file >= 0)
      place = sources.file(d.range.file).path + ":" +
              std::to_string(sources.locate(d.range.file, d.range.begin).line);
    places.insert(place + " " + d.code);
  }
  return places;
}

void expect_errors(const Files& files) {
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  const Places places = found(files, diagnostics, resolved);
  std::string messages;
  for (const Diagnostic& d : diagnostics) messages += d.message + "\n";
  EXPECT_EQ(places, expected(files)) << messages << files.at("a.shard");
}
void expect_errors(const std::string& text) { expect_errors(Files{{"a.shard", text}}); }

const std::string head = "mesh d t\ndim B L M F\n";

TEST(Errors, unknown_names) {
  expect_errors(head + "fn f(x: f32[B Z]) -> f32[B] { return x }  # E0101");
  expect_errors(head + "plan f(x: f32[B/q]) -> f32[B] { return x }  # E0101");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return y  # E0101\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return siluu(x)  # E0101\n}");
  expect_errors(head + "fn f(x: Rec) -> f32[B] { return x.a }  # E0101");
  expect_errors(head + "record R { a: f32[B] }\nfn f(r: R) -> f32[B] {\n  return r.b  # E0101\n}");
  expect_errors("dim H = (K D)  # E0101");
  expect_errors(head + "config c { Z=3 }  # E0101");
  expect_errors(head +
                "plan f(x: f32[B]) -> f32[B] {\n  return all_gather(\"B/q -> B\", x)  # E0101\n}");
}

TEST(Errors, did_you_mean) {
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  found({{"a.shard", head + "fn f(gate: f32[B]) -> f32[B] { return gats }"}}, diagnostics,
        resolved);
  ASSERT_EQ(diagnostics.size(), 1u);
  ASSERT_EQ(diagnostics[0].fixes.size(), 1u);
  EXPECT_EQ(diagnostics[0].fixes[0].edits.at(0).text, "gate");
  EXPECT_TRUE(resolved.broken.at(0));
}

/// What is said of what to write, in `body` of a model.
std::string help(const std::string& body) {
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  const std::string text = head + "fn g(x: f32[B M], w: f32[M]) -> f32[] {\n" +
                           "  return sum(\"B M -> \", x * w)\n}\n" +
                           "fn f(x: f32[B M], w: f32[M]) -> f32[B M] {\n" + body + "\n}\n";
  found({{"a.shard", text}}, diagnostics, resolved);
  std::string all;
  for (const Diagnostic& each : diagnostics) {
    if (each.fixes.empty()) all += "nothing; ";
    for (const Fix& fix : each.fixes) all += fix.message + "; ";
  }
  return all;
}

TEST(Errors, say_what_to_write) {
  EXPECT_EQ(help("  return zz + x"), "the values here are `w`, `x`; ");
  EXPECT_EQ(help("  a = later\n  later = x\n  return a"),
            "move this line below the one that names `later`; ");
  EXPECT_EQ(help("  r = scan m in M, c: f32[B M] = x {\n    inner = c\n    next inner\n  }\n"
                 "  return r + inner"),
            "a loop gives out what it carries or emits; ");
  EXPECT_EQ(help("  a = max(\"B M, M -> B\", x, w)\n  return x"),
            "it is written as in `max(\"B M -> B\", x)`; of two values it is `maximum(x, y)`; ");
  EXPECT_EQ(help("  _l, d = value_and_grad(g wrt w)(x)\n  return x + d"),
            "it is called as `value_and_grad(g wrt ...)(x, w)`; ");
  EXPECT_EQ(help("  a = einsum(\"B M, M -> B\", x)\n  return x"),
            "left of `->` stand the dims of each operand, with a comma between them; ");
  EXPECT_EQ(help("  retrun x"), "write `return`; ");
  EXPECT_EQ(help("  ret x"), "write `return`; ");
  EXPECT_EQ(help("require |B| > 1\n  return x").substr(0, 16), "indent this line");
}

TEST(Errors, say_which_declaration_is_meant) {
  for (const auto& [written, meant] : {std::pair{"size V", "dim"},
                                       {"meshh q", "mesh"},
                                       {"proof p", "plan"},
                                       {"recrd R", "record"}}) {
    std::vector<Diagnostic> diagnostics;
    Resolved resolved;
    found({{"a.shard", head + written + "\n"}}, diagnostics, resolved);
    ASSERT_EQ(diagnostics.size(), 1u);
    ASSERT_EQ(diagnostics[0].fixes.size(), 1u) << written;
    EXPECT_EQ(diagnostics[0].fixes[0].edits.at(0).text, meant);
  }
}

TEST(Errors, assigned_twice) {
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  x = x + x  # E0102\n  return x\n}");
  expect_errors("mesh d\ndim d  # E0102");
  expect_errors(head + "dim B  # E0102");
  expect_errors(head + "fn silu(x: f32[B]) -> f32[B] { return x }  # E0102");
  expect_errors(head + "fn sum(x: f32[B]) -> f32[B] { return x }  # E0102");
  expect_errors(head + "record R { a: f32[B] }\nrecord R { a: f32[B] }  # E0102");
  expect_errors(head + "const c = 1.0\nfn f(c: f32[B]) -> f32[B] { return c }  # E0102");
  expect_errors(head + "schedule gpipe { for m in 0 .. A { F(m) B(m) } }  # E0102");
}

TEST(Errors, counts) {
  expect_errors(head + "fn f(x: f32[B]) -> (f32[B], f32[B]) {\n  return x  # E0103\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  a, b = exp(x)  # E0103\n  return a + b\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return exp(x, x)  # E0103\n}");
  expect_errors(head + "fn f(x: f32[B L]) -> f32[B L] {\n  return softmax(x)  # E0103\n}");
  expect_errors(head + "fn f(x: f32[B L]) -> f32[B] {\n  return sum(x)  # E0103\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] { y = x }  # E0103");
  expect_errors(head +
                "fn f(x: f32[B]) -> f32[B] {\n  return dropout(\"B\", x, rate=0.1)  # E0103\n}");
  expect_errors(head +
                "dim N\nfn f(x: f32[B]) -> f32[B] {\n  y = scan n in N, c: f32[B] = x { next c, c "
                "}  # E0103\n  return y\n}");
}

TEST(Errors, dtypes) {
  expect_errors(head + "fn f(x: f32[B], y: bf16[B]) -> f32[B] {\n  return x + y  # E0104\n}");
  expect_errors(head + "fn f(x: i32[B]) -> i32[B] {\n  return x / x  # E0104\n}");
  expect_errors(head + "fn f(x: i32[B]) -> i32[B] {\n  return x + 0.5  # E0104\n}");
  expect_errors(head + "fn f(x: bf16[B]) -> f32[B] {\n  return x  # E0104\n}");
  expect_errors(head + "fn f(x: i32[B]) -> i32[B] {\n  return silu(x)  # E0104\n}");
  expect_errors(head +
                "fn f(t: f32[F M], x: f32[B]) -> f32[B M] {\n"
                "  return index(\"[F] M, B -> B M\", t, x)  # E0104\n}");
}

TEST(Errors, layouts) {
  const std::string r = head + "record R { a: f32[B]  b: f32[M] }\n";
  expect_errors(r + "layout S of R { a: f32[B/d] }  # E0105");
  expect_errors(r + "layout S of R { a: f32[B/d]  b: f32[F] }  # E0105");
  expect_errors(r + "layout S of R { a: i32[B/d]  b: f32[M] }  # E0105");
  const std::string claim =
      "\nfn f(r: R) -> R { return r }\nplan p implements f(r: S) -> S { return r }\n";
  expect_errors(r + "layout S of R { a: f32[B/d]  b: f32[M]  c: f32[M] }  # E0105" + claim);
  expect_errors(r + "layout S of R { a: f32[B/d] }  # E0105" + claim);
  expect_errors(r + "layout S of R { a: f32[B/d]  b: f32[M]  b: f32[M] }  # E0102 E0105" + claim);
  expect_errors(r + "fn f(x: f32[B]) -> R {\n  return R(a=x)  # E0105\n}");
}

TEST(Errors, sizes) {
  expect_errors("dim A = 2*|B|  # E0106\ndim B = |A|");
  expect_errors("dim A = B  # E0106\ndim B = A");
  expect_errors("dim A = 0  # E0106");
  expect_errors("dim A = 1 - 3  # E0106");
  expect_errors("dim A = 7 / 2  # E0106");
  expect_errors("dim A = 4000000000 * 4000000000  # E0106");
  expect_errors("mesh t=0  # E0106");
  expect_errors(head + "config c { B=0 }  # E0106");
  expect_errors(head + "fn f(x: f32[0]) -> f32[0] { return x }  # E0106 E0106");
}

/// Two files may each have a schedule of one name: a pipeline keeps its own.
TEST(Errors, schedules_of_two_files) {
  const std::string plan =
      "mesh p\ndim N A M\nschedule mine { for m in 0 .. A { F(m) } for m in 0 .. A { B(m) } }\n"
      "plan f(x: f32[A M], w: f32[N/p M]) -> f32[A M]{U_p} {\n"
      "  y = pipeline a in A over p by mine {\n"
      "    xN = stages n in N, h: f32[M] = x[a] { next h * w[n] }\n    emit xN\n  }\n  return "
      "y\n}\n";
  std::string other = plan;
  other.replace(other.find("plan f"), 6, "plan g");
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  found({{"a.shard", "import f from \"b.shard\"\n" + other}, {"b.shard", plan}}, diagnostics,
        resolved);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics[0].message;
  EXPECT_EQ(resolved.schedules.count("mine of a.shard"), 1u);
  EXPECT_EQ(resolved.schedules.count("mine of b.shard"), 1u);
  for (const ir::Function& function : resolved.program.functions)
    for (const ir::Instr& instr : function.body.instrs)
      if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op)) {
        EXPECT_EQ(pipeline->schedule, function.name == "f" ? "mine of b.shard" : "mine of a.shard");
      }
}

// Their names do not tell two records apart; their files do.
TEST(Errors, records_of_one_name_name_their_files) {
  const std::string record = "dim B\nrecord R { a: f32[B] }\n";
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  found({{"a.shard",
          "import g from \"b.shard\"\n" + record + "fn f(r: R) -> f32[B] { return g(r) }\n"},
         {"b.shard", record + "fn g(r: R) -> f32[B] { return r.a }\n"}},
        diagnostics, resolved);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, "E0303");
  EXPECT_NE(diagnostics[0].message.find("a.shard"), std::string::npos) << diagnostics[0].message;
  EXPECT_NE(diagnostics[0].message.find("b.shard"), std::string::npos) << diagnostics[0].message;
}

TEST(Errors, consts_are_exact) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const auto file = [](const std::string&) {
    return std::optional<std::string>(
        "const a = 1e16 + 1 - 1e16\nconst b = 0.1 + 0.2\nconst c = 1 / 3\nconst d = -7 // 2");
  };
  const Resolved resolved = resolve(sources, "a.shard", file, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(resolved.program.consts,
            (std::map<Name, double>{{"a", 1}, {"b", 0.3}, {"c", 1.0 / 3}, {"d", -4}}));
}

TEST(Errors, imports) {
  expect_errors("import x from \"b.shard\"  # E0107");
  expect_errors(Files{{"a.shard", "import x from \"b.shard\""},
                      {"b.shard", "import y from \"a.shard\"  # E0107"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim B = 3  # E0107"},
                      {"b.shard", "dim B = 2\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim B  # E0107"},
                      {"b.shard", "dim B = 2\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim B = 3"},
                      {"b.shard", "dim B\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim C D\ndim B = (C D)"},
                      {"b.shard", "dim B\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim B  # E0107"},
                      {"b.shard", "dim C D\ndim B = (C D)\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import W from \"b.shard\"\ndim C D\ndim B = (D C)  # E0107"},
                      {"b.shard", "dim C D\ndim B = (C D)\nrecord W { a: f32[B] }"}});
  expect_errors(Files{{"a.shard", "import V from \"b.shard\"  # E0101"},
                      {"b.shard", "dim B\nrecord W { a: f32[B] }"}});
}

TEST(Errors, parameter_lists) {
  const std::string f = head + "fn f(x: f32[B M], y: f32[M]) -> f32[B M] { return x * y }\n";
  expect_errors(f + "plan p implements f(x: f32[B M]) -> f32[B M] { return x }  # E0108");
  expect_errors(
      f + "plan p implements f(y: f32[B M], x: f32[M]) -> f32[B M] { return y * x }  # E0108");
  expect_errors(f +
                "plan p implements f(x: f32[B F], y: f32[M]) -> f32[B M] {  # E0108\n"
                "  return zeros(f32[B M])\n}");
  expect_errors(f +
                "plan p implements f(x: f32[B M], y: f32[M]) -> f32[M B] {  # E0108\n"
                "  return rearrange(\"B M -> M B\", x * y)\n}");
}

TEST(Errors, not_allowed_here) {
  expect_errors(head + "fn f(x: f32[B/d]) -> f32[B] { return x }  # E0109");
  expect_errors(head +
                "fn f(x: f32[B]) -> f32[B] {\n  return all_gather(\"B -> B\", x)  # E0109\n}");
  expect_errors(head +
                "fn g(x: f32[B]) -> f32[B] { return x }\n"
                "plan p(x: f32[B]) -> f32[B] {\n  return g(x)  # E0109\n}");
  expect_errors(head +
                "plan q(x: f32[B]) -> f32[B] { return x }\n"
                "fn f(x: f32[B]) -> f32[B] {\n  return q(x)  # E0109\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return x * |t|  # E0109\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return x * t  # E0109\n}");
  expect_errors(head + "fn f(x: f32[B]) -> f32[B] {\n  return x * B  # E0109\n}");
}

TEST(Errors, types) {
  expect_errors(head + "plan p(x: f32[B/d L/d]) -> f32[B] { return zeros(f32[B]) }  # E0110");
  expect_errors(head + "plan p(x: f32[B B]) -> f32[B] { return zeros(f32[B]) }  # E0110");
  expect_errors("dim A B\ndim G = (A B B)  # E0110");
  expect_errors(head + "plan p(x: f32[B]{U_d Max_t}) -> f32[B] { return zeros(f32[B]) }  # E0110");
  expect_errors(head + "plan p(x: f32[B/d]{U_d}) -> f32[B] { return zeros(f32[B]) }  # E0110");
}

TEST(Errors, circles) {
  expect_errors(head +
                "fn f(x: f32[B]) -> f32[B] { return g(x) }\n"
                "fn g(x: f32[B]) -> f32[B] { return f(x) }  # E0112");
  expect_errors(head + "fn f(x: f32[...]) -> f32[...] { return f(x) }  # E0112");
  expect_errors(head + "record R { a: R }  # E0112");
}

TEST(Errors, dims) {
  expect_errors(head + "fn f(x: f32[B L], y: f32[B M]) -> f32[B L] {\n  return x + y  # E0305\n}");
  expect_errors(head + "fn f(x: f32[B L]) -> f32[B] {\n  return sum(\"L B -> B\", x)  # E0305\n}");
  expect_errors(head +
                "fn f(x: f32[B L]) -> f32[B M] {\n  return einsum(\"B L -> B M\", x)  # E0305\n}");
  expect_errors(head +
                "plan f(x: f32[B L/t]) -> f32[B L] {\n  return all_gather(\"B L/t -> L B\", x)  # "
                "E0305 E0302\n}");
  expect_errors(
      head + "fn f(x: f32[B L]) -> f32[B M] {\n  return rearrange(\"B L -> B M\", x)  # E0305\n}");
  expect_errors(head + "fn f(x: f32[B M]) -> f32[B L] {\n  return x  # E0302\n}");
  expect_errors(head +
                "fn g(x: f32[B]) -> f32[B] { return x }\n"
                "fn f(x: f32[M]) -> f32[B] {\n  return g(x)  # E0303\n}");
}

TEST(Errors, after_a_hundred_no_body_is_read) {
  std::string text = head + "fn f(x: f32[B]) -> f32[B] {\n";
  for (int i = 0; i < 5000; ++i)
    text += "    a" + std::to_string(i) + " = z" + std::to_string(i) + " + x\n";
  text += "    return x\n}\n";
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  found({{"a.shard", text}}, diagnostics, resolved);
  EXPECT_LE(diagnostics.size(), 110u);
  EXPECT_TRUE(std::any_of(diagnostics.begin(), diagnostics.end(),
                          [](const Diagnostic& d) { return d.code == "E0007"; }));
}

TEST(Errors, one_mistake_is_told_once) {
  expect_errors(head +
                "fn f(x: f32[B]) -> f32[B] {\n  a = nothing  # E0101\n  b = a + x\n  return "
                "softmax(\"B; B\", b)\n}");
  expect_errors(head +
                "fn f(x: bf16[B L]) -> bf16[B] {\n  a = sum(\"L -> L\", x)  # E0305\n"
                "  return exp(sum(\"L -> \", a)) * zeros(bf16[B])\n}");
}

TEST(Errors, a_broken_record_is_told_once) {
  expect_errors(head +
                "record R { a: f32[B]  b: f32[Z] }  # E0101\n"
                "layout RT of R { a: f32[B/d]  b: f32[M] }\n"
                "fn f(r: R, x: f32[B]) -> f32[B] { return r.a + x }\n"
                "plan p implements f(r: RT, x: f32[B/d]) -> f32[B/d] { return r.a + x }");
}

TEST(Errors, bad_files_are_told_and_do_not_crash) {
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  EXPECT_EQ(found({}, diagnostics, resolved), Places{"? E0001"});
  EXPECT_FALSE(resolved.readable);
  std::string chain = "dim A0 B0\n";
  for (int i = 1; i < 400; ++i)
    chain += "dim A" + std::to_string(i) + " = |A" + std::to_string(i - 1) + "| * |A" +
             std::to_string(i - 1) + "|\n";
  diagnostics.clear();
  found({{"a.shard", chain}}, diagnostics, resolved);
  EXPECT_FALSE(diagnostics.empty());
}

}  // namespace errors_test
}  // namespace shardproof
