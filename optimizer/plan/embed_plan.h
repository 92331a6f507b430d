#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The plan in the form that an exported model carries: for the graph whose constants are computed,
// because those are the weights that the exported file holds. Values are found again by their
// tensors' names; nodes keep their numbers. Pure and thread-safe.
// Errors: those of computing the constants; Internal when the plan does not fit that graph.
absl::StatusOr<EmbeddedPlan> EmbedPlan(const Graph& graph, Plan plan, const WeightSource& weights,
                                       absl::string_view engine_version);

}  // namespace plait
