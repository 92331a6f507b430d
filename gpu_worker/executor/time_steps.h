#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/measure_plans.h"

namespace plait {

// How often steps are timed.
struct StepTimesOptions {
  int rounds = 12;     // at most
  int rounds_min = 3;  // whatever the time
  // No round is started after this time, but for the least ones.
  absl::Duration time_max = absl::Seconds(10);
  uint64_t seed = 1;     // of the input, which is random
  std::stop_token stop;  // asked between two runs
};

// Times every step of the plans in its place (Executable::TimeSteps). All plans are loaded at the
// same time and run in turn, in every other round backwards, so that drift of the machine hits all
// alike; runs that are not timed bring a plan's weights back into the caches, as RunsOfRound says.
// Results are in the order of the candidates: of each step the median over the rounds of what it
// took, in microseconds. A candidate that cannot be loaded or run has its status in its place, also
// one for which there is no room beside the others.
// Errors: Cancelled when a stop was requested.
absl::StatusOr<std::vector<absl::StatusOr<std::vector<double>>>> TimeSteps(
    Executor& executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const StepTimesOptions& options);

}  // namespace plait
