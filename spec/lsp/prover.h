#pragma once
// The whole check of one text in a process of its own: a later text ends it, and neither an endless
// proof nor a crash reaches the server.
#include <sys/types.h>

#include <optional>
#include <string>

#include "spec/lsp/document.h"

namespace shardproof::lsp {

class Prover {
 public:
  static constexpr int seconds = 60;  ///< of processor time for one text

  Prover() = default;
  ~Prover() { stop(); }
  Prover(const Prover&) = delete;
  Prover& operator=(const Prover&) = delete;

  /// Begins to check `path`; what ran before is stopped.
  void start(const std::string& uri, const std::string& path, const FileReader& reader);
  void stop();
  bool runs() const { return child_ > 0; }
  const std::string& uri() const { return uri_; }
  int descriptor() const { return pipe_; }  ///< -1: nothing runs

  struct Answer {
    std::string uri;
    Json findings;  ///< null: it ended without any
  };
  /// Reads what there is; an answer when the process has ended.
  std::optional<Answer> read();

 private:
  void end();
  pid_t child_ = -1;
  int pipe_ = -1;
  std::string uri_, text_;
};

}  // namespace shardproof::lsp
