#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/cublaslt/algorithms.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_calls.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_state.h"
#include "gpu_worker/simulated_gpu/cublaslt/product_kernel.h"

// Algorithms, and the product.

namespace plait::simulated_gpu {
namespace {

constexpr int64_t kBlocksPerMultiprocessor = 2;
constexpr uint64_t kCublasLtWorkspaceAlignmentBytes = 16;

// The product that the descriptors say, which are all known and of the current device.
cublasStatus_t MakeProduct(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Product* product) {
  CublasLtState& state = TheCublasLt();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const int* device = state.handles.Find(handle);
  if (device == nullptr) return RefuseCublasLt(CUBLAS_STATUS_NOT_INITIALIZED, "no such handle");
  int current = 0;
  if (const CUresult code = CurrentDevice(&current); code != CUDA_SUCCESS) {
    return CublasLtCalls::Fail("the current context", code);
  }
  if (*device != current) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "a handle of another device");
  }
  const ProductOperation* known = state.operations.Find(operation);
  if (known == nullptr) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such operation");
  product->operation = *known;
  const std::pair<cublasLtMatrixLayout_t, MatrixLayout*> layouts[] = {
      {a, &product->a}, {b, &product->b}, {c, &product->c}, {d, &product->d}};
  for (const auto& [from, to] : layouts) {
    const MatrixLayout* layout = state.layouts.Find(from);
    if (layout == nullptr) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such layout");
    *to = *layout;
  }
  std::string why;
  const cublasStatus_t status = CheckProduct(*product, &why);
  return status == CUBLAS_STATUS_SUCCESS ? status : RefuseCublasLt(status, why);
}

cublasLtMatmulHeuristicResult_t ResultOf(const Product& product, const ChosenAlgorithm& chosen) {
  DeviceOptions device;
  int current = 0;
  if (CurrentDevice(&current) == CUDA_SUCCESS) OptionsOf(current, &device);
  cublasLtMatmulHeuristicResult_t result = {};
  result.algo = Encode(chosen);
  result.workspaceSize = chosen.WorkspaceBytes(product);
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = static_cast<float>(chosen.Blocks(product)) /
                      static_cast<float>(kBlocksPerMultiprocessor * device.multiprocessors);
  return result;
}

// Whether the algorithm can work with addresses that are aligned as the preference says. Of the
// bias it is the address itself that says how it is aligned.
bool IsAlignedFor(const ProductAlgorithm& algorithm, const Product& product,
                  const ProductPreference& preference) {
  const uint32_t wanted = algorithm.alignment_bytes;
  return *std::min_element(preference.alignments.begin(), preference.alignments.end()) >= wanted &&
         (!product.has_bias() || product.operation.bias % wanted == 0);
}

template <typename Value>
cublasStatus_t Answer(Value value, void* buffer, size_t bytes, size_t* written) {
  if (written != nullptr) *written = sizeof(value);
  if (buffer == nullptr || bytes != sizeof(value)) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "an attribute of another size");
  }
  std::memcpy(buffer, &value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// What a launch reads and writes, by its parameters.
struct ProductAddresses {
  const void *a, *b, *c;
  void* d;
  void* workspace;
  size_t workspace_bytes;
  float beta;
};

cublasStatus_t CheckAddresses(const Product& product, const ChosenAlgorithm& chosen,
                              const ProductAddresses& at) {
  const auto refuse = [](const char* words) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, words);
  };
  if (at.a == nullptr || at.b == nullptr || at.d == nullptr || (at.c == nullptr && at.beta != 0)) {
    return refuse("a matrix without an address");
  }
  const uint64_t wanted = chosen.algorithm->alignment_bytes;
  for (const void* address : {at.a, at.b, at.c, static_cast<const void*>(at.d)}) {
    if (reinterpret_cast<uint64_t>(address) % wanted != 0) {
      return refuse("a matrix that is not aligned as the algorithm wants it");
    }
  }
  if (product.has_bias() && product.operation.bias % wanted != 0) {
    return refuse("a bias that is not aligned as the algorithm wants it");
  }
  const uint64_t workspace_bytes = chosen.WorkspaceBytes(product);
  if (at.workspace_bytes < workspace_bytes || (workspace_bytes > 0 && at.workspace == nullptr)) {
    return refuse("less workspace than the algorithm needs");
  }
  if (workspace_bytes > 0 &&
      reinterpret_cast<uint64_t>(at.workspace) % kCublasLtWorkspaceAlignmentBytes != 0) {
    return refuse("a workspace that is not aligned to 16 bytes");
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t CublasLtCalls::cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference_handle, int requested,
    cublasLtMatmulHeuristicResult_t results[], int* count) {
  Product product;
  if (count == nullptr || results == nullptr || requested < 1) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no place for results");
  }
  *count = 0;
  if (const cublasStatus_t status = MakeProduct(handle, operation, a, b, c, d, &product);
      status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  ProductPreference preference;
  {
    CublasLtState& state = TheCublasLt();
    const std::lock_guard<std::mutex> lock(state.mutex);
    const ProductPreference* known = state.preferences.Find(preference_handle);
    if (known == nullptr) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no preference");
    preference = *known;
  }
  std::string why;
  for (const ProductAlgorithm* algorithm : AlgorithmsFor(product)) {
    const ChosenAlgorithm chosen = {algorithm};
    if (*count == requested) break;
    if (!IsAlignedFor(*algorithm, product, preference) ||
        CheckAlgorithm(product, chosen, &why) != CUBLAS_STATUS_SUCCESS ||
        chosen.WorkspaceBytes(product) > preference.workspace_bytes_max) {
      continue;
    }
    results[(*count)++] = ResultOf(product, chosen);
  }
  if (*count > 0) return CUBLAS_STATUS_SUCCESS;
  return RefuseCublasLt(CUBLAS_STATUS_NOT_SUPPORTED, "no algorithm for this alignment");
}

cublasStatus_t CublasLtCalls::cublasLtMatmulAlgoCheck(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    const cublasLtMatmulAlgo_t* words, cublasLtMatmulHeuristicResult_t* result) {
  Product product;
  if (words == nullptr || result == nullptr) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no algorithm, or no place for the result");
  }
  if (const cublasStatus_t status = MakeProduct(handle, operation, a, b, c, d, &product);
      status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const std::optional<ChosenAlgorithm> chosen = Decode(*words);
  if (!chosen) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such algorithm");
  std::string why;
  if (const cublasStatus_t status = CheckAlgorithm(product, *chosen, &why);
      status != CUBLAS_STATUS_SUCCESS) {
    return RefuseCublasLt(status, why);
  }
  // The algorithm of a result is the caller's own.
  const cublasLtMatmulAlgo_t kept = result->algo;
  *result = ResultOf(product, *chosen);
  result->algo = kept;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CublasLtCalls::cublasLtMatmulAlgoCapGetAttribute(
    const cublasLtMatmulAlgo_t* words, cublasLtMatmulAlgoCapAttributes_t attribute, void* buffer,
    size_t bytes, size_t* written) {
  const std::optional<ChosenAlgorithm> chosen = words == nullptr ? std::nullopt : Decode(*words);
  if (!chosen) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such algorithm");
  const ProductAlgorithm& algorithm = *chosen->algorithm;
  switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
      return Answer<int32_t>(algorithm.can_split ? 1 : 0, buffer, bytes, written);
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return Answer<uint32_t>(algorithm.can_split ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0,
                              buffer, bytes, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return Answer<uint64_t>(algorithm.numerical_flags, buffer, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return Answer<uint32_t>(algorithm.alignment_bytes, buffer, bytes, written);
    default:
      return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE,
                            absl::StrCat("capability ", attribute, " is not simulated"));
  }
}

cublasStatus_t CublasLtCalls::cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* words, cublasLtMatmulAlgoConfigAttributes_t attribute, void* buffer,
    size_t bytes, size_t* written) {
  const std::optional<ChosenAlgorithm> chosen = words == nullptr ? std::nullopt : Decode(*words);
  if (!chosen) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such algorithm");
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return Answer<int32_t>(chosen->algorithm->id, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_TILE_ID:
      return Answer<uint32_t>(chosen->algorithm->tile, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID:
      return Answer<uint32_t>(chosen->algorithm->stages, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return Answer<int32_t>(chosen->splits, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      return Answer<uint32_t>(chosen->scheme, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
      return Answer<uint32_t>(0, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
      return Answer<uint16_t>(0, buffer, bytes, written);
    default:
      return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such configuration");
  }
}

cublasStatus_t CublasLtCalls::cublasLtMatmulAlgoConfigSetAttribute(
    cublasLtMatmulAlgo_t* words, cublasLtMatmulAlgoConfigAttributes_t attribute, const void* value,
    size_t bytes) {
  std::optional<ChosenAlgorithm> chosen = words == nullptr ? std::nullopt : Decode(*words);
  if (!chosen) return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such algorithm");
  uint32_t number = 0;
  if (value == nullptr || bytes != sizeof(number)) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "an attribute of another size");
  }
  std::memcpy(&number, value, bytes);
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      chosen->splits = static_cast<int32_t>(number);
      break;
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      chosen->scheme = number;
      break;
    default:
      return RefuseCublasLt(CUBLAS_STATUS_NOT_SUPPORTED, "a configuration that stays");
  }
  *words = Encode(*chosen);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CublasLtCalls::cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
    cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
    const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* words, void* workspace,
    size_t workspace_bytes, cudaStream_t stream) {
  Product product;
  if (const cublasStatus_t status =
          MakeProduct(handle, operation, a_layout, b_layout, c_layout, d_layout, &product);
      status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const std::optional<ChosenAlgorithm> chosen = words == nullptr ? std::nullopt : Decode(*words);
  if (!chosen || alpha == nullptr || beta == nullptr) {
    return RefuseCublasLt(CUBLAS_STATUS_INVALID_VALUE, "no such algorithm, or no factor");
  }
  std::string why;
  if (const cublasStatus_t status = CheckAlgorithm(product, *chosen, &why);
      status != CUBLAS_STATUS_SUCCESS) {
    return RefuseCublasLt(status, why);
  }
  float factors[2] = {};
  std::memcpy(&factors[0], alpha, sizeof(float));
  std::memcpy(&factors[1], beta, sizeof(float));
  const ProductAddresses at = {a, b, c, d, workspace, workspace_bytes, factors[1]};
  if (const cublasStatus_t status = CheckAddresses(product, *chosen, at);
      status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const auto word = [](const void* address) { return reinterpret_cast<uint64_t>(address); };
  const uint64_t arguments[ProductKernel::kParameters] = {std::bit_cast<uint32_t>(factors[0]),
                                                          std::bit_cast<uint32_t>(factors[1]),
                                                          word(a),
                                                          word(b),
                                                          word(c),
                                                          word(d),
                                                          product.operation.bias,
                                                          word(workspace)};
  CUkernel kernel = nullptr;
  CUresult code = LoadStandIn(std::make_shared<const ProductKernel>(product, *chosen),
                              /*shared=*/true, &kernel);
  if (code == CUDA_SUCCESS) code = LaunchStandIn(kernel, arguments, stream);
  return code == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : Fail("cublasLtMatmul", code);
}

}  // namespace plait::simulated_gpu
