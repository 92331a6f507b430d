#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_calls.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_state.h"

// Handles, descriptors and their attributes, and statuses in words.

namespace plait::simulated_gpu {
namespace {

constexpr size_t kVersion = 130101;  // 13.1.1, whose manual this was written by

struct LastWords {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  std::string words;
};

LastWords& ThreadsLastCublasLtWords() {
  thread_local LastWords last;
  return last;
}

const char* NameOfStatus(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "another CUBLAS_STATUS";
  }
}

// Stores an attribute's value if it has the size of its type.
template <typename Value>
cublasStatus_t Store(const void* from, size_t bytes, Value* value) {
  if (from == nullptr || bytes != sizeof(Value)) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "an attribute of another size");
  }
  std::memcpy(value, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle, typename Object>
cublasStatus_t Create(HandleTable<Handle, Object> CublasLtState::*table, Handle* handle,
                      Object object) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (handle == nullptr) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no place for it");
  *handle = (state.*table).Add(std::move(object));
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle, typename Object>
cublasStatus_t Destroy(HandleTable<Handle, Object> CublasLtState::*table, Handle handle) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if ((state.*table).Erase(handle)) return CUBLAS_STATUS_SUCCESS;
  return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "destroyed twice, or never made");
}

cublasStatus_t RefuseAttribute(int attribute) {
  return RefuseCublasLt(CUBLAS_STATUS_NOT_SUPPORTED,
                        absl::StrCat("attribute ", attribute, " is not simulated"));
}

}  // namespace

CublasLtState& TheCublasLt() {
  // Never destroyed: candidates may be gone later.
  static auto& state = *std::make_unique<CublasLtState>().release();
  return state;
}

cublasStatus_t RefuseCublasLt(cublasStatus_t status, const std::string& words) {
  ThreadsLastCublasLtWords() = {status, absl::StrCat(NameOfStatus(status), ": simulated: ", words)};
  return status;
}

cublasStatus_t CublasLtCalls::Fail(const char* function, CUresult code) {
  cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      status = CUBLAS_STATUS_NOT_INITIALIZED;
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      status = CUBLAS_STATUS_ALLOC_FAILED;
      break;
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_VALUE:
      status = CUBLAS_STATUS_INVALID_VALUE;
      break;
    default:
      // Whatever the device has found out, or what it is told in a faulty launch.
      if (code != CUDA_ERROR_UNKNOWN || function == std::string("cublasLtMatmul")) {
        status = CUBLAS_STATUS_EXECUTION_FAILED;
      }
  }
  return RefuseCublasLt(status, absl::StrCat(function, ": ", NameOf(code)));
}

size_t CublasLtCalls::cublasLtGetVersion() { return kVersion; }

const char* CublasLtCalls::cublasLtGetStatusString(cublasStatus_t status) {
  const LastWords& last = ThreadsLastCublasLtWords();
  return status == last.status && !last.words.empty() ? last.words.c_str() : NameOfStatus(status);
}

cublasStatus_t CublasLtCalls::cublasLtCreate(cublasLtHandle_t* handle) {
  int device = 0;
  if (const CUresult code = CurrentDevice(&device); code != CUDA_SUCCESS) {
    return Fail("cublasLtCreate", code);
  }
  return Create(&CublasLtState::handles, handle, device);
}

cublasStatus_t CublasLtCalls::cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                                       cublasComputeType_t compute,
                                                       cudaDataType_t scale) {
  ProductOperation made;
  made.compute = compute;
  made.scale = scale;
  return Create(&CublasLtState::operations, operation, made);
}

cublasStatus_t CublasLtCalls::cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return Destroy(&CublasLtState::operations, operation);
}

cublasStatus_t CublasLtCalls::cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute, const void* value,
    size_t bytes) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  ProductOperation* operation = state.operations.Find(handle);
  if (operation == nullptr) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such operation");
  }
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return Store(value, bytes, &operation->compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return Store(value, bytes, &operation->scale);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Store(value, bytes, &operation->transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Store(value, bytes, &operation->transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Store(value, bytes, &operation->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Store(value, bytes, &operation->bias);
    default:
      return RefuseAttribute(attribute);
  }
}

cublasStatus_t CublasLtCalls::cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout,
                                                         cudaDataType type, uint64_t rows,
                                                         uint64_t columns, int64_t leading) {
  MatrixLayout made;
  made.type = type;
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return Create(&CublasLtState::layouts, layout, made);
}

cublasStatus_t CublasLtCalls::cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Destroy(&CublasLtState::layouts, layout);
}

cublasStatus_t CublasLtCalls::cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
    size_t bytes) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  MatrixLayout* layout = state.layouts.Find(handle);
  if (layout == nullptr) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such layout");
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return Store(value, bytes, &layout->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Store(value, bytes, &layout->batch_stride);
    default:
      return RefuseAttribute(attribute);
  }
}

cublasStatus_t CublasLtCalls::cublasLtMatmulPreferenceCreate(
    cublasLtMatmulPreference_t* preference) {
  return Create(&CublasLtState::preferences, preference, ProductPreference());
}

cublasStatus_t CublasLtCalls::cublasLtMatmulPreferenceDestroy(
    cublasLtMatmulPreference_t preference) {
  return Destroy(&CublasLtState::preferences, preference);
}

cublasStatus_t CublasLtCalls::cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle, cublasLtMatmulPreferenceAttributes_t attribute,
    const void* value, size_t bytes) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  ProductPreference* preference = state.preferences.Find(handle);
  if (preference == nullptr) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such preference");
  }
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Store(value, bytes, &preference->workspace_bytes_max);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Store(value, bytes,
                   &preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
    default:
      return RefuseAttribute(attribute);
  }
}

}  // namespace plait::simulated_gpu
