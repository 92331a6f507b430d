#pragma once

#include <initializer_list>
#include <string>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// The functions of cuDNN that plait calls, found in a library opened at run time.
// Immutable; cuDNN's own functions are thread-safe for distinct descriptors and handles.
// Never closed. libcudnn.so.9 is a small library that loads its parts itself, from its own folder.
struct CudnnLibrary {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  // Opens cuDNN. `cublaslt_names` are opened first, because cuDNN aborts the process where cuBLASLt
  // is missing.
  // Names are sonames or paths, tried in order.
  // Errors: kUnavailable, which names the library and the loader's reason.
  static Result<CudnnLibrary> Open(std::initializer_list<const char*> cublaslt_names,
                                   std::initializer_list<const char*> cudnn_names);

  // The process's cuDNN 9, opened by the first call.
  // Errors: kUnavailable.
  static Result<const CudnnLibrary*> Get();

  // What Get() gives from here on: tests' own, which is not owned; null: the process's again.
  // REQUIRES: no other thread calls Get() meanwhile.
  static void Use(const CudnnLibrary* library);

  // "9.19.0".
  std::string Version() const;

  // Ok(), or what cuDNN said about `what`, its own last message included.
  // The message is one line. cuDNN's last message belongs to the calling thread: call this at once.
  // Errors: kUnsupported, kUnavailable, kInvalid, kDevice, kInternal.
  Status Check(cudnnStatus_t status, const std::string& what) const;
};

// This thread's cuDNN handle for the current device: one must not be used by two threads at once.
// Handles are costly, so that of a thread that ended goes to the next one.
// Not owned; valid until the process ends, also in plans of threads that are gone.
// Errors: kUnavailable without a GPU.
Result<cudnnHandle_t> ThreadCudnnHandle(const CudnnLibrary& library);

}  // namespace plait::cuda
