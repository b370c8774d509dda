#pragma once
// GPUs by CUDA.
#include "impl/device/device.h"

struct CUstream_st;

namespace shardproof {

/// The number of GPUs; 0 if there is no driver, and then `why` gets the reason.
int cuda_device_count(std::string* why = nullptr);

/// The implementation of attention on a GPU: our kernels; cuDNN's, if installed and supported; or
/// cuDNN's with gradients summed in any order, which is faster, but gives different bits in every
/// run.
enum class AttentionOf : uint8_t { own, library, library_unordered };

/// The algorithm of a large product: the one that cuBLASLt estimates to be best; or the fastest by
/// a clock, which may be another one, with other bits, in another run.
enum class ProductsBy : uint8_t { estimate, clock };

/// GPU `ordinal`. Throws DeviceError with CUDA's message if it does not exist. Products are
/// cuBLASLt's (bf16, f32 without TF32, f64). Chains of pointwise ops are compiled when they are
/// prepared. All other ops are kernels/cuda. Without `records`, every step is launched separately.
std::shared_ptr<Device> cuda_device(int ordinal = 0, AttentionOf attention = AttentionOf::library,
                                    bool records = true,
                                    ProductsBy products = ProductsBy::estimate);

/// A queue of a CUDA device is a stream.
class CudaQueue : public Queue {
 public:
  virtual CUstream_st* stream() const = 0;
};

/// Properties for reports: "NVIDIA H200", 9.0, bytes.
struct CudaProperties {
  std::string name;
  int major = 0, minor = 0, multiprocessors = 0;
  size_t memory = 0;
  int driver = 0, runtime = 0;  ///< as CUDA numbers them: 13000
};
CudaProperties cuda_properties(int ordinal = 0);
/// The free memory of a GPU, in bytes.
size_t cuda_free_bytes(int ordinal = 0);

}  // namespace shardproof
