// A program that is in no folder of the project, written to a file when the test runs, is checked,
// compiled and trained: its loss falls, and does so alike on every mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "impl/beside_oracle/close.h"
#include "impl/comm/threads.h"
#include "impl/compile/compile_plan.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof {
namespace training_law {

constexpr int steps = 60;

/// An MLP with residuals and its step of SGD, Megatron over t and data parallel over d.
struct Written {
  int layers;
  std::string activation;
  DimSizes dims;
  unsigned seed = 0;

  explicit Written(laws::Dice dice) {
    activation = dice.one_of<std::string>({"relu", "gelu", "silu"});
    layers = static_cast<int>(
        dice.between(1, activation == "relu" ? 3 : 2));  // more of a gelu is "unknown"
    dims = {{"B", 4 * dice.between(2, 5)},
            {"M", 4 * dice.between(1, 4)},
            {"F", 4 * dice.between(1, 6)}};
    seed = static_cast<unsigned>(dice.below(1 << 20));
  }

  std::string weights(const std::string& up, const std::string& down) const {
    std::string text;
    for (int i = 0; i < layers; ++i)
      text += " up" + std::to_string(i) + ": f32[" + up + "] down" + std::to_string(i) + ": f32[" +
              down + "]";
    return text;
  }

  /// The layers one after the other.
  std::string stack(const std::string& block) const {
    std::string text = "    x0 = x\n";
    for (int i = 0; i < layers; ++i) {
      const std::string n = std::to_string(i);
      text += "    x" + std::to_string(i + 1) + " = " + block + "(x" + n + ", w.up" + n +
              ", w.down" + n + ")\n";
    }
    return text + "    e = x" + std::to_string(layers) + " - y\n";
  }

  std::string text() const {
    return "mesh d t\ndim B M F\nrecord W {" + weights("M F", "F M") + " }\nlayout WShard of W {" +
           weights("M F/t", "F/t M") + " }\n" +
           R"(fn block(x: f32[B M], up: f32[M F], down: f32[F M]) -> f32[B M] {
    return x + einsum("B F, F M -> B M", )" +
           activation + R"((einsum("B M, M F -> B F", x, up)), down)
}
plan block_sharded implements block(x: f32[B/d M/t], up: f32[M F/t], down: f32[F/t M]) -> f32[B/d M/t] {
    h = )" +
           activation +
           R"((einsum("B/d M, M F/t -> B/d F/t", all_gather("B/d M/t -> B/d M", x), up))
    return x + psum_scatter("B/d M {U_t} -> B/d M/t", einsum("B/d F/t, F/t M -> B/d M {U_t}", h, down))
}
fn loss(w: W, x y: f32[B M]) -> f32[] {
)" + stack("block") +
           R"(    return sum("B M -> ", e * e) / (|B| * |M|)
}
fn step(w: W, x y: f32[B M], lr: f32[]) -> (loss: f32[], w1: W) {
    l, g = value_and_grad(loss wrt w)(w, x, y)
    return l, each sgd(w, g, lr)
}
plan loss_sharded implements loss(w: WShard, x y: f32[B/d M/t]) -> f32[]{U_d U_t} {
)" + stack("block_sharded") +
           R"(    return sum("B/d M/t -> {U_d U_t}", e * e) / (|B| * |M|)
}
plan step_sharded implements step(w: WShard, x y: f32[B/d M/t], lr: f32[]) -> (loss: f32[], w1: WShard) {
    l, g = value_and_grad(loss_sharded wrt w)(w, x, y)
    return all_reduce("{U_d U_t} -> ", l), each sgd(w, all_reduce("WShard{U_d} -> WShard", g), lr)
}
)";
  }
};

/// The same number for the same entry of the whole tensor on every mesh, in -1 .. 1.
double number(unsigned seed, size_t slot, int64_t entry) {
  std::seed_seq words{seed, static_cast<unsigned>(slot), static_cast<unsigned>(entry)};
  std::mt19937 rng(words);
  return std::uniform_real_distribution<double>(-1, 1)(rng);
}

void put(LocalTensor& tensor, int64_t i, double value) {
  if (tensor.element == Element::f64)
    tensor.data<double>()[i] = value;
  else
    tensor.data<float>()[i] = static_cast<float>(value);
}

/// A rank's part of the whole tensor.
void fill(LocalTensor& tensor, const Placement& placement, unsigned seed, size_t slot,
          double scale) {
  const std::vector<int64_t> strides = row_major(tensor.extents),
                             whole = row_major(placement.global_extents(tensor.type));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t entry = 0;
    for (size_t d = 0; d < strides.size(); ++d)
      entry +=
          (placement.first(tensor.type.dims[d]) + i / strides[d] % tensor.extents[d]) * whole[d];
    put(tensor, i, scale * number(seed, slot, entry));
  }
}

std::vector<double> losses(const Program& program, const Written& written, const std::string& axes,
                           Precision precision) {
  const Mesh mesh = Mesh::parse(axes);
  std::vector<double> losses;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    Plan plan = compile_plan(program, "step_sharded", mesh, written.dims, communicator.rank(),
                             {.precision = precision, .check_finite = true});
    const Placement placement(program.checked().program(), mesh, written.dims, communicator.rank());
    std::vector<LocalTensor> inputs;
    const size_t weights = plan.inputs().size() - 3;
    for (size_t i = 0; i < weights + 3; ++i) {
      inputs.push_back(plan.input(i));
      const double width = static_cast<double>(written.dims.at(i % 2 == 0 ? "M" : "F"));
      fill(inputs[i], placement, written.seed, i, i < weights ? 1 / std::sqrt(width) : 1);
    }
    put(inputs.back(), 0, 0.2);
    for (int step = 0; step < steps; ++step) {
      std::vector<LocalTensor> results = plan.run(communicator, inputs);
      const LocalTensor& loss = results[0];
      if (communicator.rank() == 0)
        losses.push_back(loss.element == Element::f64 ? *loss.data<double>() : *loss.data<float>());
      for (size_t i = 0; i < weights; ++i) inputs[i] = std::move(results[i + 1]);
    }
  });
  return losses;
}

/// Text made when the test runs, through a file.
Program loaded(const Written& written) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("written_" + std::to_string(std::random_device()()) + ".shard");
  std::ofstream(path) << written.text();
  Program program = Program::load(path.string());
  std::filesystem::remove(path);
  return program;
}

/// What RapidCheck prints of the smallest failure.
void showValue(const Written& written, std::ostream& out) { out << "\n" << written.text(); }

rc::Gen<Written> drawn_programs() {
  return rc::gen::map(laws::dice_words(6), [](std::vector<uint64_t> words) {
    return Written(laws::Dice(std::move(words)));
  });
}

TEST(Training, OfAProgramWrittenNow) {
  EXPECT_TRUE(laws::holds("a program that is written now trains", 4, 20, [] {
    const Written written = *drawn_programs();
    const Program program = loaded(written);
    RC_LOG(program.report());
    RC_ASSERT(program.verdict() == Verdict::proved);
    const std::vector<double> one = losses(program, written, "", Precision::f64);
    const std::vector<double> one_f32 = losses(program, written, "", Precision::as_written);
    RC_ASSERT(one.size() == static_cast<size_t>(steps));
    std::cout << "    " << written.layers << " layers of " << written.activation << ": loss "
              << one.front() << " to " << one.back() << "\n";
    RC_ASSERT(std::is_sorted(one.rbegin(), one.rend()));  // in every step
    RC_ASSERT(one.back() < 0.95 * one.front());
    for (const char* mesh : {"d=2,t=2", "d=4", "t=4"}) {
      // Rounding of 60 steps, each from the weights of the one before.
      RC_ASSERT(beside::difference(losses(program, written, mesh, Precision::f64), one,
                                   {steps * 0x1p-48}) == "");
      RC_ASSERT(beside::difference(losses(program, written, mesh, Precision::as_written), one_f32,
                                   {steps * 0x1p-19}) == "");
    }
  }));
}

}  // namespace training_law
}  // namespace shardproof
