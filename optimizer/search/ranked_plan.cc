#include "optimizer/search/ranked_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plait {
namespace {

bool GoesBefore(const RankedPlan& a, const RankedPlan& b) {
  return std::tie(a.turn, a.rank_us) < std::tie(b.turn, b.rank_us);
}

}  // namespace

RankedPlan Ranked(const Graph& graph, PlannedGraph planned, const RuleCounts& counts,
                  const char* origin) {
  RankedPlan ranked;
  ranked.candidate = {CandidateId(graph, planned.plan), graph, planned.plan, planned.predicted_us};
  ranked.planned = std::move(planned);
  ranked.counts = counts;
  ranked.origin = origin;
  return ranked;
}

void KeepBest(std::vector<RankedPlan>& plans, int candidates_max) {
  std::stable_sort(plans.begin() + 1, plans.end(), GoesBefore);
  const size_t kept = static_cast<size_t>(candidates_max) + 1;
  if (plans.size() > kept) plans.erase(plans.begin() + kept, plans.end());
}

const RankedPlan& BestPlan(const std::vector<RankedPlan>& plans, size_t first) {
  return *std::min_element(plans.begin() + static_cast<std::ptrdiff_t>(first), plans.end(),
                           GoesBefore);
}

bool PutFirst(RankedPlan plan, int candidates_max, std::vector<RankedPlan>& plans) {
  const bool is_known = std::any_of(plans.begin(), plans.end(), [&](const RankedPlan& known) {
    return known.candidate.id == plan.candidate.id;
  });
  if (is_known) return false;
  plans.insert(plans.begin() + 1, std::move(plan));
  const size_t kept = static_cast<size_t>(candidates_max) + 1;
  if (plans.size() > kept) plans.pop_back();
  return true;
}

}  // namespace plait
