#pragma once
// GPUs by CUDA.
#include "impl/device/device.h"

struct CUstream_st;

namespace shardproof {

/// How many there are; 0 also where there is no driver. `why` says then what is missing.
int cuda_device_count(std::string* why = nullptr);

/// Whose attention a GPU computes: that of our own kernels; cuDNN's, where it is found and has the
/// op; or cuDNN's with gradients that are added up in any order, which is faster and gives other
/// bits in every run.
enum class AttentionOf : uint8_t { own, library, library_unordered };

/// GPU number `ordinal`. Throws DeviceError with CUDA's message where there is none. Products are
/// cuBLASLt's (bf16, f32 without TF32, f64), chains of pointwise ops are compiled for it when they
/// are prepared, the rest is kernels/cuda. Without `records` every step is given launch by launch.
std::shared_ptr<Device> cuda_device(int ordinal = 0, AttentionOf attention = AttentionOf::library,
                                    bool records = true);

/// A queue of a CUDA device is a stream.
class CudaQueue : public Queue {
 public:
  virtual CUstream_st* stream() const = 0;
};

/// What a kernel's name and figures are given for in reports: "NVIDIA H200", 9.0, bytes.
struct CudaProperties {
  std::string name;
  int major = 0, minor = 0, multiprocessors = 0;
  size_t memory = 0;
  int driver = 0, runtime = 0;  ///< versions as CUDA numbers them: 13000
};
CudaProperties cuda_properties(int ordinal = 0);
/// The free memory of a GPU, in bytes.
size_t cuda_free_bytes(int ordinal = 0);

}  // namespace shardproof
