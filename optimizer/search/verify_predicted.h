#pragma once

#include <vector>

#include "optimizer/search/verify_candidates.h"

namespace plait {

// Where something lies in the middle 95 % of draws of a device's constants.
struct DrawBounds {
  double low = 0;
  double high = 0;
  friend bool operator==(const DrawBounds&, const DrawBounds&) = default;
};

// By what it is in each draw; `nominal`, which is without any, never lies outside. Without draws it
// is both bounds.
DrawBounds BoundsOfDraws(double nominal, std::vector<double> draws);

// Finds the best candidate for a device that is only described, by predicted times: the one of the
// shortest whose outputs are proven equal to the baseline's, if it is predicted to be shorter than
// that, and also with other constants: in 97.5 % of the draws at least
// (VerificationOptions::predicted_draws_us). Outputs are compared through the verifier, which runs
// the candidates' graphs elsewhere and gives no times; plans of one graph are compared once, unless
// they may lose accuracy, which each does by itself. The measurements in the result have no
// samples, and its speed-up is that of the predictions, whose bounds are those of the middle 95 %
// of the draws. The budget is not asked: a comparison takes little beside a search, and without one
// nothing could be returned.
// REQUIRES: candidates is not empty; the baseline is the first.
// Errors: those of Verifier::Verify; Internal when it answers about other candidates.
absl::StatusOr<VerificationResult> VerifyPredicted(absl::Span<const PlanCandidate> candidates,
                                                   const VerificationOptions& options,
                                                   const VerificationContext& context);

}  // namespace plait
