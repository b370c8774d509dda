// A program given as text is checked, compiled for each rank of a mesh, and trained, on 4 threads,
// built with WITH_MPI on 4 processes, with WITH_CUDA on 4 ranks of one GPU. README.md goes through
// it.
#include <cmath>
#include <cstdio>

#include "impl/trainer/learning_rate.h"
#include "impl/trainer/trainer.h"
#ifdef WITH_MPI
#include "impl/comm/mpi/mpi_communicator.h"
#elif defined(WITH_CUDA)
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/device/cuda/cuda_device.h"
#else
#include "impl/comm/threads.h"
#endif

using namespace shardproof;

const char* const text = R"(
mesh d t
dim B M F
record W { up: f32[M F]  down: f32[F M] }
layout WShard of W { up: f32[M F/t]  down: f32[F/t M] }

fn init(k: key[]) -> W {
    return W(up = normal("M F", fold(k, "up")) * 0.3, down = normal("F M", fold(k, "down")) * 0.3)
}
fn loss(w: W, x y: f32[B M]) -> f32[] {
    e = einsum("B F, F M -> B M", relu(einsum("B M, M F -> B F", x, w.up)), w.down) - y
    return sum("B M -> ", e * e) / |B|
}
fn step(w: W, x y: f32[B M], lr: f32[]) -> (loss: f32[], w1: W) {
    l, g = value_and_grad(loss wrt w)(w, x, y)
    return l, each sgd(w, g, lr)
}
plan init_sharded implements init(k: key[]) -> WShard {
    return WShard(up = normal("M F/t", fold(k, "up")) * 0.3, down = normal("F/t M", fold(k, "down")) * 0.3)
}
plan loss_sharded implements loss(w: WShard, x: f32[B/d M], y: f32[B/d M/t]) -> f32[]{U_d U_t} {
    h = relu(einsum("B/d M, M F/t -> B/d F/t", x, w.up))
    o = einsum("B/d F/t, F/t M -> B/d M {U_t}", h, w.down)
    e = psum_scatter("B/d M {U_t} -> B/d M/t", o) - y
    return sum("B/d M/t -> {U_d U_t}", e * e) / |B|
}
plan step_sharded implements step(w: WShard, x: f32[B/d M], y: f32[B/d M/t], lr: f32[])
        -> (loss: f32[], w1: WShard) {
    l, g = value_and_grad(loss_sharded wrt w)(w, x, y)
    gr = all_reduce("WShard{U_d} -> WShard", g)
    return all_reduce("{U_d U_t} -> ", l), each sgd(w, gr, lr)
}
)";

// Where x and y come from: here a sine of the global index, so the same on every mesh.
class Waves : public Batches {
 public:
  std::vector<Name> names() const override { return {"x", "y"}; }
  void fill(const Name& name, const Placement& placement, LocalTensor& to) override {
    const int64_t rows = to.extents[0], columns = to.extents[1],
                  row = placement.first(to.type.dims[0]), column = placement.first(to.type.dims[1]);
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t m = 0; m < columns; ++m)
        to.data<float>()[b * columns + m] =
            std::sin(static_cast<float>(7 * (row + b) + (name == "x" ? 1 : 2) * (column + m)));
  }
};

void train_on(std::shared_ptr<Device> device, Communicator& communicator) {
  const Program program = Program::from_text(text);
  Trainer trainer(
      program, Mesh::parse("d=2,t=2"), {{"B", 8}, {"M", 6}, {"F", 12}}, communicator,
      {.seed = 1, .device = device});  // throws what check-sharding prints where it is not proved
  if (communicator.rank() == 0)
    trainer.on_step([](const StepReport& report) {
      if (report.step % 10 == 0)
        std::printf("step %d: loss %.4f\n", static_cast<int>(report.step), report.metrics[0].value);
    });
  const LearningRate rate{Schedule::cosine, 0.1, 5, 40};
  Waves waves;
  trainer.init();
  while (trainer.steps() < rate.steps) trainer.step(waves, rate.at(trainer.steps() + 1));
}

void train(Communicator& communicator) { train_on(nullptr, communicator); }

#ifdef WITH_MPI
int main(int argc, char** argv) { return run_on_mpi(argc, argv, train, /*deterministic=*/true); }
#else
int main() {
  try {
#ifdef WITH_CUDA
    const std::shared_ptr<Device> gpu = cuda_device();
    run_on_virtual_ranks(*gpu, 4, [&](Communicator& communicator) { train_on(gpu, communicator); });
#else
    run_on_threads(4, train);
#endif
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
#endif
