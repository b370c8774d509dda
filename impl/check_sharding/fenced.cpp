#include "impl/check_sharding/fenced.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace shardproof::check_sharding {
namespace {

constexpr size_t guard = size_t{1} << 24;  ///< bytes of the pages before, and after
constexpr size_t alignment = 64;
constexpr auto unwritten = std::byte{0xff};
constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

thread_local sigjmp_buf* resume = nullptr;
thread_local const void* touched = nullptr;

void leave(int signal, siginfo_t* info, void*) {
  if (!resume) {  // a thread that the code started
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  touched = info->si_addr;
  siglongjmp(*resume, signal);
}

/// The handlers of the signals while it lives.
class Handlers {
 public:
  Handlers() {
    struct sigaction own = {};
    own.sa_sigaction = leave;
    own.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &own, &before_[i]);
  }
  ~Handlers() {
    for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  std::array<struct sigaction, signals.size()> before_ = {};
};

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::max<size_t>(1, (bytes + page - 1) / page) * page;
}

}  // namespace

Fenced::Fenced(size_t bytes) : bytes_(bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const mapped = mmap(nullptr, body() + 2 * guard, PROT_NONE, flags, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("no memory for the tensors of a kernel");
  mapped_ = static_cast<std::byte*>(mapped);
  data_ = mapped_ + guard + (body() - bytes) / alignment * alignment;
  if (mprotect(mapped_ + guard, body(), PROT_READ | PROT_WRITE) != 0)
    throw std::runtime_error("no memory for the tensors of a kernel");
  std::memset(mapped_ + guard, 0xff, body());
}

Fenced::Fenced(Fenced&& other) noexcept
    : bytes_(other.bytes_), mapped_(std::exchange(other.mapped_, nullptr)), data_(other.data_) {}

Fenced::~Fenced() {
  if (mapped_) munmap(mapped_, body() + 2 * guard);
}

size_t Fenced::body() const { return whole_pages(bytes_); }

bool Fenced::written_beside() const {
  const auto changed = [](std::byte each) { return each != unwritten; };
  return std::any_of(mapped_ + guard, data_, changed) ||
         std::any_of(data_ + bytes_, mapped_ + guard + body(), changed);
}

bool Fenced::holds(const void* address) const {
  return address >= mapped_ && address < mapped_ + body() + 2 * guard;
}

bool Stop::of_memory() const { return signal == SIGSEGV || signal == SIGBUS; }

Stop run_until_signal(const std::function<int()>& code) {
  const Handlers handlers;
  sigjmp_buf here;
  Stop stop;
  stop.signal = sigsetjmp(here, 1);
  if (stop.signal == 0) {
    resume = &here;
    stop.code = code();
  } else {
    stop.address = touched;
  }
  resume = nullptr;
  return stop;
}

}  // namespace shardproof::check_sharding
