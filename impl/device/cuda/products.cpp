#include "impl/device/cuda/products.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>

#include "impl/device/cuda/cublaslt.h"
#include "impl/device/cuda/fastest.h"
#include "impl/device/cuda/queue.h"
#include "kernels/cuda/kernels.h"

namespace shardproof {
namespace {

void check_blas(cublasStatus_t status, const std::string& what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(what + ": " + cublaslt().GetStatusString(status));
}

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f64:
      return CUDA_R_64F;
    case Element::f32:
      return CUDA_R_32F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::i32:
    case Element::u32:
    case Element::u8:
    case Element::u64:
      break;
  }
  throw DeviceError(std::string("no matrix product of ") + name_of(element));
}

using Layout =
    std::unique_ptr<cublasLtMatrixLayoutOpaque_t, cublasStatus_t (*)(cublasLtMatrixLayout_t)>;
using Descriptor =
    std::unique_ptr<cublasLtMatmulDescOpaque_t, cublasStatus_t (*)(cublasLtMatmulDesc_t)>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                                   cublasStatus_t (*)(cublasLtMatmulPreference_t)>;

template <class Handle, class Attribute, class Setting, class Set>
void set(Set function, const Handle& handle, Attribute attribute, const Setting& value) {
  check_blas(function(handle.get(), attribute, &value, sizeof value), "an attribute of a product");
}

Layout layout_of(const ColumnMajor::Operand& operand, Element element, int64_t count,
                 int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check_blas(
      cublaslt().MatrixLayoutCreate(&made, type_of(element), static_cast<uint64_t>(operand.rows),
                                    static_cast<uint64_t>(operand.columns), operand.leading),
      "a matrix");
  Layout layout(made, cublaslt().MatrixLayoutDestroy);
  set(cublaslt().MatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
      static_cast<int32_t>(count));
  set(cublaslt().MatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
      stride);
  return layout;
}

/// Pointer alignments in bytes, best first: the choice of algorithm depends on them.
constexpr std::array<size_t, 3> alignments{256, 16, 2};

/// Computed once per product.
struct Prepared {
  Matmul op;
  bool biased = false;
  ColumnMajor form;
  Nest others;  ///< of the batch, without the loop in cuBLASLt
  Descriptor descriptor{nullptr, cublaslt().MatmulDescDestroy};
  Layout x{nullptr, cublaslt().MatrixLayoutDestroy}, y{nullptr, cublaslt().MatrixLayoutDestroy},
      out{nullptr, cublaslt().MatrixLayoutDestroy};
  std::vector<cublasLtMatmulAlgo_t> candidates;  ///< for the best alignment
  std::array<std::optional<cublasLtMatmulAlgo_t>, alignments.size()> algorithms{};
  /// The alignment of every matrix in the batch, if the first one is aligned.
  size_t batch_alignment = alignments[0];

  const cublasLtMatmulAlgo_t& algorithm(std::initializer_list<const void*> arrays) const {
    uintptr_t bits = batch_alignment;
    for (const void* array : arrays) bits |= reinterpret_cast<uintptr_t>(array);
    size_t i = 0;
    while (bits % alignments[i] != 0 || !algorithms[i])  // what asks for less fits too
      if (++i == alignments.size())
        throw DeviceError("cuBLASLt has no algorithm for a product of arrays at odd multiples of " +
                          std::to_string(bits & (~bits + 1)) + " bytes");
    return *algorithms[i];
  }
};

std::string text_of(const Matmul& op) {
  return "a product of " + std::to_string(op.m) + " by " + std::to_string(op.k) + " by " +
         std::to_string(op.n);
}

/// Best first, as cuBLASLt estimates. None if it has no algorithm; then `why` gets its message.
std::vector<cublasLtMatmulAlgo_t> algorithms_of(cublasLtHandle_t handle, size_t workspace,
                                                const Prepared& product, size_t alignment,
                                                int number, std::string& why) {
  cublasLtMatmulPreference_t wish = nullptr;
  check_blas(cublaslt().MatmulPreferenceCreate(&wish), "a product's preference");
  const Preference preference(wish, cublaslt().MatmulPreferenceDestroy);
  size_t least = size_of(product.op.elements[0]);  // an entry is aligned to its size
  for (const Element element : product.op.elements) least = std::min(least, size_of(element));
  alignment = std::max(alignment, least);
  set(cublaslt().MatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<uint64_t>(workspace));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(cublaslt().MatmulPreferenceSetAttribute, preference, attribute,
        static_cast<uint32_t>(alignment));
  // Partial sums must not be rounded to c's element, nor be added to c in arrival order.
  set(cublaslt().MatmulPreferenceSetAttribute, preference,
      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  // Also for the bias; only the address matters here.
  if (product.biased)
    set(cublaslt().MatmulDescSetAttribute, product.descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void*>(alignment));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(number));
  const cublasStatus_t status = cublaslt().MatmulAlgoGetHeuristic(
      handle, product.descriptor.get(), product.x.get(), product.y.get(), product.out.get(),
      product.out.get(), preference.get(), number, found.data(), &number);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  if (status == CUBLAS_STATUS_SUCCESS)
    for (int i = 0; i < number; ++i)
      if (const auto& each = found[static_cast<size_t>(i)]; each.state == CUBLAS_STATUS_SUCCESS)
        algorithms.push_back(each.algo);
  if (algorithms.empty())
    why = cublaslt().GetStatusString(status == CUBLAS_STATUS_SUCCESS ? found[0].state : status);
  return algorithms;
}

std::shared_ptr<Prepared> prepared(cublasLtHandle_t handle, size_t workspace, const Matmul& op,
                                   int candidates, bool biased = false) {
  auto product = std::make_shared<Prepared>();
  product->op = op;
  product->biased = biased;
  product->form = column_major(op);
  product->others = op.batch;
  const ColumnMajor& form = product->form;
  const int loop = batch_loop(op.batch);
  int64_t count = 1, strides[3] = {0, 0, 0};  // c, a, b
  if (loop >= 0) {
    count = op.batch.extents[static_cast<size_t>(loop)];
    product->others.extents.erase(product->others.extents.begin() + loop);
    for (size_t k = 0; k < 3; ++k) {
      strides[k] = op.batch.strides[k][static_cast<size_t>(loop)];
      product->others.strides[k].erase(product->others.strides[k].begin() + loop);
    }
  }
  for (size_t k = 0; k < 3; ++k)
    product->batch_alignment |=
        static_cast<size_t>(count > 1 ? strides[k] : 0) * size_of(op.elements[k]);
  const bool f64 = op.elements[0] == Element::f64;
  cublasLtMatmulDesc_t made = nullptr;
  check_blas(cublaslt().MatmulDescCreate(&made, f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                         f64 ? CUDA_R_64F : CUDA_R_32F),
             "a product");
  product->descriptor.reset(made);
  const auto turned = [](bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(cublaslt().MatmulDescSetAttribute, product->descriptor, CUBLASLT_MATMUL_DESC_TRANSA,
      turned(form.x.transposed));
  set(cublaslt().MatmulDescSetAttribute, product->descriptor, CUBLASLT_MATMUL_DESC_TRANSB,
      turned(form.y.transposed));
  if (biased) {  // of each row in cuBLASLt's view; of c's element
    set(cublaslt().MatmulDescSetAttribute, product->descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE,
        CUBLASLT_EPILOGUE_BIAS);
    set(cublaslt().MatmulDescSetAttribute, product->descriptor, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        type_of(op.elements[0]));
  }
  const size_t x = form.flipped ? 1 : 2, y = form.flipped ? 2 : 1;
  product->x = layout_of(form.x, op.elements[x], count, strides[x]);
  product->y = layout_of(form.y, op.elements[y], count, strides[y]);
  product->out = layout_of(form.out, op.elements[0], count, strides[0]);

  std::string why;
  bool has = false;
  for (size_t i = 0; i < alignments.size(); ++i) {
    auto algorithms =
        algorithms_of(handle, workspace, *product, alignments[i], i == 0 ? candidates : 1, why);
    if (algorithms.empty()) continue;
    product->algorithms[i] = algorithms.front();
    if (i == 0) product->candidates = std::move(algorithms);
    has = true;
  }
  if (!has) throw DeviceError("cuBLASLt has no algorithm for " + text_of(op) + ": " + why);
  return product;
}

/// Memory for products whose terms are added in parts.
struct Scratch {
  void* memory;
  size_t bytes;
};

/// to = left right, of a's and b's entries.
cublasStatus_t submit(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                      const Prepared& product, void* to, const void* left, const void* right,
                      const cublasLtMatmulAlgo_t& algorithm, const Scratch& scratch,
                      cudaStream_t stream) {
  const float one = 1, zero = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const bool f64 = product.op.elements[0] == Element::f64;
  return cublaslt().Matmul(
      handle, descriptor, f64 ? static_cast<const void*>(&one_f64) : &one,
      product.form.flipped ? left : right, product.x.get(), product.form.flipped ? right : left,
      product.y.get(), f64 ? static_cast<const void*>(&zero_f64) : &zero, to, product.out.get(), to,
      product.out.get(), &algorithm, scratch.memory, scratch.bytes, stream);
}

void multiply(cublasLtHandle_t handle, const Prepared& product, StreamQueue& queue, void* out,
              const void* a, const void* b, const void* bias = nullptr) {
  // A copy per launch: other streams may launch the same product with other vectors.
  cublasLtMatmulDescOpaque_t descriptor = *product.descriptor;
  if (bias)
    check_blas(cublaslt().MatmulDescSetAttribute(&descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                 &bias, sizeof bias),
               "a product's bias");
  const Matmul& op = product.op;
  const auto [scratch, bytes] = queue.workspace();
  const auto stream = queue.launch_on();
  const auto at = [&](const void* base, Element element, int64_t entries) {
    return static_cast<const std::byte*>(base) + entries * static_cast<int64_t>(size_of(element));
  };
  for_each_row(product.others, [&](const int64_t* offsets) {
    for (int64_t i = 0; i < product.others.inner(); ++i) {
      const auto offset = [&](size_t k) { return offsets[k] + i * product.others.inner_stride(k); };
      const void* left = at(a, op.elements[1], offset(1));
      const void* right = at(b, op.elements[2], offset(2));
      void* to = const_cast<std::byte*>(at(out, op.elements[0], offset(0)));
      check_blas(
          submit(handle, &descriptor, product, to, left, right,
                 product.algorithm({to, left, right, bias}), {scratch, bytes}, stream.handle),
          text_of(op));
    }
  });
}

/// Memory of the GPU for one product of normal numbers: zeros would be faster.
class Trial {
 public:
  Trial(const Matmul& op, size_t workspace) : scratch_(device_memory(workspace, what)) {
    const auto of = [&](int64_t rows, int64_t columns, Element element) {
      return device_memory(static_cast<size_t>(rows * columns) * size_of(element), what);
    };
    c_ = of(op.m, op.n, op.elements[0]);
    a_ = of(op.m, op.k, op.elements[1]);
    b_ = of(op.k, op.n, op.elements[2]);
    fill(a_, op.m * op.k, op.elements[1]);
    fill(b_, op.k * op.n, op.elements[2]);
  }
  void* c() const { return c_.data(); }
  const void* a() const { return a_.data(); }
  const void* b() const { return b_.data(); }
  void* scratch() const { return scratch_.data(); }

 private:
  static constexpr const char* what = "memory to time a product";
  static void fill(const Buffer& matrix, int64_t entries, Element element) {
    const Buffer key = device_memory(sizeof(uint64_t), what);
    check_cuda(cudaMemset(key.data(), 1, sizeof(uint64_t)), "a key");
    const void* inputs[] = {key.data()};
    cuda::run(cuda::Stream{}, Random{{{entries}, {{1}, {1}}}, RandomFn::normal, 0, element},
              matrix.data(), inputs);
    check_cuda(cudaDeviceSynchronize(), "a matrix");
  }

  Buffer scratch_, c_, a_, b_;
};

/// The matrices have no gaps: what lies between them, a trial has no memory for.
bool is_dense(const Matmul& op) {
  const auto whole = [](const MatrixStrides& s, int64_t rows, int64_t columns) {
    return (s.column == 1 && s.row == columns) || (s.row == 1 && s.column == rows);
  };
  return op.batch.count() == 1 && whole(op.c, op.m, op.n) && whole(op.a, op.m, op.k) &&
         whole(op.b, op.k, op.n);
}

}  // namespace

struct Products::State {
  cublasLtHandle_t handle = nullptr;
  size_t workspace = 0;
  bool times = false;
  ~State() {
    if (handle) cublaslt().Destroy(handle);
  }

  /// Puts the fastest algorithm first, for matrices as a plan's arena has them. Small products, and
  /// those for which there is no memory, keep cuBLASLt's choice.
  void choose(Prepared& product) {
    const Matmul& op = product.op;
    const auto& candidates = product.candidates;
    constexpr double small = 1e9;  // operations: a launch takes as long
    if (!times || product.biased || candidates.size() < 2 || !is_dense(op) ||
        static_cast<double>(op.m) * static_cast<double>(op.n) * static_cast<double>(op.k) < small)
      return;
    const std::lock_guard lock(mutex_);
    const std::array<int64_t, 9> key{op.m,
                                     op.n,
                                     op.k,
                                     op.a.row,
                                     op.b.row,
                                     op.c.row,
                                     static_cast<int64_t>(op.elements[0]),
                                     static_cast<int64_t>(op.elements[1]),
                                     static_cast<int64_t>(op.elements[2])};
    const auto [known, is_new] = chosen_.try_emplace(key, 0);
    if (is_new) known->second = timed(product);
    product.algorithms[0] = candidates[known->second];
  }

 private:
  size_t timed(const Prepared& product) const try {
    const Trial trial(product.op, workspace);
    std::vector<std::function<bool(cudaStream_t)>> ways;
    for (const cublasLtMatmulAlgo_t& algorithm : product.candidates)
      ways.push_back([&](cudaStream_t stream) {
        return submit(handle, product.descriptor.get(), product, trial.c(), trial.a(), trial.b(),
                      algorithm, {trial.scratch(), workspace}, stream) == CUBLAS_STATUS_SUCCESS;
      });
    return fastest(ways);
  } catch (const DeviceError&) {  // no memory
    cudaGetLastError();
    return 0;
  }

  std::mutex mutex_;
  std::map<std::array<int64_t, 9>, size_t> chosen_;
};

Products::Products(size_t workspace, bool times) : state_(std::make_shared<State>()) {
  state_->workspace = workspace;
  state_->times = times;
  if (!cublaslt().missing.empty()) throw DeviceError(cublaslt().missing);
  check_blas(cublaslt().Create(&state_->handle), "cuBLASLt");
}
Products::~Products() = default;

Launch Products::prepare(const Matmul& op) {
  if (op.batch.count() * op.m * op.n == 0)
    return [](Queue&, std::span<void* const>, std::span<const void* const>) {};
  if (op.k == 0) throw DeviceError("a product over nothing");
  constexpr int timed = 8;
  const std::shared_ptr<Prepared> product =
      prepared(state_->handle, state_->workspace, op, state_->times ? timed : 1);
  state_->choose(*product);
  return [state = state_, product](Queue& queue, std::span<void* const> outputs,
                                   std::span<const void* const> inputs) {
    multiply(state->handle, *product, static_cast<StreamQueue&>(queue), outputs[0], inputs[0],
             inputs[1]);
  };
}

Launch Products::prepare(const BiasedProduct& op) {
  if (!op.fits()) return {};
  std::shared_ptr<Prepared> product;
  try {
    product = prepared(state_->handle, state_->workspace, op.product, 1, true);
  } catch (const DeviceError&) {
    return {};
  }
  return [state = state_, product](Queue& queue, std::span<void* const> outputs,
                                   std::span<const void* const> inputs) {
    multiply(state->handle, *product, static_cast<StreamQueue&>(queue), outputs[0], inputs[0],
             inputs[1], inputs[2]);
  };
}

}  // namespace shardproof
