// Link it in your training job: a program given as text is checked, compiled for each rank of a
// mesh, and trained, on 4 threads or, built with WITH_MPI, on 4 processes.
#include <cmath>
#include <cstdio>

#include "impl/exec/plan.h"
#ifdef WITH_MPI
#include "impl/comm/mpi/mpi_communicator.h"
#else
#include "impl/comm/threads.h"
#endif

using namespace shardproof;

const char* const text = R"(
mesh d t
dim B M F
record W { up: f32[M F]  down: f32[F M] }
layout WShard of W { up: f32[M F/t]  down: f32[F/t M] }

fn loss(w: W, x y: f32[B M]) -> f32[] {
    e = einsum("B F, F M -> B M", relu(einsum("B M, M F -> B F", x, w.up)), w.down) - y
    return sum("B M -> ", e * e) / |B|
}
fn step(w: W, x y: f32[B M], lr: f32[]) -> (loss: f32[], w1: W) {
    l, g = value_and_grad(loss wrt w)(w, x, y)
    return l, each sgd(w, g, lr)
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

void fill(Tensor& tensor, float scale, int64_t first) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<float>()[i] = scale * std::sin(static_cast<float>(first + 7 * i));
}

void train(Communicator& communicator) {
  const Program program = Program::from_text(text);
  Plan step(program, "step_sharded", Mesh::parse("d=2,t=2"), {{"B", 8}, {"M", 6}, {"F", 12}},
            communicator.rank());  // throws what check-sharding prints where it is not proved
  std::vector<Tensor> inputs;      // w.up w.down x y lr
  for (size_t i = 0; i < step.inputs().size(); ++i) inputs.push_back(step.input(i));
  const int d = communicator.rank() / 2, t = communicator.rank() % 2;
  for (size_t i : {0, 1}) fill(inputs[i], 0.3f, 100 * t);
  fill(inputs[2], 1, 1000 * d);
  fill(inputs[3], 0.5f, 1000 * d + 50 * t);
  *inputs[4].data<float>() = 0.1f;
  for (int i = 0; i < 20; ++i) {
    std::vector<Tensor> results = step.run(communicator, inputs);  // loss w1.up w1.down
    if (communicator.rank() == 0 && i % 5 == 4)
      std::printf("step %d: loss %.4f\n", i + 1, *results[0].data<float>());
    for (size_t w : {0, 1}) inputs[w] = std::move(results[w + 1]);
  }
}

#ifdef WITH_MPI
int main(int argc, char** argv) { return run_on_mpi(argc, argv, train); }
#else
int main() {
  try {
    run_on_threads(4, train);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
#endif
