#include "server/search_child/search_child.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/machine_cores.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/plan/loaded_bytes.h"
#include "optimizer/rules/rule.h"
#include "optimizer/search/load_effect.h"
#include "optimizer/search/optimize.h"
#include "optimizer/search/speedup.h"
#include "proto/wire/device.h"
#include "proto/wire/error.h"
#include "proto/wire/measurement.h"
#include "proto/wire/profile.h"
#include "server/search_child/apply_limits.h"
#include "server/search_child/connection.h"
#include "server/search_child/failure_reason.h"
#include "server/search_child/input_sets.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/output_file.h"
#include "server/search_child/protocol/descriptors.h"
#include "server/search_child/report.h"
#include "server/search_child/result_file.h"
#include "server/search_child/write_weights.h"

namespace plait {
namespace {

// Of the budget of a device's first job: 10 s of a minute, where a few seconds are enough.
constexpr double kLoadEffectShare = 1.0 / 6;
// Import takes about this part of a job, and export too; it is for a progress bar only.
constexpr double kPreparationFraction = 0.02;
// More budget would not help: the operator says how long a task may take.
constexpr char kTaskWarning[] =
    "measuring a candidate beside the original takes longer than this server allows one task "
    "(task_seconds_max); the original was returned as it is";

// Tells the daemon how far the job is: the search, with import and export around it.
class ProgressSender : public ProgressSink {
 public:
  // `end` is when the budget ends, on the monotonic clock.
  ProgressSender(ChildConnection& connection, Clock& clock, absl::Duration end)
      : connection_(connection), clock_(clock), end_(end) {}

  void OnImport() { SendPhase("import", 0, BudgetLeft()); }
  void OnPhase(absl::string_view phase, double fraction) override {
    // The search is over, and the job is not.
    const bool is_over = phase == "done";
    SendPhase(is_over ? "export" : phase, OfJob(fraction), is_over ? 0 : BudgetLeft());
  }
  void OnFraction(double fraction, double seconds_left) override {
    v1::Event event = EventOf(v1::EVENT_TYPE_PROGRESS);
    event.set_fraction(OfJob(fraction));
    event.set_seconds_left(std::min(seconds_left, BudgetLeft()));
    Send(event);
  }
  void OnPredicted(double speedup) override { SendSpeedup(v1::EVENT_TYPE_INCUMBENT, speedup); }
  void OnMeasured(double speedup) override { SendSpeedup(v1::EVENT_TYPE_MEASURED, speedup); }

 private:
  static double OfJob(double fraction) {
    return kPreparationFraction + (1 - 2 * kPreparationFraction) * fraction;
  }
  static v1::Event EventOf(v1::EventType type) {
    v1::Event event;
    event.set_type(type);
    return event;
  }
  double BudgetLeft() const {
    return std::max(0.0, absl::ToDoubleSeconds(end_ - clock_.Monotonic()));
  }
  void SendPhase(absl::string_view phase, double fraction, double seconds_left) {
    v1::Event event = EventOf(v1::EVENT_TYPE_PHASE);
    event.set_text(std::string(phase));
    event.set_fraction(fraction);
    event.set_seconds_left(seconds_left);
    Send(event);
  }
  void SendSpeedup(v1::EventType type, double speedup) {
    v1::Event event = EventOf(type);
    event.set_speedup(speedup);
    Send(event);
  }
  void Send(const v1::Event& event) {
    internal::ChildMessage message;
    *message.mutable_event() = event;
    // When the daemon is gone, the next question fails.
    connection_.Send(message).IgnoreError();
  }

  ChildConnection& connection_;
  Clock& clock_;
  const absl::Duration end_;
};

// Mapped and not read: pages of weights that nothing looks at never take memory.
absl::StatusOr<absl::string_view> MapModel() {
  struct stat file = {};
  if (fstat(kChildModel, &file) != 0) return absl::InternalError("the model cannot be read");
  if (file.st_size == 0) {
    return wire::Error(v1::ERROR_REASON_MODEL_REJECTED, "the model has no bytes");
  }
  const auto size = static_cast<size_t>(file.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kChildModel, 0);
  if (bytes == MAP_FAILED) {
    return wire::Error(v1::ERROR_REASON_LIMIT_EXCEEDED,
                       absl::StrCat("a model of ", size, " bytes does not fit into memory"));
  }
  return absl::string_view(static_cast<const char*>(bytes), size);
}

absl::StatusOr<Bound> BindModel(const Model& model, const v1::OptimizeOptions& options) {
  Bindings bindings;
  for (const auto& [name, shape] : options.shapes()) {
    bindings[name] = Shape(shape.dims().begin(), shape.dims().end());
  }
  return Bind(model, bindings);
}

// The device as far as the job may use it.
absl::StatusOr<DeviceDescription> DeviceOf(const internal::Start& start) {
  PLAIT_ASSIGN_OR_RETURN(DeviceDescription device, wire::DeviceFromProto(start.device()));
  const int threads_max = start.options().threads();
  if (threads_max > 0) device.threads = std::min(device.threads, threads_max);
  return device;
}

// A profile that cannot be trusted is measured again. Returns the device's load effect, if it is
// among them.
std::optional<LoadEffect> LoadProfiles(const internal::Start& start, ProfileCache& profiles) {
  std::optional<LoadEffect> effect;
  for (const v1::StoredProfile& stored : start.profiles()) {
    if (stored.has_load_effect()) {
      if (!wire::CheckLoadEffect(stored.load_effect(), "load_effect").ok()) continue;
      effect = {stored.load_effect().deviation(), static_cast<int>(stored.load_effect().loads())};
      continue;
    }
    const absl::StatusOr<Profile> profile = wire::ProfileFromProto(stored.profile());
    if (profile.ok()) profiles.Load(stored.key(), *profile);
  }
  return effect;
}

// The search for one job.
class ChildSearch {
 public:
  ChildSearch(const internal::Start& start, ChildConnection& connection)
      : start_(start), connection_(connection), clock_(SystemClock()) {}

  absl::StatusOr<internal::Result> Run() {
    const absl::Duration began = clock_.Monotonic();
    const absl::Duration budget = absl::Seconds(start_.options().budget_seconds());
    ProgressSender progress(connection_, clock_, began + budget);
    progress.OnImport();
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view bytes, MapModel());
    // The first look at a stranger's bytes, under limits that were set before.
    absl::StatusOr<Model> model = ImportOnnx(bytes);
    if (!model.ok()) return ModelFailure(model.status());
    absl::StatusOr<Bound> bound = BindModel(*model, start_.options());
    if (!bound.ok()) return ModelFailure(bound.status());
    body_ = BodyOf(start_.options(), *bound);
    // Now, and not when everything has been searched.
    PLAIT_RETURN_IF_ERROR(
        wire::WithReason(CheckExportOpset(*model, bound->graph, start_.options().opset()),
                         v1::ERROR_REASON_INVALID_REQUEST));
    PLAIT_RETURN_IF_ERROR(CheckInputSets(start_.options().input_sets(), bound->graph));
    // The way back to bytes takes about as long as the way from them, and importing those again, to
    // check them, as long as that; what is only copied takes a part of it.
    const absl::Duration import_time = clock_.Monotonic() - began;
    const absl::Duration end =
        began + budget - (body_ == Body::kOriginal ? 0.5 : 2.0) * import_time;
    PLAIT_ASSIGN_OR_RETURN(const DeviceDescription device, DeviceOf(start_));
    PLAIT_RETURN_IF_ERROR(CheckModelMemory(bound->graph, device));
    if (!start_.options().has_measurement_log()) PLAIT_RETURN_IF_ERROR(SendWeights(*model, bytes));

    const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(device);
    // A worker of another build may have a backend that is not here.
    if (!catalog.ok()) return wire::WithReason(catalog.status(), v1::ERROR_REASON_UNSUPPORTED);
    PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<MeasurementSource> source,
                           MakeMeasurementSource(start_, end, connection_, clock_));
    MeasurementLog log;
    ProfileCache profiles(source->profiler(), log);
    PLAIT_ASSIGN_OR_RETURN(const LoadEffect effect, FindLoadEffect(LoadProfiles(start_, profiles),
                                                                   device, **catalog, *source));
    log.set_load_effect(effect);
    ScheduleDevice schedule_device;
    schedule_device.streams_max = device.threads;
    const SearchContext context = {device,   **catalog,          schedule_device,
                                   profiles, source->verifier(), source->budget(),
                                   log,      progress,           effect};
    // Nearly all of the time goes by in here.
    absl::StatusOr<SearchResult> found = Optimize(bound->graph, Options(), context);
    if (!found.ok()) return SearchFailure(found.status(), start_.options());
    PLAIT_RETURN_IF_ERROR(KeepLoadEffect(PooledLoadEffect(effect, found->load_effect)));

    std::vector<std::string> warnings = Warnings(*bound, *found, began);
    PLAIT_RETURN_IF_ERROR(Export(*model, bytes, *found, warnings));
    SearchFacts facts = {bound->graph, bound->opaque_nodes, BodyName(body_), warnings};
    facts.profiling_seconds = absl::ToDoubleSeconds(source->profiling_time());
    facts.verification_seconds = absl::ToDoubleSeconds(source->verification_time());
    facts.seconds = absl::ToDoubleSeconds(clock_.Monotonic() - began) - facts.profiling_seconds -
                    facts.verification_seconds;
    facts.profiles_measured = profiles.profiles_measured();
    facts.profiles_cached = profiles.profiles_cached();
    internal::Result result;
    *result.mutable_report() = MakeReport(start_, facts, *found);
    *result.mutable_plan() = MakePlanMessage(*found);
    *result.mutable_report()->mutable_plan() = result.plan().summary();
    result.set_measurement_log(log.ToText());
    result.set_stopped_early(connection_.stop_requested());
    return result;
  }

 private:
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

  // What is known of the device, or what measuring finds.
  absl::StatusOr<LoadEffect> FindLoadEffect(std::optional<LoadEffect> known,
                                            const DeviceDescription& device,
                                            const KernelCatalog& catalog,
                                            MeasurementSource& source) const {
    if (start_.options().has_measurement_log()) return source.load_effect();
    if (known) return *known;
    PLAIT_ASSIGN_OR_RETURN(const LoadEffect effect,
                           MeasureLoadEffect(device, catalog, source.profiler(), source.verifier(),
                                             kLoadEffectShare * start_.options().budget_seconds()));
    PLAIT_RETURN_IF_ERROR(KeepLoadEffect(effect));
    return effect;
  }

  // Sends it to the daemon, for later jobs. One of few loads does for this job only: the budget was
  // short, or the machine busy, and a later job measures it whole.
  absl::Status KeepLoadEffect(const LoadEffect& effect) const {
    if (start_.options().has_measurement_log() || effect.loads < kLoadsOfEffect) {
      return absl::OkStatus();
    }
    internal::ChildMessage message;
    message.mutable_load_effect()->set_deviation(effect.deviation);
    message.mutable_load_effect()->set_loads(effect.loads);
    return connection_.Send(message);
  }

  // What the report says of the model, and of how far the search could go.
  std::vector<std::string> Warnings(const Bound& bound, const SearchResult& found,
                                    absl::Duration began) const {
    std::vector<std::string> warnings = bound.warnings;
    if (found.seconds_needed > 0) warnings.push_back(BudgetWarning(found, began));
    if (found.task_too_long) warnings.emplace_back(kTaskWarning);
    if (body_ == Body::kOriginal && !bound.opaque_nodes.empty()) {
      warnings.emplace_back(
          "the body is the original's and there is no plan around nodes that are not understood, "
          "so "
          "that the file gains nothing (--body portable)");
    }
    if (!start_.options().input_sets().empty() && !bound.opaque_nodes.empty()) {
      warnings.emplace_back(
          "the inputs given reach only what lies before nodes that are not understood");
    }
    return warnings;
  }

  // Names a budget that would have been enough: all that was spent, and what was missing.
  std::string BudgetWarning(const SearchResult& found, absl::Duration began) const {
    const double spent = absl::ToDoubleSeconds(clock_.Monotonic() - began);
    const auto needed = static_cast<int64_t>(std::ceil(1.2 * (spent + found.seconds_needed)));
    return absl::StrCat("the budget of ", start_.options().budget_seconds(),
                        " s left no time to measure a candidate beside the original, which was "
                        "returned as it is (--budget ",
                        needed, "s is enough)");
  }

  SearchOptions Options() const {
    SearchOptions options;
    options.search = start_.options().search();
    options.schedule = start_.options().schedule();
    // What other runtimes do not see need not be as fast there.
    const bool is_portable = start_.options().portable() || body_ == Body::kPortable;
    options.rules = is_portable ? PortableRules() : AllRules();
    const int threads = start_.search_threads();
    options.threads = threads > 0 ? threads : MachineCores();
    options.engine_version = start_.engine_version();
    if (start_.options().precision() == "auto") {
      options.rel_error_max = start_.options().max_rel_error();
    }
    options.verification.accept_inconclusive = start_.options().accept_inconclusive();
    options.verification.given_inputs = start_.options().input_sets_size();
    return options;
  }

  absl::Status Export(const Model& model, absl::string_view bytes, const SearchResult& found,
                      std::vector<std::string>& warnings) const {
    const ResultFile result = {.body = body_,
                               .bytes = bytes,
                               .model = model,
                               .found = found,
                               .opset = start_.options().opset(),
                               .engine_version = start_.engine_version()};
    return WriteResultFile(result, kChildOutput, warnings);
  }

  const internal::Start& start_;
  ChildConnection& connection_;
  Clock& clock_;
  Body body_ = Body::kOriginal;  // of the result's file
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
  } else {
    // An error is an answer, and the exit code 0: only a child that cannot speak is a fault.
    const v1::ErrorDetail detail = wire::ErrorDetailOf(result.status());
    message.mutable_failure()->set_reason(detail.reason());
    message.mutable_failure()->set_message(detail.message());
  }
  return connection.Send(message).ok() ? 0 : 1;
}

}  // namespace plait
