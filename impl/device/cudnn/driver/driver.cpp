// A CUDA driver stub without a GPU, for cuDNN's planning: accepts compiled code without looking at
// it, and refuses everything else.
namespace {

constexpr int success = 0, refused = 34;  // CUDA_ERROR_STUB_LIBRARY

int found(void** handle) {
  static int something;
  *handle = &something;
  return success;
}

}  // namespace

#define REFUSED(name) \
  extern "C" int name() { return refused; }
#define TAKEN(name) \
  extern "C" int name() { return success; }

extern "C" int cuLibraryGetKernel(void** kernel) { return found(kernel); }
extern "C" int cuKernelGetFunction(void** function) { return found(function); }
TAKEN(cuLibraryLoadData)
TAKEN(cuLibraryUnload)
TAKEN(cuKernelSetAttribute)
TAKEN(cuFuncSetAttribute)
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuDeviceGetCount)
REFUSED(cuDriverGetVersion)
REFUSED(cuGetErrorName)
REFUSED(cuGetErrorString)
REFUSED(cuInit)
REFUSED(cuKernelGetAttribute)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)
