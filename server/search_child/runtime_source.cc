#include "server/search_child/runtime_source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/measurement.h"
#include "proto/wire/names.h"

namespace plait {
namespace {

// They stand in the report, as the names do that a device has.
constexpr size_t kTextBytesMax = 1000;

// All models have the error of the first.
RuntimeMeasurement Failed(const std::string& runtime, size_t models, absl::string_view reason) {
  RuntimeMeasurement measurement;
  measurement.runtime = runtime;
  measurement.models.resize(models);
  for (CandidateMeasurement& model : measurement.models) {
    model.error = wire::ValidUtf8(reason, kTextBytesMax);
  }
  return measurement;
}

class RemoteRuntimes : public RuntimeSource {
 public:
  RemoteRuntimes(const internal::Start& start, ChildConnection& connection, Clock& clock,
                 absl::Duration ends_at, RuntimeTaskInputs inputs)
      : start_(start),
        connection_(connection),
        clock_(clock),
        ends_at_(ends_at),
        inputs_(std::move(inputs)) {
    for (const v1::Device& runtime : start.runtimes()) {
      if (runtime.id() == wire::kSessionRuntime) {
        has_session_ = true;
      } else {
        names_.push_back(runtime.id());
      }
    }
  }

  const std::vector<std::string>& runtimes() const override { return names_; }
  bool has_session() const override { return has_session_; }

  double SecondsLeft() override {
    if (connection_.stop_requested()) return 0;
    return absl::ToDoubleSeconds(ends_at_ - clock_.Monotonic());
  }

  absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                             const std::vector<v1::Digest>& models,
                                             const RuntimeBatch& batch) override {
    absl::StatusOr<worker::v1::TaskResult> answer =
        connection_.MeasureModels(runtime, TaskOf(models, batch));
    if (!answer.ok()) {
      // The runtime's trouble is no trouble of the job's: what was found stays found.
      // What the runtime itself refuses it says of a model, or as Unimplemented.
      const bool is_silent = !absl::IsUnimplemented(answer.status());
      return Described(
          Failed(runtime, models.size(), is_silent ? kRuntimeSilent : answer.status().message()));
    }
    const worker::v1::MeasureModelsResult& result = answer->measure_models();
    if (result.models_size() != static_cast<int>(models.size())) {
      return Described(Failed(runtime, models.size(), kRuntimeSilent));
    }
    RuntimeMeasurement measurement;
    measurement.runtime = runtime;
    measurement.options = wire::ValidUtf8(result.options(), kTextBytesMax);
    for (int i = 0; i < result.models_size(); ++i) {
      CandidateMeasurement& model = measurement.models.emplace_back(
          wire::CandidateMeasurementFromProto(result.models(i), inputs_.tolerance));
      model.candidate = models[static_cast<size_t>(i)].sha256_hex();
      model.error = wire::ValidUtf8(model.error, kTextBytesMax);
    }
    return Described(std::move(measurement));
  }

  absl::StatusOr<RuntimeMeasurement> Skip(const std::string& runtime,
                                          const std::string& reason) override {
    return Described(Failed(runtime, 1, reason));
  }

 private:
  worker::v1::MeasureModelsTask TaskOf(const std::vector<v1::Digest>& models,
                                       const RuntimeBatch& batch) const {
    worker::v1::MeasureModelsTask task;
    for (const v1::Digest& model : models) *task.add_models() = model;
    for (const v1::InputSet& set : inputs_.input_sets) *task.add_input_sets() = set;
    for (const worker::v1::ModelInput& input : inputs_.inputs) *task.add_inputs() = input;
    task.set_threads(inputs_.threads);
    task.set_precision(start_.options().precision());
    task.set_loads(batch.loads);
    task.set_rounds(batch.rounds);
    task.set_rounds_min(batch.rounds_min);
    task.set_seconds_max(batch.seconds_max);
    return task;
  }

  RuntimeMeasurement Described(RuntimeMeasurement measurement) const {
    measurement.threads = inputs_.threads;
    for (const v1::Device& runtime : start_.runtimes()) {
      if (runtime.id() == measurement.runtime) measurement.version = runtime.runtime_version();
    }
    return measurement;
  }

  const internal::Start& start_;
  ChildConnection& connection_;
  Clock& clock_;
  const absl::Duration ends_at_;
  const RuntimeTaskInputs inputs_;
  std::vector<std::string> names_;
  bool has_session_ = false;
};

class LoggedRuntimes : public RuntimeSource {
 public:
  explicit LoggedRuntimes(const MeasurementLog& log) : log_(log) {
    for (const RuntimeMeasurement& measurement : log.runtime_measurements()) {
      const std::string& runtime = measurement.runtime;
      if (runtime == wire::kSessionRuntime) {
        has_session_ = true;
      } else if (std::find(names_.begin(), names_.end(), runtime) == names_.end()) {
        names_.push_back(runtime);
      }
    }
  }

  const std::vector<std::string>& runtimes() const override { return names_; }
  bool has_session() const override { return has_session_; }
  double SecondsLeft() override { return std::numeric_limits<double>::infinity(); }

  absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                             const std::vector<v1::Digest>& models,
                                             const RuntimeBatch&) override {
    PLAIT_ASSIGN_OR_RETURN(RuntimeMeasurement answer, Next(runtime, models.size()));
    for (size_t i = 0; i < answer.models.size(); ++i) {
      const std::string& name = answer.models[i].candidate;
      if (!name.empty() && name != models[i].sha256_hex()) return NoAnswer(runtime);
    }
    return answer;
  }

  absl::StatusOr<RuntimeMeasurement> Skip(const std::string& runtime, const std::string&) override {
    return Next(runtime, 1);
  }

 private:
  // A log is a client's file: no answer may be about more models than were asked for. Where there
  // was no time for all, it is about the first of them.
  absl::StatusOr<RuntimeMeasurement> Next(const std::string& runtime, size_t models) {
    const auto& all = log_.runtime_measurements();
    const size_t count = next_ < all.size() ? all[next_].models.size() : 0;
    if (count == 0 || all[next_].runtime != runtime || count > models) return NoAnswer(runtime);
    return all[next_++];
  }

  static absl::Status NoAnswer(const std::string& runtime) {
    return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                       absl::StrCat("the measurement log has no answer of ", runtime));
  }

  const MeasurementLog& log_;
  std::vector<std::string> names_;
  bool has_session_ = false;
  size_t next_ = 0;
};

}  // namespace

int RuntimesToMeasure(const internal::Start& start, bool has_host_nodes) {
  const auto& runtimes = start.runtimes();
  const auto is_measured = [&](const v1::Device& runtime) {
    return has_host_nodes || runtime.id() != wire::kSessionRuntime;
  };
  return static_cast<int>(std::count_if(runtimes.begin(), runtimes.end(), is_measured));
}

std::unique_ptr<RuntimeSource> MakeRemoteRuntimes(const internal::Start& start,
                                                  ChildConnection& connection, Clock& clock,
                                                  absl::Duration ends_at,
                                                  RuntimeTaskInputs inputs) {
  return std::make_unique<RemoteRuntimes>(start, connection, clock, ends_at, std::move(inputs));
}

std::unique_ptr<RuntimeSource> MakeLoggedRuntimes(const MeasurementLog& log) {
  return std::make_unique<LoggedRuntimes>(log);
}

}  // namespace plait
