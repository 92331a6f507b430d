#pragma once

#include "absl/status/status.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Runs both graphs by reference on random inputs: exactly in GF(p) when every operator has a
// meaning there (and `exact` is set), and always in floating point, three seeds each. Values that
// are not finite must be the same, and not all of an output may be NaN. Errors: FailedPrecondition
// saying which output differs and by how much.
absl::Status CheckEquivalent(const Graph& before, const Graph& after, bool exact = true);

}  // namespace plait
