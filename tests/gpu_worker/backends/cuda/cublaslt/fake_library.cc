#include "tests/gpu_worker/backends/cuda/cublaslt/fake_library.h"

#include <algorithm>
#include <cstring>
#include <list>

namespace plait::cuda {
namespace {

// What the fake keeps in an algorithm's opaque words.
enum Word { kIdWord, kSplitWord, kSchemeWord };

FakeAlgorithm Find(uint64_t id) {
  for (const FakeAlgorithm& algorithm : TheFakeCublasLt().algorithms) {
    if (algorithm.id == id) return algorithm;
  }
  return {};
}

// Descriptors are created here and outlive the test, so that late use is noticed as such.
template <class Opaque>
cublasStatus_t CreateDescriptor(Opaque** created) {
  static std::list<Opaque> descriptors;
  *created = &descriptors.emplace_back();
  TheFakeCublasLt().alive.insert(*created);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque>
cublasStatus_t DestroyDescriptor(Opaque* descriptor) {
  return TheFakeCublasLt().alive.erase(descriptor) == 1 ? CUBLAS_STATUS_SUCCESS
                                                        : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t CreateOperation(cublasLtMatmulDesc_t* created, cublasComputeType_t compute,
                               cudaDataType_t scale) {
  TheFakeCublasLt().operation = {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute},
                                 {CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale}};
  return CreateDescriptor(created);
}

cublasStatus_t SetOperation(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name,
                            const void* value, size_t size) {
  FakeCublasLt& fake = TheFakeCublasLt();
  if (fake.alive.count(operation) == 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) {
    if (size != sizeof(void*)) return CUBLAS_STATUS_INVALID_VALUE;
    const void* bias = nullptr;
    std::memcpy(&bias, value, size);
    fake.biases.push_back(bias);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (size != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&fake.operation[name], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CreateLayout(cublasLtMatrixLayout_t* created, cudaDataType type, uint64_t rows,
                            uint64_t columns, int64_t leading) {
  TheFakeCublasLt().layouts.push_back({{CUBLASLT_MATRIX_LAYOUT_TYPE, type},
                                       {CUBLASLT_MATRIX_LAYOUT_ROWS, rows},
                                       {CUBLASLT_MATRIX_LAYOUT_COLS, columns},
                                       {CUBLASLT_MATRIX_LAYOUT_LD, leading}});
  return CreateDescriptor(created);
}

cublasStatus_t SetLayout(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t name,
                         const void* value, size_t size) {
  const size_t expected =
      name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? sizeof(int32_t) : sizeof(int64_t);
  if (size != expected) return CUBLAS_STATUS_INVALID_VALUE;
  int64_t wide = 0;
  std::memcpy(&wide, value, size);
  TheFakeCublasLt().layouts.back()[name] = wide;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetPreference(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t name,
                             const void* value, size_t size) {
  if (name >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
      name <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES && size == sizeof(uint32_t)) {
    std::memcpy(&TheFakeCublasLt().alignments[name], value, size);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (name != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES || size != sizeof(uint64_t)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(&TheFakeCublasLt().workspace_bytes_max, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                            cublasLtMatmulPreference_t, int requested,
                            cublasLtMatmulHeuristicResult_t results[], int* count) {
  const FakeCublasLt& fake = TheFakeCublasLt();
  // As the library: what nobody has said is taken to be aligned to 256 bytes.
  uint32_t aligned = 256;
  for (const auto& [attribute, bytes] : fake.alignments) aligned = std::min(aligned, bytes);
  *count = 0;
  for (const FakeAlgorithm& algorithm : fake.algorithms) {
    if (algorithm.alignment > aligned || *count == requested) continue;
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    result = {};
    result.algo.data[kIdWord] = algorithm.id;
    result.algo.data[kSplitWord] = algorithm.splits;
    result.algo.data[kSchemeWord] = algorithm.scheme;
    result.workspaceSize = algorithm.workspace_bytes;
    result.wavesCount = algorithm.waves;
  }
  return fake.heuristic_status;
}

cublasStatus_t CheckAlgorithm(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                              cublasLtMatmulHeuristicResult_t* result) {
  *result = {};  // as the library: the result is for the caller's algorithm, which it knows
  result->workspaceSize = algorithm->data[kSplitWord] << 20;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Value>
cublasStatus_t Answer(Value value, void* buffer, size_t size, size_t* written) {
  if (size != sizeof(value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(buffer, &value, size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetCapability(const cublasLtMatmulAlgo_t* algorithm,
                             cublasLtMatmulAlgoCapAttributes_t name, void* buffer, size_t size,
                             size_t* written) {
  const FakeAlgorithm fake = Find(algorithm->data[kIdWord]);
  switch (name) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
      return Answer<int32_t>(fake.can_split ? 1 : 0, buffer, size, written);
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return Answer<uint32_t>(CUBLASLT_REDUCTION_SCHEME_MASK, buffer, size, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return Answer<uint64_t>(fake.numerical_flags, buffer, size, written);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t GetConfig(const cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulAlgoConfigAttributes_t name, void* buffer, size_t size,
                         size_t* written) {
  switch (name) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return Answer(static_cast<int32_t>(algorithm->data[kIdWord]), buffer, size, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return Answer(static_cast<int32_t>(algorithm->data[kSplitWord]), buffer, size, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      return Answer(static_cast<uint32_t>(algorithm->data[kSchemeWord]), buffer, size, written);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
      return Answer<uint16_t>(2, buffer, size, written);
    default:
      return Answer<uint32_t>(0, buffer, size, written);
  }
}

cublasStatus_t SetConfig(cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t name,
                         const void* value, size_t size) {
  uint32_t number = 0;
  if (size != sizeof(number)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&number, value, size);
  if (name == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) algorithm->data[kSplitWord] = number;
  if (name == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) algorithm->data[kSchemeWord] = number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Matmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                      const void* a, cublasLtMatrixLayout_t, const void* b, cublasLtMatrixLayout_t,
                      const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                      cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                      void* workspace, size_t workspace_bytes, cudaStream_t) {
  FakeCublasLt& fake = TheFakeCublasLt();
  if (fake.alive.count(operation) == 0) return CUBLAS_STATUS_INVALID_VALUE;
  fake.launches.push_back({.alpha = *static_cast<const float*>(alpha),
                           .beta = *static_cast<const float*>(beta),
                           .a = a,
                           .b = b,
                           .c = c,
                           .d = d,
                           .workspace = workspace,
                           .algorithm = algorithm->data[kIdWord],
                           .splits = algorithm->data[kSplitWord],
                           .workspace_bytes = workspace_bytes});
  return CUBLAS_STATUS_SUCCESS;
}

const char* StatusString(cublasStatus_t) { return "a fake status"; }

}  // namespace

FakeCublasLt& TheFakeCublasLt() {
  static FakeCublasLt fake;
  return fake;
}

CublasLtLibrary FakeCublasLtLibrary() {
  CublasLtLibrary library;
  library.get_status_string = StatusString;
  library.matmul_create = CreateOperation;
  library.matmul_destroy = DestroyDescriptor<cublasLtMatmulDescOpaque_t>;
  library.matmul_set = SetOperation;
  library.layout_create = CreateLayout;
  library.layout_destroy = DestroyDescriptor<cublasLtMatrixLayoutOpaque_t>;
  library.layout_set = SetLayout;
  library.preference_create = CreateDescriptor<cublasLtMatmulPreferenceOpaque_t>;
  library.preference_destroy = DestroyDescriptor<cublasLtMatmulPreferenceOpaque_t>;
  library.preference_set = SetPreference;
  library.get_heuristic = GetHeuristic;
  library.algo_check = CheckAlgorithm;
  library.algo_get_capability = GetCapability;
  library.algo_get = GetConfig;
  library.algo_set = SetConfig;
  library.matmul = Matmul;
  return library;
}

}  // namespace plait::cuda
