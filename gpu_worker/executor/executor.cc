#include "gpu_worker/executor/executor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/one_kernel_plan.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/plan/loaded_bytes.h"

namespace plait {
namespace {

constexpr absl::Duration kRestOfFarThreads = absl::Milliseconds(3);

absl::StatusOr<Plan> CheckedKernelPlan(const Graph& graph, const Kernel& kernel,
                                       const DeviceDescription& device) {
  if (kernel.width > device.threads) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel: needs ", kernel.width, " threads, the device has ", device.threads));
  }
  PLAIT_RETURN_IF_ERROR(CheckTypes(graph));
  PLAIT_ASSIGN_OR_RETURN(Plan plan, OneKernelPlan(graph, kernel));
  PLAIT_RETURN_IF_ERROR(CheckMemory("kernel", LoadedBytes(graph, plan), device));
  return plan;
}

}  // namespace

absl::StatusOr<BoundTensors> Executable::Bound() {
  return absl::UnimplementedError("the host does not see this device's memory");
}

absl::Status Executable::RunBound(absl::Span<const BoundCopy> /*before*/,
                                  absl::Span<const BoundCopy> /*after*/) {
  return absl::UnimplementedError("this backend does not show its memory");
}

absl::Status Executable::RunObserved(absl::Span<const Tensor> /*inputs*/,
                                     absl::Span<const int> /*steps*/, StepObserver /*observe*/) {
  return absl::UnimplementedError("this backend does not show what steps read");
}

absl::StatusOr<std::vector<double>> Executable::TimeSteps() {
  return absl::UnimplementedError("this backend does not time steps");
}

// Types come first: what a plan's buffers must hold, and how much memory is asked for, is computed
// from them.
absl::StatusOr<std::unique_ptr<Executable>> Executor::Load(const Graph& graph, const Plan& plan,
                                                           const WeightSource& weights) {
  PLAIT_RETURN_IF_ERROR(CheckTypes(graph));
  PLAIT_RETURN_IF_ERROR(CheckPlan(plan, graph));
  PLAIT_RETURN_IF_ERROR(CheckBinding(plan, graph, device()));
  PLAIT_RETURN_IF_ERROR(CheckMemory("plan", LoadedBytes(graph, plan), device()));
  return LoadChecked(graph, plan, weights);
}

absl::StatusOr<std::unique_ptr<Executable>> Executor::LoadKernel(const Graph& graph,
                                                                 const Kernel& kernel,
                                                                 const WeightSource& weights) {
  PLAIT_ASSIGN_OR_RETURN(const Plan plan, CheckedKernelPlan(graph, kernel, device()));
  return LoadChecked(graph, plan, weights);
}

void Executor::AwaitNearThreads(const std::stop_token& stop) {
  const Stopwatch stopwatch;
  const absl::Duration allowed = wait_left_;
  for (double handover_us = ReadHandoverUs(); thread_distance_.IsFar(handover_us);
       handover_us = ReadHandoverUs()) {
    if (stop.stop_requested()) return;
    if (wait_left_ <= absl::ZeroDuration()) return thread_distance_.TakeAsUsual(handover_us);
    // Hosts move what sleeps now and then more readily than what never does.
    absl::SleepFor(kRestOfFarThreads);
    wait_left_ = allowed - absl::Microseconds(stopwatch.elapsed_us());
  }
}

void Executor::Anticipate(absl::Span<const LoneKernel> kernels, const std::stop_token& stop) {
  std::vector<std::pair<const Graph*, Plan>> checked;
  for (const LoneKernel& lone : kernels) {
    absl::StatusOr<Plan> plan = CheckedKernelPlan(lone.graph, lone.kernel, device());
    if (plan.ok()) checked.emplace_back(&lone.graph, *std::move(plan));
  }
  AnticipateChecked(checked, stop);
}

}  // namespace plait
