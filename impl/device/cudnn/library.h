#pragma once
// cuDNN, loaded at run time: nothing links to it.
#include <cudnn_graph.h>

#include <string>

namespace shardproof::cudnn {

/// The functions that we use.
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
  std::string missing;  ///< why it is unavailable; empty if it is available
};

/// Loaded once.
const Library& library();

/// "cuDNN 9.19.0", or why it is unavailable.
std::string described();

/// Throws DeviceError with cuDNN's message unless `status` is success.
void check(cudnnStatus_t status, const std::string& what);

}  // namespace shardproof::cudnn
