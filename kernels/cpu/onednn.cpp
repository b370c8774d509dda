// Loads the library at the first product instead of linking it: programs start faster, and build
// and run on machines without it.
#include "kernels/cpu/onednn.h"

#include "kernels/cpu/isa.h"

#ifdef SHARDPROOF_ONEDNN
#include <dlfcn.h>
#include <dnnl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>
#endif

namespace shardproof::cpu {

#ifdef SHARDPROOF_ONEDNN
namespace {

#define SHARDPROOF_TEXT(x) #x
#define SHARDPROOF_SONAME(major) "libdnnl.so." SHARDPROOF_TEXT(major)

#if DNNL_VERSION_MAJOR == 2
/// The library's functions for products of bf16.
struct Calls {
#define SHARDPROOF_CALL(name) decltype(&dnnl_##name) name = nullptr;
#define SHARDPROOF_CALLS(each)                                                                  \
  each(engine_create) each(stream_create) each(stream_wait) each(memory_desc_init_by_strides)   \
      each(matmul_desc_init) each(primitive_desc_create) each(primitive_desc_query)             \
          each(primitive_desc_destroy) each(primitive_create) each(primitive_execute)           \
              each(primitive_destroy) each(memory_create) each(memory_set_data_handle)          \
                  each(memory_destroy) each(primitive_attr_create) each(primitive_attr_destroy) \
                      each(primitive_attr_set_post_ops) each(post_ops_create)                   \
                          each(post_ops_append_sum) each(post_ops_destroy)                      \
                              each(primitive_attr_set_scratchpad_mode)                          \
                                  each(primitive_desc_query_md) each(memory_desc_get_size)
  SHARDPROOF_CALLS(SHARDPROOF_CALL)
#undef SHARDPROOF_CALL
  dnnl_engine_t engine = nullptr;
};
#endif

class Library {
 public:
  Library() : handle_(dlopen(SHARDPROOF_SONAME(DNNL_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) return;
    find(sgemm_, "dnnl_sgemm");
    find(version_, "dnnl_version");
    find(most_threads_, "omp_get_max_threads");
    find(set_threads_, "omp_set_num_threads");
    // Without OpenMP's functions it may start its own threads, but ranks share the processor.
    if (!sgemm_ || !version_ || !most_threads_ || !set_threads_ || !is_limited()) return;
#if DNNL_VERSION_MAJOR == 2
    find_calls();
#endif
    const dnnl_version_t* version = version_();
    std::snprintf(text_, sizeof text_, "oneDNN %d.%d.%d", version->major, version->minor,
                  version->patch);
  }
  bool there() const { return text_[0] != 0; }
  const char* text() const { return text_; }

  bool product(char order_a, char order_b, int64_t m, int64_t n, int64_t k, const float* a,
               int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, bool adds) const {
    return in_this_thread([&] {
      return sgemm_(order_a, order_b, m, n, k, 1.0f, a, lda, b, ldb, adds ? 1.0f : 0.0f, c, ldc) ==
             dnnl_success;
    });
  }

  template <class Work>
  bool in_this_thread(Work work) const {
    const int before = most_threads_();  // of this thread
    if (before != 1) set_threads_(1);
    const bool done = work();
    if (before != 1) set_threads_(before);
    return done;
  }

#if DNNL_VERSION_MAJOR == 2
  /// Null if the library lacks one of the functions.
  const Calls* calls() const { return calls_.engine ? &calls_ : nullptr; }
#endif

 private:
  template <class Fn>
  void find(Fn& fn, const char* name) {
    fn = reinterpret_cast<Fn>(dlsym(handle_, name));
  }

  /// Limits its kernels to the level of ours, also below the processor's.
  bool is_limited() {
    if (isa() == Isa::amx) return true;
    decltype(&dnnl_set_max_cpu_isa) set_most = nullptr;
    find(set_most, "dnnl_set_max_cpu_isa");
    const dnnl_cpu_isa_t most = isa() == Isa::bf16 ? dnnl_cpu_isa_avx512_core_bf16
                                : isa() == Isa::v4 ? dnnl_cpu_isa_avx512_core
                                : isa() == Isa::v3 ? dnnl_cpu_isa_avx2
                                                   : dnnl_cpu_isa_sse41;
    return set_most && set_most(most) == dnnl_success;
  }

#if DNNL_VERSION_MAJOR == 2
  void find_calls() {
    bool all = true;
#define SHARDPROOF_CALL(name) find(calls_.name, "dnnl_" #name), all = all && calls_.name != nullptr;
    SHARDPROOF_CALLS(SHARDPROOF_CALL)
#undef SHARDPROOF_CALL
    if (all && calls_.engine_create(&calls_.engine, dnnl_cpu, 0) != dnnl_success)
      calls_.engine = nullptr;
  }
  Calls calls_;
#endif

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

/// How a matrix is passed to the library: row-major or transposed; `leading` is its leading
/// dimension.
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

#if DNNL_VERSION_MAJOR == 2
namespace {

/// A product of bf16 matrices for any operands of these shapes. Usable only in the thread that made
/// it.
class Prepared {
 public:
  /// m, n, k; row and column strides of a, b and c; whether c is bf16; whether the product is added
  /// to c.
  using Key = std::array<int64_t, 11>;

  Prepared(const Calls& calls, const Key& key) : calls_(calls) {
    const auto [m, n, k, a_row, a_column, b_row, b_column, c_row, c_column, rounds, adds] = key;
    const dnnl_data_type_t to = rounds ? dnnl_bf16 : dnnl_f32;
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t described = nullptr;
    dnnl_primitive_attr_t attributes = attributes_of(adds);
    const bool fits =
        attributes && describe(0, m, k, a_row, a_column, dnnl_bf16) &&
        describe(1, k, n, b_row, b_column, dnnl_bf16) && describe(2, m, n, c_row, c_column, to) &&
        is(calls.matmul_desc_init(&op, &places_[0], &places_[1], nullptr, &places_[2])) &&
        is(calls.primitive_desc_create(&described, &op, attributes, calls.engine, nullptr));
    if (attributes) calls.primitive_attr_destroy(attributes);
    // For strides without a fast kernel, the library falls back to plain loops: refuse that.
    const char* name = "";
    ready_ = fits &&
             is(calls.primitive_desc_query(described, dnnl_query_impl_info_str, 0, &name)) &&
             std::strncmp(name, "ref", 3) && is(calls.primitive_create(&made_, described)) &&
             is(calls.stream_create(&stream_, calls.engine, dnnl_stream_default_flags));
    if (ready_) places_[3] = *calls.primitive_desc_query_md(described, dnnl_query_scratchpad_md, 0);
    for (int i = 0; ready_ && i < 4; ++i)
      ready_ = is(calls.memory_create(&memory_[i], &places_[i], calls.engine, DNNL_MEMORY_NONE));
    if (described) calls.primitive_desc_destroy(described);
  }
  Prepared(const Prepared&) = delete;
  ~Prepared() {
    for (dnnl_memory_t each : memory_)
      if (each) calls_.memory_destroy(each);
    if (made_) calls_.primitive_destroy(made_);
  }

  bool run(void* c, const void* a, const void* b) const {
    if (!ready_) return false;
    void* const data[] = {const_cast<void*>(a), const_cast<void*>(b), c,
                          scratch(calls_.memory_desc_get_size(&places_[3]))};
    for (int i = 0; i < 4; ++i)
      if (!is(calls_.memory_set_data_handle(memory_[i], data[i]))) return false;
    const dnnl_exec_arg_t given[] = {{DNNL_ARG_SRC, memory_[0]},
                                     {DNNL_ARG_WEIGHTS, memory_[1]},
                                     {DNNL_ARG_DST, memory_[2]},
                                     {DNNL_ARG_SCRATCHPAD, memory_[3]}};
    return is(calls_.primitive_execute(made_, stream_, 4, given)) &&
           is(calls_.stream_wait(stream_));
  }

 private:
  /// The thread's memory for whichever product it computes: the library's own would be kept for
  /// each of them.
  static void* scratch(size_t bytes) {
    constexpr size_t line = 64;
    thread_local std::vector<std::byte> memory;
    if (memory.size() < bytes + line) memory = std::vector<std::byte>(bytes + line);
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (line - address % line) % line;
  }

  /// Scratch memory is the caller's; with `adds`, the product is added to c. Null if the library
  /// fails.
  dnnl_primitive_attr_t attributes_of(bool adds) const {
    dnnl_post_ops_t steps = nullptr;
    dnnl_primitive_attr_t attributes = nullptr;
    const bool made =
        is(calls_.post_ops_create(&steps)) &&
        (!adds || is(calls_.post_ops_append_sum(steps, 1.0f))) &&
        is(calls_.primitive_attr_create(&attributes)) &&
        is(calls_.primitive_attr_set_post_ops(attributes, steps)) &&
        is(calls_.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
    if (steps) calls_.post_ops_destroy(steps);
    if (!made && attributes) calls_.primitive_attr_destroy(attributes);
    return made ? attributes : nullptr;
  }
  static bool is(dnnl_status_t status) { return status == dnnl_success; }
  bool describe(int i, int64_t rows, int64_t columns, int64_t row, int64_t column,
                dnnl_data_type_t type) {
    const dnnl_dims_t extents = {rows, columns}, strides = {row, column};
    return is(calls_.memory_desc_init_by_strides(&places_[i], 2, extents, type, strides));
  }

  const Calls& calls_;
  dnnl_memory_desc_t places_[4];  ///< a, b, c and scratch
  dnnl_primitive_t made_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_memory_t memory_[4] = {};
  bool ready_ = false;
};

/// A matrix with one row or column gets the strides of a row-major one.
MatrixStrides plain(const MatrixStrides& x, int64_t rows, int64_t columns) {
  if (rows == 1 || columns == 1)
    if (x.column == 1 || columns == 1) return {rows == 1 ? columns : x.row, 1};
  return x;
}

}  // namespace

bool onednn_product(int64_t m, int64_t n, int64_t k, const Bf16Matrix& a, const Bf16Matrix& b,
                    void* c, int64_t c_row, bool rounds, bool adds) {
  if (isa() < Isa::bf16 || !library().there() || !library().calls()) return false;
  const MatrixStrides left = plain(a.strides, m, k), right = plain(b.strides, k, n),
                      to = plain({c_row, 1}, m, n);
  thread_local std::map<Prepared::Key, Prepared> prepared;
  const Prepared::Key key{m,      n,         k,      left.row, left.column, right.row, right.column,
                          to.row, to.column, rounds, adds};
  return library().in_this_thread([&] {
    return prepared.try_emplace(key, *library().calls(), key).first->second.run(c, a.data, b.data);
  });
}
#else
bool onednn_product(int64_t, int64_t, int64_t, const Bf16Matrix&, const Bf16Matrix&, void*, int64_t,
                    bool, bool) {
  return false;
}
#endif

const char* onednn_version() { return isa() == Isa::baseline ? "" : library().text(); }
#else
bool onednn_product(int64_t, int64_t, int64_t, const F32Matrix&, const F32Matrix&, float*, int64_t,
                    bool) {
  return false;
}

bool onednn_product(int64_t, int64_t, int64_t, const Bf16Matrix&, const Bf16Matrix&, void*, int64_t,
                    bool, bool) {
  return false;
}

const char* onednn_version() { return ""; }
#endif

}  // namespace shardproof::cpu
