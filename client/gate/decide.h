#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

// Map of this folder: `plait gate`, which says whether a model has become slower.
//   sequential_test   when observations are enough, and with which error
//   decide            measures until they are, or until time is out
//   measure_pairs     one observation: two plans, loaded side by side and run in turn
//   gated_files       two files as another runtime gets them: bytes, and inputs made for them
//   runtime_pairs     the same of these: loaded and run in turn by that runtime
//   outcome           what was found, as JSON, JUnit, Markdown and text
namespace plait {

// Times of two models that were loaded beside each other, run in turn. Sample i of both was taken
// in the same round.
struct PairedLoad {
  std::vector<double> base_us;
  std::vector<double> new_us;
};

// Where observations come from: a device, or a test's model of one. Not thread-safe.
class PairSource {
 public:
  virtual ~PairSource() = default;

  // Loads both models anew and runs them in turn; at least one round. Whether the new one is
  // loaded, and run, first is the caller's to say: it alternates, so that neither gains by it.
  // Errors: those of loading and running.
  virtual absl::StatusOr<PairedLoad> MeasureLoad(bool new_first) = 0;
};

struct GateOptions {
  double max_regression = 0.02;  // how much longer the new model may take, as a part of the base's
  double error_max = 0.01;       // of either verdict, over all looks
  absl::Duration time_max = absl::Seconds(60);
};

enum class GateVerdict { kPass, kFail, kInconclusive };

// What was found. Ratios are times of the new model divided by those of the base: above 1 is
// slower.
struct GateOutcome {
  GateVerdict verdict = GateVerdict::kInconclusive;
  double ratio = 1;  // median over loads
  // Each bound is wrong with probability error_max at most, over all looks. 0 and infinite:
  // unknown.
  double ratio_low = 0;
  double ratio_high = 0;
  int loads = 0;
  double seconds = 0;
  std::vector<double> base_us;  // of all rounds
  std::vector<double> new_us;
};

// Measures pairs of loads until the new model is known to take more than 1 + max_regression times
// as long (kFail), or less (kPass), or until another pair would end after time_max (kInconclusive).
// One pair is measured whatever the time. An observation is a load and not a round: what a load is
// lucky or unlucky with, as where its pages lie, lasts as long as it does.
// Each verdict is wrong with probability error_max at most: see SequentialTest.
// Errors: those of the source.
absl::StatusOr<GateOutcome> DecideGate(PairSource& source, Clock& clock,
                                       const GateOptions& options);

}  // namespace plait
