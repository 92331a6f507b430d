#include "gpu_worker/backends/cuda/cublaslt/source.h"

#include <memory>
#include <optional>
#include <vector>

#include "gpu_worker/backends/cuda/cublaslt/candidate.h"
#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cublaslt/product.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

Result<Candidates> EnumerateCublasLt(const Problem& problem, Precision precision,
                                     MemoryLayout layout, const OperandPlaces& places,
                                     const CudaDevice& device) {
  const OperandAlignment& alignment = places.alignment;
  if (Result<ProblemShape> shape = ShapeOf(problem); !shape.ok()) return shape.error();
  PLAIT_CUDA_RETURN_IF_ERROR(CheckAlignment(alignment, precision));
  const std::optional<CublasLtProduct> product =
      DescribeProduct(problem, precision, layout, places.pitches);
  // Not an error: another source may have candidates.
  if (!product) return Candidates();
  if (product->bias && alignment.bias < kBiasAlignmentBytes) return Candidates();
  // cublasLtCreate fails without a GPU, and the heuristic wants a handle.
  if (!device.present) {
    return Error{ErrorCode::kUnavailable, "cuBLASLt lists algorithms only where a device is"};
  }
  const Result<const CublasLtLibrary*> library = CublasLtLibrary::Get();
  if (!library.ok()) return library.error();
  const Result<cublasLtHandle_t> handle = ProcessCublasLtHandle(*library.value());
  if (!handle.ok()) return handle.error();
  const Result<std::shared_ptr<const CublasLtCall>> call =
      MakeCublasLtCall(*library.value(), handle.value(), *product, alignment);
  if (!call.ok()) return call.error();
  return ListCublasLtCandidates(call.value(), precision);
}

}  // namespace

const CandidateSource kCublasLtSource = {.name = "cublaslt", .enumerate = EnumerateCublasLt};

}  // namespace plait::cuda
