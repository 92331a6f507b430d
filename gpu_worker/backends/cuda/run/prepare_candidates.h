#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "gpu_worker/backends/cuda/run/time_candidates.h"

namespace plait::cuda {

// What a source has to say about a problem: candidates, or why it has none to offer.
struct SourceAnswer {
  const CandidateSource* source;
  Result<std::vector<std::unique_ptr<Candidate>>> candidates;
};

// Asks every source (candidate_sources.def) for the ways to compute a problem; where none has one
// in TF32, for those in strict fp32, which are as right. `has_libraries`: whether cuDNN and
// cuBLASLt are there for the device; the sources of libraries are not asked where they are not,
// since the real ones would take a simulated driver for a real one.
std::vector<SourceAnswer> AskSources(const StepProblem& step, const CudaDevice& device,
                                     bool has_libraries);

// How many of a problem's candidates that a library compiles when they are prepared are worth it.
int RuntimeCompiledMax(const Problem& problem);

// What the host has to do before a candidate can be chosen.
struct PreparedStep {
  std::vector<std::unique_ptr<Candidate>> candidates;  // in the order of the sources
  std::string reasons;                                 // why others are not among them
  TrialData trial;                                     // where there are candidates
};

// The first candidate that can be prepared and that `try_out` finds right, in the calling thread;
// without a trial. Errors: those of `try_out` of kDevice.
Result<PreparedStep> PrepareFirst(const StepProblem& step, const CudaDevice& device,
                                  bool has_libraries,
                                  absl::FunctionRef<Status(Candidate*)> try_out);

// Which candidates of a step are prepared.
enum class Prepared { kAll, kFirst };

// Prepares candidates of each step, on all of the host's processors, and gives them to `then` in
// the order of the steps and in the calling thread, while later ones are prepared. Candidates are
// prepared one by one and not step by step, as some steps have many that take a second each; but
// those together that a source prepares together, of whatever steps.
// Ends early when it is stopped, or when the device has failed: `then` is not told of steps behind
// that.
void PrepareSteps(absl::Span<const StepProblem* const> steps, const CudaDevice& device,
                  bool has_libraries, Prepared prepared, const std::stop_token& stop,
                  absl::FunctionRef<void(const StepProblem&, PreparedStep)> then);

}  // namespace plait::cuda
