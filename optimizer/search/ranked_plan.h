#pragma once

#include <vector>

#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/search/plan_graph.h"
#include "optimizer/search/verifier.h"

namespace plait {

// A plan on its way to the device. Plans go by turn, and within a turn by rank.
struct RankedPlan {
  PlanCandidate candidate;
  PlannedGraph planned;
  RuleCounts counts;
  const char* origin = "";  // see SearchResult
  int turn = 0;             // plans of the same graph, and so of the same rank, that go before
  double rank_us = 0;
};

// A plan without a place among others yet. `origin` must be a literal, see SearchResult.
RankedPlan Ranked(const Graph& graph, PlannedGraph planned, const RuleCounts& counts,
                  const char* origin);

// Puts the plans in their order and keeps the best `candidates_max`. The baseline, which is the
// first, stays in any case. Plans that are ranked as slower than it count as well: profiles of a
// slower and of a faster hour may have met, and measuring decides.
// REQUIRES: plans is not empty.
void KeepBest(std::vector<RankedPlan>& plans, int candidates_max);

// The plan that KeepBest would put first of plans[first] and those behind it.
// REQUIRES: there is one.
const RankedPlan& BestPlan(const std::vector<RankedPlan>& plans, size_t first);

// Makes it the first behind the baseline; the last goes where there would be more than
// `candidates_max`. False, and nothing is changed, where the plan is among them.
// REQUIRES: plans is not empty.
bool PutFirst(RankedPlan plan, int candidates_max, std::vector<RankedPlan>& plans);

}  // namespace plait
