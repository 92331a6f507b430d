#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Measures what the test says; writes down what it was asked, as "loads x rounds: ids".
class ScriptedVerifier : public Verifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    std::string call = absl::StrCat(batch.loads, "x", batch.rounds, ":");
    random_inputs.push_back(batch.random_inputs);
    seconds_max.push_back(batch.seconds_max);
    with_given_inputs.push_back(batch.has_given_inputs);
    std::vector<CandidateMeasurement> measurements;
    for (const PlanCandidate& candidate : candidates) {
      absl::StrAppend(&call, " ", candidate.id);
      CandidateMeasurement measurement;
      measurement.latency_us.assign(batch.loads * batch.rounds, latency_us[candidate.id]);
      measurement.load_rounds.assign(batch.loads, batch.rounds);
      measurement.equivalence = {Verdict::kEquivalent, 0, 0, 3};
      const auto changed = change.find(candidate.id);
      if (changed != change.end()) changed->second(measurement);
      measurements.push_back(std::move(measurement));
    }
    calls.push_back(call);
    if (answers_too_little) measurements.pop_back();
    if (!status.ok()) return status;
    if (batch.rounds > batch.rounds_min && !status_of_many_rounds.ok()) {
      return status_of_many_rounds;
    }
    if (candidates.size() > 1 && !status_of_several.ok()) return status_of_several;
    return measurements;
  }

  // A verification asks for none.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int>) override {
    return absl::FailedPreconditionError(absl::StrCat("errors of ", candidate.id));
  }

  std::map<std::string, double> latency_us;
  std::map<std::string, std::function<void(CandidateMeasurement&)>> change;
  bool answers_too_little = false;
  absl::Status status;
  absl::Status status_of_several;  // of batches with more than the baseline
  absl::Status status_of_many_rounds;
  std::vector<std::string> calls;
  std::vector<int> random_inputs;   // by call
  std::vector<double> seconds_max;  // likewise
  std::vector<bool> with_given_inputs;
};

// Has time for what the test says, and writes down for how long it was asked.
class ScriptedBudget : public Budget {
 public:
  explicit ScriptedBudget(double seconds = 1e9) : seconds_(seconds) {}
  bool Allows(int64_t) override { return true; }
  bool HasSeconds(double seconds) override {
    asked.push_back(seconds);
    return seconds <= seconds_;
  }
  bool AllowsTask(double seconds) override { return seconds <= task_seconds_max; }

  std::vector<double> asked;
  double task_seconds_max = 1e9;

 private:
  const double seconds_;
};

}  // namespace plait
