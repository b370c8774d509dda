// mpi_checkpoints save FOLDER [ms]|load FOLDER: 4 processes that save step after step, of which one
// kills itself after some milliseconds; or that load the last checkpoint and compare it.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "impl/checkpoint/test_state.h"
#include "impl/comm/mpi/mpi_communicator.h"

namespace shardproof::properties {
namespace {

using namespace checkpoint;

const Mesh mesh = Mesh::parse("d=2,t=2");

void save_steps(Communicator& communicator, const std::string& folder, int kill_after) {
  if (kill_after >= 0 && communicator.rank() == 2)
    std::thread([kill_after] {
      std::this_thread::sleep_for(std::chrono::milliseconds(kill_after));
      ::kill(::getpid(), SIGKILL);
    }).detach();
  TestState state(mpi_tensors(), mesh, communicator.rank());
  Saver saver(folder, 2);
  const int64_t first = newest(folder) ? position_of(*newest(folder)).step + 1 : 1;
  for (int64_t step = first; kill_after >= 0 || step < first + 3; ++step) {
    state.fill(static_cast<uint64_t>(step));
    saver.save(communicator, mesh, {}, state.leaves(), {step, {}});
    while (!saver.poll(communicator)) std::this_thread::yield();
  }
}

void load_last(Communicator& communicator, const std::string& folder) {
  TestState state(mpi_tensors(), mesh, communicator.rank());
  const Position position = load(newest(folder).value(), communicator, mesh, {}, state.leaves());
  if (state.wrong(static_cast<uint64_t>(position.step)) != 0)
    throw std::runtime_error("entries are wrong");
}

}  // namespace
}  // namespace shardproof::properties

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  return shardproof::run_on_mpi(argc, argv, [&](shardproof::Communicator& communicator) {
    if (what == "save")
      shardproof::properties::save_steps(communicator, argv[2], argc > 3 ? std::atoi(argv[3]) : -1);
    else if (what == "load")
      shardproof::properties::load_last(communicator, argv[2]);
    else
      throw std::invalid_argument("mpi_checkpoints save FOLDER [ms]|load FOLDER");
  });
}
