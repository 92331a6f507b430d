#include "gpu_worker/backends/cuda/run/implementations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"

namespace plait::cuda {
namespace {

// The models that have the most distinct kernels have some hundreds.
constexpr size_t kChoicesMax = 4096;

std::string StepProblemName(const StepProblem& step) {
  return absl::StrCat(ProblemName(step.problem.problem), " in ",
                      PrecisionName(step.problem.precision));
}

}  // namespace

Implementations::Key Implementations::KeyOf(const StepProblem& step) {
  return {step.problem.problem, step.problem.precision, step.problem.layout, step.places,
          step.implementation};
}

const Implementations::Choice* Implementations::Known(const Key& key) const {
  const auto known = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const Choice& choice) { return choice.key == key; });
  return known == choices_.end() ? nullptr : &*known;
}

void Implementations::Remember(Key key, const absl::StatusOr<Chosen>& chosen) {
  const absl::Status& status = chosen.status();
  if (!status.ok() && !absl::IsUnimplemented(status) && !absl::IsInvalidArgument(status)) return;
  if (choices_.size() == kChoicesMax) choices_.clear();
  choices_.push_back({std::move(key), chosen});
}

absl::StatusOr<std::shared_ptr<Candidate>> Implementations::Find(const StepProblem& step) {
  PLAIT_ASSIGN_OR_RETURN(const Chosen chosen, FindBoth(step));
  return step.narrow ? chosen.narrowest : chosen.fastest;
}

absl::StatusOr<Implementations::Chosen> Implementations::FindBoth(const StepProblem& step) {
  Key key = KeyOf(step);
  if (const Choice* known = Known(key); known != nullptr) return known->chosen;
  std::optional<absl::StatusOr<Chosen>> chosen;
  if (choice_by_ == ChoiceBy::kFirst) {
    chosen = ChooseFirst(step);
  } else {
    const StepProblem* const steps[] = {&step};
    PrepareSteps(steps, device_, has_libraries_, Prepared::kAll, {},
                 [&](const StepProblem& of, PreparedStep prepared) {
                   chosen = Choose(of, std::move(prepared));
                 });
  }
  if (!chosen.has_value()) {
    PLAIT_RETURN_IF_ERROR(ToStatus(device_.runtime->CheckHealth()));
    return absl::UnavailableError("the device failed while a kernel was built for it");
  }
  Remember(std::move(key), *chosen);
  return *std::move(chosen);
}

void Implementations::Anticipate(absl::Span<const StepProblem> steps, const std::stop_token& stop) {
  std::vector<Key> keys;
  std::vector<const StepProblem*> unknown;
  for (const StepProblem& step : steps) {
    if (step.kind != StepProblem::Kind::kLaunch) continue;
    Key key = KeyOf(step);
    if (Known(key) != nullptr || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    keys.push_back(std::move(key));
    unknown.push_back(&step);
  }
  const bool takes_first = choice_by_ == ChoiceBy::kFirst;
  PrepareSteps(
      unknown, device_, has_libraries_, takes_first ? Prepared::kFirst : Prepared::kAll, stop,
      [&](const StepProblem& step, PreparedStep prepared) {
        // Where the first one fails, Find() looks for another.
        if (takes_first && (prepared.candidates.empty() ||
                            !TryOut(prepared.candidates[0].get(), step, prepared.trial).ok())) {
          return;
        }
        Remember(KeyOf(step), Choose(step, std::move(prepared)));
      });
}

absl::StatusOr<Implementations::Chosen> Implementations::Choose(const StepProblem& step,
                                                                PreparedStep prepared) const {
  std::vector<std::unique_ptr<Candidate>>& candidates = prepared.candidates;
  if (candidates.empty()) {
    if (step.implementation.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("nothing here computes ", StepProblemName(step), prepared.reasons));
    }
    return absl::InvalidArgumentError(absl::StrCat("\"", step.implementation,
                                                   "\" is no way to compute ",
                                                   StepProblemName(step), prepared.reasons));
  }
  CandidateChoice choice;
  if (choice_by_ == ChoiceBy::kTrial) {
    absl::StatusOr<CandidateChoice> tried =
        ToStatusOr(ChooseCandidates(candidates, step, prepared.trial, timing_device()));
    // Another one in its place would not be what the plan says.
    if (absl::IsUnimplemented(tried.status()) && !step.implementation.empty()) {
      return absl::InvalidArgumentError(tried.status().message());
    }
    PLAIT_ASSIGN_OR_RETURN(choice, std::move(tried));
  }
  Chosen chosen;
  chosen.fastest = std::move(candidates[choice.fastest]);
  chosen.narrowest = choice.narrowest == choice.fastest
                         ? chosen.fastest
                         : std::shared_ptr<Candidate>(std::move(candidates[choice.narrowest]));
  return chosen;
}

absl::StatusOr<Implementations::Chosen> Implementations::ChooseFirst(
    const StepProblem& step) const {
  std::optional<TrialData> trial;  // once there is something to try
  PLAIT_ASSIGN_OR_RETURN(
      PreparedStep prepared,
      ToStatusOr(PrepareFirst(step, device_, has_libraries_, [&](Candidate* candidate) {
        if (!trial.has_value()) trial = MakeTrialData(step, kLoneReferenceOperationsMax);
        return TryOut(candidate, step, *trial);
      })));
  return Choose(step, std::move(prepared));
}

Status Implementations::TryOut(Candidate* candidate, const StepProblem& step,
                               const TrialData& trial) const {
  const TimingDevice device = timing_device();
  TrialBench bench(step, trial, device);
  PLAIT_CUDA_RETURN_IF_ERROR(bench.Upload());
  PLAIT_CUDA_RETURN_IF_ERROR(bench.TakeWorkspace(candidate->workspace_bytes()));
  return bench.TryOut(candidate);
}

}  // namespace plait::cuda
