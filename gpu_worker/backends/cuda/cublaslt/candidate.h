#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cublasLt.h>

#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cublaslt/product.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

// How cuBLASLt is asked for a problem, from the problem to the launch:
//   product.h    a gemm or 1x1 convolution as one matrix product, column by column
//   candidate.h  the product as descriptors; the algorithms that the library's heuristic lists
//   source.h     both as a source of candidates
//   library.h    the functions of the library, opened at run time
// It matters most for fp32 without tensor cores: cuDNN 9.19 lists no engine for such a product.

namespace plait::cuda {

// Epilogues read the bias in vectors of 16 bytes, and no preference can tell that it is aligned to
// less.
inline constexpr int64_t kBiasAlignmentBytes = 16;

// The descriptors of one product, shared by its candidates.
// Immutable but for the bias pointer, which is an attribute of `operation` and set by each launch:
// candidates of one call are launched by one thread at a time.
struct CublasLtCall {
  template <class Opaque>
  using Owned = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;

  const CublasLtLibrary* library = nullptr;
  cublasLtHandle_t handle = nullptr;
  CublasLtProduct product;
  OperandAlignment alignment;
  Owned<cublasLtMatmulDescOpaque_t> operation;
  Owned<cublasLtMatrixLayoutOpaque_t> a, b, d;
};

// `handle` is not owned. `alignment` is that of the product's operands, which decides what the
// heuristic lists.
// REQUIRES: the bias, if there is one, is aligned to kBiasAlignmentBytes at least.
// Errors: kInvalid, kUnsupported, kInternal.
Result<std::shared_ptr<const CublasLtCall>> MakeCublasLtCall(const CublasLtLibrary& library,
                                                             cublasLtHandle_t handle,
                                                             const CublasLtProduct& product,
                                                             const OperandAlignment& alignment);

// Every algorithm that cuBLASLt's heuristic lists for the call, best first, and for the first ones,
// if they leave multiprocessors idle, the same with the sum over k split. Only those whose notes
// the precision allows (IsAllowed). Each needs at most 32 MiB of workspace. An empty list where the
// library knows no algorithm: not an error. Equal names are listed once. Errors: kInternal.
Result<std::vector<std::unique_ptr<Candidate>>> ListCublasLtCandidates(
    const std::shared_ptr<const CublasLtCall>& call, Precision precision);

// "algo66/tile20,stages36,splitk1,reduction0,swizzle0,custom0,inner0,cluster2": what identifies an
// algorithm within one version of the library.
// Read from the algorithm's configuration, since its 64 bytes are opaque; an attribute that the
// library does not know counts as 0.
std::string CublasLtAlgorithmName(const CublasLtLibrary& library,
                                  const cublasLtMatmulAlgo_t& algorithm);

}  // namespace plait::cuda
