#include "gpu_worker/executor/check_load.h"

#include "absl/strings/str_cat.h"

// Plans come from files and other processes. One for another graph would read past its buffers, so
// that fingerprints are compared before anything is loaded.

namespace plait {

absl::Status CheckBinding(const Plan& plan, const Graph& graph, const DeviceDescription& device) {
  const std::string graph_fingerprint = graph.fingerprint().ToString();
  if (plan.graph_fingerprint != graph_fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("plan: made for graph ", plan.graph_fingerprint,
                                                   ", this is ", graph_fingerprint));
  }
  if (plan.device_fingerprint != device.fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("plan: made for device \"",
                                                   plan.device_fingerprint, "\", this is \"",
                                                   device.fingerprint, "\""));
  }
  if (plan.threads > device.threads) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: needs ", plan.threads, " threads, the device has ", device.threads));
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs: the graph has ", graph.inputs().size(), ", got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = graph.tensor(graph.inputs()[i]);
    if (inputs[i].type() == info.type) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", *info.name, " must be ",
                                                   info.type.ToString(), ", is ",
                                                   inputs[i].type().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace plait
