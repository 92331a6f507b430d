#pragma once

#include <string>
#include <vector>

#include "optimizer/cost/runtime_measurement.h"

namespace plait {

// What a log says of a runtime: five rounds in each of so many loads, of models that need so many
// milliseconds each.
inline RuntimeMeasurement AnswerOf(const std::string& runtime, const std::vector<double>& ms,
                                   int loads, Verdict verdict = Verdict::kEquivalent) {
  RuntimeMeasurement answer;
  answer.runtime = runtime;
  for (const double model_ms : ms) {
    CandidateMeasurement& model = answer.models.emplace_back();
    model.equivalence.verdict = verdict;
    model.load_rounds.assign(loads, 5);
    model.latency_us.assign(5 * loads, 1000 * model_ms);
  }
  return answer;
}

}  // namespace plait
