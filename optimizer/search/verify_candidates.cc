#include "optimizer/search/verify_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/statistics.h"
#include "base/status_macros.h"

// Eight candidates beside the baseline: all run for 10 rounds, the best four for 20, the best two
// of these for 40, and the last batch decides. That is 8*10 + 4*20 + 2*40 = 240 runs, where 40
// rounds for each of them would be 320, and the two that matter have as many samples. A candidate
// that is wrong or did not run is dropped at once; in the last batch the next best is then asked.
//
// Ratios are paired by round because a machine's speed drifts: what ran in the same round met the
// same machine.

namespace plait {
namespace {

// One batch: the baseline's measurement first, then those of the surviving candidates.
struct Batch {
  std::vector<int> candidates;
  std::vector<CandidateMeasurement> measurements;
};

bool AreSamples(const std::vector<double>& samples_us) {
  return !samples_us.empty() &&
         std::all_of(samples_us.begin(), samples_us.end(), [](double us) { return us > 0; });
}

absl::StatusOr<Batch> Measure(absl::Span<const PlanCandidate> all, std::vector<int> chosen,
                              int rounds, Verifier& verifier, MeasurementLog& log) {
  std::vector<PlanCandidate> candidates;
  for (const int index : chosen) candidates.push_back(all[index]);
  Batch batch;
  PLAIT_ASSIGN_OR_RETURN(batch.measurements, verifier.Verify(candidates, rounds));
  if (batch.measurements.size() != candidates.size()) {
    return absl::InternalError(absl::StrCat("the verifier answered about ",
                                            batch.measurements.size(), " of ", candidates.size(),
                                            " candidates"));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    batch.measurements[i].candidate = candidates[i].id;
  }
  log.AddVerification(batch.measurements);
  const CandidateMeasurement& baseline = batch.measurements.front();
  if (!AreSamples(baseline.latency_us)) {
    return absl::InternalError(
        absl::StrCat("the original model did not run on the device: ",
                     baseline.error.empty() ? "no samples" : baseline.error));
  }
  batch.candidates = std::move(chosen);
  return batch;
}

bool IsAccepted(const Equivalence& equivalence, bool accept_inconclusive) {
  if (equivalence.verdict == Verdict::kEquivalent) return true;
  return accept_inconclusive && equivalence.verdict == Verdict::kInconclusive &&
         equivalence.inputs_tried > 0;
}

// True for a candidate whose samples are worth comparing.
bool IsUsable(const CandidateMeasurement& measurement, const CandidateMeasurement& baseline,
              bool accept_inconclusive) {
  return measurement.error.empty() && IsAccepted(measurement.equivalence, accept_inconclusive) &&
         AreSamples(measurement.latency_us) &&
         measurement.latency_us.size() == baseline.latency_us.size();
}

// The usable candidates' positions in the batch, fastest first.
std::vector<size_t> RankUsable(const Batch& batch, bool accept_inconclusive) {
  const CandidateMeasurement& baseline = batch.measurements.front();
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 1; i < batch.measurements.size(); ++i) {
    const CandidateMeasurement& measurement = batch.measurements[i];
    if (!IsUsable(measurement, baseline, accept_inconclusive)) continue;
    std::vector<double> ratios;
    for (size_t round = 0; round < baseline.latency_us.size(); ++round) {
      ratios.push_back(baseline.latency_us[round] / measurement.latency_us[round]);
    }
    ranked.emplace_back(-Median(std::move(ratios)), i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<size_t> places;
  for (const auto& [rank, place] : ranked) places.push_back(place);
  return places;
}

}  // namespace

absl::StatusOr<VerificationResult> VerifyCandidates(absl::Span<const PlanCandidate> candidates,
                                                    const VerificationOptions& options,
                                                    Verifier& verifier, MeasurementLog& log) {
  std::vector<int> survivors;
  for (size_t i = 0; i < candidates.size(); ++i) survivors.push_back(static_cast<int>(i));
  VerificationResult result;
  result.candidates_measured = static_cast<int>(candidates.size()) - 1;
  int rounds = options.rounds_first;
  while (survivors.size() > 3) {
    PLAIT_ASSIGN_OR_RETURN(const Batch batch,
                           Measure(candidates, survivors, rounds, verifier, log));
    const std::vector<size_t> ranked = RankUsable(batch, options.accept_inconclusive);
    const size_t kept = std::min(ranked.size(), std::max<size_t>(2, (survivors.size() - 1) / 2));
    survivors = {0};
    for (size_t i = 0; i < kept; ++i) survivors.push_back(batch.candidates[ranked[i]]);
    rounds *= 2;
  }
  PLAIT_ASSIGN_OR_RETURN(
      const Batch batch,
      Measure(candidates, survivors, std::max(rounds, options.rounds_final), verifier, log));
  result.baseline = batch.measurements.front();
  result.optimized = result.baseline;
  for (const size_t place : RankUsable(batch, options.accept_inconclusive)) {
    const CandidateMeasurement& measurement = batch.measurements[place];
    const RatioInterval speedup =
        PairedRatio(result.baseline.latency_us, measurement.latency_us, options.seed);
    if (speedup.low <= 1) continue;
    result.winner = batch.candidates[place];
    result.speedup = speedup;
    result.optimized = measurement;
    break;
  }
  return result;
}

}  // namespace plait
