// Bugs of the elaboration that rules, algebra and denotation all believe: the oracle reads patterns
// by itself, and the second leg says so.
#include <gtest/gtest.h>

#include <regex>

#include "spec/check/last_answer.h"
#include "spec/elaborate/planted.h"

namespace shardproof {
namespace planted_elaboration_test {

using Fault = elaborate::PlantedFault::Fault;

ir::Indices& indices_of(ir::Op& op) { return ir::pattern_of(op)->indices; }

std::string answer(const std::string& text, const Fault& fault) {
  const elaborate::PlantedFault planted(fault);
  return last_answer(text);
}

const Fault none = [](ir::Op&) {};

/// Proved as it is; with the fault the run beside the oracle contradicts the proof.
void expect_noticed(const std::string& text, const Fault& fault) {
  EXPECT_EQ(answer(text, none), "proved") << text;
  EXPECT_EQ(answer(text, fault), "U0009") << text;
}

/// `fn f` and a plan of the same op over split batches.
std::string program(const std::string& params, const std::string& result, const std::string& body) {
  const auto split = [](std::string of) {
    for (size_t at = 0; (at = of.find('B', at)) != std::string::npos; at += 3)
      of.replace(at, 1, "B/t");
    return of;
  };
  return "mesh t\ndim B L\ndim S T P = L\nfn f(" + params + ") -> " + result + " { return " + body +
         " }\nplan p implements f(" + split(params) + ") -> " + split(result) + " { return " +
         split(body) + " }\n";
}

template <class Change>
void for_each_id(ir::Indices& in, const Change& change) {
  const auto each = [&](std::vector<ir::Position>& side) {
    for (ir::Position& position : side)
      for (ir::IndexId& id : position) change(id);
  };
  for (auto& side : in.left) each(side);
  each(in.right);
}

/// Replaces index `from` by `to` in every operand and in the result, and removes it.
void merge(ir::Indices& in, const std::string& from, const std::string& to) {
  std::optional<ir::IndexId> gone, kept;
  for (ir::IndexId id = 0; id < in.all.size(); ++id) {
    if (in.all[id].name == from) gone = id;
    if (in.all[id].name == to) kept = id;
  }
  if (!gone || !kept) return;
  for_each_id(in, [&](ir::IndexId& id) {
    if (id == *gone) id = *kept;
    if (id > *gone) --id;
  });
  in.all.erase(in.all.begin() + static_cast<std::ptrdiff_t>(*gone));
}

void exchange(ir::Indices& in, const std::string& first, const std::string& second) {
  for (ir::Position& position : in.right)
    for (ir::IndexId& id : position) {
      const std::string name = in.all[id].name;
      const std::string wanted = name == first ? second : name == second ? first : name;
      for (ir::IndexId other = 0; other < in.all.size(); ++other)
        if (in.all[other].name == wanted) id = other;
    }
}

TEST(PlantedElaboration, TwoAliasesTakenForOneIndex) {
  const std::string text =
      program("x: f32[B S], y: f32[B T]", "f32[B]", "einsum(\"B S, B T -> B\", x, y)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Einsum>(op)) merge(indices_of(op), "T", "S");
  });
}

TEST(PlantedElaboration, AnAliasTakenForItsBase) {
  const std::string text =
      program("x: f32[B L], y: f32[S]", "f32[B L]", "einsum(\"B L, S -> B L\", x, y)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Einsum>(op)) merge(indices_of(op), "S", "L");
  });
}

TEST(PlantedElaboration, OneIndexTakenForTwo) {
  const std::string text =
      program("x: f32[B S], y: f32[S]", "f32[B]", "einsum(\"B S, S -> B\", x, y)");
  expect_noticed(text, [](ir::Op& op) {
    if (!std::holds_alternative<ir::Einsum>(op)) return;
    ir::Indices& in = indices_of(op);
    in.all.push_back({"L", "S'"});
    in.left.at(1).at(0) = {in.all.size() - 1};
  });
}

TEST(PlantedElaboration, ATranspositionLost) {
  const std::string text =
      program("x: f32[B S T]", "f32[B T S]", "rearrange(\"B S T -> B T S\", x)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Rearrange>(op)) exchange(indices_of(op), "S", "T");
  });
}

TEST(PlantedElaboration, FactorsOfAGroupInTheOtherOrder) {
  const std::string text =
      program("x: f32[B (S T)]", "f32[B S T]", "rearrange(\"B (S T) -> B S T\", x)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Rearrange>(op)) exchange(indices_of(op), "S", "T");
  });
}

TEST(PlantedElaboration, TheOtherOperandsDimIsSummed) {
  const std::string text =
      program("x: f32[B S T], y: f32[B S T]", "f32[B T]", "einsum(\"B S T, B S T -> B T\", x, y)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Einsum>(op)) exchange(indices_of(op), "S", "T");
  });
}

TEST(PlantedElaboration, AnIdOfATableTakenForARow) {
  const std::string text =
      program("x: f32[S T], i: i32[B P]", "f32[B P T]", "index(\"[S] T, B P -> B P T\", x, i)");
  expect_noticed(text, [](ir::Op& op) {
    if (std::holds_alternative<ir::Index>(op)) exchange(indices_of(op), "P", "T");
  });
}

// The checker opens and merges groups with rearranges that all readers see, the oracle too. They
// keep the names, so one that moves entries is noticed, whatever names it states.
TEST(PlantedElaboration, AGroupOpenedInAnotherOrder) {
  const std::string texts[] = {
      program("x: f32[B (S T)]", "i32[S T]", "argmax(\"B (S T) -> S T\", x)"),
      program("x: f32[B (S T) P]", "f32[B S T]", "read(\"B (S T) [P] -> B S T\", x, at=0)"),
      program("x: f32[B S T], y: f32[B (S T)]", "f32[B two S T]",
              "concat(\"B S T, B (S T) -> B [two] S T\", x, y)")};
  const auto swapped = [](ir::Op& op, bool text_too) {
    auto* moved = std::get_if<ir::Rearrange>(&op);
    if (!moved) return;
    exchange(moved->pattern.indices, "S", "T");
    if (!text_too) return;
    for (Split& split : moved->pattern.right.dims)
      for (Name& name : split.dim.factors) name = name == "S" ? "T" : name == "T" ? "S" : name;
  };
  for (std::string text : texts) {
    text = std::regex_replace(text, std::regex("B/t"), "B");  // of argmax B is whole
    text.insert(text.find("dim B"), "dim two = 2\n");
    EXPECT_EQ(answer(text, none), "proved") << text;
    EXPECT_EQ(answer(text, [&](ir::Op& op) { swapped(op, false); }), "U0009") << text;
    EXPECT_NE(answer(text, [&](ir::Op& op) { swapped(op, true); }), "proved") << text;
  }
}

}  // namespace planted_elaboration_test
}  // namespace shardproof
