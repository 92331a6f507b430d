#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/cost/candidate_measurement.h"

namespace plait {

// Loads an executable anew each time. Errors: as Executor::Load.
using ExecutableLoader = std::function<absl::StatusOr<std::unique_ptr<Executable>>()>;

// A whole graph with its plan. Both outlive the call they are passed to.
struct CandidatePlan {
  const Graph* graph;
  const Plan* plan;
  // In the place of Executor::Load, for MeasurePlans: of a graph that runs by several plans. `plan`
  // is empty then.
  ExecutableLoader load = nullptr;
};

// How much is measured, and what counts as equal.
struct MeasureOptions {
  // Loads, at most: the candidates are loaded anew for each, because what a load is lucky or
  // unlucky with lasts as long as it does. At least five, whatever the time, when as many are
  // allowed.
  int loads = 1;
  int rounds = 20;     // of each load, at most
  int rounds_min = 3;  // of all loads together, whatever the time
  // No round and no load is started after this time, but for the least ones. Loads share it.
  absl::Duration time_max = absl::Seconds(30);
  int random_inputs = 3;        // on which outputs are compared; at least 1
  double rel_error_max = 1e-4;  // see OutputComparer
  // What differs by more, but may be rounding, is compared with exact outputs, together with the
  // original (Equivalence::exact_ratio), if these can be had in some seconds.
  bool judges_rounding = false;
  uint64_t seed = 1;  // of the random inputs
  // Further inputs to compare outputs on; of each one a tensor for each input of the original, in
  // its graph's order. They may be a stranger's: what cannot be run is an error and never a crash.
  std::vector<std::vector<Tensor>> given_inputs;
  std::stop_token stop;  // asked between two runs
};

// Measures candidates beside the original, candidate 0, so that drift of the machine hits all
// alike: in every round each runs once, in alternating order. Results are in the candidates' order,
// without their ids. A candidate that cannot be loaded or run has its status in its place.
//
// A round's sample is one run of a plan that takes long; of a short one it is the median of three,
// after runs that fill the caches again (RunsOfRound).
//
// On a simulated device outputs are compared, in one load, and nothing is timed.
//
// All candidates of a load are in memory at the same time; one for which there is no room beside
// the others is left out with ResourceExhausted. Outputs are compared in the first load. The
// original is compared with itself too, in a second run: a graph that does not repeat its outputs
// proves nothing. Errors: those of the original, OutOfRange when it cannot run on a given input;
// Cancelled when a stop was requested.
absl::StatusOr<std::vector<absl::StatusOr<CandidateMeasurement>>> MeasurePlans(
    Executor& executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const MeasureOptions& options);

}  // namespace plait
