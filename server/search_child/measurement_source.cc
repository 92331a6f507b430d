#include "server/search_child/measurement_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/cost/replaying_profiler.h"
#include "proto/wire/error.h"
#include "server/search_child/device.h"

namespace plait {
namespace {

// fp32 sums in another order differ by this much, relative to the largest output, at most.
constexpr double kStrictTolerance = 1e-4;
// A search verifies two or three times; together they take about half as long as the search. Less
// than 8 s would leave too few rounds for a model that runs for a fifth of a second.
constexpr double kVerificationBudgetShare = 0.2;
constexpr double kVerificationSecondsMin = 8;
constexpr double kVerificationSecondsMax = 30;

RemoteVerifier::Options VerifierOptions(const v1::OptimizeOptions& options) {
  const double share = kVerificationBudgetShare * options.budget_seconds();
  return {.seed = options.seed(),
          .tolerance = options.max_rel_error() > 0 ? options.max_rel_error() : kStrictTolerance,
          .seconds_max = std::clamp(share, kVerificationSecondsMin, kVerificationSecondsMax)};
}

class TimeBudget : public Budget {
 public:
  TimeBudget(Clock& clock, absl::Duration time, const ChildConnection& connection)
      : clock_(clock), time_(time), began_(clock.Monotonic()), connection_(connection) {}

  // The first question comes when the original's kernels are measured, which nothing can do
  // without: half of the budget is left to the search even when that took long.
  bool Allows(int64_t) override {
    const absl::Duration now = clock_.Monotonic();
    // Fixed by the first question; from then on it only passes.
    if (!end_) end_ = std::max(began_ + time_, now + time_ / 2);
    return !connection_.stop_requested() && now < *end_;
  }

 private:
  Clock& clock_;
  const absl::Duration time_;
  const absl::Duration began_;
  const ChildConnection& connection_;
  std::optional<absl::Duration> end_;
};

class DeviceSource : public MeasurementSource {
 public:
  DeviceSource(const v1::OptimizeOptions& options, ChildConnection& connection, Clock& clock)
      : profiler_(connection, clock),
        verifier_(connection, clock, VerifierOptions(options)),
        budget_(clock, absl::Seconds(options.budget_seconds()), connection) {}

  Profiler& profiler() override { return profiler_; }
  Verifier& verifier() override { return verifier_; }
  Budget& budget() override { return budget_; }
  absl::Duration profiling_time() const override { return profiler_.elapsed(); }
  absl::Duration verification_time() const override { return verifier_.elapsed(); }

 private:
  RemoteProfiler profiler_;
  RemoteVerifier verifier_;
  TimeBudget budget_;
};

class LogSource : public MeasurementSource {
 public:
  explicit LogSource(MeasurementLog log)
      : log_(std::move(log)), profiler_(log_), verifier_(log_), budget_(log_) {}

  Profiler& profiler() override { return profiler_; }
  Verifier& verifier() override { return verifier_; }
  Budget& budget() override { return budget_; }
  absl::Duration profiling_time() const override { return absl::ZeroDuration(); }
  absl::Duration verification_time() const override { return absl::ZeroDuration(); }

 private:
  const MeasurementLog log_;
  ReplayingProfiler profiler_;
  ReplayingVerifier verifier_;
  ReplayingBudget budget_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MeasurementSource>> MakeMeasurementSource(
    const internal::Start& start, ChildConnection& connection, Clock& clock) {
  if (!start.options().has_measurement_log()) {
    return std::make_unique<DeviceSource>(start.options(), connection, clock);
  }
  absl::StatusOr<MeasurementLog> log = MeasurementLog::Parse(start.replay_log());
  if (!log.ok()) {
    return wire::Error(
        v1::ERROR_REASON_INVALID_REQUEST,
        absl::StrCat("the measurement log cannot be read: ", log.status().message()));
  }
  return std::make_unique<LogSource>(*std::move(log));
}

}  // namespace plait
