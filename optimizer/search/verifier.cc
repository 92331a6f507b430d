#include "optimizer/search/verifier.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace plait {

std::string CandidateId(const Graph& graph, const Plan& plan) {
  FingerprintBuilder builder;
  builder.Add(graph.fingerprint()).Add(absl::string_view(PrintPlan(plan)));
  return builder.Finish().ToString();
}

bool AreComparable(const CandidateMeasurement& a, const CandidateMeasurement& b) {
  const auto is_positive = [](auto value) { return value > 0; };
  const auto all_positive = [&](const auto& values) {
    return std::all_of(values.begin(), values.end(), is_positive);
  };
  const std::vector<int>& loads = a.load_rounds;
  return !a.latency_us.empty() && loads == b.load_rounds && all_positive(loads) &&
         std::accumulate(loads.begin(), loads.end(), size_t{0}) == a.latency_us.size() &&
         a.latency_us.size() == b.latency_us.size() && all_positive(a.latency_us) &&
         all_positive(b.latency_us);
}

void AddRounds(const CandidateMeasurement& more, CandidateMeasurement& measurement) {
  const auto append = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(more.latency_us, measurement.latency_us);
  append(more.load_rounds, measurement.load_rounds);
  append(more.load_ms, measurement.load_ms);
  AddClock(more.clock, measurement.clock);
}

absl::StatusOr<std::vector<std::vector<double>>> Verifier::TimeSteps(
    absl::Span<const PlanCandidate> candidates, const RehearsalBatch& /*batch*/) {
  return std::vector<std::vector<double>>(candidates.size());
}

absl::StatusOr<std::vector<CandidateMeasurement>> ReplayingVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& /*batch*/) {
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

absl::StatusOr<std::vector<LayerError>> ReplayingVerifier::MeasureErrors(
    const PlanCandidate& candidate, absl::Span<const int> steps) {
  const std::vector<ErrorMeasurement>& all = log_.error_measurements();
  const bool same = next_errors_ < all.size() && all[next_errors_].candidate == candidate.id &&
                    all[next_errors_].steps == steps;
  if (!same) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the measurement log does not have the errors of ", steps.size(), " steps as its number ",
        next_errors_, ": replay it with the model, options and build that wrote it"));
  }
  return all[next_errors_++].errors;
}

absl::StatusOr<std::vector<std::vector<double>>> ReplayingVerifier::TimeSteps(
    absl::Span<const PlanCandidate> candidates, const RehearsalBatch& /*batch*/) {
  const std::vector<Rehearsal>& all = log_.rehearsals();
  const bool same =
      next_rehearsal_ < all.size() &&
      std::equal(
          candidates.begin(), candidates.end(), all[next_rehearsal_].candidates.begin(),
          all[next_rehearsal_].candidates.end(),
          [](const PlanCandidate& candidate, const std::string& id) { return candidate.id == id; });
  if (!same) {
    return absl::FailedPreconditionError(
        absl::StrCat("the measurement log does not have the times of the steps of ",
                     candidates.size(), " candidates as its number ", next_rehearsal_,
                     ": replay it with the model, options and build that wrote it"));
  }
  return all[next_rehearsal_++].step_us;
}

}  // namespace plait
