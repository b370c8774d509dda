#pragma once
// Many evaluations of one program.
#include <memory>

namespace shardproof::oracle {

/// While one lives, this thread reads each pattern once, whatever sizes it is evaluated at. The
/// programs that it evaluates outlive it.
class ReadingsKept {
 public:
  ReadingsKept();
  ~ReadingsKept();
  ReadingsKept(const ReadingsKept&) = delete;

 private:
  struct Own;
  std::unique_ptr<Own> own_;
  void* before_;
};

}  // namespace shardproof::oracle
