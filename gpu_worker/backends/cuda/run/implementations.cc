#include "gpu_worker/backends/cuda/run/implementations.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"

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
// What is prepared at the same time, and by how many: each thread of a library has a handle of its
// own, with memory of the device behind it.
constexpr size_t kStepsOfRound = 32;
constexpr size_t kThreadsMax = 16;
// Of a library's candidates that it compiles when they are built, the first few: each takes up to a
// second, and they are much alike.
constexpr int kRuntimeCompiledMax = 3;

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
Candidates PreparedCandidates(std::vector<SourceAnswer> answers, const StepProblem& step,
                              size_t count, std::string* reasons) {
  Candidates prepared;
  int runtime_compiled = 0;
  for (SourceAnswer& answer : answers) {
    if (!answer.candidates.ok()) {
      absl::StrAppend(reasons, "; ", answer.source, ": ", answer.candidates.error().message);
      continue;
    }
    if (answer.candidates.value().empty()) absl::StrAppend(reasons, "; ", answer.source, ": none");
    for (std::unique_ptr<Candidate>& candidate : answer.candidates.value()) {
      if (prepared.size() == count) return prepared;
      if (!step.implementation.empty() && candidate->name() != step.implementation) continue;
      if (IsRuntimeCompiled(*candidate) && runtime_compiled++ >= kRuntimeCompiledMax) continue;
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

const Implementations::Choice* Implementations::Known(const StepProblem& step) const {
  const auto known = std::find_if(choices_.begin(), choices_.end(), [&](const Choice& choice) {
    return choice.problem == step.problem.problem && choice.precision == step.problem.precision &&
           choice.layout == step.problem.layout && choice.alignment == step.alignment &&
           choice.implementation == step.implementation;
  });
  return known == choices_.end() ? nullptr : &*known;
}

void Implementations::Remember(const StepProblem& step,
                               const absl::StatusOr<std::shared_ptr<Candidate>>& candidate) {
  const absl::Status& status = candidate.status();
  if (!status.ok() && !absl::IsUnimplemented(status) && !absl::IsInvalidArgument(status)) return;
  if (choices_.size() == kChoicesMax) choices_.clear();
  choices_.push_back({step.problem.problem, step.problem.precision, step.problem.layout,
                      step.alignment, step.implementation, candidate});
}

absl::StatusOr<std::shared_ptr<Candidate>> Implementations::Find(const StepProblem& step) {
  if (const Choice* known = Known(step); known != nullptr) return known->candidate;
  absl::StatusOr<std::shared_ptr<Candidate>> chosen = Choose(step, Prepare(step));
  Remember(step, chosen);
  return chosen;
}

void Implementations::Anticipate(absl::Span<const StepProblem> steps) {
  // A simulated driver compiles nothing for the device and times nothing.
  if (device_.runtime->TakesPtx()) return;
  std::vector<const StepProblem*> unknown;
  for (const StepProblem& step : steps) {
    if (step.kind == StepProblem::Kind::kLaunch && Known(step) == nullptr) unknown.push_back(&step);
  }
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
  // In rounds, since what is prepared takes memory until it is timed.
  for (size_t begin = 0; begin < unknown.size(); begin += kStepsOfRound) {
    const size_t end = std::min(unknown.size(), begin + kStepsOfRound);
    std::vector<std::optional<Prepared>> prepared(end - begin);
    std::atomic<size_t> next = begin;
    const auto work = [&] {
      // A library makes its handle for the context that is current in the thread.
      if (!device_.runtime->CheckHealth().ok()) return;
      for (size_t i = next++; i < end; i = next++) prepared[i - begin] = Prepare(*unknown[i]);
    };
    {
      std::vector<std::jthread> others;
      for (size_t t = 1; t < std::min(threads, end - begin); ++t) others.emplace_back(work);
      work();
    }
    for (size_t i = begin; i < end; ++i) {
      // Left over by a device that has failed, which Find() finds out; or there twice.
      if (!prepared[i - begin].has_value() || Known(*unknown[i]) != nullptr) continue;
      Remember(*unknown[i], Choose(*unknown[i], *std::move(prepared[i - begin])));
    }
  }
}

Implementations::Prepared Implementations::Prepare(const StepProblem& step) const {
  Prepared prepared;
  prepared.candidates =
      PreparedCandidates(AskSources(step, device_, has_libraries_), step,
                         device_.runtime->TakesPtx() ? 1 : SIZE_MAX, &prepared.reasons);
  if (prepared.candidates.size() > 1) prepared.trial = MakeTrialData(step);
  return prepared;
}

absl::StatusOr<std::shared_ptr<Candidate>> Implementations::Choose(const StepProblem& step,
                                                                   Prepared prepared) const {
  Candidates& candidates = prepared.candidates;
  if (candidates.empty()) {
    if (step.implementation.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("nothing here computes ", NameOf(step), prepared.reasons));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", step.implementation, "\" is no way to compute ", NameOf(step), prepared.reasons));
  }
  if (candidates.size() == 1) return std::shared_ptr<Candidate>(std::move(candidates[0]));
  PLAIT_ASSIGN_OR_RETURN(const size_t fastest,
                         ToStatusOr(FastestOf(candidates, step, prepared.trial,
                                              {device_.runtime, stream_, staging_})));
  return std::shared_ptr<Candidate>(std::move(candidates[fastest]));
}

}  // namespace plait::cuda
