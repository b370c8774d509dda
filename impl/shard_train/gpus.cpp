#include "impl/shard_train/gpus.h"

#include <charconv>
#include <cstdlib>

#include "impl/device/emulated/emulated.h"
#ifdef WITH_CUDA
#include "impl/device/cuda/cuda_device.h"
#endif
#ifdef WITH_NCCL
#include "impl/comm/nccl/nccl_communicator.h"
#endif

namespace shardproof::shard_train {
namespace {

std::optional<int> number(const char* text) {
  if (!text) return std::nullopt;
  const std::string whole = text;
  int value = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error != std::errc() || end != whole.data() + whole.size()) return std::nullopt;
  return value;
}

#ifdef WITH_CUDA
AttentionOf attention_of(const Options& options) {
  switch (options.attention) {
    case WhoseAttention::own:
      return AttentionOf::own;
    case WhoseAttention::library:
      return AttentionOf::library;
    case WhoseAttention::library_unordered:
      break;
  }
  return AttentionOf::library_unordered;
}
#endif

std::shared_ptr<Device> gpu(const Options& options, int ordinal) {
#ifdef WITH_CUDA
  std::string why = "it finds no GPU";
  const int count = cuda_device_count(&why);
  if (ordinal >= count)
    throw BadInput(
        "--device cuda: there is no GPU number " + std::to_string(ordinal) +
        (count == 0 ? " (CUDA: " + why + ")" : ", the last is " + std::to_string(count - 1)) +
        ": omit --device to train on the CPU");
  return cuda_device(ordinal, attention_of(options), true,
                     options.time_products ? ProductsBy::clock : ProductsBy::estimate);
#else
  (void)options, (void)ordinal;
  throw BadInput(
      "--device cuda: shard-train was built without CUDA: configure with SHARDPROOF_CUDA=ON");
#endif
}

}  // namespace

std::shared_ptr<Device> device_of(const Options& options) {
  if (options.device == "cpu") return nullptr;
  if (options.device == "emulated") return emulated_device(options.seed);
  if (options.device == "cuda") return gpu(options, 0);
  if (options.device.starts_with("cuda:"))
    if (const auto ordinal = number(options.device.c_str() + 5); ordinal && *ordinal >= 0)
      return gpu(options, *ordinal);
  throw BadInput("--device " + options.device + ": there are cpu, cuda, cuda:N and emulated");
}

std::optional<Seat> seat_of(const std::function<const char*(const char*)>& variable) {
  constexpr const char* names[][3] = {
      {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}};
  for (const auto& [rank, world, local] : names)
    if (const auto own = number(variable(rank)), all = number(variable(world)); own && all)
      return Seat{*own, *all, number(variable(local)).value_or(0)};
  return std::nullopt;
}

#ifdef WITH_NCCL
void run_on_gpus(const Options& options,
                 const std::function<void(const Job&, Communicator&)>& body) {
  const std::optional<Seat> found = seat_of([](const char* name) { return std::getenv(name); });
  Job job = prepare(options);
  const Seat seat = found.value_or(Seat{});
  if (seat.world != job.mesh.ranks())
    throw BadInput(counted_ranks(job.mesh) + ", and " + std::to_string(seat.world) +
                   (found ? " were started: give --mesh for them"
                          : " was started: start the others by torchrun, srun or mpirun"));
  if (seat.world > 1 && options.store.empty())
    throw BadInput(
        "--transport nccl: the ranks need a place to meet: --store HOST:PORT of rank 0's "
        "machine, or --store DIR in a folder that all see");
  if (seat.world > 1 && options.run.empty())
    throw BadInput("--transport nccl: give this run a name that no earlier one had: --run NAME");
  constexpr Milliseconds patience{120'000};
  const bool by_file = options.store.find('/') != std::string::npos;
  const std::unique_ptr<Store> store =
      seat.world == 1 ? local_store()
      : by_file       ? file_store(options.store, options.run)
                      : tcp_store(options.store, options.run, seat.rank, patience);
  job.trainer.device = gpu(options, seat.local);
  run_on_nccl(*store, seat.rank, seat.world, {*job.trainer.device, seat.local},
              [&](Communicator& communicator) { body(job, communicator); });
}
#else
void run_on_gpus(const Options&, const std::function<void(const Job&, Communicator&)>&) {
  throw BadInput("--transport nccl: shard-train was built without NCCL");
}
#endif

}  // namespace shardproof::shard_train
