#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// In which numbers two graphs were compared beside floating point.
enum class Exactness {
  kFieldToo,   // in GF(p), where equal means proved but for a chance of less than 1 in 10^17
  kFloatOnly,  // some operator has no meaning there, or it was not asked for
};

// Runs both graphs by reference on random inputs, three seeds each: always in floating point and,
// when `exact` is set and every operator has a meaning there (see field_evaluation.h), in GF(p).
// Infinities and NaNs must stand in the same places, and not all of an output may be NaN. Errors:
// FailedPrecondition saying which output differs and by how much.
absl::StatusOr<Exactness> CheckEquivalent(const Graph& before, const Graph& after,
                                          bool exact = true);

// In GF(p) only, where rounding is none; kFloatOnly says nothing of the two.
absl::StatusOr<Exactness> CheckEquivalentInField(const Graph& before, const Graph& after);

}  // namespace plait
