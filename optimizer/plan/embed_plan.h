#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The plan in the form that the original model carries: graph and plan as they are. Constants of
// the graph that are no weights of the original are expressions over these, which are computed when
// the plan is loaded, so that the file grows by two texts and no weight. Pure and thread-safe, as
// the function below. Errors: Internal when the text of the graph does not give the graph that the
// plan is for.
absl::StatusOr<EmbeddedPlan> EmbedPlanInOriginal(const Graph& graph, const Plan& plan,
                                                 absl::string_view engine_version);

// The plan in the form that an exported model carries: for the graph whose constants are computed,
// because those are the weights that the exported file holds. Values are found again by their
// tensors' names; nodes keep their numbers.
// Errors: those of computing the constants; Internal when the plan does not fit that graph.
absl::StatusOr<EmbeddedPlan> EmbedPlan(const Graph& graph, Plan plan, const WeightSource& weights,
                                       absl::string_view engine_version);

}  // namespace plait
