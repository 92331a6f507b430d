#include "server/search_child/search_child.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/peak_memory.h"
#include "base/status_macros.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/plan/loaded_bytes.h"
#include "optimizer/search/load_effect.h"
#include "optimizer/search/optimize.h"
#include "optimizer/search/speedup.h"
#include "proto/wire/device.h"
#include "proto/wire/error.h"
#include "server/search_child/apply_limits.h"
#include "server/search_child/budget_warnings.h"
#include "server/search_child/connection.h"
#include "server/search_child/default_plan.h"
#include "server/search_child/failure_reason.h"
#include "server/search_child/fit_report.h"
#include "server/search_child/further_plans.h"
#include "server/search_child/input_plans.h"
#include "server/search_child/input_sets.h"
#include "server/search_child/job_budget.h"
#include "server/search_child/job_catalog.h"
#include "server/search_child/job_search_options.h"
#include "server/search_child/known_profiles.h"
#include "server/search_child/log_sections.h"
#include "server/search_child/made_result.h"
#include "server/search_child/map_model.h"
#include "server/search_child/measured_body.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/other_shapes.h"
#include "server/search_child/output_file.h"
#include "server/search_child/plan_reports.h"
#include "server/search_child/plan_targets.h"
#include "server/search_child/progress_sender.h"
#include "server/search_child/protocol/descriptors.h"
#include "server/search_child/report.h"
#include "server/search_child/runtime_report.h"
#include "server/search_child/write_weights.h"

namespace plait {
namespace {

// Of the budget of a device's first job: 10 s of a minute, where a few seconds are enough.
constexpr double kLoadEffectShare = 1.0 / 6;
// What runtimes may take of what a search has left, in the times that were kept back for them.
constexpr double kRuntimesStretch = 3;

// The search for one job.
class ChildSearch {
 public:
  ChildSearch(const internal::Start& start, ChildConnection& connection)
      : start_(start), connection_(connection), clock_(SystemClock()), began_(clock_.Monotonic()) {}

  absl::StatusOr<internal::Result> Run() {
    ProgressSender progress(connection_, clock_, began_ + absl::Seconds(budget_seconds_));
    progress.OnImport();
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view bytes, MapModel());
    // The first look at a stranger's bytes, under limits that were set before.
    const absl::StatusOr<Model> model = ImportOnnx(bytes);
    if (!model.ok()) return ModelFailure(model.status());
    PLAIT_ASSIGN_OR_RETURN(whole_device_, wire::DeviceFromProto(start_.device()));
    PLAIT_ASSIGN_OR_RETURN(
        targets_, PlanTargetsOf(*model, start_.options(), whole_device_, &shape_warnings_));
    const absl::StatusOr<Bound> bound = Bind(*model, targets_.front().shapes);
    if (!bound.ok()) return ModelFailure(bound.status());
    body_ = BodyOf(start_.options());
    PLAIT_RETURN_IF_ERROR(CheckRequest(*model, *bound));
    // The way back to bytes takes about as long as the way from them, and importing those again, to
    // check them, as long as that; what is only copied takes a part of it.
    const absl::Duration import_time = clock_.Monotonic() - began_;
    PLAIT_ASSIGN_OR_RETURN(kept_,
                           InputPlans(*model, bytes, start_.options(), whole_device_, targets_));
    plan_seconds_ = PlanSeconds(*model, bound->graph, targets_);
    budget_seconds_ = JobBudgetSeconds(start_, plan_seconds_);
    connection_.AllowWaits(TaskWaitMax(start_), JobWaitMax(budget_seconds_));
    progress.set_end(began_ + absl::Seconds(budget_seconds_));
    measured_end_ = began_ + absl::Seconds(budget_seconds_) -
                    (body_ == Body::kOriginal ? 0.5 : 2.0) * import_time;
    runtimes_ = RuntimesToMeasure(start_, !bound->opaque_nodes.empty());
    runtimes_seconds_ = SecondsForRuntimes(budget_seconds_, runtimes_);
    end_ = measured_end_ - absl::Seconds(runtimes_seconds_);
    PLAIT_RETURN_IF_ERROR(CheckModelMemory(bound->graph, whole_device_));
    if (!start_.options().has_measurement_log()) PLAIT_RETURN_IF_ERROR(SendWeights(*model, bytes));
    return Search({*model, bytes, *bound}, progress);
  }

 private:
  // The model as it came in, while it is searched.
  struct Original {
    const Model& model;
    absl::string_view bytes;
    const Bound& bound;
  };

  // Whether the job's device is only described, or simulated: nothing is measured of it.
  bool is_predicted() const { return start_.device().predicted(); }

  // Now, and not when everything has been searched.
  absl::Status CheckRequest(const Model& model, const Bound& bound) const {
    if (is_predicted() && !wire::IsSimulated(start_.device()) && !bound.opaque_nodes.empty()) {
      return wire::Error(
          v1::ERROR_REASON_UNSUPPORTED,
          absl::StrCat("the model has nodes that plait lacks, and on ", start_.device().id(),
                       ", where nothing is measured, no other runtime could run them"));
    }
    // Of a described device this was refused before there was a job.
    if (is_predicted() && (targets_.size() > 1 || start_.options().threads() != 0)) {
      return wire::Error(v1::ERROR_REASON_UNSUPPORTED,
                         absl::StrCat(start_.device().id(),
                                      " is simulated: no plans of threads or several shapes"));
    }
    if (targets_.size() > 1 && body_ != Body::kOriginal) {
      return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                         "a file with several plans has the original's body");
    }
    PLAIT_RETURN_IF_ERROR(
        wire::WithReason(CheckExportOpset(model, bound.graph, start_.options().opset()),
                         v1::ERROR_REASON_INVALID_REQUEST));
    return CheckInputSets(start_.options().input_sets(), bound.graph);
  }

  // Plans that are searched for, and not predicted.
  int SearchCount() const {
    const auto is_measured = [](const PlanTarget& target) { return !target.predicted; };
    return static_cast<int>(std::count_if(targets_.begin(), targets_.end(), is_measured));
  }

  // Of the first one's part of the budget.
  absl::Duration FirstEnd() const {
    const absl::Duration now = clock_.Monotonic();
    return now + (end_ - now) * BudgetShare(plan_seconds_, 0);
  }

  // Searches for the first plan, which report and body are of, and then for the others.
  absl::StatusOr<internal::Result> Search(const Original& original, ProgressSender& progress) {
    const DeviceDescription device = DeviceWithThreads(whole_device_, targets_.front().threads);
    const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog =
        JobCatalog(start_.options(), device);
    // A worker of another build may have a backend that is not here.
    if (!catalog.ok()) return wire::WithReason(catalog.status(), v1::ERROR_REASON_UNSUPPORTED);
    PLAIT_ASSIGN_OR_RETURN(
        const std::unique_ptr<MeasurementSource> source,
        MakeMeasurementSource({start_, FirstEnd(), SplitLogs(start_.replay_log()).front()},
                              connection_, clock_));
    MeasurementLog log;
    ProfileCache profiles(source->profiler(), log);
    PLAIT_ASSIGN_OR_RETURN(const LoadEffect effect, FindLoadEffect(LoadProfiles(start_, profiles),
                                                                   device, **catalog, *source));
    log.set_load_effect(effect);
    const std::vector<Graph> other_shapes = OtherShapes(original);
    const SearchContext context = {device,           **catalog,     profiles, source->verifier(),
                                   source->budget(), log,           progress, effect,
                                   other_shapes,     is_predicted()};
    progress.set_plan(0, SearchCount());
    const bool is_portable = start_.options().portable() || body_ == Body::kPortable;
    const SearchOptions options = JobSearchOptions(start_, is_portable);
    // Nearly all of the time goes by in here.
    absl::StatusOr<SearchResult> found = Optimize(original.bound.graph, options, context);
    if (!found.ok()) {
      return SearchFailure(found.status(), start_.options(), source->kernel_failures());
    }
    PLAIT_RETURN_IF_ERROR(KeepLoadEffect(PooledLoadEffect(effect, found->load_effect)));
    std::optional<DefaultPlanTimes> default_plan;
    if (!is_predicted()) {
      default_plan = MeasureDefaultPlan(*found, context, start_.engine_version());
    }
    const auto begin_plan = [&](int plan) { progress.set_plan(plan, SearchCount()); };
    PLAIT_ASSIGN_OR_RETURN(
        FurtherPlans further,
        SearchFurtherPlans({start_, original.model, whole_device_, targets_, plan_seconds_, options,
                            effect, *found, log, end_, progress, begin_plan},
                           connection_, clock_));
    std::vector<std::string> warnings = PrecisionWarnings(start_.options(), device, **catalog);
    PLAIT_ASSIGN_OR_RETURN(
        const MadeResult made,
        MakeFileOf(original, *found, {source->log(), source->budget(), log}, &further, warnings));
    further.logs.insert(further.logs.begin(), log.ToText());
    further.profiling_time += source->profiling_time();
    further.verification_time += source->verification_time();
    further.profiles_measured += profiles.profiles_measured();
    further.profiles_cached += profiles.profiles_cached();
    further.profiles_unsteady += profiles.profiles_unsteady();
    PLAIT_ASSIGN_OR_RETURN(internal::Result result,
                           Finish(original, *found, further, made, std::move(warnings)));
    PlanTarget first_target = targets_.front();
    first_target.predicted = is_predicted();
    SetPlanReports({start_.device().id(), first_target, *found, further.plans, default_plan},
                   result.mutable_report());
    FitReport(*result.mutable_report());
    return result;
  }

  // What other runtimes say is read from one log, if any, and written to the other.
  struct RuntimeLogs {
    const MeasurementLog* replayed;
    Budget& budget;
    MeasurementLog& log;
  };

  // Adds to the time of verification.
  absl::StatusOr<MadeResult> MakeFileOf(const Original& original, const SearchResult& found,
                                        const RuntimeLogs& logs, FurtherPlans* further,
                                        std::vector<std::string>& warnings) {
    const absl::Duration began = clock_.Monotonic();
    PLAIT_ASSIGN_OR_RETURN(
        MadeResult made,
        MakeResult({start_, original.bytes, original.model, original.bound, found, body_,
                    !kept_.plans.empty()},
                   further->plans, kept_.plans,
                   {connection_, clock_, RuntimesEnd(), logs.replayed, logs.budget, logs.log},
                   warnings));
    body_ = made.body;
    further->verification_time += clock_.Monotonic() - began;
    return made;
  }

  absl::StatusOr<internal::Result> Finish(const Original& original, const SearchResult& found,
                                          const FurtherPlans& further, const MadeResult& made,
                                          std::vector<std::string> warnings) const {
    AddWarnings(original.bound, found, made, warnings);
    warnings.insert(warnings.end(), further.warnings.begin(), further.warnings.end());
    if (is_predicted() && further.profiles_cached > 0) {
      warnings.push_back(RecordedWarning(further.profiles_cached, further.profiles_measured));
    }
    warnings.insert(warnings.end(), made.file_warnings.begin(), made.file_warnings.end());
    PLAIT_RETURN_IF_ERROR(WriteResultFile(made.file, kChildOutput));
    SearchFacts facts = {original.bound.graph, original.bound.opaque_nodes, BodyName(body_),
                         warnings};
    facts.profiling_seconds = absl::ToDoubleSeconds(further.profiling_time);
    facts.verification_seconds = absl::ToDoubleSeconds(further.verification_time);
    facts.seconds = absl::ToDoubleSeconds(clock_.Monotonic() - began_) - facts.profiling_seconds -
                    facts.verification_seconds;
    facts.profiles_measured = further.profiles_measured;
    facts.profiles_cached = further.profiles_cached;
    facts.profiles_unsteady = further.profiles_unsteady;
    internal::Result result;
    *result.mutable_report() = MakeReport(start_, facts, found);
    SetKeptPlans(made.file.kept, result.mutable_report());
    AddRuntimes(start_, found, {made.decisions, made.whole}, *result.mutable_report());
    *result.mutable_plan() = MakePlanMessage(found);
    *result.mutable_report()->mutable_plan() = result.plan().summary();
    result.set_measurement_log(JoinLogs(further.logs));
    result.set_stopped_early(connection_.stop_requested());
    return result;
  }

  // What cannot fit is refused before a worker tries it. A replay loads nothing, and of a device
  // that does not say what memory it has nothing is known.
  absl::Status CheckModelMemory(const Graph& graph, const DeviceDescription& device) const {
    if (start_.options().has_measurement_log() || device.memory_bytes == 0) return absl::OkStatus();
    return ModelFailure(CheckMemory("model", LeastLoadedBytes(graph), device));
  }

  // Tells the daemon where workers find the weights. A replay measures nothing.
  absl::Status SendWeights(const Model& model, absl::string_view bytes) const {
    PLAIT_RETURN_IF_ERROR(WriteWeights(model, bytes, kChildWeights));
    internal::ChildMessage message;
    message.mutable_weights_written();
    return connection_.Send(message);
  }

  // At which the result is compared, too. A rewritten body has one shape.
  std::vector<Graph> OtherShapes(const Original& original) const {
    if (body_ != Body::kOriginal || is_predicted()) return {};
    return GraphsAt(original.model,
                    OtherShapesOf(original.model, start_.options(), original.bound.graph),
                    whole_device_.memory_bytes);
  }

  // What is known of the device, or what measuring finds.
  absl::StatusOr<LoadEffect> FindLoadEffect(std::optional<LoadEffect> known,
                                            const DeviceDescription& device,
                                            const KernelCatalog& catalog,
                                            MeasurementSource& source) const {
    if (start_.options().has_measurement_log()) return source.load_effect();
    if (is_predicted()) return LoadEffect();
    PLAIT_ASSIGN_OR_RETURN(
        const LoadEffect effect,
        MeasureLoadEffect(known.value_or(LoadEffect()), device, catalog, source.profiler(),
                          source.verifier(), kLoadEffectShare * budget_seconds_));
    PLAIT_RETURN_IF_ERROR(KeepLoadEffect(effect));
    return effect;
  }

  // Sends it to the daemon, for later jobs, which go on where this one was short of time.
  absl::Status KeepLoadEffect(const LoadEffect& effect) const {
    if (start_.options().has_measurement_log() || effect.loads == 0) return absl::OkStatus();
    internal::ChildMessage message;
    message.mutable_load_effect()->set_deviation(effect.deviation);
    message.mutable_load_effect()->set_loads(effect.loads);
    return connection_.Send(message);
  }

  // What the report says of the model, and of how far the search could go.
  void AddWarnings(const Bound& bound, const SearchResult& found, const MadeResult& made,
                   std::vector<std::string>& warnings) const {
    for (const auto* const some : {&kept_.warnings, &shape_warnings_, &bound.warnings}) {
      warnings.insert(warnings.begin(), some->begin(), some->end());
    }
    if (found.seconds_needed > 0) {
      const double spent = absl::ToDoubleSeconds(clock_.Monotonic() - began_);
      warnings.push_back(BudgetWarning(budget_seconds_, spent, found.seconds_needed));
    }
    if (runtimes_seconds_ == 0 && runtimes_ > 0) {
      warnings.push_back(RuntimesWarning(budget_seconds_, runtimes_));
    }
    if (found.task_too_long) warnings.push_back(TaskWarning());
    const bool is_whole_compared =
        made.whole && made.whole->model.equivalence.verdict != Verdict::kInconclusive;
    if (!found.islands.empty() && !is_whole_compared) {
      const size_t count = found.islands.size();
      warnings.push_back(absl::StrCat(
          "outputs were compared of ",
          count == 1 ? "the part" : absl::StrCat("the ", count, " parts"),
          " of the model that plait plans, and not of the whole: the other nodes, which plait "
          "lacks, run in another runtime (plait.InferenceSession with onnxruntime, or a "
          "program's own)"));
    }
    if (!start_.options().input_sets().empty() && !bound.opaque_nodes.empty()) {
      warnings.emplace_back(
          "the inputs given reach only what lies before nodes that are not understood");
    }
  }

  // When the time for runtimes is over. A search that ends early leaves more.
  absl::Duration RuntimesEnd() {
    if (runtimes_seconds_ == 0) return absl::ZeroDuration();
    const absl::Duration stopped = connection_.StoppedTime().value_or(absl::ZeroDuration());
    return std::min(measured_end_ + stopped,
                    clock_.Monotonic() + absl::Seconds(kRuntimesStretch * runtimes_seconds_));
  }

  const internal::Start& start_;
  ChildConnection& connection_;
  Clock& clock_;
  const absl::Duration began_;
  double budget_seconds_ = start_.options().budget_seconds();
  absl::Duration measured_end_;       // of all measuring, before the file is written
  int runtimes_ = 0;                  // other ones, to measure in
  double runtimes_seconds_ = 0;       // of it, for other runtimes
  absl::Duration end_;                // of the search
  Body body_ = Body::kOriginal;       // of the result's file
  DeviceDescription whole_device_;    // with all threads that it has
  std::vector<PlanTarget> targets_;   // what plans are made for
  KeptPlans kept_;                    // that the model came with
  std::vector<double> plan_seconds_;  // of each
  std::vector<std::string> shape_warnings_;
};

}  // namespace

int SearchChildMain(const char* limits) {
  // Without limits nothing is read: a child that nobody limits could take the machine along.
  if (!ApplyLimits(limits)) return 2;
  ChildConnection connection(kChildSocket);
  const absl::StatusOr<internal::Start> start = connection.ReadStart();
  if (!start.ok()) {
    std::fprintf(stderr, "%s\n", start.status().ToString().c_str());
    return 1;
  }
  absl::StatusOr<internal::Result> result = ChildSearch(*start, connection).Run();
  internal::ChildMessage message;
  if (result.ok()) {
    *message.mutable_result() = *std::move(result);
    v1::SearchReport& search = *message.mutable_result()->mutable_report()->mutable_search();
    search.set_peak_memory_bytes(PeakMemoryBytes());
    search.set_worker_peak_memory_bytes(connection.worker_peak_memory_bytes());
  } else {
    // An error is an answer, and the exit code 0: only a child that cannot speak is a fault.
    const v1::ErrorDetail detail = wire::ErrorDetailOf(result.status());
    message.mutable_failure()->set_reason(detail.reason());
    message.mutable_failure()->set_message(detail.message());
  }
  return connection.Send(message).ok() ? 0 : 1;
}

}  // namespace plait
