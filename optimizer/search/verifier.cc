#include "optimizer/search/verifier.h"

#include "absl/strings/str_cat.h"

namespace plait {

std::string CandidateId(const Graph& graph, const Plan& plan) {
  FingerprintBuilder builder;
  builder.Add(graph.fingerprint()).Add(absl::string_view(PrintPlan(plan)));
  return builder.Finish().ToString();
}

absl::StatusOr<std::vector<CandidateMeasurement>> ReplayingVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, int /*rounds*/) {
  if (next_ == log_.verifications().size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the measurement log ends after ", next_,
                     " verifications: replay it with the model, options and build that wrote it"));
  }
  const std::vector<CandidateMeasurement>& recorded = log_.verifications()[next_];
  bool same = recorded.size() == candidates.size();
  for (size_t i = 0; same && i < candidates.size(); ++i) {
    same = recorded[i].candidate == candidates[i].id;
  }
  if (!same) {
    return absl::FailedPreconditionError(
        absl::StrCat("verification ", next_,
                     " of the measurement log is about other candidates: replay it with ",
                     "the model, options and build that wrote it"));
  }
  ++next_;
  return recorded;
}

}  // namespace plait
