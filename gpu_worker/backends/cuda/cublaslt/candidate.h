#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cublasLt.h>

#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cublaslt/product.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The descriptors of one product, shared by its candidates.
struct CublasLtCall {
  template <class Opaque>
  using Owned = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;

  const CublasLtLibrary* library = nullptr;
  cublasLtHandle_t handle = nullptr;
  CublasLtProduct product;
  Owned<cublasLtMatmulDescOpaque_t> operation;
  Owned<cublasLtMatrixLayoutOpaque_t> a, b, d;
};

// Errors: kInvalid, kUnsupported, kInternal.
Result<std::shared_ptr<const CublasLtCall>> MakeCublasLtCall(const CublasLtLibrary& library,
                                                             cublasLtHandle_t handle,
                                                             const CublasLtProduct& product);

// Every algorithm that cuBLASLt's heuristic lists for the call, best first, and for the first ones,
// if they leave multiprocessors idle, the same with the sum over k split. With `strict`, only those
// that neither use tensor cores nor round their inputs. Errors: kInternal.
Result<std::vector<std::unique_ptr<Candidate>>> ListCublasLtCandidates(
    const std::shared_ptr<const CublasLtCall>& call, bool strict);

// "algo66/tile20,stages36,splitk1,reduction0,swizzle0,custom0,inner0,cluster2": what identifies an
// algorithm within one version of the library.
std::string CublasLtAlgorithmName(const CublasLtLibrary& library,
                                  const cublasLtMatmulAlgo_t& algorithm);

}  // namespace plait::cuda
