#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/launch_chain.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "optimizer/plan/predicted_times.h"

// How long a plan takes on the device.

namespace plait::cuda {
namespace {

// An event is good for half a microsecond: of 2 ms that is nothing.
constexpr double kSpanUsMin = 2000;
constexpr int kRunsOfSpanMax = 1000;
// Of a lone kernel's chain: by them the graph's own start is shared.
constexpr int kRunsOfChainMax = 100;
// What is left of a span when the start of a graph is taken off, at least: it varies, too.
constexpr double kKernelShareMin = 0.2;

// How many runs a span has, of which one takes so long.
int RunsOfSpan(double once_us) {
  return static_cast<int>(
      std::clamp(std::ceil(kSpanUsMin / std::max(once_us, 1.0)), 1.0, 1.0 * kRunsOfSpanMax));
}

// What stands in for times on a simulated device: who asks it for one is told a prediction for an
// H200.
PredictedTimes PredictionsOf(const plait::Graph& graph, const Plan& plan) {
  return PredictedTimes(kH200Device, CudaCatalog({}), graph, plan);
}

DeviceClock DeviceClockOf(const ClockSeen& seen) {
  return {.mhz_min = static_cast<int>(seen.least_mhz),
          .mhz_max = static_cast<int>(seen.most_mhz),
          .spans = seen.spans,
          .spans_moving = seen.moving,
          .limits = ClockLimitNames(seen.limits)};
}

}  // namespace

absl::StatusOr<double> CudaExecutable::TimeSpan(int count, absl::FunctionRef<absl::Status()> run,
                                                bool is_cold) {
  absl::Status status;
  const Result<double> span_us = device_.clock->TimeSteady([&]() -> Result<double> {
    // Behind the reading of the clock: while the device is busy with it the host enqueues the span,
    // which else would take what the host needs for that.
    if (is_cold) PLAIT_CUDA_RETURN_IF_ERROR(device_.evict(device_.stream));
    return SpanUs(device_.runtime, device_.stream, [&] {
      for (int i = 0; i < count && status.ok(); ++i) status = run();
      return Ok();
    });
  });
  PLAIT_RETURN_IF_ERROR(status);
  return ToStatusOr(span_us);
}

double CudaExecutable::WithoutStart(double us) const {
  return std::max(us - device_.graph_start_us, kKernelShareMin * us);
}

// A kernel alone is timed as it will run, in a graph behind others: by itself a graph takes some
// microseconds to start, which a plan pays once.
absl::Status CudaExecutable::BuildLoneChain(int count) {
  Kept used;
  for (const std::shared_ptr<Candidate>& candidate : candidates_) {
    if (candidate != nullptr) used.push_back(candidate->resources());
  }
  std::vector<NodeDescription> nodes;
  const auto launch = [&](int, Stream stream) -> Status {
    for (size_t step = 0; step < work_.size(); ++step) {
      const std::function<Status(Stream)> enqueue = LaunchOf(step);
      if (enqueue != nullptr) PLAIT_CUDA_RETURN_IF_ERROR(enqueue(stream));
    }
    return Ok();
  };
  PLAIT_ASSIGN_OR_RETURN(ExecutableGraph chain,
                         ToStatusOr(BuildChain(device_.runtime, count, launch, used, &nodes)));
  compute_share_ = ComputeShare(nodes, device_.multiprocessors);
  lone_chain_ = std::make_unique<ExecutableGraph>(std::move(chain));
  lone_chain_runs_ = count;
  return ToStatus(lone_chain_->Launch(device_.stream));
}

absl::StatusOr<double> CudaExecutable::TimeLoneKernel(bool is_cold) {
  const auto run = [this] { return Enqueue(); };
  const auto chain = [this] { return ToStatus(lone_chain_->Launch(device_.stream)); };
  if (is_cold || lone_chain_ == nullptr) {
    PLAIT_ASSIGN_OR_RETURN(const double once_us, TimeSpan(1, run, is_cold));
    const double us = WithoutStart(once_us);
    if (lone_chain_ == nullptr) {
      PLAIT_RETURN_IF_ERROR(BuildLoneChain(
          static_cast<int>(std::clamp(kSpanUsMin / us, 1.0, 1.0 * kRunsOfChainMax))));
    }
    if (is_cold) return us;
  }
  if (lone_chain_replays_ == 0) {
    PLAIT_ASSIGN_OR_RETURN(const double chain_us, TimeSpan(1, chain));
    lone_chain_replays_ = RunsOfSpan(chain_us);
  }
  PLAIT_ASSIGN_OR_RETURN(const double span_us, TimeSpan(lone_chain_replays_, chain));
  return span_us / (lone_chain_runs_ * lone_chain_replays_);
}

absl::StatusOr<std::vector<double>> CudaExecutable::Time(int repeats) {
  // What others have timed on this device.
  device_.clock->TakeSeen();
  absl::StatusOr<std::vector<double>> samples_us = TimeSamples(repeats);
  AddClock(DeviceClockOf(device_.clock->TakeSeen()), clock_);
  if (const std::string notes = device_.clock->TakeNotes(); !notes.empty()) {
    std::fprintf(stderr, "plait: %s: %s\n", given_.device_fingerprint.c_str(), notes.c_str());
  }
  return samples_us;
}

absl::StatusOr<std::vector<double>> CudaExecutable::TimeSamples(int repeats) {
  if (device_.is_simulated) {
    return std::vector<double>(static_cast<size_t>(std::max(repeats, 0)),
                               PredictionsOf(graph_, given_).RunUs(kH200Device));
  }
  std::vector<double> samples_us;
  if (is_lone_kernel()) {
    for (int i = 0; i < repeats; ++i) {
      PLAIT_ASSIGN_OR_RETURN(const double us, TimeLoneKernel(std::exchange(is_evicted_, false)));
      samples_us.push_back(us);
    }
    return samples_us;
  }
  const auto run = [this] { return Enqueue(); };
  int runs = 0;  // of a span with warm caches; 0: not known yet
  for (int i = 0; i < repeats; ++i) {
    const bool is_cold = std::exchange(is_evicted_, false);
    if (!is_cold && runs == 0) {
      PLAIT_ASSIGN_OR_RETURN(const double once_us, TimeSpan(1, run));
      runs = RunsOfSpan(once_us);
    }
    const int count = is_cold ? 1 : runs;
    PLAIT_ASSIGN_OR_RETURN(const double span_us, TimeSpan(count, run, is_cold));
    samples_us.push_back(span_us / count);
  }
  return samples_us;
}

// A graph for each step that launches anything, so that it starts as a kernel that is timed alone.
absl::Status CudaExecutable::BuildStepGraphs() {
  std::vector<std::optional<ExecutableGraph>> graphs;
  for (size_t step = 0; step < work_.size(); ++step) {
    std::optional<ExecutableGraph>& graph = graphs.emplace_back();
    const std::function<Status(Stream)> enqueue = LaunchOf(step);
    if (enqueue == nullptr) continue;
    Kept used;
    if (candidates_[step] != nullptr) used.push_back(candidates_[step]->resources());
    const auto launch = [&](int, Stream stream) { return enqueue(stream); };
    PLAIT_ASSIGN_OR_RETURN(graph, ToStatusOr(BuildChain(device_.runtime, 1, launch, used)));
    PLAIT_RETURN_IF_ERROR(ToStatus(graph->Upload(device_.stream)));
  }
  step_graphs_ = std::move(graphs);
  return absl::OkStatus();
}

// The run in front leaves in the caches what a run leaves there, and keeps the device busy while
// the host enqueues the steps: a step that the device waits for takes what the host needs for it.
// Behind a step of the host one does so in a run, too.
absl::StatusOr<std::vector<double>> CudaExecutable::TimeWork() {
  std::vector<OwnedEvent> events;
  const auto record = [&]() -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(const Event event, ToStatusOr(device_.runtime->CreateEvent()));
    events.emplace_back(device_.runtime, event);
    return ToStatus(device_.runtime->RecordEvent(event, device_.stream));
  };
  PLAIT_RETURN_IF_ERROR(Enqueue());
  PLAIT_RETURN_IF_ERROR(record());
  for (size_t step = 0; step < work_.size(); ++step) {
    if (work_[step].kind == StepProblem::Kind::kHost) {
      PLAIT_RETURN_IF_ERROR(RunOnHost(plan_.steps[step]));
    } else if (step_graphs_[step].has_value()) {
      PLAIT_RETURN_IF_ERROR(ToStatus(step_graphs_[step]->Launch(device_.stream)));
    }
    PLAIT_RETURN_IF_ERROR(record());
  }
  PLAIT_RETURN_IF_ERROR(ToStatus(device_.runtime->Synchronize(device_.stream)));
  std::vector<double> work_us(work_.size(), 0.0);
  for (size_t step = 0; step < work_.size(); ++step) {
    const bool is_on_host = work_[step].kind == StepProblem::Kind::kHost;
    if (!is_on_host && !step_graphs_[step].has_value()) continue;
    PLAIT_ASSIGN_OR_RETURN(const double us, ToStatusOr(device_.runtime->ElapsedUs(
                                                events[step].get(), events[step + 1].get())));
    work_us[step] = is_on_host ? us : WithoutStart(us);
  }
  return work_us;
}

absl::StatusOr<std::vector<double>> CudaExecutable::TimeSteps() {
  if (device_.is_simulated) return PredictionsOf(graph_, given_).StepsUs(kH200Device);
  if (step_graphs_.empty()) PLAIT_RETURN_IF_ERROR(BuildStepGraphs());
  absl::StatusOr<std::vector<double>> work_us = std::vector<double>();
  const Result<double> run_us = device_.clock->TimeSteady([&]() -> Result<double> {
    work_us = TimeWork();
    return work_us.ok() ? std::accumulate(work_us->begin(), work_us->end(), 0.0) : 0.0;
  });
  PLAIT_RETURN_IF_ERROR(work_us.status());
  PLAIT_RETURN_IF_ERROR(ToStatusOr(run_us).status());
  // A step that runs in parts takes what these take.
  std::vector<double> step_us;
  for (size_t given = 0; given < given_.steps.size(); ++given) {
    const auto first = work_us->begin() + first_steps_[given];
    step_us.push_back(std::accumulate(first, work_us->begin() + first_steps_[given + 1], 0.0));
  }
  return step_us;
}

void CudaExecutable::EvictCaches() { is_evicted_ = device_.evict != nullptr; }

}  // namespace plait::cuda
