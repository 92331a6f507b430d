// A driver library without a device, built as libcuda.so.1. cuDNN compiles kernels at run time
// without a GPU, but then loads them and asks for their attributes: what it calls for that answers
// here, and all that needs a device says that there is none. Nothing can be launched. cuda.h is not
// included, as its macros rename functions that cuDNN looks up under their first names.

#include <cstddef>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;         // CUDA_ERROR_NO_DEVICE
constexpr int kDriverVersion = 13000;  // that of CUDA 13.0

// What is handed out as a handle; never dereferenced.
char handle_mark = 0;

int GiveHandle(void** handle) {
  *handle = &handle_mark;
  return kSuccess;
}

}  // namespace

// A function that fails because there is no device, whatever its parameters are.
#define NEEDS_DEVICE(name) \
  int name() { return kNoDevice; }

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return kSuccess;
}

int cuGetErrorString(int, const char** text) {
  *text = "an error of the fake driver";
  return kSuccess;
}

int cuGetErrorName(int, const char** text) {
  *text = "FAKE_DRIVER_ERROR";
  return kSuccess;
}

int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  return GiveHandle(library);
}
int cuLibraryUnload(void*) { return kSuccess; }
int cuLibraryGetKernel(void** kernel, void*, const char*) { return GiveHandle(kernel); }
int cuKernelGetFunction(void** function, void*) { return GiveHandle(function); }
int cuModuleLoadData(void** module, const void*) { return GiveHandle(module); }
int cuModuleLoadDataEx(void** module, const void*, unsigned, void*, void*) {
  return GiveHandle(module);
}
int cuModuleUnload(void*) { return kSuccess; }
int cuModuleGetFunction(void** function, void*, const char*) { return GiveHandle(function); }

int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return kSuccess;
}
int cuKernelSetAttribute(int, int, void*, int) { return kSuccess; }
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return kSuccess;
}
int cuFuncSetAttribute(void*, int, int) { return kSuccess; }

// What an H200 has room for: clusters of two blocks, and blocks on one multiprocessor.
int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
  *clusters = 66;
  return kSuccess;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = 1;
  return kSuccess;
}

NEEDS_DEVICE(cuInit)
NEEDS_DEVICE(cuDeviceGet)
NEEDS_DEVICE(cuDeviceGetCount)
NEEDS_DEVICE(cuDeviceGetAttribute)
NEEDS_DEVICE(cuCtxGetCurrent)
NEEDS_DEVICE(cuCtxGetDevice)
NEEDS_DEVICE(cuCtxGetLimit)
NEEDS_DEVICE(cuCtxPopCurrent)
NEEDS_DEVICE(cuCtxPushCurrent)
NEEDS_DEVICE(cuStreamGetCtx)
NEEDS_DEVICE(cuLinkCreate)
NEEDS_DEVICE(cuLinkAddData)
NEEDS_DEVICE(cuLinkComplete)
NEEDS_DEVICE(cuLinkDestroy)
NEEDS_DEVICE(cuLaunchKernel)
NEEDS_DEVICE(cuLaunchKernelEx)
NEEDS_DEVICE(cuLaunchCooperativeKernel)
NEEDS_DEVICE(cuLibraryLoadFromFile)
NEEDS_DEVICE(cuOccupancyMaxPotentialClusterSize)
}
