#pragma once
// cuDNN as it is found when a program runs: nothing is linked with it.
#include <cudnn_graph.h>

#include <string>

namespace shardproof::cudnn {

/// The functions that are used.
struct Library {
  size_t (*version)() = nullptr;
  cudnnStatus_t (*create)(cudnnHandle_t*) = nullptr;
  cudnnStatus_t (*destroy)(cudnnHandle_t) = nullptr;
  cudnnStatus_t (*set_stream)(cudnnHandle_t, cudaStream_t) = nullptr;
  void (*last_error)(char*, size_t) = nullptr;
  cudnnStatus_t (*create_descriptor)(cudnnBackendDescriptorType_t,
                                     cudnnBackendDescriptor_t*) = nullptr;
  cudnnStatus_t (*destroy_descriptor)(cudnnBackendDescriptor_t) = nullptr;
  cudnnStatus_t (*set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                       cudnnBackendAttributeType_t, int64_t, const void*) = nullptr;
  cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                       cudnnBackendAttributeType_t, int64_t, int64_t*, void*) = nullptr;
  cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t) = nullptr;
  cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t,
                           cudnnBackendDescriptor_t) = nullptr;
  std::string missing;  ///< why there is none; empty where there is one
};

/// Looked for once.
const Library& library();

/// "cuDNN 9.19.0", or why there is none.
std::string described();

/// Throws DeviceError with cuDNN's message where `status` is no success.
void check(cudnnStatus_t status, const std::string& what);

}  // namespace shardproof::cudnn
