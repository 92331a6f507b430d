#include "gpu_worker/backends/cuda/run/implementations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/time_candidates.h"

namespace plait::cuda {

#define PLAIT_CANDIDATE_SOURCE(name, constant) extern const CandidateSource constant;
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE

namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

constexpr const CandidateSource* kSources[] = {
#define PLAIT_CANDIDATE_SOURCE(name, constant) &constant,
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE
};

// The models that have the most distinct kernels have some hundreds.
constexpr size_t kChoicesMax = 4096;

// Whether the source's kernels are our own text, which a simulated device runs too.
bool IsGenerated(const CandidateSource& source) {
  return absl::string_view(source.name) == "generated";
}

std::string NameOf(const StepProblem& step) {
  return absl::StrCat(ProblemName(step.problem.problem), " in ",
                      PrecisionName(step.problem.precision));
}

// The candidates that can be prepared, in order, and at most `count` of them. What goes wrong is
// added to `reasons`.
Candidates Prepared(std::vector<SourceAnswer> answers, const StepProblem& step, size_t count,
                    std::string* reasons) {
  Candidates prepared;
  for (SourceAnswer& answer : answers) {
    if (!answer.candidates.ok()) {
      absl::StrAppend(reasons, "; ", answer.source, ": ", answer.candidates.error().message);
      continue;
    }
    if (answer.candidates.value().empty()) absl::StrAppend(reasons, "; ", answer.source, ": none");
    for (std::unique_ptr<Candidate>& candidate : answer.candidates.value()) {
      if (prepared.size() == count) return prepared;
      if (!step.implementation.empty() && candidate->name() != step.implementation) continue;
      const Status status = candidate->Prepare();
      if (status.ok()) {
        prepared.push_back(std::move(candidate));
      } else {
        absl::StrAppend(reasons, "; ", status.error().message);
      }
    }
  }
  return prepared;
}

}  // namespace

std::vector<SourceAnswer> AskSources(const StepProblem& step, const CudaDevice& device,
                                     bool has_libraries) {
  std::vector<SourceAnswer> answers;
  for (const CandidateSource* source : kSources) {
    if (!has_libraries && !IsGenerated(*source)) {
      const std::string what = "the simulated device has no " + std::string(source->name);
      answers.push_back({source->name, Error{ErrorCode::kUnavailable, what}});
      continue;
    }
    answers.push_back(
        {source->name, source->enumerate(step.problem.problem, step.problem.precision,
                                         step.problem.layout, step.alignment, device)});
  }
  return answers;
}

absl::StatusOr<std::shared_ptr<Candidate>> Implementations::Find(const StepProblem& step) {
  for (const Choice& choice : choices_) {
    if (choice.problem == step.problem.problem && choice.precision == step.problem.precision &&
        choice.layout == step.problem.layout && choice.alignment == step.alignment &&
        choice.implementation == step.implementation) {
      return choice.candidate;
    }
  }
  PLAIT_ASSIGN_OR_RETURN(std::shared_ptr<Candidate> candidate, Choose(step));
  if (choices_.size() == kChoicesMax) choices_.clear();
  choices_.push_back({step.problem.problem, step.problem.precision, step.problem.layout,
                      step.alignment, step.implementation, candidate});
  return candidate;
}

absl::StatusOr<std::shared_ptr<Candidate>> Implementations::Choose(const StepProblem& step) const {
  const bool is_simulated = device_.runtime->TakesPtx();
  std::string reasons;
  Candidates candidates = Prepared(AskSources(step, device_, has_libraries_), step,
                                   is_simulated ? 1 : SIZE_MAX, &reasons);
  if (candidates.empty()) {
    if (step.implementation.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("nothing here computes ", NameOf(step), reasons));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"", step.implementation, "\" is no way to compute ", NameOf(step), reasons));
  }
  if (candidates.size() == 1) return std::shared_ptr<Candidate>(std::move(candidates[0]));
  PLAIT_ASSIGN_OR_RETURN(
      const size_t fastest,
      ToStatusOr(FastestOf(candidates, step, {device_.runtime, stream_, staging_})));
  return std::shared_ptr<Candidate>(std::move(candidates[fastest]));
}

}  // namespace plait::cuda
