#include "server/search_child/further_plans.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/segments.h"
#include "server/search_child/failure_reason.h"
#include "server/search_child/job_catalog.h"
#include "server/search_child/known_profiles.h"
#include "server/search_child/log_sections.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/other_shapes.h"

namespace plait {
namespace {

// "2 threads and x=1x3x224x224"
std::string TargetText(const PlanTarget& target) {
  const std::string shapes =
      absl::StrJoin(target.shapes, ", ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first, "=", absl::StrJoin(entry.second, "x"));
      });
  return absl::StrCat(target.threads, " threads", shapes.empty() ? "" : " and ", shapes);
}

class Search {
 public:
  Search(const FurtherPlansRequest& request, ChildConnection& connection, Clock& clock)
      : request_(request),
        connection_(connection),
        clock_(clock),
        logs_(SplitLogs(request.start.replay_log())) {
    AddKnown(request.first_log);
  }

  absl::StatusOr<FurtherPlans> Run() {
    for (size_t i = 1; i < request_.targets.size(); ++i) {
      PlanTarget target = request_.targets[i];
      if (!target.predicted && !HasTime()) {
        result_.warnings.push_back(absl::StrCat("the budget left no time to measure a plan for ",
                                                TargetText(target),
                                                ": it was made by predicted times"));
        target.predicted = true;
      }
      if (target.predicted) {
        PLAIT_RETURN_IF_ERROR(Predict(target));
        continue;
      }
      request_.begin_plan(static_cast<int>(result_.logs.size()) + 1);
      PLAIT_RETURN_IF_ERROR(Measure(target, i));
    }
    return std::move(result_);
  }

 private:
  bool is_replay() const { return request_.start.options().has_measurement_log(); }

  // Logs of the first plan and of those that were measured so far come first.
  bool HasTime() const {
    if (is_replay()) return result_.logs.size() + 1 < logs_.size();
    return !connection_.stop_requested() && Now() < request_.end;
  }

  // As a budget counts: without the time in which the search stood still for others.
  absl::Duration Now() const {
    return clock_.Monotonic() - connection_.StoppedTime().value_or(absl::ZeroDuration());
  }

  // An equal part of what is left, for this plan and for each behind it.
  absl::Duration EndOf(size_t target) const {
    const auto is_measured = [](const PlanTarget& one) { return !one.predicted; };
    const auto left = std::count_if(request_.targets.begin() + static_cast<int64_t>(target),
                                    request_.targets.end(), is_measured);
    const absl::Duration now = Now();
    return now + (request_.end - now) / left;
  }

  void AddKnown(const MeasurementLog& log) {
    for (const auto& [key, profile] : log.profiles()) known_.emplace(key, profile);
  }

  absl::Status Measure(const PlanTarget& target, size_t number) {
    const absl::StatusOr<Bound> bound = Bind(request_.model, target.shapes);
    if (!bound.ok()) return ModelFailure(bound.status());
    const DeviceDescription device = DeviceWithThreads(request_.device, target.threads);
    PLAIT_ASSIGN_OR_RETURN(const auto catalog, JobCatalog(request_.start.options(), device));
    // Inputs that were given have the shapes of the first plan.
    const bool has_input_sets = target.shapes == request_.targets.front().shapes;
    PLAIT_ASSIGN_OR_RETURN(
        const std::unique_ptr<MeasurementSource> source,
        MakeMeasurementSource({request_.start, EndOf(number),
                               is_replay() ? logs_[result_.logs.size() + 1] : "", has_input_sets},
                              connection_, clock_));
    MeasurementLog log;
    ProfileCache profiles(source->profiler(), log);
    LoadProfiles(request_.start, profiles);
    for (const auto& [key, profile] : known_) profiles.Load(key, profile);
    const LoadEffect effect = is_replay() ? source->load_effect() : request_.load_effect;
    log.set_load_effect(effect);
    const std::vector<Graph> other_shapes = GraphsAt(
        request_.model, OtherShapesOf(request_.model, request_.start.options(), bound->graph),
        request_.device.memory_bytes);
    const SearchContext context = {
        device, *catalog,          profiles, source->verifier(), source->budget(),
        log,    request_.progress, effect,   other_shapes};
    SearchOptions options = request_.options;
    if (!has_input_sets) options.verification.given_inputs = 0;
    absl::StatusOr<SearchResult> found = Optimize(bound->graph, options, context);
    if (!found.ok()) return SearchFailure(found.status(), request_.start.options());
    AddKnown(log);
    result_.plans.push_back({target, *std::move(found)});
    result_.logs.push_back(log.ToText());
    result_.profiling_time += source->profiling_time();
    result_.verification_time += source->verification_time();
    result_.profiles_measured += profiles.profiles_measured();
    result_.profiles_cached += profiles.profiles_cached();
    return absl::OkStatus();
  }

  // What was found for the same shapes, and verified, with what led to it; the original where there
  // was no time for them.
  absl::StatusOr<SearchResult> Unplanned(const PlanTarget& target) const {
    SearchResult unplanned;
    const auto take = [&](const SearchResult& found) {
      unplanned.graph = found.graph;
      unplanned.recipe = found.recipe;
      unplanned.islands = found.islands;
      return std::move(unplanned);
    };
    if (target.shapes == request_.targets.front().shapes) return take(request_.first);
    for (const SearchedPlan& plan : result_.plans) {
      if (!plan.target.predicted && plan.target.shapes == target.shapes) return take(plan.found);
    }
    absl::StatusOr<Bound> bound = Bind(request_.model, target.shapes);
    if (!bound.ok()) return ModelFailure(bound.status());
    unplanned.graph = std::move(bound->graph);
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

  absl::Status Predict(const PlanTarget& target) {
    PLAIT_ASSIGN_OR_RETURN(SearchResult predicted, Unplanned(target));
    const DeviceDescription device = DeviceWithThreads(request_.device, target.threads);
    PLAIT_ASSIGN_OR_RETURN(const auto catalog, JobCatalog(request_.start.options(), device));
    const auto predict = [&](const Graph& graph, Plan* plan) -> absl::Status {
      const absl::StatusOr<PlannedGraph> planned =
          PredictedPlan(graph, device, *catalog, request_.start.engine_version());
      if (!planned.ok()) return SearchFailure(planned.status(), request_.start.options());
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
    result_.plans.push_back({target, std::move(predicted)});
    return absl::OkStatus();
  }

  const FurtherPlansRequest& request_;
  ChildConnection& connection_;
  Clock& clock_;
  const std::vector<absl::string_view> logs_;
  std::map<std::string, Profile> known_;  // that were measured in this job
  FurtherPlans result_;
};

}  // namespace

absl::StatusOr<FurtherPlans> SearchFurtherPlans(const FurtherPlansRequest& request,
                                                ChildConnection& connection, Clock& clock) {
  return Search(request, connection, clock).Run();
}

}  // namespace plait
