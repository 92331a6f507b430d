#pragma once

#include <mutex>
#include <string>

#include <cublasLt.h>

#include "gpu_worker/simulated_gpu/cublaslt/product.h"
#include "gpu_worker/simulated_gpu/handle_table.h"

namespace plait::simulated_gpu {

// What the handles of cuBLASLt stand for. The library's and the process's: it outlives drivers.
struct CublasLtState {
  std::mutex mutex;
  HandleTable<cublasLtHandle_t, int> handles;  // the device of each
  HandleTable<cublasLtMatmulDesc_t, ProductOperation> operations;
  HandleTable<cublasLtMatrixLayout_t, MatrixLayout> layouts;
  HandleTable<cublasLtMatmulPreference_t, ProductPreference> preferences;
};

CublasLtState& TheCublasLt();

// The status, after its words are kept for this thread.
cublasStatus_t RefuseCublasLt(cublasStatus_t status, const std::string& words);

}  // namespace plait::simulated_gpu
