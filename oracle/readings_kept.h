#pragma once
// Many evaluations of one program.
#include <memory>

namespace shardproof::oracle {

/// While one lives, this thread reads each pattern once, whatever sizes it is evaluated at, and
/// works the sizes of a point out once. The programs that it evaluates outlive it.
class ReadingsKept {
 public:
  ReadingsKept();
  ~ReadingsKept();
  ReadingsKept(const ReadingsKept&) = delete;

  struct Own;

 private:
  std::unique_ptr<Own> own_;
  Own* before_;
};

}  // namespace shardproof::oracle
