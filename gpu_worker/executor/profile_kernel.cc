#include "gpu_worker/executor/profile_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/simulated_device.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Fewer have no spread that could be told.
constexpr int kSamplesMin = 3;
// A first run that takes longer than so many times the time for all samples is one.
constexpr double kFirstRunTimesMax = 10;
constexpr uint64_t kInputSeed = 1;

absl::StatusOr<std::vector<double>> Sample(Executable& executable, bool cold_weights,
                                           const ProfileOptions& options) {
  const double time_max_us = absl::ToDoubleMicroseconds(options.time_max);
  // The first run packs, pages in and wakes up, which says nothing of the others, unless it takes
  // so long that this is little of it.
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, executable.Time(1));
  if (samples[0] > kFirstRunTimesMax * time_max_us) return samples;
  const Stopwatch stopwatch;
  if (samples[0] > time_max_us) {
    PLAIT_ASSIGN_OR_RETURN(samples, executable.Time(1));
    if (samples[0] > time_max_us) return samples;
  }
  samples.clear();
  while (static_cast<int>(samples.size()) < std::max(options.samples_max, kSamplesMin)) {
    const bool out_of_time = stopwatch.elapsed_us() > time_max_us;
    if (out_of_time && static_cast<int>(samples.size()) >= kSamplesMin) break;
    if (cold_weights) executable.EvictCaches();
    PLAIT_ASSIGN_OR_RETURN(const std::vector<double> one, executable.Time(1));
    samples.push_back(one[0]);
  }
  return samples;
}

// The median and its absolute deviation: a sample that an interrupt made ten times as long moves
// neither.
Profile Summary(const std::vector<double>& samples) {
  Profile profile;
  profile.samples = static_cast<int>(samples.size());
  profile.latency_us_median = Median(samples);
  profile.latency_us_p10 = Quantile(samples, 0.1);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) {
    deviations.push_back(std::abs(sample - profile.latency_us_median));
  }
  profile.latency_us_mad = Median(std::move(deviations));
  return profile;
}

// Every input, output and constant once: what must move whatever the caches do.
void AddWork(const Graph& graph, Profile& profile) {
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    profile.flops += WorkOf(graph, node).flops;
  }
  for (const TensorId input : graph.inputs()) profile.bytes += graph.type(input).bytes();
  for (const TensorId output : graph.outputs()) profile.bytes += graph.type(output).bytes();
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant != nullptr) profile.bytes += tensor.type.bytes();
  }
}

// Weights are synthetic constants of the kernel's graph, which need no source.
absl::StatusOr<Profile> Measure(Executor& executor, const LoneKernel& lone,
                                const ProfileOptions& options) {
  if (IsSimulatedFingerprint(executor.device().fingerprint)) {
    return absl::FailedPreconditionError(
        absl::StrCat(executor.device().id, " is simulated: nothing is measured on it"));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                         executor.LoadKernel(lone.graph, lone.kernel, NoWeights()));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeTimingInputs(lone.graph, kInputSeed));
  PLAIT_RETURN_IF_ERROR(executable->SetInputs(inputs));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<double> samples,
                         Sample(*executable, lone.cold_weights, options));
  Profile profile = Summary(samples);
  AddWork(lone.graph, profile);
  // A kernel keeps its threads busy and no others.
  profile.compute_share = executable->compute_share().value_or(
      static_cast<double>(lone.kernel.width) / executor.device().threads);
  const std::vector<std::string> variants = executable->step_variants();
  if (variants.size() == 1) profile.implementation = variants[0];
  profile.workspace_bytes = executable->workspace_bytes();
  return profile;
}

}  // namespace

KernelProfile ProfileKernel(Executor& executor, const LoneKernel& lone,
                            const ProfileOptions& options) {
  absl::StatusOr<Profile> profile = Measure(executor, lone, options);
  if (!profile.ok()) return {Profile(), std::string(profile.status().message())};
  return {*profile, ""};
}

}  // namespace plait
