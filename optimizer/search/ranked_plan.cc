#include "optimizer/search/ranked_plan.h"

#include <algorithm>
#include <tuple>

namespace plait {

void KeepBest(std::vector<RankedPlan>& plans, int candidates_max) {
  std::stable_sort(plans.begin() + 1, plans.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return std::tie(a.turn, a.rank_us) < std::tie(b.turn, b.rank_us);
  });
  const size_t kept = static_cast<size_t>(candidates_max) + 1;
  if (plans.size() > kept) plans.erase(plans.begin() + kept, plans.end());
}

}  // namespace plait
