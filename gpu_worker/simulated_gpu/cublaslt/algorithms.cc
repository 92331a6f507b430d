#include "gpu_worker/simulated_gpu/cublaslt/algorithms.h"

#include <algorithm>
#include <iterator>

namespace plait::simulated_gpu {
namespace {

constexpr uint64_t kFma = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA |
                          CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                          CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
constexpr uint64_t kTf32 = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                           CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                           CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32;
constexpr uint64_t kHalf = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                           CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                           CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;
constexpr uint64_t kBfloat = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                             CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                             CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;
// Adds in half precision, which no precision of plait's allows.
constexpr uint64_t kHalfSums = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                               CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F |
                               CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;

constexpr auto kLargeTile = CUBLASLT_MATMUL_TILE_128x128;
constexpr auto kTile = CUBLASLT_MATMUL_TILE_64x64;
constexpr auto kSmallTile = CUBLASLT_MATMUL_TILE_32x32;
constexpr auto kStages = CUBLASLT_MATMUL_STAGES_32x3;

constexpr ProductAlgorithm kAlgorithms[] = {
    {9001, "sgemm_128x128_vector", kLargeTile, 128, 128, kStages, kFma, 16, true},
    {9002, "sgemm_64x64", kTile, 64, 64, kStages, kFma, 4, true},
    {9003, "sgemm_32x32", kSmallTile, 32, 32, kStages, kFma, 4, false},
    {9004, "sgemm_128x128_wide", kLargeTile, 128, 128, kStages, kFma, 32, true},
    {9101, "tf32gemm_128x128", kLargeTile, 128, 128, kStages, kTf32, 16, true},
    {9102, "tf32gemm_64x64", kTile, 64, 64, kStages, kTf32, 16, true},
    {9103, "tf32gemm_64x64_unaligned", kTile, 64, 64, kStages, kTf32, 4, false},
    {9201, "hgemm_128x128", kLargeTile, 128, 128, kStages, kHalf, 16, true},
    {9202, "hgemm_64x64", kTile, 64, 64, kStages, kHalf, 8, true},
    {9203, "hgemm_32x32_unaligned", kSmallTile, 32, 32, kStages, kHalf, 2, false},
    {9204, "hgemm_64x64_half_sums", kTile, 64, 64, kStages, kHalfSums, 16, true},
    {9301, "bf16gemm_128x128", kLargeTile, 128, 128, kStages, kBfloat, 16, true},
    {9302, "bf16gemm_64x64", kTile, 64, 64, kStages, kBfloat, 8, true},
    {9303, "bf16gemm_32x32_unaligned", kSmallTile, 32, 32, kStages, kBfloat, 2, false},
};

constexpr uint64_t kMark = 0x706c616974;  // that the words are of this library
enum Word { kMarkWord, kIdWord, kSplitsWord, kSchemeWord };

bool Computes(const ProductAlgorithm& algorithm, const Product& product) {
  const uint64_t flags = algorithm.numerical_flags;
  switch (product.a.type) {
    case CUDA_R_32F:
      return flags == kFma ||
             (flags == kTf32 && product.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
    case CUDA_R_16F:
      return flags == kHalf || flags == kHalfSums;
    default:
      return flags == kBfloat;
  }
}

int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

uint64_t ChosenAlgorithm::WorkspaceBytes(const Product& product) const {
  if (splits == 1) return 0;
  const int64_t parts = product.m() * product.n() * product.d.batch * splits;
  return static_cast<uint64_t>(parts) * sizeof(float);
}

int64_t ChosenAlgorithm::Blocks(const Product& product) const {
  return Ceil(product.m(), algorithm->tile_rows) * Ceil(product.n(), algorithm->tile_columns) *
         product.d.batch * splits;
}

cublasLtMatmulAlgo_t Encode(const ChosenAlgorithm& chosen) {
  cublasLtMatmulAlgo_t words = {};
  words.data[kMarkWord] = kMark;
  words.data[kIdWord] = static_cast<uint64_t>(chosen.algorithm->id);
  words.data[kSplitsWord] = static_cast<uint64_t>(chosen.splits);
  words.data[kSchemeWord] = chosen.scheme;
  return words;
}

std::optional<ChosenAlgorithm> Decode(const cublasLtMatmulAlgo_t& words) {
  const auto found =
      std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms), [&](const auto& algorithm) {
        return words.data[kIdWord] == static_cast<uint64_t>(algorithm.id);
      });
  if (words.data[kMarkWord] != kMark || found == std::end(kAlgorithms)) return std::nullopt;
  return ChosenAlgorithm{found, static_cast<int32_t>(words.data[kSplitsWord]),
                         static_cast<uint32_t>(words.data[kSchemeWord])};
}

// Those with large tiles come first, as they do where the device is filled.
std::vector<const ProductAlgorithm*> AlgorithmsFor(const Product& product) {
  std::vector<const ProductAlgorithm*> algorithms;
  for (const bool uses_tensor_cores : {true, false}) {
    for (const ProductAlgorithm& algorithm : kAlgorithms) {
      if ((algorithm.numerical_flags != kFma) != uses_tensor_cores) continue;
      if (Computes(algorithm, product)) algorithms.push_back(&algorithm);
    }
  }
  return algorithms;
}

cublasStatus_t CheckAlgorithm(const Product& product, const ChosenAlgorithm& chosen,
                              std::string* why) {
  const ProductAlgorithm& algorithm = *chosen.algorithm;
  if (!Computes(algorithm, product)) {
    *why = "an algorithm for other types";
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  for (const MatrixLayout* matrix : {&product.a, &product.b, &product.c, &product.d}) {
    const int64_t bytes = ElementBytesOf(matrix->type);
    if (matrix->leading * bytes % algorithm.alignment_bytes != 0 ||
        matrix->batch_stride * bytes % algorithm.alignment_bytes != 0) {
      *why = "columns that are not aligned as the algorithm wants it";
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  }
  const bool splits_well = algorithm.can_split && chosen.splits <= product.k() &&
                           chosen.scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (chosen.splits < 1 || (chosen.splits > 1 && !splits_well)) {
    *why = "a sum that this algorithm does not split";
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace plait::simulated_gpu
