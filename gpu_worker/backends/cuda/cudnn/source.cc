#include "gpu_worker/backends/cuda/cudnn/source.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/cudnn/candidate.h"
#include "gpu_worker/backends/cuda/cudnn/engines.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

Result<Candidates> EnumerateCudnn(const Problem& problem, Precision precision, MemoryLayout layout,
                                  const OperandPlaces& places, const CudaDevice& device) {
  // First of all, since the patterns rely on sizes that fit together.
  if (Result<ProblemShape> shape = ShapeOf(problem); !shape.ok()) return shape.error();
  PLAIT_CUDA_RETURN_IF_ERROR(CheckAlignment(places.alignment, precision));
  std::optional<CudnnGraph> graph = BuildCudnnGraph(problem, precision, layout, places.pitches);
  if (!graph) return Candidates();
  const Result<const CudnnLibrary*> library = CudnnLibrary::Get();
  if (!library.ok()) return library.error();
  Result<std::shared_ptr<const CudnnProblem>> made =
      MakeCudnnProblem(*library.value(), std::move(*graph), places.alignment, device);
  if (!made.ok()) {
    // A pattern that cuDNN refuses as such is one it does not know.
    if (made.error().code == ErrorCode::kUnsupported) return Candidates();
    return made.error();
  }
  const CudnnProblem& shared = *made.value();
  Result<std::vector<CudnnEngineConfig>> configs = ListCudnnEngines(
      *library.value(), shared.lowered.graph, shared.device ? &*shared.device : nullptr);
  if (!configs.ok()) return configs.error();
  Candidates candidates;
  for (CudnnEngineConfig& config : configs.value()) {
    if (!IsAllowed(config.notes, shared.graph.HasProducts(), precision)) continue;
    candidates.push_back(std::make_unique<CudnnCandidate>(made.value(), std::move(config)));
  }
  return candidates;
}

}  // namespace

const CandidateSource kCudnnSource = {.name = "cudnn", .enumerate = EnumerateCudnn};

}  // namespace plait::cuda
