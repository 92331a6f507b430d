#pragma once

#include "optimizer/ir/graph.h"
#include "plait/internal/search_child.pb.h"

namespace plait {

// The seconds that a job may take: those of its options, or, where nobody named them, 4 for each
// GFLOP of a run of its model if that is more, up to `Start.budget_seconds_max`. A candidate that
// runs for seconds takes minutes to verify beside the original: what is returned after a minute
// would be the original. Says nothing about the device, so that it is the same everywhere. Pure.
double JobBudgetSeconds(const internal::Start& start, const Graph& model);

}  // namespace plait
