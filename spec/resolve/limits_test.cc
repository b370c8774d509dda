// What would take more time or memory than a file may is refused, with its source location.
#include <gtest/gtest.h>

#include <algorithm>

#include "spec/resolve/resolve.h"

namespace shardproof {
namespace limits_test {

struct Read {
  Resolved resolved;
  std::vector<Diagnostic> diagnostics;
};

Read read(const std::string& text) {
  Read result;
  Sources sources;
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    return path == "a.shard" ? std::optional(text) : std::nullopt;
  };
  result.resolved = resolve(sources, "a.shard", reader, result.diagnostics);
  return result;
}

/// The first E0007 or E0106 that is about a limit.
std::string refusal(const Read& read) {
  for (const Diagnostic& each : read.diagnostics)
    if (each.code == std::string("E0007") || each.code == std::string("E0106"))
      return each.range.file < 0 ? "without a place" : each.message;
  return "";
}

template <class Line>
std::string lines(int count, Line line) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += line(std::to_string(i - 1), std::to_string(i)) + "\n";
  return text;
}

const std::string head = "mesh d\ndim B\n";

TEST(Limits, calls_nest_200_deep) {
  const auto chain = [](int count) {
    return head + "fn h0(x: f32[B]) -> f32[B] { return x }\n" +
           lines(count, [](const std::string& last, const std::string& i) {
             return "fn h" + i + "(x: f32[B]) -> f32[B] { return h" + last + "(x) }";
           });
  };
  EXPECT_EQ(refusal(read(chain(200))), "");
  EXPECT_EQ(refusal(read(chain(201))), "calls nest at most 200 deep");
  const Read long_chain = read(chain(5000));
  EXPECT_EQ(long_chain.diagnostics.size(), 24u) << "one for each 201";
}

TEST(Limits, records_nest_100_deep) {
  const auto chain = [](int count) {
    return head + "record R0 { w: f32[B] }\n" +
           lines(count, [](const std::string& last, const std::string& i) {
             return "record R" + i + " { a: R" + last + " }";
           });
  };
  const auto reversed = [](int count) {
    return head +
           lines(count,
                 [](const std::string& i, const std::string& next) {
                   return "record R" + i + " { a: R" + next + " }";
                 }) +
           "record R" + std::to_string(count) + " { w: f32[B] }\n";
  };
  EXPECT_EQ(refusal(read(chain(99))), "");
  EXPECT_EQ(refusal(read(reversed(99))), "");
  EXPECT_EQ(refusal(read(chain(100))), "records nest at most 100 deep");
  EXPECT_EQ(refusal(read(reversed(100))), "records nest at most 100 deep");
  EXPECT_EQ(refusal(read(reversed(20000))), "records nest at most 100 deep");
}

TEST(Limits, a_program_has_a_thousand_requires) {
  const auto many = [](int count) {
    return head + lines(count, [](const std::string&, const std::string& i) {
             return "require |B| > " + i;
           });
  };
  EXPECT_EQ(refusal(read(many(1000))), "");
  const Read more = read(many(5000));
  EXPECT_EQ(refusal(more), "a program has at most 1,000 requires");
  EXPECT_EQ(more.diagnostics.size(), 1u);
}

TEST(Limits, a_parameter_has_16_assumes) {
  const auto many = [](int count) {
    const auto of = [&](const std::string& name) {
      return lines(count, [&](const std::string&, const std::string& i) {
        return "assume " + name + " != " + i;
      });
    };
    return head + "fn f(a b: i32[B]) -> i32[B] {\n" + of("a") + of("b") + "return a + b\n}\n";
  };
  EXPECT_EQ(refusal(read(many(16))), "");
  EXPECT_EQ(refusal(read(many(17))), "a parameter has at most 16 assumes");
}

TEST(Limits, a_type_and_a_file_have_500_dims) {
  const auto dims = [](int count) {
    std::string names;
    for (int i = 0; i < count; ++i) names += " D" + std::to_string(i);
    return names;
  };
  const auto of_type = [&](const std::string& dims) {
    return "dim D0\nfn f(x: f32[" + dims + "]) -> f32[D0] { return x }\n";
  };
  EXPECT_EQ(refusal(read("dim" + dims(500) + "\n")), "");
  EXPECT_EQ(refusal(read("dim" + dims(501) + "\n")), "a file has at most 500 dims");
  EXPECT_EQ(refusal(read(of_type(dims(500)))), "");
  EXPECT_EQ(refusal(read(of_type(dims(501)))), "a type has at most 500 dims");
}

TEST(Limits, values_of_all_bodies_are_counted_together) {
  std::string text = head + "fn g0(x: float[...]) -> float[...] { return tanh(x) }\n" +
                     lines(14, [](const std::string& last, const std::string& i) {
                       return "fn g" + i + "(x: float[...]) -> float[...] { return g" + last +
                              "(g" + last + "(x)) }";
                     });
  const auto with_bodies = [&](int count) {
    return text + lines(count, [](const std::string&, const std::string& i) {
             return "fn h" + i + "(x: f32[B]) -> f32[B] { return g14(x) }";
           });
  };
  EXPECT_EQ(refusal(read(with_bodies(2))), "");
  EXPECT_EQ(refusal(read(with_bodies(12))),
            "the bodies of a program have at most 150,000 values with their calls written out");
}

TEST(Limits, a_thousand_errors_are_shown_and_all_are_counted) {
  const Read many = read(
      head +
      lines(5000, [](const std::string&, const std::string&) { return std::string("dim B"); }) +
      "fn f(x: f32[B Z]) -> f32[B] { return x }\n");
  EXPECT_EQ(many.diagnostics.size(), 1001u);
  EXPECT_EQ(refusal(many),
            "the file has more than 1,000 errors; those after this one are not shown");
  // The signature's error is one of those that are not shown; nothing may take it for right.
  ASSERT_EQ(many.resolved.broken.size(), 1u);
  EXPECT_TRUE(many.resolved.broken[0]);
}

TEST(Limits, a_long_chain_of_sizes_is_not_called_a_circle) {
  const Read chain =
      read(head + "dim A0\n" + lines(450, [](const std::string& last, const std::string& i) {
             return "dim A" + i + " = |A" + last + "| + 1";
           }));
  ASSERT_FALSE(chain.diagnostics.empty());
  for (const Diagnostic& each : chain.diagnostics)
    EXPECT_NE(each.message.find("too long written out"), std::string::npos) << each.message;
}

}  // namespace limits_test
}  // namespace shardproof
