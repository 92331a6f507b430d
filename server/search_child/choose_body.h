#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/speedup.h"
#include "server/search_child/runtime_decision.h"
#include "server/search_child/runtime_source.h"

namespace plait {

// The model to return, and what each runtime said of it.
struct BodyChoice {
  int model = 0;  // index into the models; 0: the original
  std::vector<RuntimeDecision> decisions;
};

struct BodyChooserOptions {
  // The first model after the original is returned whatever it is; it is only measured.
  bool is_given = false;
  // As much time as one runtime gets is left over, for something else.
  bool keeps_time = false;
  // There is no time for rewritten models, so that none is among the models: notes say so.
  bool has_no_time = false;
  // What plait needs for a run, in microseconds: a runtime is taken to need about as much, before
  // it is known. Round by round as many runs count as in plait.
  double latency_us = 0;
  LoadEffect load_effect;  // of the device that the runtimes run on, too
};

// Seconds that it takes at least to decide about one rewritten model of so many bytes in so many
// runtimes, in each of which a run takes about as long as `latency_us`. Pure.
double SecondsToDecideBody(int runtimes, int64_t model_bytes, double latency_us);

// Rounds of a decision; as of plans (VerificationOptions).
inline constexpr int kRuntimeLoads = 3;
inline constexpr int kRuntimeRoundsMin = 15;

// Measures models in each of the runtimes and chooses one that is certainly faster in all of them,
// with outputs that equal the original's; without one, the original. Of more than two,
// short runs of all choose up to two finalists, by the runtime that likes each least. These run
// beside the original, and only these rounds decide. Of two that are certainly faster it is the one
// whose least gain is larger. That the choice is slower than the original has the same chance with
// one finalist and with two. A runtime that cannot run the original has no say. Every answer goes
// into the log. Deterministic: what is returned follows from the arguments and the log. `models`
// are named by the digests of their bytes, the original first; not empty. Errors: those of
// RuntimeSource.
absl::StatusOr<BodyChoice> ChooseBody(const std::vector<v1::Digest>& models,
                                      const BodyChooserOptions& options, RuntimeSource& source,
                                      MeasurementLog& log);

}  // namespace plait
