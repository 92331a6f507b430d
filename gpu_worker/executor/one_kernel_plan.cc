#include "gpu_worker/executor/one_kernel_plan.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

absl::Status AddValues(const Graph& graph, absl::Span<const TensorId> tensors,
                       absl::Span<const Format> formats, Plan* plan, std::vector<int>* values) {
  if (tensors.size() != formats.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel: ", formats.size(), " formats for ", tensors.size(), " tensors"));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorType& type = graph.type(tensors[i]);
    if (!CanLieIn(type, formats[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel: ", *graph.tensor(tensors[i]).name, " is ", type.ToString(),
                       ", which cannot lie in ", FormatName(formats[i])));
    }
    values->push_back(static_cast<int>(plan->values.size()));
    plan->values.push_back({.tensor = tensors[i], .format = formats[i]});
  }
  return absl::OkStatus();
}

}  // namespace

// Values have no buffers: a backend gives each memory of its own, as it does for a plan's inputs.
absl::StatusOr<Plan> OneKernelPlan(const Graph& graph, const Kernel& kernel) {
  std::vector<NodeId> all;
  all.reserve(graph.node_count());
  for (NodeId node = 0; node < graph.node_count(); ++node) all.push_back(node);
  if (kernel.nodes != all) {
    return absl::InvalidArgumentError("kernel: its nodes are not exactly the graph's");
  }
  if (kernel.width < 1) return absl::InvalidArgumentError("kernel: width must be positive");
  std::vector<TensorId> inputs = InputsOf(graph, kernel.nodes);
  std::vector<TensorId> outputs = OutputsOf(graph, kernel.nodes);
  if (all.empty()) {
    if (graph.inputs().size() != 1) {
      return absl::InvalidArgumentError("kernel: a reorder has exactly one input");
    }
    inputs = {graph.inputs()[0]};
    outputs = inputs;
  }
  Plan plan;
  plan.threads = kernel.width;
  Step step{.kernel = kernel};
  PLAIT_RETURN_IF_ERROR(AddValues(graph, inputs, kernel.input_formats, &plan, &step.inputs));
  PLAIT_RETURN_IF_ERROR(AddValues(graph, outputs, kernel.output_formats, &plan, &step.outputs));
  // A view costs nothing in a plan, which lets it share its input's bytes; so it does here.
  if (kernel.family == kViewFamily && step.inputs.size() == 1 && step.outputs.size() == 1) {
    plan.values[step.outputs[0]].alias_of = step.inputs[0];
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

}  // namespace plait
