#pragma once

#include <string>

#include <cublasLt.h>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// The functions of cuBLASLt that plait calls, found in a library opened at run time; tests fill it
// with their own. Immutable; cuBLASLt's functions are thread-safe.
// Never closed. All pointers are set once Get() has succeeded.
struct CublasLtLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusString) get_status_string = nullptr;
  // The operation: transposes, epilogue, compute type.
  decltype(&cublasLtMatmulDescCreate) matmul_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_set = nullptr;
  // A matrix: type, sizes, distance of columns, batch.
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  // What the heuristic may choose from; we say how much workspace there is.
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  // Algorithms: listed, checked after a change, asked what they can do and how they are configured.
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) algo_check = nullptr;
  decltype(&cublasLtMatmulAlgoCapGetAttribute) algo_get_capability = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algo_get = nullptr;
  decltype(&cublasLtMatmulAlgoConfigSetAttribute) algo_set = nullptr;
  // The launch.
  decltype(&cublasLtMatmul) matmul = nullptr;

  // The process's cuBLASLt 13, opened by the first call.
  // Thread-safe. A failure is remembered: a library that is missing stays missing.
  // Errors: kUnavailable.
  static Result<const CublasLtLibrary*> Get();

  // What Get() gives from here on: tests' own, which is not owned; null: the process's again.
  // REQUIRES: no other thread calls Get() meanwhile.
  static void Use(const CublasLtLibrary* library);

  // Ok(), or what cuBLASLt said about `what`.
  // Errors: kUnsupported, kUnavailable, kInvalid, kDevice, kInternal.
  Status Check(cublasStatus_t status, const std::string& what) const;
};

// The process's handle for the device that was current at the first call.
// One for all threads, unlike cuDNN's: only the descriptors belong to one thread at a time.
// Errors: kUnavailable without a device.
Result<cublasLtHandle_t> ProcessCublasLtHandle(const CublasLtLibrary& library);

}  // namespace plait::cuda
