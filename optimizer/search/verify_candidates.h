#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/plan_times.h"
#include "optimizer/search/progress_sink.h"
#include "optimizer/search/refusal.h"
#include "optimizer/search/speedup.h"
#include "optimizer/search/verifier.h"

namespace plait {

// How long candidates run before one is believed.
struct VerificationOptions {
  // A finalist is chosen by short batches of the baseline and two candidates each, as long as these
  // are predicted to take no more than this.
  int rounds_choosing = 5;
  double choosing_seconds_max = 3;
  // Then the finalist alone runs beside the baseline. Six loads average out what one of them is
  // lucky with; a model that runs for long takes the least rounds, in five loads.
  int loads_final = 6;
  int rounds_final = 12;  // of each load
  int rounds_min = 15;    // of all loads
  // That may take so long in any case, and longer where there is budget for it, as long as more
  // rounds or loads come of it: those of slow models need them most.
  double final_seconds_least = 4;
  double final_seconds_max = 32;
  // A finalist that is not certainly faster then, but seems to be, runs as long again where
  // there is budget for it, and is judged by all rounds.
  int looks_max = kLooksMax;
  // A candidate whose outputs agree may win also where that proves little (Verdict::kInconclusive).
  // One that was never compared may not.
  bool accept_inconclusive = false;
  int given_inputs = 0;         // on which outputs are compared, beside the verifier's random ones
  double rel_error_max = 1e-4;  // by which the verifier judges outputs; refusals tell it
  // Of a device that is only described: what a candidate would take, in microseconds, by several
  // draws of the device's constants, the same ones for each. Null: its predictions are taken as
  // they are.
  std::function<std::vector<double>(const PlanCandidate&)> predicted_draws_us = nullptr;
};

// What decides. What is referred to must outlive the call.
struct VerificationContext {
  Verifier& verifier;
  Budget& budget;
  MeasurementLog& log;  // gets every batch, and every answer of the budget, for a replay
  LoadEffect load_effect;
  ProgressSink* progress = nullptr;  // null: nobody waits
  // Whether a candidate is right where nothing is measured (see ShapeCheck), asked of a finalist
  // before it is judged, with the seconds that this takes. Null: nothing more is to be known.
  std::function<bool(int candidate, double seconds_to_decide)> is_right_elsewhere = nullptr;
};

// What the device said about a set of candidates. Without a winner, `optimized` is the baseline's
// own measurement.
// Indices are those of the candidates as they were passed, the baseline being 0.
struct VerificationResult {
  int winner = 0;                  // index into the candidates; 0: the baseline stays
  Speedup speedup;                 // of the winner over the baseline; all 1 when that stays
  CandidateMeasurement baseline;   // of the deciding batch
  CandidateMeasurement optimized;  // the winner's, of the same batch
  // Of the two, where the device is only described: VerificationOptions::predicted_draws_us.
  std::vector<double> baseline_draws_us;
  std::vector<double> optimized_draws_us;
  LoadEffect load_effect;       // that the loads of the deciding batch showed; or of no loads
  int candidates_measured = 0;  // beside the baseline
  // Of all candidates that gave times, in their order.
  std::vector<PlanTimes> plan_times;
  // Candidates that ran and were refused. Where the baseline stays, all that ran.
  std::vector<Refusal> refused;
  // 0: there was time to decide. Otherwise the seconds that deciding about one candidate takes.
  double seconds_needed = 0;
  // The baseline stayed because comparing takes longer than the device may be had at once: more
  // budget would not help.
  bool task_too_long = false;
};

// Seconds that deciding about one candidate takes at least.
double SecondsToDecide(const PlanCandidate& baseline, const PlanCandidate& candidate,
                       const VerificationOptions& options);

// Whether outputs of this equivalence are as good as the baseline's: proven equal, or, where that
// is enough, compared and not found different.
bool IsAccepted(const Equivalence& equivalence, bool accept_inconclusive);

// Finds the best candidate. Short runs of all choose one finalist, by all of its samples; then that
// one runs beside the baseline, and only these rounds decide: it wins if its outputs equal the
// baseline's and its speedup is certainly above 1 (see Speedup), at the first look or at a later
// one. One candidate is judged, and it is known before how often at most, so a slower plan is
// accepted in 2.5 % of cases at most. A finalist that is wrong, here or elsewhere,
// or does not run is not judged, and the next best takes its place. When a batch takes longer than
// the device may be had, nothing more is compared, and the baseline stays. Blocks for as long as
// the device runs. REQUIRES: candidates is not empty; they are in the order of their predictions,
// the baseline first. Errors: those of Verifier::Verify, DeadlineExceeded only for the baseline
// alone; Internal when it answers about other candidates or the baseline did not run.
absl::StatusOr<VerificationResult> VerifyCandidates(absl::Span<const PlanCandidate> candidates,
                                                    const VerificationOptions& options,
                                                    const VerificationContext& context);

}  // namespace plait
