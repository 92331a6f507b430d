#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/paired_ratio.h"
#include "optimizer/search/verifier.h"

namespace plait {

// How long candidates run before one is believed.
// Rounds cost the sum of all candidates' times: that is why the slower half goes early.
struct VerificationOptions {
  int rounds_first = 10;  // of the first batch, in which all candidates run
  int rounds_final = 40;  // at least, of the batch that decides
  uint64_t seed = 0;      // of the bootstrap
  // A candidate whose outputs agree may win also where that proves little (Verdict::kInconclusive).
  // One that was never compared may not.
  bool accept_inconclusive = false;
};

// What the device said about a set of candidates. Without a winner, `optimized` is the baseline's
// own measurement.
// Indices are those of the candidates as they were passed, the baseline being 0.
struct VerificationResult {
  int winner = 0;                  // index into the candidates; 0: the baseline stays
  RatioInterval speedup;           // of the winner over the baseline; 1, 1, 1 when that stays
  CandidateMeasurement baseline;   // of the deciding batch
  CandidateMeasurement optimized;  // the winner's, of the same batch
  int candidates_measured = 0;     // beside the baseline
};

// Finds the best candidate by successive halving (Jamieson and Talwalkar, AISTATS 2016): short
// paired runs for all, longer ones for the better half, until two are left. The faster of them wins
// if its outputs equal the baseline's (see accept_inconclusive) and the lower bound of the 95 %
// interval of its paired speedup is above 1, taken from the last batch alone so that a lucky start
// does not count; otherwise the next one is asked, and at last the baseline, the first candidate,
// stays. Blocks for as long as the device runs. Every batch is added to `log`, for a replay.
// REQUIRES: candidates is not empty.
// Errors: those of Verifier::Verify; Internal when it answers about other candidates or the
// baseline did not run.
absl::StatusOr<VerificationResult> VerifyCandidates(absl::Span<const PlanCandidate> candidates,
                                                    const VerificationOptions& options,
                                                    Verifier& verifier, MeasurementLog& log);

}  // namespace plait
