#include "server/search_child/unmeasured_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/rebind_target.h"
#include "optimizer/search/segments.h"
#include "server/search_child/failure_reason.h"
#include "server/search_child/job_catalog.h"

namespace plait {
namespace {

// Of two targets of a job, which are for the same inputs.
double DistanceBetween(const Bindings& a, const Bindings& b) {
  double distance = 0;
  for (const auto& [input, shape] : a) distance += ShapeDistance(shape, b.at(input)).value_or(0);
  return distance;
}

// The number of the plan that could be bound to the target's shapes.
std::optional<size_t> NearestOf(const UnmeasuredRequest& request) {
  std::optional<size_t> nearest;
  double distance_min = 0;
  for (size_t i = 0; i < request.measured.size(); ++i) {
    const PlanSource& plan = request.measured[i];
    if (!plan.found.improved || !plan.found.islands.empty()) continue;
    if (plan.target.threads != request.target.threads) continue;
    const double distance = DistanceBetween(plan.target.shapes, request.target.shapes);
    if (distance == 0 || (nearest.has_value() && distance >= distance_min)) continue;
    nearest = i;
    distance_min = distance;
  }
  return nearest;
}

// The model at the target's shapes.
absl::StatusOr<Graph> BoundGraph(const UnmeasuredRequest& request) {
  absl::StatusOr<Bound> bound = Bind(request.model, request.target.shapes);
  if (!bound.ok()) return ModelFailure(bound.status());
  return std::move(bound->graph);
}

// With the original as what runs in each of its islands.
SearchResult AsItIs(Graph original) {
  SearchResult unplanned;
  unplanned.graph = std::move(original);
  const std::vector<Segment> segments = SegmentsOf(unplanned.graph);
  const bool has_host = std::any_of(segments.begin(), segments.end(),
                                    [](const Segment& segment) { return segment.is_host; });
  for (const Segment& segment : segments) {
    if (!has_host || segment.is_host) continue;
    PlannedIsland& island = unplanned.islands.emplace_back();
    island.original = ExtractRegion(unplanned.graph, segment.region);
    island.graph = island.original;
  }
  return unplanned;
}

// What was found for the same shapes, and verified, with what led to it.
absl::StatusOr<SearchResult> Unplanned(const UnmeasuredRequest& request) {
  for (const PlanSource& plan : request.measured) {
    if (plan.target.shapes != request.target.shapes) continue;
    SearchResult unplanned;
    unplanned.graph = plan.found.graph;
    unplanned.recipe = plan.found.recipe;
    unplanned.islands = plan.found.islands;
    return unplanned;
  }
  PLAIT_ASSIGN_OR_RETURN(Graph original, BoundGraph(request));
  return AsItIs(std::move(original));
}

}  // namespace

absl::StatusOr<NeighbourPlan> PlanOfNeighbour(const UnmeasuredRequest& request) {
  const std::optional<size_t> nearest = NearestOf(request);
  if (!nearest.has_value()) return absl::NotFoundError("there is no plan that is faster");
  const SearchResult& source = request.measured[*nearest].found;
  const DeviceDescription device = DeviceWithThreads(request.device, request.target.threads);
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, JobCatalog(request.start.options(), device));
  PLAIT_ASSIGN_OR_RETURN(Graph original, BoundGraph(request));
  PLAIT_ASSIGN_OR_RETURN(
      ReboundPlan rebound,
      RebindTarget(std::move(original)).Rebind(source.graph, source.plan, source.recipe, *catalog));
  // Kernels that do not take the sizes are exchanged.
  PLAIT_ASSIGN_OR_RETURN(rebound.plan, PlanWithThreads(rebound.graph, std::move(rebound.plan),
                                                       request.target.threads, *catalog));
  const auto predicted_us = [&](const Graph& graph) -> absl::StatusOr<double> {
    PLAIT_ASSIGN_OR_RETURN(const PlannedGraph planned,
                           PredictedPlan(graph, device, *catalog, request.start.engine_version()));
    return planned.predicted_us;
  };
  PLAIT_ASSIGN_OR_RETURN(const double source_us, predicted_us(source.graph));
  PLAIT_ASSIGN_OR_RETURN(const double target_us, predicted_us(rebound.graph));
  NeighbourPlan bound;
  bound.source = *nearest;
  bound.found.graph = std::move(rebound.graph);
  bound.found.plan = std::move(rebound.plan);
  bound.found.plan.predicted = true;
  bound.found.recipe = source.recipe;
  bound.found.predicted_us = Median(source.optimized_latency_us) * target_us / source_us;
  return bound;
}

absl::StatusOr<SearchResult> PlanByPrediction(const UnmeasuredRequest& request) {
  PLAIT_ASSIGN_OR_RETURN(SearchResult predicted, Unplanned(request));
  const DeviceDescription device = DeviceWithThreads(request.device, request.target.threads);
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, JobCatalog(request.start.options(), device));
  const auto predict = [&](const Graph& graph, Plan* plan) -> absl::Status {
    const absl::StatusOr<PlannedGraph> planned =
        PredictedPlan(graph, device, *catalog, request.start.engine_version());
    if (!planned.ok()) return SearchFailure(planned.status(), request.start.options());
    *plan = planned->plan;
    predicted.predicted_us += planned->predicted_us;
    return absl::OkStatus();
  };
  if (predicted.islands.empty()) {
    PLAIT_RETURN_IF_ERROR(predict(predicted.graph, &predicted.plan));
  }
  for (PlannedIsland& island : predicted.islands) {
    PLAIT_RETURN_IF_ERROR(predict(island.graph, &island.plan));
  }
  return predicted;
}

}  // namespace plait
