// mpirun -np 2|4|8 collectives_bench: collectives between threads against MPI's own and against
// ours over MPI, in one run; the best of some rounds that take turns. `size` is of the larger of
// the two buffers of a rank, f32.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <thread>

#include "impl/comm/mpi/mpi_communicator.h"
#include "impl/comm/threads.h"
#include "spec/shell/version.h"

namespace shardproof {
namespace {

constexpr double round_seconds = 0.02;
constexpr size_t largest = 64 << 20;
constexpr size_t sizes[] = {1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20, largest};
constexpr const char* names[] = {"all_reduce", "all_gather", "reduce_scatter"};

struct Buffers {
  Buffers() : send(largest / 4, 1), receive(largest / 4, 1) {}
  std::vector<float> send, receive;
};

/// One call of names[op].
void call(Communicator& communicator, Group& group, int op, size_t bytes, Buffers& buffers) {
  const size_t part = bytes / group.size();
  float *send = buffers.send.data(), *receive = buffers.receive.data();
  if (op == 0)
    communicator.all_reduce(group, send, receive, bytes / 4, Element::f32, Reduction::sum, "bench");
  else if (op == 1)
    communicator.all_gather(group, send, receive, part, "bench");
  else
    communicator.reduce_scatter(group, send, receive, part / 4, Element::f32, Reduction::sum,
                                "bench");
}

void call_mpi(int op, int ranks, size_t bytes, Buffers& buffers) {
  const int part = static_cast<int>(bytes / ranks), count = static_cast<int>(bytes / 4);
  float *send = buffers.send.data(), *receive = buffers.receive.data();
  if (op == 0)
    MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (op == 1)
    MPI_Allgather(send, part, MPI_BYTE, receive, part, MPI_BYTE, MPI_COMM_WORLD);
  else
    MPI_Reduce_scatter_block(send, receive, part / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

double seconds_of(int times, const std::function<void()>& once) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) once();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

/// The time of rank 0, on all ranks, after one call to warm up.
double seconds_over_mpi(int times, const std::function<void()>& once) {
  once();
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = seconds_of(times, once);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

double seconds_on_threads(int times, int op, size_t bytes, std::vector<Buffers>& buffers) {
  double seconds = 0;
  std::vector<int> ranks(buffers.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  run_on_threads(static_cast<int>(buffers.size()), [&](Communicator& communicator) {
    Group& group = communicator.group(ranks);
    Buffers& own = buffers[communicator.rank()];
    const auto once = [&] { call(communicator, group, op, bytes, own); };
    once();
    const double measured = seconds_of(times, once);
    if (communicator.rank() == 0) seconds = measured;
  });
  return seconds;
}

/// The other processes sleep while rank 0 works.
double alone(int rank, const std::function<double()>& work) {
  const double seconds = rank == 0 ? work() : 0;
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return seconds;
}

/// The undisturbed one: with more ranks than cores, whatever else runs costs a rank its turn.
double best(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void measure(Communicator& communicator, int op, size_t bytes, Buffers& own,
             std::vector<Buffers>& of_threads) {
  const int ranks = communicator.size();
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  Group& group = communicator.group(all);
  const auto raw = [&] { call_mpi(op, ranks, bytes, own); };
  const auto ours = [&] { call(communicator, group, op, bytes, own); };
  const double first = seconds_over_mpi(1, raw);
  const int times = std::clamp(static_cast<int>(round_seconds / first), 1, 2000);
  std::vector<double> mpi, one_by_one, in_sequence, threads;
  for (int round = 0; round < (bytes > (1 << 20) ? 3 : 9); ++round) {
    mpi.push_back(seconds_over_mpi(times, raw));
    one_by_one.push_back(seconds_over_mpi(times, ours));
    {
      const CallSequence sequence(communicator, "a round");
      in_sequence.push_back(seconds_over_mpi(times, ours));
    }
    threads.push_back(alone(communicator.rank(),
                            [&] { return seconds_on_threads(times, op, bytes, of_threads); }));
  }
  const double base = best(threads);
  if (communicator.rank() == 0)
    std::printf("  %-14s %6zu KB %10.1f us %8.2f %8.2f %8.2f\n", names[op], bytes >> 10, base * 1e6,
                best(mpi) / base, best(in_sequence) / base, best(one_by_one) / base);
}

void table(Communicator& communicator) {
  Buffers own;
  std::vector<Buffers> of_threads(communicator.rank() == 0 ? communicator.size() : 0);
  if (communicator.rank() == 0)
    std::printf("collectives, %d ranks            threads      MPI     ours   agreed\n",
                communicator.size());
  for (int op = 0; op < 3; ++op)
    for (size_t bytes : sizes) measure(communicator, op, bytes, own, of_threads);
}

}  // namespace
}  // namespace shardproof

int main(int argc, char** argv) {
  if (shardproof::shell::answers_version("collectives_bench", argc, argv)) return 0;
  return shardproof::run_on_mpi(argc, argv, shardproof::table);
}
