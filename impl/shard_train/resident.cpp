#include "impl/shard_train/resident.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace shardproof::shard_train {

size_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  size_t all = 0, resident = 0;
  if (!(pages >> all >> resident)) return 0;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace shardproof::shard_train
