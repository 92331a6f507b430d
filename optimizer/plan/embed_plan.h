#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/onnx/strip.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The plan in the form that the original model carries: graph and plan as they are. Constants of
// the graph that are no weights of the original are expressions over these, which are computed when
// the plan is loaded, so that the file grows by two texts and no weight. Pure and thread-safe, as
// the function below. Errors: Internal when the text of the graph does not give the graph that the
// plan is for.
absl::StatusOr<EmbeddedPlan> EmbedPlanInOriginal(const Graph& graph, const Plan& plan,
                                                 absl::string_view engine_version);

// A file with a rewritten graph, in which a plan is to be found.
struct PlanBody {
  const Stripped& file;
  int64_t bytes = 0;  // of the file
};

// The plan in the form that such a file carries: its graph, which need not be that of the file,
// says its constants by the file's weights (BodyConstants). What the file lacks is in the graph's
// text, as far as a plan may take as much of the file (PlanBytesMax). `weights` are those that the
// graph's constants read. Values are found again by their tensors' names; nodes keep their numbers.
// Errors: ResourceExhausted where the file lacks more; those of computing the constants; Internal
// when the plan does not fit the graph.
absl::StatusOr<EmbeddedPlan> EmbedPlanInBody(const Graph& graph, Plan plan,
                                             const WeightSource& weights, const PlanBody& body,
                                             absl::string_view engine_version);

}  // namespace plait
