#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cublasLt.h>

#include "gpu_worker/simulated_gpu/cublaslt/product.h"

namespace plait::simulated_gpu {

// The algorithms of the simulated cuBLASLt. The library lists none where no device is, so these are
// not its own: they have numbers that it has not, and differ in what callers have to heed, such as
// alignment, tensor cores, split sums and workspace.
struct ProductAlgorithm {
  int32_t id = 0;
  const char* name = "";
  cublasLtMatmulTile_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  int tile_rows = 0, tile_columns = 0;
  cublasLtMatmulStages_t stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  uint64_t numerical_flags = 0;
  uint32_t alignment_bytes = 0;  // of addresses, columns and batches of all matrices
  bool can_split = false;
};

// An algorithm with its choices, as cublasLtMatmulAlgo_t has them in its opaque words.
struct ChosenAlgorithm {
  const ProductAlgorithm* algorithm = nullptr;
  int32_t splits = 1;
  uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;

  // Parts of a split sum are kept until they are added.
  uint64_t WorkspaceBytes(const Product& product) const;
  int64_t Blocks(const Product& product) const;
};

cublasLtMatmulAlgo_t Encode(const ChosenAlgorithm& chosen);
// Nothing for words that no algorithm of this library has.
std::optional<ChosenAlgorithm> Decode(const cublasLtMatmulAlgo_t& words);

// Those that compute the product, in the order in which the heuristic has them.
// REQUIRES: CheckProduct().
std::vector<const ProductAlgorithm*> AlgorithmsFor(const Product& product);

// CUBLAS_STATUS_SUCCESS, or NOT_SUPPORTED where the algorithm cannot do it, `why` says for what
// reason; addresses are not looked at. REQUIRES: CheckProduct().
cublasStatus_t CheckAlgorithm(const Product& product, const ChosenAlgorithm& chosen,
                              std::string* why);

}  // namespace plait::simulated_gpu
