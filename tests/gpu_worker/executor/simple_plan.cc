#include "tests/gpu_worker/executor/simple_plan.h"

#include <algorithm>

namespace plait {
namespace {

bool IsPlain(const Kernel& kernel) {
  const auto plain = [](Format format) { return format == Format::kPlain; };
  return std::all_of(kernel.input_formats.begin(), kernel.input_formats.end(), plain) &&
         std::all_of(kernel.output_formats.begin(), kernel.output_formats.end(), plain);
}

Kernel Choose(const std::vector<Kernel>& kernels, int threads) {
  Kernel chosen = kernels.front();
  for (const Kernel& kernel : kernels) {
    if (IsPlain(kernel) && kernel.width == threads) chosen = kernel;
  }
  return chosen;
}

int FindValue(const Plan& plan, TensorId tensor) {
  for (size_t i = 0; i < plan.values.size(); ++i) {
    if (plan.values[i].tensor == tensor) return static_cast<int>(i);
  }
  return -1;
}

int AddValue(const Graph& graph, TensorId tensor, Plan* plan) {
  Value value{.tensor = tensor};
  if (graph.tensor(tensor).producer != kNoNode && !graph.is_output(tensor)) {
    value.buffer = {plan->arena_bytes, (graph.type(tensor).bytes() + 63) / 64 * 64};
    plan->arena_bytes += value.buffer.size_bytes;
  }
  plan->values.push_back(value);
  return static_cast<int>(plan->values.size()) - 1;
}

int WriterOf(const Plan& plan, int value) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const std::vector<int>& outputs = plan.steps[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Plan SimplePlan(const Graph& graph, const DeviceDescription& device, const KernelCatalog& catalog,
                const SimplePlanOptions& options) {
  Plan plan;
  plan.graph_fingerprint = graph.fingerprint().ToString();
  plan.device_fingerprint = device.fingerprint;
  plan.engine_version = "test";
  plan.threads = device.threads;
  plan.streams = options.streams;
  for (const TensorId input : graph.inputs()) AddValue(graph, input, &plan);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    Step step{.kernel = Choose(catalog.KernelsAt(graph, node, false), options.threads),
              .stream = options.stream_of(node)};
    for (const TensorId input : InputsOf(graph, step.kernel.nodes)) {
      const int value = FindValue(plan, input);
      step.inputs.push_back(value);
      const int writer = WriterOf(plan, value);
      const bool seen = std::find(step.waits.begin(), step.waits.end(), writer) != step.waits.end();
      if (writer >= 0 && !seen && plan.steps[writer].stream != step.stream) {
        step.waits.push_back(writer);
      }
    }
    for (const TensorId output : OutputsOf(graph, step.kernel.nodes)) {
      step.outputs.push_back(AddValue(graph, output, &plan));
    }
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace plait
