#pragma once

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"
#include "optimizer/search/rewrite_recipe.h"

namespace plait {

// How far two shapes are apart, by which the plan that is bound is chosen: the sum of the
// logarithms of the ratios of their sizes. nullopt: they have other ranks, or no elements.
std::optional<double> ShapeDistance(const Shape& a, const Shape& b);

// A plan that was bound to other shapes, and the graph that it is for there.
struct ReboundPlan {
  Graph graph;
  Plan plan;
};

// A model at shapes to which plans for others of its shapes are bound. Keeps what several plans
// need. Not thread-safe.
class RebindTarget {
 public:
  // The model as it is, bound to the shapes.
  explicit RebindTarget(Graph original) : original_(std::move(original)) {}

  const Graph& original() const { return original_; }

  // The graph of the model that corresponds to `from`, and the plan of `from` bound to it: the
  // original, its normal form, or that rewritten by the recipe. A recipe and a plan may be a
  // stranger's: what comes out computes what the model does. REQUIRES: the plan passes CheckPlan
  // with `from`. Errors: those of Canonicalize, FollowRecipe and RebindPlan.
  absl::StatusOr<ReboundPlan> Rebind(const Graph& from, const Plan& plan,
                                     const RewriteRecipe& recipe, const KernelCatalog& catalog);

 private:
  Graph original_;
  std::optional<Graph> normal_form_;  // made when it is first needed
};

}  // namespace plait
