#include "server/search_child/further_plans.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "server/search_child/failure_reason.h"
#include "server/search_child/job_budget.h"
#include "server/search_child/job_catalog.h"
#include "server/search_child/known_profiles.h"
#include "server/search_child/log_sections.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/other_shapes.h"
#include "server/search_child/unmeasured_plan.h"

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
      const PlanTarget& target = request_.targets[i];
      if (target.predicted) {
        PLAIT_RETURN_IF_ERROR(Predict(target));
      } else if (HasTime()) {
        request_.begin_plan(static_cast<int>(result_.logs.size()) + 1);
        PLAIT_RETURN_IF_ERROR(Measure(target, i));
      } else if (!TakeNeighbour(target)) {
        Warn(target, "it was made by predicted times");
        PLAIT_RETURN_IF_ERROR(Predict(target));
      }
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

  // Of this plan's part of what is left.
  absl::Duration EndOf(size_t target) const {
    const absl::Duration now = Now();
    return now + (request_.end - now) * BudgetShare(request_.plan_seconds, target);
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
    result_.logs.push_back(log.ToText());
    result_.profiling_time += source->profiling_time();
    result_.verification_time += source->verification_time();
    result_.profiles_measured += profiles.profiles_measured();
    result_.profiles_cached += profiles.profiles_cached();
    result_.profiles_unsteady += profiles.profiles_unsteady();
    if (found->seconds_needed > 0) {
      if (TakeNeighbour(target)) return absl::OkStatus();
      Warn(target, absl::StrCat("it is the original's (it takes about ",
                                std::ceil(found->seconds_needed), " s)"));
    }
    result_.plans.push_back({target, *std::move(found)});
    return absl::OkStatus();
  }

  std::vector<PlanSource> Measured() const {
    std::vector<PlanSource> measured = {{request_.targets.front(), request_.first}};
    for (const SearchedPlan& plan : result_.plans) {
      if (!plan.target.predicted) measured.push_back({plan.target, plan.found});
    }
    return measured;
  }

  // The same plan for the nearest other shapes, where there is one that is known to be faster.
  bool TakeNeighbour(const PlanTarget& target) {
    const std::vector<PlanSource> measured = Measured();
    absl::StatusOr<NeighbourPlan> bound =
        PlanOfNeighbour({request_.start, request_.model, request_.device, target, measured});
    if (!bound.ok()) return false;
    Warn(target, absl::StrCat("that for ", TargetText(measured[bound->source].target),
                              " is bound to these shapes"));
    AddPredicted(target, std::move(bound->found));
    return true;
  }

  absl::Status Predict(const PlanTarget& target) {
    PLAIT_ASSIGN_OR_RETURN(
        SearchResult predicted,
        PlanByPrediction({request_.start, request_.model, request_.device, target, Measured()}));
    AddPredicted(target, std::move(predicted));
    return absl::OkStatus();
  }

  void AddPredicted(PlanTarget target, SearchResult found) {
    target.predicted = true;
    result_.plans.push_back({std::move(target), std::move(found)});
  }

  void Warn(const PlanTarget& target, absl::string_view instead) {
    result_.warnings.push_back(absl::StrCat("the budget left no time to measure a plan for ",
                                            TargetText(target), ": ", instead));
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
