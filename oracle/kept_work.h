#pragma once
// Many evaluations of one program.
#include <memory>

#include "spec/ir/program.h"

namespace shardproof::oracle {

/// How the patterns of a program are read. The program must not change and must outlive this.
class KeptReadings {
 public:
  explicit KeptReadings(const ir::Program& program);
  ~KeptReadings();
  KeptReadings(const KeptReadings&) = delete;

  struct Own;

 private:
  friend class KeptWork;
  std::unique_ptr<Own> own_;
};

/// While one lives, this thread does once what its evaluations have in common: it reads each
/// pattern, works out the sizes of a point, and takes the same gradient at the same numbers. The
/// programs that it evaluates outlive it. `lasting`: readings for more than one KeptWork.
class KeptWork {
 public:
  explicit KeptWork(KeptReadings& lasting);
  ~KeptWork();
  KeptWork(const KeptWork&) = delete;

  struct Own;

 private:
  std::unique_ptr<Own> own_;
  Own* before_;
};

}  // namespace shardproof::oracle
