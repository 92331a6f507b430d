#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/predicted_times.h"

// How long a plan takes on the device.

namespace plait::cuda {
namespace {

// An event is good for half a microsecond: of 2 ms that is nothing.
constexpr double kSpanUsMin = 2000;
constexpr int kRunsOfSpanMax = 1000;

}  // namespace

absl::StatusOr<double> CudaExecutable::TimeSpan(int count, absl::FunctionRef<absl::Status()> run) {
  Runtime& runtime = *device_.runtime;
  OwnedEvent events[2];
  for (OwnedEvent& event : events) {
    PLAIT_ASSIGN_OR_RETURN(const Event created, ToStatusOr(runtime.CreateEvent()));
    event = OwnedEvent(&runtime, created);
  }
  PLAIT_RETURN_IF_ERROR(ToStatus(runtime.RecordEvent(events[0].get(), device_.stream)));
  for (int i = 0; i < count; ++i) PLAIT_RETURN_IF_ERROR(run());
  PLAIT_RETURN_IF_ERROR(ToStatus(runtime.RecordEvent(events[1].get(), device_.stream)));
  PLAIT_RETURN_IF_ERROR(ToStatus(runtime.Synchronize(device_.stream)));
  return ToStatusOr(runtime.ElapsedUs(events[0].get(), events[1].get()));
}

absl::StatusOr<std::vector<double>> CudaExecutable::Time(int repeats) {
  if (device_.is_simulated) {
    return std::vector<double>(static_cast<size_t>(std::max(repeats, 0)),
                               PredictRun(kH200Device, graph_, given_));
  }
  const auto run = [this] { return Enqueue(); };
  std::vector<double> samples_us;
  int runs = 1;
  for (int i = 0; i < repeats; ++i) {
    const bool is_cold = std::exchange(is_evicted_, false);
    if (!is_cold && runs == 1) {
      PLAIT_ASSIGN_OR_RETURN(const double once_us, TimeSpan(1, run));
      runs = static_cast<int>(
          std::clamp(std::ceil(kSpanUsMin / std::max(once_us, 1.0)), 1.0, 1.0 * kRunsOfSpanMax));
    }
    const int count = is_cold ? 1 : runs;
    PLAIT_ASSIGN_OR_RETURN(const double span_us, TimeSpan(count, run));
    samples_us.push_back(span_us / count);
  }
  return samples_us;
}

absl::StatusOr<std::vector<double>> CudaExecutable::TimeSteps() {
  if (device_.is_simulated) return PredictSteps(kH200Device, graph_, given_);
  // A step that runs in parts takes what these take.
  std::vector<double> step_us(given_.steps.size(), 0.0);
  size_t given = 0;
  for (size_t step = 0; step < work_.size(); ++step) {
    const std::function<Status(Stream)> launch = LaunchOf(step);
    const auto run = [&]() -> absl::Status {
      if (work_[step].kind == StepProblem::Kind::kHost) return RunOnHost(plan_.steps[step]);
      return launch == nullptr ? absl::OkStatus() : ToStatus(launch(device_.stream));
    };
    while (static_cast<size_t>(first_steps_[given + 1]) <= step) ++given;
    PLAIT_ASSIGN_OR_RETURN(const double span_us, TimeSpan(1, run));
    step_us[given] += span_us;
  }
  return step_us;
}

void CudaExecutable::EvictCaches() {
  if (device_.evict == nullptr) return;
  // What it complains of the next run says again.
  is_evicted_ = device_.evict(device_.stream).ok();
}

}  // namespace plait::cuda
