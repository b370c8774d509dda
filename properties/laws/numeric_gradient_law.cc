// The gradient by dual numbers is the limit of difference quotients: of every fn of the models and
// every fn of the library, at random sizes, points and directions.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <regex>

#include "properties/generators/shard_files.h"
#include "spec/check/points.h"
#include "spec/check/refute.h"
#include "spec/denote/gradient.h"
#include "spec/ir/walk.h"
#include "spec/resolve/resolve.h"

namespace shardproof {
namespace numeric_gradient_law {

using Array = denote::Array<double>;
using Arrays = std::vector<Array>;

const std::string root = SHARDPROOF_SOURCE_DIR;
const std::string library_calls = root + "/properties/laws/library_calls.shard";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> files() {
  std::vector<std::string> paths = properties::shard_files({root + "/spec/models"});
  paths.push_back(library_calls);
  return paths;
}

ir::Program program_of(const std::string& path) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved resolved = resolve(sources, path, disk_reader(), diagnostics);
  for (const Diagnostic& each : diagnostics) ADD_FAILURE() << path << ": " << each.message;
  return std::move(resolved.program);
}

/// A step has no gradient, and a body that is missing or a pipeline has no numbers.
bool runs(const ir::Program& program, const ir::Function& function) {
  bool found = !function.trusted && !function.uses_gradients && !function.uses_loops_undecided;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      found = found && runs(program, program.functions.at(call->function));
  });
  return found;
}

/// One fn at one point: <upstream, fn(inputs)> and its derivatives.
class Point {
 public:
  Point(const ir::Program& program, size_t function, unsigned seed)
      : program_(program), function_(function), rng_(seed), sizes_(*small_sizes(program, seed)) {
    const ir::Function& f = program.functions.at(function);
    inputs_ = random_inputs(program, f, sizes_, seed, Draw::mixed);
    Arrays values = run(inputs_);
    if (!std::isfinite(value(values, values)))  // a root of a negative number
      inputs_ = random_inputs(program, f, sizes_, seed, Draw::positive), values = run(inputs_);
    for (const Array& each : values) upstream_.push_back(random_like(each));
    for (size_t i = 0; i < f.params.size(); ++i)
      if (is_float(f.values.at(f.params[i]).type.dtype)) wrt_.push_back(i);
    gradient_ = denote::numeric_gradient(program, function, sizes_, inputs_, wrt_, upstream_);
  }

  size_t leaves() const { return wrt_.size(); }

  struct Slope {
    double by_duals, by_quotients, tolerance, scale;
  };

  /// Along a random direction of one leaf. Of the quotients q(h) = f' + c h^2 + O(h^4) two steps
  /// give f' and, as their difference, a bound of what is left; rounding adds some thousand ulps of
  /// what is summed up, divided by h.
  Slope slope(size_t leaf) {
    const double h = 1e-4;
    const Array direction = random_like(gradient_.at(leaf));
    const double wide = quotient(leaf, direction, h), narrow = quotient(leaf, direction, h / 2);
    const double scale = value(magnitudes(run(inputs_)), magnitudes(upstream_)) + std::abs(narrow);
    return {value({gradient_[leaf]}, {direction}), (4 * narrow - wide) / 3,
            std::abs(wide - narrow) + 1e3 * 2.2e-16 * scale / h, scale};
  }

 private:
  Arrays run(const Arrays& inputs) const {
    return denote::evaluate<double>(program_, function_, sizes_, inputs);
  }
  static double value(const Arrays& a, const Arrays& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t k = 0; k < a[i].data.size(); ++k) sum += a[i].data[k] * b[i].data[k];
    return sum;
  }
  static Arrays magnitudes(Arrays arrays) {
    for (Array& array : arrays)
      for (double& x : array.data) x = std::abs(x);
    return arrays;
  }
  Array random_like(Array array) {
    for (double& x : array.data) x = std::uniform_real_distribution<double>(-1, 1)(rng_);
    return array;
  }
  double quotient(size_t leaf, const Array& direction, double h) const {
    const auto moved = [&](double by) {
      Arrays inputs = inputs_;
      for (size_t k = 0; k < direction.data.size(); ++k)
        inputs[wrt_[leaf]].data[k] += by * direction.data[k];
      return value(run(inputs), upstream_);
    };
    return (moved(h) - moved(-h)) / (2 * h);
  }

  const ir::Program& program_;
  size_t function_;
  std::mt19937 rng_;
  denote::Sizes sizes_;
  Arrays inputs_, upstream_, gradient_;
  std::vector<size_t> wrt_;
};

class NumericGradient : public testing::TestWithParam<std::string> {};

TEST_P(NumericGradient, IsTheLimitOfQuotients) {
  const ir::Program program = program_of(GetParam());
  int functions = 0, slopes = 0, loose = 0;
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const ir::Function& function = program.functions[f];
    if (function.kind != ir::Function::Kind::fn || function.imported) continue;
    if (!runs(program, function)) continue;
    ++functions;
    for (unsigned seed = 0; seed < 3; ++seed) {
      Point point(program, f, seed);
      for (size_t leaf = 0; leaf < point.leaves(); ++leaf, ++slopes) {
        const Point::Slope slope = point.slope(leaf);
        EXPECT_NEAR(slope.by_duals, slope.by_quotients, slope.tolerance)
            << function.name << ", leaf " << leaf << ", seed " << seed;
        loose += slope.tolerance > 1e-5 * slope.scale;
      }
    }
  }
  std::cout << "    " << functions << " fns, " << slopes << " slopes, " << loose
            << " of them where it is steep\n";
  // Elsewhere the tolerance is tight. A layer norm of two entries is steep: 19 of gpt2_decode's
  // 138.
  EXPECT_LE(6 * loose, slopes);
}

INSTANTIATE_TEST_SUITE_P(Files, NumericGradient, testing::ValuesIn(files()), [](const auto& info) {
  return std::filesystem::path(info.param).stem().string();
});

/// The gradients that the library declares, relu at its kink included.
TEST(NumericGradient, TheLibrarysGradientsAgree) {
  const ir::Program program = program_of(library_calls);
  int claims = 0;
  for (size_t f = 0; f < program.functions.size(); ++f) {
    if (!program.functions[f].implements_grad) continue;
    std::string why;
    EXPECT_FALSE(refute(program, f, &why)) << program.functions[f].name;
    EXPECT_EQ(why, "");
    ++claims;
  }
  EXPECT_GE(claims, 5);
}

TEST(NumericGradient, EveryFnOfTheLibraryIsTried) {
  const std::string calls = text_of(library_calls);
  const std::regex declared("(?:^|\n)fn (\\w+)\\(");  // not those that claim a gradient
  for (const auto& entry : std::filesystem::directory_iterator(root + "/spec/lib")) {
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), declared), end; it != end; ++it)
      EXPECT_NE(calls.find("fn " + (*it)[1].str() + "_at("), std::string::npos) << (*it)[1];
  }
}

}  // namespace numeric_gradient_law
}  // namespace shardproof
