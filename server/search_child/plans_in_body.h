#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/onnx/model.h"
#include "optimizer/search/optimize.h"

namespace plait {

// Plans in the form that a file carries.
struct BodyPlans {
  std::vector<EmbeddedPlan> plans;
  std::vector<std::string> missing;  // why, for each plan that the file cannot carry
};

// Whether the search found a plan of the whole, and not of islands or of nothing.
bool HasWholePlan(const SearchResult& found);

// The plans that were found for `model`, over the weights that a file with a rewritten graph holds,
// and bound to the graph that it is, so that an edit of it is noticed. `body` are the bytes of the
// file without plans. Its graph need not be that of a plan: both compute what the model does. A
// plan is missing where the file lacks weights for it, or has no part with the plan's inputs and
// outputs. Pure. Errors: those of StripWeights, ImportOnnx and Bind.
absl::StatusOr<BodyPlans> PlansInBody(const Model& model, const SearchResult& found,
                                      absl::string_view body, const std::string& engine_version);

}  // namespace plait
