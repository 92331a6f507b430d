#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// What a source has to say about a problem: candidates, or why it has none to offer.
struct SourceAnswer {
  std::string source;
  Result<std::vector<std::unique_ptr<Candidate>>> candidates;
};

// Asks every source (candidate_sources.def) for the ways to compute a problem. `has_libraries`:
// whether cuDNN and cuBLASLt are there for the device; the sources of libraries are not asked where
// they are not, since the real ones would take a simulated driver for a real one.
std::vector<SourceAnswer> AskSources(const StepProblem& step, const CudaDevice& device,
                                     bool has_libraries);

// The ways in which one device computes problems: for each problem the fastest, by timing all of
// them on the device once. On a simulated device, which has no times, it is the first one that can
// be prepared, and nothing is timed. Remembers its choices. Not thread-safe.
class Implementations {
 public:
  // `device`, its runtime, `stream` and `staging` outlive it. `has_libraries`: see AskSources.
  Implementations(const CudaDevice& device, bool has_libraries, Stream stream, Staging* staging)
      : device_(device), has_libraries_(has_libraries), stream_(stream), staging_(staging) {}

  // A prepared candidate for the step, which may be launched with any operands that are aligned as
  // the step says. REQUIRES: the step is a launch.
  // Errors: Unimplemented naming the problem, and for each source why it has no candidate;
  // InvalidArgument where the candidate that the step names is not among them.
  absl::StatusOr<std::shared_ptr<Candidate>> Find(const StepProblem& step);

 private:
  // What a choice depends on.
  struct Choice {
    Problem problem;
    Precision precision;
    MemoryLayout layout;
    OperandAlignment alignment;
    std::string implementation;
    std::shared_ptr<Candidate> candidate;
  };

  absl::StatusOr<std::shared_ptr<Candidate>> Choose(const StepProblem& step) const;

  const CudaDevice& device_;
  const bool has_libraries_;
  const Stream stream_;
  Staging* const staging_;
  std::vector<Choice> choices_;
};

}  // namespace plait::cuda
