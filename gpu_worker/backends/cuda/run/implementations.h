#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "gpu_worker/backends/cuda/run/time_candidates.h"

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

  // Chooses for all of these steps, so that Find() knows the answers. Candidates are listed and
  // built and their trials computed on all of the host's processors at once, which takes most of
  // the time of a choice; the device times one problem after the other.
  void Anticipate(absl::Span<const StepProblem> steps);

 private:
  // What a choice depends on, and what was chosen or why there is nothing.
  struct Choice {
    Problem problem;
    Precision precision;
    MemoryLayout layout;
    OperandAlignment alignment;
    std::string implementation;
    absl::StatusOr<std::shared_ptr<Candidate>> candidate;
  };
  // What the host has to do before a choice.
  struct Prepared {
    std::vector<std::unique_ptr<Candidate>> candidates;
    std::string reasons;  // why others are not among them
    TrialData trial;      // of several candidates
  };

  const Choice* Known(const StepProblem& step) const;
  // But for what a device that has failed says.
  void Remember(const StepProblem& step,
                const absl::StatusOr<std::shared_ptr<Candidate>>& candidate);
  // Thread-safe, but for what the libraries share.
  Prepared Prepare(const StepProblem& step) const;
  absl::StatusOr<std::shared_ptr<Candidate>> Choose(const StepProblem& step,
                                                    Prepared prepared) const;

  const CudaDevice& device_;
  const bool has_libraries_;
  const Stream stream_;
  Staging* const staging_;
  std::vector<Choice> choices_;
};

}  // namespace plait::cuda
