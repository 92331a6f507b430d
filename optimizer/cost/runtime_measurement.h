#pragma once

#include <string>
#include <vector>

#include "optimizer/cost/candidate_measurement.h"

namespace plait {

// What a runtime of the user's did with whole models, the original first. Models are named by the
// digests of their bytes.
struct RuntimeMeasurement {
  std::string runtime;  // its name, such as "onnxruntime"
  std::string version;
  std::string options;  // that it ran with, for people
  int threads = 0;
  // Verdicts are those of the job's tolerance. When the original has an error, so have all.
  std::vector<CandidateMeasurement> models;

  friend bool operator==(const RuntimeMeasurement&, const RuntimeMeasurement&) = default;
};

}  // namespace plait
