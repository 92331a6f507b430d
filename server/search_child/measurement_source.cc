#include "server/search_child/measurement_source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/cost/replaying_profiler.h"
#include "proto/wire/device.h"
#include "proto/wire/error.h"
#include "server/search_child/comparing_verifier.h"
#include "server/search_child/device.h"

namespace plait {
namespace {

// fp32 sums in another order differ by this much, relative to the largest output, at most.
constexpr double kStrictTolerance = 1e-4;

RemoteVerifier::Options VerifierOptions(const MeasurementRequest& request) {
  const v1::OptimizeOptions& options = request.start.options();
  return {.seed = options.seed(),
          .tolerance = ToleranceOf(options),
          // A limit that somebody names is meant.
          .judges_rounding = options.max_rel_error() == 0,
          .input_sets = request.has_input_sets ? options.input_sets() : InputSets()};
}

// Of the time that a task may take: a prediction is not exact, and a task that is ended was for
// nothing.
constexpr double kTaskShare = 0.8;

// Wall-clock time, except for that which went to other jobs.
class TimeBudget : public Budget {
 public:
  // `task_time_max` is how long a task may take; 0: as long as it likes.
  TimeBudget(Clock& clock, absl::Duration end, absl::Duration task_time_max,
             ChildConnection& connection)
      : clock_(clock), end_(end), task_time_max_(task_time_max), connection_(connection) {}

  bool Allows(int64_t) override {
    NoteStep();
    return !connection_.stop_requested() && IsLeft(reserved_ + LongerThanUsual());
  }
  void Reserve(double seconds) override { reserved_ = absl::Seconds(seconds); }
  bool HasSeconds(double seconds) override {
    return !connection_.stop_requested() && IsLeft(absl::Seconds(seconds));
  }
  bool AllowsTask(double seconds) override {
    return task_time_max_ == absl::ZeroDuration() ||
           absl::Seconds(seconds) <= kTaskShare * task_time_max_;
  }

 private:
  // Whether more than `time` is left.
  bool IsLeft(absl::Duration time) {
    const absl::Duration now = clock_.Monotonic();
    if (now + time < end_ + stopped_) return true;
    // Only now, because it is a question to the daemon. Without an answer the search is over, too.
    stopped_ = connection_.StoppedTime().value_or(absl::ZeroDuration());
    return now + time < end_ + stopped_;
  }

  // The step that ends now.
  void NoteStep() {
    const absl::Duration now = clock_.Monotonic();
    if (step_begin_.has_value()) {
      steps_[0] = steps_[1];
      steps_[1] = now - *step_begin_;
    }
    step_begin_ = now;
  }

  // How much more than the usual a step takes, by the shorter one of the last two: beside a longer
  // one another job may have had the device.
  absl::Duration LongerThanUsual() const {
    return std::max(absl::ZeroDuration(),
                    std::min(steps_[0], steps_[1]) - absl::Seconds(kStepSeconds));
  }

  Clock& clock_;
  const absl::Duration end_;
  const absl::Duration task_time_max_;
  ChildConnection& connection_;
  absl::Duration reserved_;
  std::optional<absl::Duration> step_begin_;  // none before the first
  std::array<absl::Duration, 2> steps_;       // the last two
  // What was known of it when it was last asked for.
  absl::Duration stopped_;
};

class DeviceSource : public MeasurementSource {
 public:
  DeviceSource(const MeasurementRequest& request, ChildConnection& connection, Clock& clock)
      : profiler_(connection, clock),
        verifier_(connection, clock, VerifierOptions(request)),
        budget_(clock, request.end, absl::Seconds(request.start.task_seconds_max()), connection) {}

  Profiler& profiler() override { return profiler_; }
  Verifier& verifier() override { return verifier_; }
  Budget& budget() override { return budget_; }
  LoadEffect load_effect() const override { return {}; }
  const MeasurementLog* log() const override { return nullptr; }
  std::vector<std::string> kernel_failures() const override { return profiler_.failures(); }
  absl::Duration profiling_time() const override { return profiler_.elapsed(); }
  absl::Duration verification_time() const override { return verifier_.elapsed(); }

 private:
  RemoteProfiler profiler_;
  RemoteVerifier verifier_;
  TimeBudget budget_;
};

// Predictions, and outputs that are compared on the device of the job's worker: another one than
// the job's, or, where that is simulated, itself.
class DescribedSource : public MeasurementSource {
 public:
  // What the job's device and that of its worker are, each with its catalog.
  struct Devices {
    const DescribedDevice& described;
    std::unique_ptr<KernelCatalog> catalog;
    DeviceDescription comparing;
    std::unique_ptr<KernelCatalog> comparing_catalog;
  };

  DescribedSource(const MeasurementRequest& request, Devices devices, ChildConnection& connection,
                  Clock& clock)
      : catalog_(std::move(devices.catalog)),
        profiler_(devices.described, PredictionDetail::kBlocks, catalog_.get()),
        worker_(connection, clock, VerifierOptions(request)),
        verifier_(std::move(devices.comparing), std::move(devices.comparing_catalog),
                  request.start.engine_version(), worker_),
        budget_(clock, request.end, absl::Seconds(request.start.task_seconds_max()), connection) {}

  // Of a simulated device, whose kernels take what they would on the described one.
  DescribedSource(const MeasurementRequest& request, const DescribedDevice& described,
                  std::unique_ptr<KernelCatalog> catalog, ChildConnection& connection, Clock& clock)
      : catalog_(std::move(catalog)),
        profiler_(described, PredictionDetail::kBlocks, catalog_.get()),
        worker_(connection, clock, VerifierOptions(request)),
        verifier_(worker_),
        budget_(clock, request.end, absl::Seconds(request.start.task_seconds_max()), connection) {}

  Profiler& profiler() override { return profiler_; }
  Verifier& verifier() override { return verifier_; }
  Budget& budget() override { return budget_; }
  LoadEffect load_effect() const override { return {}; }
  const MeasurementLog* log() const override { return nullptr; }
  absl::Duration profiling_time() const override { return absl::ZeroDuration(); }
  absl::Duration verification_time() const override { return worker_.elapsed(); }

 private:
  const std::unique_ptr<KernelCatalog> catalog_;
  DescribedProfiler profiler_;
  RemoteVerifier worker_;
  ComparingVerifier verifier_;
  TimeBudget budget_;
};

class LogSource : public MeasurementSource {
 public:
  explicit LogSource(MeasurementLog log)
      : log_(std::move(log)), profiler_(log_), verifier_(log_), budget_(log_) {}

  Profiler& profiler() override { return profiler_; }
  Verifier& verifier() override { return verifier_; }
  Budget& budget() override { return budget_; }
  LoadEffect load_effect() const override { return log_.load_effect(); }
  const MeasurementLog* log() const override { return &log_; }
  absl::Duration profiling_time() const override { return absl::ZeroDuration(); }
  absl::Duration verification_time() const override { return absl::ZeroDuration(); }

 private:
  const MeasurementLog log_;
  ReplayingProfiler profiler_;
  ReplayingVerifier verifier_;
  ReplayingBudget budget_;
};

absl::StatusOr<std::unique_ptr<MeasurementSource>> MakeDescribedSource(
    const MeasurementRequest& request, ChildConnection& connection, Clock& clock) {
  if (wire::IsSimulated(request.start.device())) {
    PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<KernelCatalog> catalog,
                           CatalogFor(DescriptionOf(kH200Device)));
    return std::make_unique<DescribedSource>(request, kH200Device, std::move(catalog), connection,
                                             clock);
  }
  PLAIT_ASSIGN_OR_RETURN(const DescribedDevice* const described,
                         FindDescribedDevice(request.start.device().id()));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(DescriptionOf(*described)));
  PLAIT_ASSIGN_OR_RETURN(DeviceDescription comparing,
                         wire::DeviceFromProto(request.start.comparing_device()));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<KernelCatalog> comparing_catalog, CatalogFor(comparing));
  return std::make_unique<DescribedSource>(
      request,
      DescribedSource::Devices{*described, std::move(catalog), std::move(comparing),
                               std::move(comparing_catalog)},
      connection, clock);
}

}  // namespace

double ToleranceOf(const v1::OptimizeOptions& options) {
  return options.max_rel_error() > 0 ? options.max_rel_error() : kStrictTolerance;
}

absl::StatusOr<std::unique_ptr<MeasurementSource>> MakeMeasurementSource(
    const MeasurementRequest& request, ChildConnection& connection, Clock& clock) {
  if (!request.start.options().has_measurement_log()) {
    if (request.start.device().predicted()) {
      return MakeDescribedSource(request, connection, clock);
    }
    return std::make_unique<DeviceSource>(request, connection, clock);
  }
  absl::StatusOr<MeasurementLog> log = MeasurementLog::Parse(request.replay_log);
  if (!log.ok()) {
    return wire::Error(
        v1::ERROR_REASON_INVALID_REQUEST,
        absl::StrCat("the measurement log cannot be read: ", log.status().message()));
  }
  return std::make_unique<LogSource>(*std::move(log));
}

}  // namespace plait
