#include "optimizer/plan/predicted_times.h"

#include "optimizer/cost/simulator.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {
namespace {

Profile ProfileOn(const DescribedDevice& device, const std::optional<DescribedKernel>& kernel) {
  return kernel.has_value() ? PriceOn(device, *kernel) : Profile();
}

}  // namespace

PredictedTimes::PredictedTimes(const DescribedDevice& device, const KernelCatalog& catalog,
                               const Graph& graph, const Plan& plan) {
  const DescribedProfiler profiler(device, PredictionDetail::kBlocks, &catalog);
  for (const Step& step : plan.steps) {
    const ProfileOrigin origin = {.device_fingerprint = device.name, .version = "1"};
    const ProfileKey key =
        step.kernel.nodes.empty()
            ? ReorderProfileKey(graph.type(plan.values[step.inputs[0]].tensor), step.kernel, origin)
            : KernelProfileKey(graph, step.kernel, origin);
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(key);
    steps_.push_back({.stream = step.stream,
                      .alone = step.kernel.width >= plan.threads,
                      .waits = step.waits,
                      .kernel = lone.ok() ? profiler.Describe(*lone) : std::nullopt});
  }
}

std::vector<double> PredictedTimes::StepsUs(const DescribedDevice& device) const {
  std::vector<double> times_us;
  for (const PredictedStep& step : steps_) {
    times_us.push_back(ProfileOn(device, step.kernel).latency_us_median);
  }
  return times_us;
}

double PredictedTimes::RunUs(const DescribedDevice& device) const {
  std::vector<SimulatedStep> steps;
  for (const PredictedStep& step : steps_) {
    const Profile profile = ProfileOn(device, step.kernel);
    const double us = profile.latency_us_median;
    steps.push_back(
        {.latency_us = us,
         .stream = step.stream,
         .alone = step.alone,
         .compute_share = profile.compute_share,
         .bandwidth_share =
             us > 0 ? static_cast<double>(profile.bytes) / (us * device.bytes_per_us) : 0,
         .waits = step.waits});
  }
  return Simulate(steps, {.cross_stream_us = device.cross_stream_us}).makespan_us;
}

}  // namespace plait
