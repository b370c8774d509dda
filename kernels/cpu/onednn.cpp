// The library is opened at the first product, not linked: a program starts without it in no time,
// runs on machines that do not have it, and needs it for no link.
#include "kernels/cpu/onednn.h"

#include "kernels/cpu/isa.h"

#ifdef SHARDPROOF_ONEDNN
#include <dlfcn.h>
#include <dnnl.h>

#include <algorithm>
#include <cstdio>
#endif

namespace shardproof::cpu {

#ifdef SHARDPROOF_ONEDNN
namespace {

#define SHARDPROOF_TEXT(x) #x
#define SHARDPROOF_SONAME(major) "libdnnl.so." SHARDPROOF_TEXT(major)

class Library {
 public:
  Library() : handle_(dlopen(SHARDPROOF_SONAME(DNNL_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) return;
    find(sgemm_, "dnnl_sgemm");
    find(version_, "dnnl_version");
    find(most_threads_, "omp_get_max_threads");
    find(set_threads_, "omp_set_num_threads");
    // Without OpenMP's functions it may have threads of its own: ranks share the processor.
    if (!sgemm_ || !version_ || !most_threads_ || !set_threads_ || !is_limited()) return;
    const dnnl_version_t* version = version_();
    std::snprintf(text_, sizeof text_, "oneDNN %d.%d.%d", version->major, version->minor,
                  version->patch);
  }
  bool there() const { return text_[0] != 0; }
  const char* text() const { return text_; }

  bool product(char order_a, char order_b, int64_t m, int64_t n, int64_t k, const float* a,
               int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, bool adds) const {
    const int before = most_threads_();  // of this thread
    if (before != 1) set_threads_(1);
    const dnnl_status_t done =
        sgemm_(order_a, order_b, m, n, k, 1.0f, a, lda, b, ldb, adds ? 1.0f : 0.0f, c, ldc);
    if (before != 1) set_threads_(before);
    return done == dnnl_success;
  }

 private:
  template <class Fn>
  void find(Fn& fn, const char* name) {
    fn = reinterpret_cast<Fn>(dlsym(handle_, name));
  }

  /// Its kernels have the level of the others, also below the machine's.
  bool is_limited() {
    if (isa() == machine_isa()) return true;
    decltype(&dnnl_set_max_cpu_isa) set_most = nullptr;
    find(set_most, "dnnl_set_max_cpu_isa");
    const dnnl_cpu_isa_t most = isa() == Isa::v3 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
    return set_most && set_most(most) == dnnl_success;
  }

  void* handle_;
  decltype(&dnnl_sgemm) sgemm_ = nullptr;
  decltype(&dnnl_version) version_ = nullptr;
  int (*most_threads_)() = nullptr;
  void (*set_threads_)(int) = nullptr;
  char text_[32] = {};
};

const Library& library() {
  static const Library opened;
  return opened;
}

/// How the library is given a matrix: by rows, or transposed; `leading` entries from one to the
/// next.
struct Given {
  char order = 'N';
  int64_t leading = 1;
  bool fits = true;
};

Given given(const MatrixStrides& x, int64_t rows, int64_t columns) {
  const bool by_rows = x.column == 1 || columns == 1;
  const int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  const int64_t stride = by_rows ? x.row : x.column;
  if (lines == 1) return {by_rows ? 'N' : 'T', length, true};
  return {by_rows ? 'N' : 'T', stride, stride >= length};
}

}  // namespace

bool onednn_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b,
                    float* c, int64_t c_row, bool adds) {
  const Given left = given(a.strides, m, k), right = given(b.strides, k, n);
  const int64_t ldc = m == 1 ? n : c_row;
  return left.fits && right.fits && ldc >= n && isa() != Isa::baseline && library().there() &&
         library().product(left.order, right.order, m, n, k, a.data, left.leading, b.data,
                           right.leading, c, ldc, adds);
}

const char* onednn_version() { return isa() == Isa::baseline ? "" : library().text(); }
#else
bool onednn_product(int64_t, int64_t, int64_t, const F32Matrix&, const F32Matrix&, float*, int64_t,
                    bool) {
  return false;
}

const char* onednn_version() { return ""; }
#endif

}  // namespace shardproof::cpu
