#include "gpu_worker/executor/profile_kernel.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

constexpr int kSamplesMin = 3;
constexpr uint64_t kInputSeed = 1;

absl::StatusOr<Format> ParseFormat(absl::string_view name) {
  for (const Format format : kAllFormats) {
    if (name == FormatName(format)) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat("format \"", name, "\": there is no such format"));
}

absl::StatusOr<Kernel> KernelOf(const ProfileKey& key, const Graph& graph) {
  Kernel kernel;
  kernel.family = key.family;
  kernel.variant = key.variant;
  kernel.width = key.width;
  for (NodeId node = 0; node < graph.node_count(); ++node) kernel.nodes.push_back(node);
  const size_t inputs = graph.node_count() == 0 ? 1 : InputsOf(graph, kernel.nodes).size();
  for (const absl::string_view name : absl::StrSplit(key.formats, ',', absl::SkipEmpty())) {
    PLAIT_ASSIGN_OR_RETURN(const Format format, ParseFormat(name));
    const bool is_input = kernel.input_formats.size() < inputs;
    (is_input ? kernel.input_formats : kernel.output_formats).push_back(format);
  }
  return kernel;
}

absl::StatusOr<std::vector<double>> Sample(Executable* executable, bool cold_weights,
                                           const ProfileOptions& timing) {
  const Stopwatch stopwatch;
  const double time_max_us = absl::ToDoubleMicroseconds(timing.time_max);
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, executable->Time(1));
  if (samples[0] > time_max_us) return samples;
  samples.clear();
  while (static_cast<int>(samples.size()) < std::max(timing.samples_max, kSamplesMin)) {
    const bool out_of_time = stopwatch.elapsed_us() > time_max_us;
    if (out_of_time && static_cast<int>(samples.size()) >= kSamplesMin) break;
    if (cold_weights) executable->EvictWeights();
    PLAIT_ASSIGN_OR_RETURN(const std::vector<double> one, executable->Time(1));
    samples.push_back(one[0]);
  }
  return samples;
}

double Quantile(std::vector<double> values, double share) {
  const auto place = values.begin() + static_cast<int64_t>(share * (values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

Profile Summary(const std::vector<double>& samples) {
  Profile profile;
  profile.samples = static_cast<int>(samples.size());
  profile.latency_us_median = Quantile(samples, 0.5);
  profile.latency_us_p10 = Quantile(samples, 0.1);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) {
    deviations.push_back(std::abs(sample - profile.latency_us_median));
  }
  profile.latency_us_mad = Quantile(deviations, 0.5);
  return profile;
}

// Every input, output and constant once: what must move whatever the caches do.
void AddWork(const Graph& graph, Profile* profile) {
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    profile->flops += WorkOf(graph, node).flops;
  }
  for (const TensorId input : graph.inputs()) profile->bytes += graph.type(input).bytes();
  for (const TensorId output : graph.outputs()) profile->bytes += graph.type(output).bytes();
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant != nullptr) profile->bytes += tensor.type.bytes();
  }
}

absl::StatusOr<Profile> Measure(Executor* executor, const ProfileKey& key,
                                const ProfileOptions& timing) {
  const DeviceDescription& device = executor->device();
  if (key.device_fingerprint != device.fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("profile: for device \"", key.device_fingerprint,
                                                   "\", this is \"", device.fingerprint, "\""));
  }
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, ParseTypedGraph(key.graph_text));
  PLAIT_ASSIGN_OR_RETURN(const Kernel kernel, KernelOf(key, graph));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                         executor->LoadKernel(graph, kernel, NoWeights()));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(graph, kInputSeed));
  PLAIT_RETURN_IF_ERROR(executable->SetInputs(inputs));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<double> samples,
                         Sample(executable.get(), key.cold_weights, timing));
  Profile profile = Summary(samples);
  AddWork(graph, &profile);
  profile.compute_share = static_cast<double>(key.width) / device.threads;
  return profile;
}

}  // namespace

KernelProfile ProfileKernel(Executor* executor, const ProfileKey& key,
                            const ProfileOptions& timing) {
  absl::StatusOr<Profile> profile = Measure(executor, key, timing);
  if (!profile.ok()) return {Profile(), std::string(profile.status().message())};
  return {*profile, ""};
}

}  // namespace plait
