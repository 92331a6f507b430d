#pragma once

#include <string>

#include "optimizer/cost/load_effect.h"
#include "optimizer/cost/runtime_measurement.h"
#include "optimizer/search/speedup.h"

namespace plait {

// What the deciding rounds of one runtime said: of the original, and of a model beside it.
struct RuntimeDecision {
  std::string runtime;
  std::string version;
  std::string options;
  int threads = 0;
  CandidateMeasurement original;  // with an error where nothing was measured
  CandidateMeasurement model;     // the original's own where there was no other
  Speedup speedup;                // of the model; all 1 where it is the original
  std::string note;               // why something is missing
};

// The median of the original's times divided by the model's in the same rounds; 0 for a model that
// may not be returned: it has no such times, or another output.
double RatioInRounds(const CandidateMeasurement& original, const CandidateMeasurement& model);

// What was measured of `model`, an index into the measurement's models; 0: of the original alone.
// Bounds are those of as many chances as models were measured that might be returned.
// REQUIRES: the measurement has the model. Pure.
RuntimeDecision DecisionOn(const RuntimeMeasurement& measured, size_t model, int chances,
                           const LoadEffect& load_effect);

}  // namespace plait
