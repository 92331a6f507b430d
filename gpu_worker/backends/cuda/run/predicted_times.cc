#include "gpu_worker/backends/cuda/run/predicted_times.h"

#include "optimizer/cost/simulator.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait::cuda {
namespace {

std::vector<Profile> ProfilesOf(const DescribedDevice& device, const plait::Graph& graph,
                                const Plan& plan) {
  const DescribedProfiler profiler(device);
  std::vector<Profile> profiles;
  for (const Step& step : plan.steps) {
    const ProfileOrigin origin = {.device_fingerprint = device.name, .version = "1"};
    const ProfileKey key =
        step.kernel.nodes.empty()
            ? ReorderProfileKey(graph.type(plan.values[step.inputs[0]].tensor), step.kernel, origin)
            : KernelProfileKey(graph, step.kernel, origin);
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(key);
    profiles.push_back(lone.ok() ? profiler.Predict(*lone) : Profile());
  }
  return profiles;
}

}  // namespace

std::vector<double> PredictSteps(const DescribedDevice& device, const plait::Graph& graph,
                                 const Plan& plan) {
  std::vector<double> times_us;
  for (const Profile& profile : ProfilesOf(device, graph, plan)) {
    times_us.push_back(profile.latency_us_median);
  }
  return times_us;
}

double PredictRun(const DescribedDevice& device, const plait::Graph& graph, const Plan& plan) {
  std::vector<SimulatedStep> steps;
  for (const Profile& profile : ProfilesOf(device, graph, plan)) {
    const Step& step = plan.steps[steps.size()];
    const double us = profile.latency_us_median;
    steps.push_back(
        {.latency_us = us,
         .stream = step.stream,
         .alone = step.kernel.width >= plan.threads,
         .compute_share = profile.compute_share,
         .bandwidth_share =
             us > 0 ? static_cast<double>(profile.bytes) / (us * device.bytes_per_us) : 0,
         .waits = step.waits});
  }
  return Simulate(steps, {.cross_stream_us = device.cross_stream_us}).makespan_us;
}

}  // namespace plait::cuda
