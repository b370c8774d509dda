#pragma once
// A program on its way: the same lines twice, as a fn on whole tensors and as a plan on a mesh.
// What the plan does more than the fn are redistributions, which the fn has nothing of.
#include <string>
#include <vector>

#include "properties/programs/choices.h"
#include "properties/programs/growth.h"
#include "properties/programs/layout.h"

namespace shardproof::programs {

struct Drafted {
  Word model, plan;  ///< its names in the fn and in the plan
  Layout layout;
  Growth size;        ///< a bound of |x|
  int fraction = 0;   ///< bits after the point
  bool free = false;  ///< without gradient
};

struct Line {
  Word name;
  std::string text;
  std::vector<Word> uses;
  std::string before{}, after{};  ///< of the name on the left side: results that are not needed
};

struct Param {
  Word name;
  std::string dtype;
  Layout layout;
};

class Draft {
 public:
  explicit Draft(Letters mesh) : mesh_(std::move(mesh)) {
    model_.reserve(32);
    plan_.reserve(64);
  }

  const Letters& mesh() const { return mesh_; }
  const std::vector<Param>& params() const { return params_; }

  Drafted param(const Layout& layout, const std::string& dtype = "f32");
  /// A value of both bodies. `how` of names gives the right side.
  Drafted value(std::string model, std::string plan, Layout layout,
                const std::vector<const Drafted*>& from, const std::string& before = "",
                const std::string& after = "");

  // Redistributions: lines of the plan alone.
  void gather(Drafted& x, const Word& dim, bool invariant = false);  ///< the last axis
  void slice(Drafted& x, const Word& dim, char axis);
  void move(Drafted& x, const Word& from, const Word& to);  ///< the last axis
  void reduce(Drafted& x, char axis, bool invariant = false);
  void scatter(Drafted& x, char axis, const Word& dim);
  void fan_out(Drafted& x, char axis);
  void keep_one(Drafted& x, char axis);
  void pad(Drafted& x, const Word& dim);
  void pass_round(Drafted& x, const Word& dim);  ///< there and back
  void save(Drafted& x);

  void replicate(Drafted& x, char axis);
  void whole(Drafted& x, const Word& dim);
  void relayout(Drafted& x, const Word& dim, const Letters& axes);
  void clear(Drafted& x, char mark);

  enum class Mixing { sum, product };
  /// Brings two operands to types that one op may have: shared dims split alike, and on each axis
  /// states that go together.
  void agree(Drafted& a, Drafted& b, Mixing mixing, Coins& coins);

  /// Takes the lines that the value needs, in order.
  std::vector<Line> model_lines(const Word& result) { return needed(model_, result); }
  std::vector<Line> plan_lines(const Word& result) { return needed(plan_, result); }

 private:
  void move_to(Drafted& x, const std::string& op, Layout layout, const std::string& more = "");
  void agree_on(char axis, Drafted& a, Drafted& b, Mixing mixing, Coins& coins);
  static std::vector<Line> needed(std::vector<Line>& lines, const Word& result);

  Letters mesh_;
  std::vector<Param> params_;
  std::vector<Line> model_, plan_;
  int names_ = 0, moved_ = 0;
};

}  // namespace shardproof::programs
