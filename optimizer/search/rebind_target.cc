#include "optimizer/search/rebind_target.h"

#include <cmath>

#include "base/status_macros.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/rules/rule.h"

namespace plait {

std::optional<double> ShapeDistance(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return std::nullopt;
  double distance = 0;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] < 1 || b[axis] < 1) return std::nullopt;
    distance += std::abs(std::log2(static_cast<double>(a[axis]) / static_cast<double>(b[axis])));
  }
  return distance;
}

absl::StatusOr<ReboundPlan> RebindTarget::Rebind(const Graph& from, const Plan& plan,
                                                 const RewriteRecipe& recipe,
                                                 const KernelCatalog& catalog) {
  if (recipe.empty()) {
    absl::StatusOr<Plan> rebound = RebindPlan(from, plan, original_, catalog);
    if (rebound.ok()) return ReboundPlan{original_, *std::move(rebound)};
  }
  if (!normal_form_.has_value()) {
    RuleCounts counts;
    PLAIT_ASSIGN_OR_RETURN(normal_form_, Canonicalize(original_, AllRules(), &counts));
  }
  PLAIT_ASSIGN_OR_RETURN(Graph rewritten, FollowRecipe(*normal_form_, recipe));
  PLAIT_ASSIGN_OR_RETURN(Plan rebound, RebindPlan(from, plan, rewritten, catalog));
  return ReboundPlan{std::move(rewritten), std::move(rebound)};
}

}  // namespace plait
