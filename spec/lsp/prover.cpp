#include "spec/lsp/prover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

#include <cerrno>

namespace shardproof::lsp {
namespace {

void write_all(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

[[noreturn]] void child(int descriptor, pid_t server, const std::string& path,
                        const FileReader& reader) {
#ifdef __linux__
  // A server that is killed takes its proof along.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server) _exit(1);
#else
  (void)server;
#endif
  const rlimit limit{Prover::seconds, Prover::seconds};
  setrlimit(RLIMIT_CPU, &limit);
  try {
    write_all(
        descriptor,
        findings(proved(path, reader), true).dump(-1, ' ', false, Json::error_handler_t::replace));
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

}  // namespace

void Prover::start(const std::string& uri, const std::string& path, const FileReader& reader) {
  stop();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t server = getpid();
  child_ = fork();
  if (child_ == 0) {
    close(ends[0]);
    child(ends[1], server, path, reader);
  }
  close(ends[1]);
  if (child_ < 0) {
    close(ends[0]);
    return;
  }
  pipe_ = ends[0];
  uri_ = uri;
  text_.clear();
}

void Prover::stop() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  end();
}

void Prover::end() {
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(pipe_);
  child_ = pipe_ = -1;
}

std::optional<Prover::Answer> Prover::read() {
  char some[1 << 16];
  const ssize_t count = ::read(pipe_, some, sizeof some);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (count > 0) {
    text_.append(some, static_cast<size_t>(count));
    return std::nullopt;
  }
  end();
  Json findings = Json::parse(text_, nullptr, false);
  if (findings.is_discarded()) findings = nullptr;
  return Answer{uri_, std::move(findings)};
}

}  // namespace shardproof::lsp
